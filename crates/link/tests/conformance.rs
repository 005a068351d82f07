//! What every reliability scheme, scheduler and queue manager of the registries must do, alone and joined in a last hop.

mod common;

use std::collections::{BTreeMap, VecDeque};

use channel::{CLEAR, Channel, ERASED};
use common::{Run, Scripted, Wild, rng, uniform_block_fading};
use link::harq::{Answer, Burst, Feedback, Verdict};
use link::scheduler::View;
use link::{
    DropReason, Ecn, Harq, HarqConfig, LastHop, Output, PacketRef, Queue, QueueConfig, QueueManager, Scheduler,
    SchedulerConfig,
};
use proptest::prelude::*;
use rand::Rng;
use serde_json::json;
use units::{BitRate, Db, Duration, Time};

const USERS: u32 = 4;

/// Two flows for each user; every other packet can be marked.
fn packet(id: u32, flow: u32, size: u32) -> PacketRef {
    PacketRef { id, flow, user: flow / 2, size, ecn: if id.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct } }
}

const RATE: BitRate = BitRate::from_bps(8_000_000);
const RTT: Duration = Duration::from_millis(20);

/// Options with which managers act on the short queues of these tests.
fn queue_json(kind: &str) -> serde_json::Value {
    match kind {
        "droptail" => json!({ "kind": kind, "mark_above": "2 packets" }),
        "red" => json!({ "kind": kind, "min": "1 packet", "max": "3 packets", "weight": 0.5 }),
        "codel" => json!({ "kind": kind, "target": "1 ms", "interval": "5 ms" }),
        other => json!({ "kind": other }),
    }
}

fn manager(kind: &str) -> Option<Box<dyn QueueManager>> {
    let config: QueueConfig = serde_json::from_value(queue_json(kind)).expect("valid options");
    assert_eq!(config.kind(), kind);
    config.build(RATE, RTT, rng(9)).unwrap()
}

fn scheduler(kind: &str, queue: &str) -> Box<dyn Scheduler> {
    let config: SchedulerConfig = serde_json::from_value(json!({ "kind": kind })).expect("every option has a default");
    assert_eq!(config.kind(), kind);
    config.build(RATE, RTT, &mut |limit| Queue::new(limit, manager(queue))).unwrap()
}

fn harq(kind: &str) -> Box<dyn Harq> {
    let config: HarqConfig = serde_json::from_value(json!({ "kind": kind })).expect("every option has a default");
    assert_eq!(config.kind(), kind);
    let law = config.planned_transmissions().map(|transmissions| uniform_block_fading(transmissions, 200));
    config.build(law.as_ref(), rng(1)).unwrap()
}

fn wild_channels(seed: u64) -> Vec<Box<dyn Channel>> {
    (0..USERS).map(|user| Box::new(Wild(rng(seed * 100 + u64::from(user)))) as Box<dyn Channel>).collect()
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    gap: Duration,
    flow: u32,
    size: u32,
}

/// Bursts of packets and pauses, of all flows and sizes.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0u64), 2 => 0u64..500_000, 1 => 0u64..40_000_000].prop_map(Duration::from_nanos);
    let arrival = (gap, 0..USERS * 2, 1u32..=1115).prop_map(|(gap, flow, size)| Arrival { gap, flow, size });
    prop::collection::vec(arrival, 1..200)
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(cases(200))]

    /// A scheduler alone: what it takes it gives back, once, in the order of the flow, and it is never idle for nothing.
    #[test]
    fn a_scheduler_conserves_packets_and_order(
        arrivals in arrivals(), departures in prop::collection::vec(any::<bool>(), 400), seed in any::<u8>()
    ) {
        for (kind, queue) in schedulers() {
            let (mut scheduler, harq) = (scheduler(kind, queue), harq("none"));
            let mut channels = wild_channels(u64::from(seed));
            let (mut waiting, mut now) = (BTreeMap::<u32, VecDeque<PacketRef>>::new(), Time::ZERO);
            let mut departures = departures.iter();
            for (id, arrival) in arrivals.iter().enumerate() {
                now += arrival.gap;
                let packet = packet(id as u32, arrival.flow, arrival.size);
                if scheduler.enqueue(now, packet).is_ok() {
                    waiting.entry(packet.flow).or_default().push_back(packet);
                }
                forget_dropped(scheduler.as_mut(), &mut waiting);
                while *departures.next().unwrap_or(&false) {
                    take_one(scheduler.as_mut(), harq.as_ref(), &mut channels, now, &mut waiting)?;
                }
                let packets: usize = waiting.values().map(VecDeque::len).sum();
                let bytes: u64 = waiting.values().flatten().map(|packet| u64::from(packet.size)).sum();
                prop_assert_eq!((scheduler.backlog().packets, scheduler.backlog().bytes), (packets, bytes), "{} {}", kind, queue);
            }
            while scheduler.backlog().packets > 0 {
                take_one(scheduler.as_mut(), harq.as_ref(), &mut channels, now, &mut waiting)?;
            }
            prop_assert!(waiting.values().all(VecDeque::is_empty));
            prop_assert!(scheduler.select(now, &mut View::new(now, harq.as_ref(), &mut channels)).is_none());
        }
    }

    /// A reliability scheme alone: every packet is decided once, every bit counted, every process given back.
    #[test]
    fn a_scheme_decides_each_packet_once(sizes in prop::collection::vec(1u32..=1115, 1..60), seed in any::<u64>()) {
        for kind in HarqConfig::ALL {
            let mut harq = harq(kind);
            let mut chance = rng(seed);
            let mut decided = vec![None; sizes.len()];
            let (mut bits, mut bursts) = (0, 0);
            let mut on_air: VecDeque<Burst> = VecDeque::new();
            let mut fresh = sizes.iter().enumerate().map(|(id, &size)| packet(id as u32, 0, size)).peekable();
            loop {
                // The order of starts, receptions and repetitions is left to chance; feedback comes at once.
                let start = fresh.peek().is_some() && harq.may_start(0) && chance.next_u64().is_multiple_of(2);
                if start {
                    let packet = fresh.next().unwrap();
                    let sequence = u64::from(packet.id);
                    let coded = harq.start(Time::ZERO, &packet, sequence);
                    on_air.push_back(Burst { coded, packet, sequence });
                } else if let Some(burst) = harq.poll_burst(Time::ZERO) {
                    on_air.push_back(burst);
                }
                if let Some(burst) = on_air.pop_front() {
                    let snr = [CLEAR, ERASED, Db::new(0.0), Db::new(6.0)][chance.next_u64() as usize % 4];
                    (bits, bursts) = (bits + u64::from(burst.coded.bits), bursts + 1);
                    prop_assert!(burst.coded.bits > 0);
                    let reception = harq.receive(Time::ZERO, &burst, snr);
                    if reception.verdict != Verdict::Undecided {
                        let fate = &mut decided[burst.packet.id as usize];
                        prop_assert!(fate.is_none(), "{} decided {:?} twice", kind, burst.packet);
                        *fate = Some(reception.verdict == Verdict::Decoded);
                        prop_assert_eq!(burst.sequence, u64::from(burst.packet.id));
                        prop_assert_eq!(burst.packet, packet(burst.packet.id, 0, sizes[burst.packet.id as usize]));
                    }
                    if let Some(answer) = reception.answer {
                        prop_assert_eq!(answer == Answer::Ack, reception.verdict == Verdict::Decoded);
                        harq.handle_feedback(Time::ZERO, Feedback { process: burst.coded.process, answer });
                    }
                } else if fresh.peek().is_none() && !harq.has_burst() {
                    break;
                }
            }
            let counters = harq.counters();
            let count = |fate| decided.iter().filter(|&&decision| decision == Some(fate)).count() as u64;
            prop_assert_eq!((counters.decoded(), counters.failed), (count(true), count(false)), "{}", kind);
            prop_assert_eq!(counters.started, sizes.len() as u64);
            prop_assert_eq!((counters.coded_bits, counters.bursts, counters.finished_bits), (bits, bursts, bits));
            let useful: u64 = decided.iter().zip(&sizes).filter(|(fate, _)| **fate == Some(true)).map(|(_, size)| u64::from(*size) * 8).sum();
            prop_assert_eq!(counters.useful_bits, useful);
            prop_assert_eq!((harq.undecided(), counters.processes), (0, 0));
            prop_assert!((0..USERS).all(|user| harq.may_start(user)));
        }
    }

    /// Joined: each packet leaves once, the rate is never exceeded, and the transmitter rests only when nothing may be sent.
    #[test]
    fn a_last_hop_conserves_packets_and_keeps_its_rate(
        arrivals in arrivals(), reordering in any::<bool>(), rate in 1u64..100, delay in 0u64..30, seed in any::<u8>()
    ) {
        for (scheduler, queue, harq) in kinds() {
            let harq = if harq == "adaptive" { json!({ "kind": harq, "processes": 20 }) } else { json!({ "kind": harq }) };
            let capacity = seed % 30;
            let settings = json!({
                "rate": format!("{rate} Mbit/s"), "delay": format!("{delay} ms"), "scheduler": { "kind": scheduler },
                "queue": queue_json(queue), "harq": harq, "reordering": { "enabled": reordering, "capacity": capacity },
            });
            let law = uniform_block_fading(4, 200);
            let mut run = Run::of(settings, wild_channels(u64::from(seed)), Some(&law));
            let mut sent = Sent::default();
            for (id, arrival) in arrivals.iter().enumerate() {
                let at = run.now + arrival.gap;
                while let Some(next) = run.hop.next_step().filter(|&next| next <= at) {
                    run.step_to(next);
                    sent.check(&run, rate * 1_000_000)?;
                }
                run.offer(at, packet(id as u32, arrival.flow, arrival.size));
                sent.check(&run, rate * 1_000_000)?;
            }
            run.finish();
            check_end(&run, &arrivals)?;
        }
    }

    /// With a clear channel and no coding, any scheduler that is never idle for nothing ends its busy periods when a
    /// single-server queue does (Lindley's recursion).
    #[test]
    fn busy_periods_are_those_of_a_single_server(arrivals in arrivals()) {
        for scheduler in SchedulerConfig::ALL {
            let settings = json!({ "rate": "8 Mbit/s", "delay": "10 ms", "scheduler": { "kind": scheduler } });
            let channels = (0..USERS).map(|_| Scripted::constant(CLEAR) as Box<dyn Channel>).collect();
            let mut run = Run::of(settings, channels, None);
            let (mut at, mut free) = (Time::ZERO, Time::ZERO);
            for (id, arrival) in arrivals.iter().enumerate() {
                at += arrival.gap;
                run.offer(at, packet(id as u32, arrival.flow, arrival.size));
                // The default buffer, 160 kB here, holds all of what is offered.
                free = free.max(at) + Duration::from_micros(u64::from(arrival.size));
            }
            run.finish();
            prop_assert_eq!(run.delivered().len(), arrivals.len());
            prop_assert_eq!(run.log.last().unwrap().0, free + Duration::from_millis(10), "{}", scheduler);
            prop_assert_eq!(run.hop.sending_until(), free);
        }
    }
}

fn schedulers() -> impl Iterator<Item = (&'static str, &'static str)> {
    SchedulerConfig::ALL.iter().flat_map(|scheduler| QueueConfig::ALL.iter().map(move |queue| (*scheduler, *queue)))
}

fn kinds() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    schedulers().flat_map(|(scheduler, queue)| HarqConfig::ALL.iter().map(move |harq| (scheduler, queue, *harq)))
}

fn forget_dropped(scheduler: &mut dyn Scheduler, waiting: &mut BTreeMap<u32, VecDeque<PacketRef>>) {
    while let Some((packet, reason)) = scheduler.poll_dropped() {
        assert!(matches!(reason, DropReason::Early | DropReason::Timeout), "{reason:?}");
        let flow = waiting.get_mut(&packet.flow).unwrap();
        let place = flow.iter().position(|waiting| waiting.id == packet.id).expect("it was waiting");
        flow.remove(place);
    }
}

fn take_one(
    scheduler: &mut dyn Scheduler,
    harq: &dyn Harq,
    channels: &mut [Box<dyn Channel>],
    now: Time,
    waiting: &mut BTreeMap<u32, VecDeque<PacketRef>>,
) -> Result<(), TestCaseError> {
    let selected = scheduler.select(now, &mut View::new(now, harq, channels));
    forget_dropped(scheduler, waiting);
    match selected {
        Some(packet) => {
            let first = waiting.get_mut(&packet.flow).and_then(VecDeque::pop_front);
            prop_assert_eq!(
                first.map(|first| (first.id, first.size)),
                Some((packet.id, packet.size)),
                "the flow's first"
            );
            check_mark(packet)?;
        }
        None => prop_assert_eq!(scheduler.backlog().packets, 0, "idle while packets wait"),
    }
    Ok(())
}

/// Only a packet whose transport understands marks gets one.
fn check_mark(left: PacketRef) -> Result<(), TestCaseError> {
    let came = packet(left.id, left.flow, left.size);
    prop_assert!(left.ecn == came.ecn || (left.ecn == Ecn::Ce && came.ecn.is_capable()), "{:?}", left);
    Ok(())
}

/// What the transmitter has sent when it was last looked at.
#[derive(Default)]
struct Sent {
    bits: u64,
    until: Time,
}

impl Sent {
    fn check(&mut self, run: &Run, bps: u64) -> Result<(), TestCaseError> {
        let (bits, until) = (run.hop.coded_bits(), run.hop.sending_until());
        if bits > self.bits {
            // At most one burst is begun at a time, none before the last has ended.
            prop_assert!(self.until <= run.now);
            let time = until.since(run.now).as_nanos();
            prop_assert_eq!(time, ((bits - self.bits) * 1_000_000_000).div_ceil(bps));
        }
        let idle = until <= run.now && run.hop.next_step() != Some(run.now);
        let full = run.hop.harq().processes == 20;
        prop_assert!(!idle || run.hop.queue().packets == 0 || full, "idle while packets wait");
        *self = Sent { bits, until };
        Ok(())
    }
}

fn check_end(run: &Run, arrivals: &[Arrival]) -> Result<(), TestCaseError> {
    let mut left: Vec<u32> = Vec::new();
    let (mut delivered, mut marked, mut dropped) = (0u64, 0u64, BTreeMap::new());
    for (_, output) in &run.log {
        let packet = match output {
            Output::Delivered(packet) => {
                delivered += u64::from(packet.size);
                packet
            }
            Output::Dropped(packet, reason) => {
                *dropped.entry(format!("{reason:?}")).or_insert(0) += 1;
                packet
            }
        };
        prop_assert_eq!(packet.size, arrivals[packet.id as usize].size);
        check_mark(*packet)?;
        marked += u64::from(packet.ecn == Ecn::Ce);
        left.push(packet.id);
    }
    left.sort_unstable();
    prop_assert!(left.into_iter().eq(0..arrivals.len() as u32), "each leaves once");
    let report = run.hop.report(Duration::from_secs(100));
    let drops = |reason: &str| dropped.get(reason).copied().unwrap_or(0u64);
    prop_assert_eq!(report.dropped_overflow, drops("Overflow"));
    prop_assert_eq!(report.dropped_early, drops("Early"));
    prop_assert_eq!(report.marked_packets, marked);
    prop_assert_eq!(report.dropped_timeout, drops("Timeout"));
    prop_assert_eq!((report.dropped_harq, report.harq.failed), (drops("Harq"), drops("Harq")));
    prop_assert_eq!(report.delivered_bytes, delivered);
    prop_assert_eq!(report.harq.useful_bits, delivered * 8);
    prop_assert_eq!(report.harq.coded_bits, run.hop.coded_bits(), "what was sent arrived");
    prop_assert_eq!(run.hop.poll_timeout(), None);
    Ok(())
}

/// Feedback is a message that takes the delay: a repetition never starts sooner than one round trip after the burst before.
#[test]
fn feedback_takes_its_time() {
    for harq in HarqConfig::ALL {
        let (channel, asked) = Scripted::new(&[], ERASED);
        let law = uniform_block_fading(4, 200);
        let settings = json!({ "rate": "50 Mbit/s", "delay": "10 ms", "harq": { "kind": harq } });
        let mut run = Run::of(settings, vec![channel], Some(&law));
        run.offer(Time::ZERO, PacketRef { user: 0, ..packet(0, 0, 1115) });
        run.finish();
        let starts = asked.lock().unwrap();
        assert_eq!(starts.len() as u64, run.hop.harq().bursts);
        assert!(starts.windows(2).all(|pair| pair[1].since(pair[0]) > Duration::from_millis(20)), "{harq}: {starts:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for (scheduler, queue, harq) in kinds() {
        let run = || {
            let settings = json!({
                "rate": "10 Mbit/s", "delay": "10 ms",
                "scheduler": { "kind": scheduler }, "queue": { "kind": queue }, "harq": { "kind": harq },
            });
            let law = uniform_block_fading(4, 200);
            let mut run = Run::of(settings, wild_channels(3), Some(&law));
            for id in 0..3000 {
                run.offer(Time::from_nanos(u64::from(id) * 700_000), packet(id, id * 7 % (USERS * 2), 100 + id % 1000));
            }
            run.finish();
            let report = run.hop.report(Duration::from_secs(3));
            (run.log, report)
        };
        assert_eq!(run(), run());
    }
}

/// The machines move between threads.
#[test]
fn a_last_hop_is_send() {
    fn is_send<T: Send>() {}
    is_send::<LastHop>();
}
