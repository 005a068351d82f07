//! What every scheduler and reliability scheme must do when other satellites take over, or none serves for a while.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::common::schemes::{has_feedback, has_option, may_switch_off_feedback};
use crate::common::{self, Run, Wild, config, ms, rng, scheduler_json, uniform_block_fading};
use channel::{CLEAR, Channel};
use link::{DropReason, Ecn, HarqConfig, Output, PacketRef, Propagation, SchedulerConfig, Transfer};
use proptest::prelude::*;
use serde_json::{Value, json};
use units::{Db, Duration, Time};

const USERS: u32 = 3;

#[derive(Clone, Copy, Debug)]
enum Event {
    Offer { flow: u32, size: u32 },
    HandOver { interruption: Duration, transfer: Transfer },
    Halt,
    Resume,
}

/// What happens, and how long after what happened before.
fn events() -> impl Strategy<Value = Vec<(Duration, Event)>> {
    let micros = |most: u64| (0..most).prop_map(Duration::from_micros);
    let gap = prop_oneof![4 => Just(Duration::ZERO), 4 => micros(800), 1 => micros(30_000)];
    let transfer = prop_oneof![
        2 => Just(Transfer::Keep),
        3 => micros(20_000).prop_map(|delay| Transfer::Forward { delay }),
        1 => Just(Transfer::Forward { delay: Duration::ZERO }),
        2 => Just(Transfer::Lose),
    ];
    let interruption = prop_oneof![Just(Duration::ZERO), micros(40_000)];
    let event = prop_oneof![
        20 => (0..USERS * 2, 1u32..=1115).prop_map(|(flow, size)| Event::Offer { flow, size }),
        3 => (interruption, transfer).prop_map(|(interruption, transfer)| Event::HandOver { interruption, transfer }),
        1 => Just(Event::Halt),
        1 => Just(Event::Resume),
    ];
    prop::collection::vec((gap, event), 1..120)
}

/// A delay that stays, or one that jumps up and down.
fn propagation() -> impl Strategy<Value = Propagation> {
    let delay = || (0u64..30_000).prop_map(Duration::from_micros);
    let jumps = prop::collection::vec((0u64..20_000, delay(), delay()), 1..20).prop_map(|legs| {
        let mut at = Time::ZERO;
        let points = legs.into_iter().flat_map(|(micros, from, to)| {
            let begin = at;
            at += Duration::from_micros(micros);
            [(begin, from), (at, to)]
        });
        Propagation::over(points.collect())
    });
    prop_oneof![delay().prop_map(Propagation::fixed), jumps]
}

/// Every scheme, with feedback that comes and that gets lost, and with few processes.
fn scheme() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(HarqConfig::ALL);
    (kind, 0u32..3).prop_map(|(kind, variant)| {
        let mut harq = json!({ "kind": kind });
        if has_feedback(kind) && variant > 0 {
            harq["feedback"] = json!({ "loss": "20 %" });
        }
        if has_option(kind, "processes") && variant > 1 {
            harq["processes"] = json!(3);
        }
        if may_switch_off_feedback(kind) && variant > 1 {
            harq["feedback"] = json!({ "enabled": false });
        }
        if has_option(kind, "sizing") && variant > 1 {
            harq["sizing"] = json!("estimate");
        }
        harq
    })
}

/// Remembers when bursts begin.
struct Listening(Box<dyn Channel>, Arc<Mutex<Vec<Time>>>);

impl Channel for Listening {
    fn burst_snr(&mut self, now: Time) -> Db {
        self.1.lock().unwrap().push(now);
        self.0.burst_snr(now)
    }

    fn attenuation(&mut self, now: Time) -> Option<Db> {
        self.0.attenuation(now)
    }

    /// Draws nothing: how many reports are made depends on who asks.
    fn estimated_snr(&mut self, now: Time) -> Db {
        Db::new((now.as_nanos() / 1_000_000 * 7 % 23) as f64 - 12.0)
    }
}

/// A last hop, and what its transmitter may do.
struct Sky {
    run: Run,
    begun: Arc<Mutex<Vec<Time>>>,
    checked: usize,
    /// No burst begins before.
    serves_from: Time,
    halted: bool,
    /// Whether it is woken at each step inside, and not only when it asks.
    stepwise: bool,
}

impl Sky {
    fn new(settings: &Value, propagation: &Propagation, clear: bool, seed: u64, stepwise: bool) -> Sky {
        let begun: Arc<Mutex<Vec<Time>>> = Arc::default();
        let channel = |user: u32| -> Box<dyn Channel> {
            let constant = common::Scripted::constant(CLEAR);
            let own: Box<dyn Channel> = if clear { constant } else { Box::new(Wild(rng(seed * 10 + u64::from(user)))) };
            Box::new(Listening(own, Arc::clone(&begun)))
        };
        let law = uniform_block_fading(4, 200);
        let channels = (0..USERS).map(channel).collect();
        let run = Run::over(config(settings.clone()), propagation.clone(), channels, Some(&law));
        Sky { run, begun, checked: 0, serves_from: Time::ZERO, halted: false, stepwise }
    }

    /// Everything until then happens.
    fn advance(&mut self, until: Time) {
        let mut steps = 0;
        loop {
            let next = if self.stepwise { self.run.hop.next_step() } else { self.run.hop.poll_timeout() };
            let Some(at) = next.filter(|&at| at <= until) else { break };
            self.run.step_to(at.max(self.run.now));
            self.check_begun(Time::MAX);
            steps += 1;
            assert!(steps < 100_000, "it never ends");
        }
    }

    /// Bursts that begin before `until` do so in service.
    fn check_begun(&mut self, until: Time) {
        let begun = self.begun.lock().unwrap();
        let served = |&&at: &&Time| at < until;
        for &at in begun[self.checked..].iter().take_while(served) {
            assert!(!self.halted && at >= self.serves_from, "sent at {at:?}, served from {:?}", self.serves_from);
            self.checked += 1;
        }
    }

    fn happens(&mut self, now: Time, id: u32, event: Event) {
        // Of a handover the last hop learns before it begins another burst at that instant.
        let before = if matches!(event, Event::Offer { .. }) { 0 } else { 1 };
        self.advance(Time::from_nanos(now.as_nanos().saturating_sub(before)));
        self.run.now = now;
        match event {
            Event::Offer { flow, size } => {
                let ecn = if flow.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct };
                self.run.offered += 1;
                self.run.hop.handle_packet(now, PacketRef { id, flow, user: flow / 2, class: 0, size, ecn });
            }
            Event::HandOver { interruption, transfer } => {
                let resume = now + interruption;
                self.run.hop.hand_over(now, resume, transfer);
                self.check_begun(now);
                self.halted = false;
                self.serves_from = self.serves_from.max(resume);
                if let Transfer::Forward { delay } = transfer {
                    self.serves_from = self.serves_from.max(now + delay);
                }
                if transfer == Transfer::Lose {
                    let outputs = self.run.hop.in_flight();
                    self.run.collect();
                    assert_eq!(self.run.hop.in_flight(), 0, "of {outputs} none stays");
                }
            }
            Event::Halt => {
                self.run.hop.halt(now);
                self.check_begun(now);
                self.halted = true;
            }
            Event::Resume => {
                self.run.hop.resume(now);
                self.check_begun(now);
                if std::mem::take(&mut self.halted) {
                    self.serves_from = self.serves_from.max(now);
                }
            }
        }
        self.check_begun(Time::MAX);
        self.run.collect();
    }
}

fn play(mut sky: Sky, events: &[(Duration, Event)]) -> Sky {
    let (mut now, mut id) = (Time::ZERO, 0);
    for &(gap, event) in events {
        now += gap;
        sky.happens(now, id, event);
        id += u32::from(matches!(event, Event::Offer { .. }));
    }
    now += Duration::from_millis(1);
    sky.happens(now, id, Event::Resume);
    sky.advance(Time::MAX);
    assert_eq!((sky.run.hop.in_flight(), sky.run.hop.poll_timeout()), (0, None), "all is worked off");
    sky
}

fn check(sky: &Sky, events: &[(Duration, Event)], reordering: bool) -> Result<(), TestCaseError> {
    let (mut left, mut by_handover) = (Vec::new(), 0);
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    let mut ordered = true;
    for (_, output) in &sky.run.log {
        match output {
            Output::Delivered(packet) => {
                left.push(packet.id);
                ordered &= last.insert(packet.flow, packet.id).is_none_or(|before| before < packet.id);
            }
            Output::Dropped(packet, reason) => {
                left.push(packet.id);
                by_handover += u64::from(*reason == DropReason::Handover);
            }
        }
    }
    left.sort_unstable();
    prop_assert!(left.iter().copied().eq(0..sky.run.offered as u32), "each leaves once: {:?}", left);
    let hop = &sky.run.hop;
    let report = hop.report(sky.run.now.since(Time::ZERO) + Duration::from_secs(1));
    if reordering && report.reordering.late_packets == 0 {
        prop_assert!(ordered, "nothing was late, and yet a flow is out of order");
    }
    prop_assert_eq!(report.dropped[DropReason::Handover], by_handover);
    // A packet that was cut is given up with several of its fragments.
    prop_assert!(report.cut_packets.is_some() || report.harq.abandoned <= by_handover);
    let handovers = events.iter().filter(|(_, event)| matches!(event, Event::HandOver { .. })).count();
    prop_assert_eq!(report.handovers, handovers as u64);
    let loses = |(_, event): &(Duration, Event)| matches!(event, Event::HandOver { transfer: Transfer::Lose, .. });
    let lost = events.iter().any(loses);
    prop_assert!(lost || by_handover == 0);
    // What was in flight was received, if erased; unless all was lost.
    prop_assert!(hop.coded_bits() >= report.harq.coded_bits);
    prop_assert!(lost || hop.coded_bits() == report.harq.coded_bits);
    prop_assert!(report.utilisation <= 1.0 && report.stalled_ratio + report.utilisation <= 1.0 + 1e-9, "{:?}", report);
    prop_assert_eq!(hop.harq().processes, 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    /// Whatever happens when: packets leave once, nothing is sent while nobody serves, and what is left is worked off.
    /// Who wakes the last hop only when it asks sees each output at the same instant as who wakes it at each step.
    #[test]
    fn a_last_hop_outlives_its_satellites(
        events in events(), propagation in propagation(), harq in scheme(),
        scheduler in prop::sample::select(SchedulerConfig::ALL), limit in prop::option::of(1u64..20),
        rate in 1u64..60, clear in any::<bool>(), capacity in prop::option::of(0u32..300), seed in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut settings = json!({
            "rate": format!("{rate} Mbit/s"), "delay": "orbit", "scheduler": scheduler_json(scheduler),
            "harq": harq.clone(), "reordering": { "enabled": capacity.is_some(), "capacity": capacity.unwrap_or(0) },
            "estimate": { "interval": format!("{} ms", seed % 7), "age": format!("{} ms", seed % 3 * 10) },
        });
        if let Some(limit) = limit {
            settings["scheduler"]["limit"] = json!(format!("{limit} ms"));
        }
        let mut events = events;
        if cut && harq["kind"] != "none" {
            settings["segmentation"] = json!({});
            for (_, event) in &mut events {
                if let Event::Offer { size, .. } = event {
                    *size *= 3;
                }
            }
        }
        let [lazy, stepwise] = [false, true].map(|stepwise| {
            play(Sky::new(&settings, &propagation, clear, u64::from(seed), stepwise), &events)
        });
        check(&lazy, &events, capacity.is_some())?;
        prop_assert_eq!(&lazy.run.log, &stepwise.run.log);
    }
}

/// What is kept is kept to the instant: an ideal handover without an interruption changes nothing.
#[test]
fn an_ideal_handover_is_not_noticed() {
    for (scheduler, harq) in SchedulerConfig::ALL.iter().flat_map(|s| HarqConfig::ALL.iter().map(move |h| (s, h))) {
        let scheduler = scheduler_json(scheduler);
        let settings =
            json!({ "rate": "10 Mbit/s", "delay": "orbit", "scheduler": scheduler, "harq": { "kind": harq } });
        let events = |handovers: bool| {
            let offer = |id: u32| {
                (Duration::from_micros(700), Event::Offer { flow: id * 7 % (USERS * 2), size: 100 + id % 1000 })
            };
            let keep = Event::HandOver { interruption: Duration::ZERO, transfer: Transfer::Keep };
            let with = move |id: u32| {
                std::iter::once(offer(id)).chain((handovers && id.is_multiple_of(3)).then_some((Duration::ZERO, keep)))
            };
            (0..150).flat_map(with).collect::<Vec<_>>()
        };
        let propagation = Propagation::fixed(Duration::from_millis(10));
        let log = |handovers| play(Sky::new(&settings, &propagation, false, 3, false), &events(handovers)).run.log;
        assert_eq!(log(true), log(false), "{scheduler}, {harq}");
    }
}

/// The same of a loss to which nothing is exposed.
#[test]
fn a_last_hop_at_rest_loses_nothing() {
    let settings = json!({ "rate": "10 Mbit/s", "delay": "10 ms" });
    let mut run = Run::of(settings, vec![common::Scripted::constant(CLEAR)], None);
    for transfer in [Transfer::Keep, Transfer::Forward { delay: Duration::from_millis(3) }, Transfer::Lose] {
        run.hand_over(run.now + Duration::from_millis(50), run.now + Duration::from_millis(60), transfer);
        assert_eq!(run.hop.poll_timeout(), None);
    }
    run.offer(ms(200), common::packet(0, 1000));
    run.finish();
    assert_eq!(run.delivered().len(), 1);
}
