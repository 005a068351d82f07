//! What every reliability scheme, scheduler and queue manager of the registries must do, alone and joined in a last
//! hop.

use std::collections::{BTreeMap, VecDeque};

use crate::common::schemes::{has_option, read, schemes_with_feedback};
use crate::common::{Run, Scripted, Wild, choosers, rng, scheduler_json, uniform_block_fading, user_streams};
use channel::{CLEAR, Channel, ERASED};
use link::harq::{Burst, Decoding, Feedback};
use link::scheduler::{Parts, View};
use link::{
    Backlog, DropReason, Ecn, EstimateConfig, Estimates, Harq, HarqConfig, LastHop, Limit, LinkFacts, Output,
    PacketRef, Queue, QueueConfig, QueueManager, Scheduler, SchedulerConfig,
};
use proptest::prelude::*;
use rand::Rng;
use serde_json::json;
use units::{BitRate, Db, Duration, Time};

const USERS: u32 = 4;

/// Two flows for each user, of which every third is ECT(1); of the others every other packet can be marked.
fn packet(id: u32, flow: u32, size: u32) -> PacketRef {
    let ecn = match (flow % 3, id % 2) {
        (2, _) => Ecn::Ect1,
        (_, 0) => Ecn::Ect0,
        _ => Ecn::NotEct,
    };
    PacketRef { id, flow, user: flow / 2, class: 0, size, ecn }
}

const LINK: LinkFacts =
    LinkFacts { rate: BitRate::from_bps(8_000_000), base_rtt: Duration::from_millis(20), users: USERS as usize };

/// Options with which managers act on the short queues of these tests.
fn queue_json(kind: &str) -> serde_json::Value {
    match kind {
        "none" => json!({ "kind": "droptail" }),
        "droptail" => json!({ "kind": kind, "mark_above": "2 packets" }),
        "red" => json!({ "kind": kind, "min": "1 packet", "max": "3 packets", "weight": 0.5 }),
        "codel" => json!({ "kind": kind, "target": "1 ms", "interval": "5 ms" }),
        "pie" => {
            json!({ "kind": kind, "target": "1 ms", "interval": "1 ms", "burst": "2 ms", "alpha": 100, "beta": 100 })
        }
        "dualpi2" => json!({ "kind": kind, "target": "1 ms", "rtt_max": "2 ms" }),
        "time-limit" => json!({ "kind": kind, "limit": "3 ms" }),
        other => json!({ "kind": other }),
    }
}

fn manager(kind: &str) -> Option<Box<dyn QueueManager>> {
    let config: QueueConfig = serde_json::from_value(queue_json(kind)).expect("valid options");
    config.entry().build(&LINK, rng(9))
}

fn scheduler(kind: &str, queue: &str, limit: Option<Duration>) -> Box<dyn Scheduler> {
    let mut options = scheduler_json(kind);
    if let Some(limit) = limit {
        options["limit"] = json!(limit);
    }
    let config: SchedulerConfig = serde_json::from_value(options).expect("every other option has a default");
    assert_eq!(config.kind(), kind);
    let mut queue = |limit| Queue::new(limit, manager(queue));
    config.entry().build(&mut Parts { link: &LINK, queue: &mut queue, choosers: &mut choosers }).unwrap()
}

fn harq(kind: &str) -> Box<dyn Harq> {
    harq_of(&json!({ "kind": kind }))
}

fn harq_of(options: &serde_json::Value) -> Box<dyn Harq> {
    let config = read(options);
    assert_eq!(config.kind(), options["kind"]);
    let law = config.entry().law_request(Duration::ZERO).map(|law| uniform_block_fading(law.read, 200));
    config.entry().build(law.as_ref(), user_streams(1)).unwrap()
}

/// The fewest processes in use with which a user may have to wait: all of them where users share them. A window of a
/// user's own may be closed by one that has no feedback yet. Without feedback nobody waits.
fn blocked_from(harq: &mut dyn Harq) -> usize {
    if !harq.sends_feedback() {
        return usize::MAX;
    }
    let starts = |id: &u32| {
        let may_start = harq.may_start(0);
        if may_start {
            harq.start(Time::ZERO, &packet(*id, 0, 1000), u64::from(*id), harq.wants_estimate().then_some(0.5));
        }
        may_start
    };
    let started = (0..1000).take_while(starts).count();
    if harq.may_start(1) { 1 } else { started }
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

    /// A scheduler alone: what it takes it gives back, once, in the order of the flow, and it is never idle for
    /// nothing.
    #[test]
    fn a_scheduler_conserves_packets_and_order(
        (kind, queue) in scheduler_and_queue(), limit in limit(), arrivals in arrivals(),
        departures in prop::collection::vec(any::<bool>(), 400), seed in any::<u8>(), drained in 0usize..400
    ) {
        let mut bench = Bench::new(scheduler(kind, queue, limit), u64::from(seed));
        let mut departures = departures.iter();
        for (id, arrival) in arrivals.iter().enumerate() {
            bench.now += arrival.gap;
            bench.offer(packet(id as u32, arrival.flow, arrival.size));
            while *departures.next().unwrap_or(&false) {
                bench.take_one()?;
            }
            if id == drained {
                bench.drain()?;
            }
            bench.check_backlog()?;
        }
        while bench.scheduler.backlog().packets > 0 {
            bench.take_one()?;
        }
        prop_assert!(bench.waiting.values().all(VecDeque::is_empty));
        prop_assert!(bench.select().is_none());
    }

    /// A reliability scheme alone: every packet is decided once, every bit counted, every process given back. With
    /// delays and lost feedback: `harq_conformance.rs`.
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
                    let estimate = harq.wants_estimate().then_some(0.5);
                    let coded = harq.start(Time::ZERO, &packet, sequence, estimate);
                    on_air.push_back(Burst { coded, packet, sequence });
                } else if let Some(burst) = harq.poll_burst(Time::ZERO) {
                    on_air.push_back(burst);
                }
                if let Some(burst) = on_air.pop_front() {
                    let snr = [CLEAR, ERASED, Db::new(0.0), Db::new(6.0)][chance.next_u64() as usize % 4];
                    (bits, bursts) = (bits + u64::from(burst.coded.bits), bursts + 1);
                    prop_assert!(burst.coded.bits > 0);
                    let reception = harq.receive(Time::ZERO, &burst, snr);
                    if reception.decoding != Decoding::Undecided {
                        let fate = &mut decided[burst.packet.id as usize];
                        prop_assert!(fate.is_none(), "{} decided {:?} twice", kind, burst.packet);
                        *fate = Some(reception.decoding == Decoding::Decoded);
                        prop_assert_eq!(burst.sequence, u64::from(burst.packet.id));
                        prop_assert_eq!(burst.packet, packet(burst.packet.id, 0, sizes[burst.packet.id as usize]));
                    }
                    if let Some(feedback) = reception.feedback {
                        prop_assert_eq!(feedback == Feedback::Ack, reception.decoding == Decoding::Decoded);
                        harq.handle_feedback(Time::ZERO, burst.coded.feedback(feedback));
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
            let decoded = decided.iter().zip(&sizes).filter(|(fate, _)| **fate == Some(true));
            let useful: u64 = decoded.map(|(_, size)| u64::from(*size) * 8).sum();
            prop_assert_eq!(counters.useful_bits, useful);
            prop_assert_eq!((harq.undecided(), counters.processes), (0, 0));
            prop_assert!((0..USERS).all(|user| harq.may_start(user)));
        }
    }

    /// Joined: each packet leaves once, the rate is never exceeded, and the transmitter rests only when nothing may be
    /// sent.
    #[test]
    fn a_last_hop_conserves_packets_and_keeps_its_rate(
        (scheduler, queue) in scheduler_and_queue(), harq in prop::sample::select(HarqConfig::ALL), limit in limit(),
        arrivals in arrivals(), reordering in any::<bool>(), rate in 1u64..100, delay in 0u64..30, seed in any::<u8>()
    ) {
        let mut settings = json!({
            "rate": format!("{rate} Mbit/s"), "delay": format!("{delay} ms"), "scheduler": scheduler_json(scheduler),
            "harq": { "kind": harq }, "queue": queue_json(queue),
            "reordering": { "enabled": reordering, "capacity": seed % 30 },
            "estimate": { "interval": format!("{} ms", seed % 7), "age": format!("{} ms", seed % 3 * 10) },
        });
        if has_option(harq, "processes") {
            settings["harq"]["processes"] = json!(20);
        }
        if let Some(limit) = limit {
            settings["scheduler"]["limit"] = json!(limit);
        }
        let law = uniform_block_fading(4, 200);
        let blocked_from = blocked_from(harq_of(&settings["harq"]).as_mut());
        let mut run = Run::of(settings, wild_channels(u64::from(seed)), Some(&law));
        let mut sent = Sent { blocked_from, ..Sent::default() };
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

    /// With a clear channel and no coding, any scheduler that is never idle for nothing ends its busy periods when a
    /// single-server queue does (Lindley's recursion).
    #[test]
    fn busy_periods_are_those_of_a_single_server(
        scheduler in prop::sample::select(SchedulerConfig::ALL), arrivals in arrivals()
    ) {
        let mut settings = json!({ "rate": "8 Mbit/s", "delay": "10 ms", "scheduler": scheduler_json(scheduler) });
        // Of which one user's part holds all of what is offered.
        settings["scheduler"]["buffer"] = json!("1000 packets");
        settings["scheduler"]["limit"] = json!("100 s");
        let channels = (0..USERS).map(|_| Scripted::constant(CLEAR) as Box<dyn Channel>).collect();
        let mut run = Run::of(settings, channels, None);
        let (mut at, mut free) = (Time::ZERO, Time::ZERO);
        for (id, arrival) in arrivals.iter().enumerate() {
            at += arrival.gap;
            run.offer(at, packet(id as u32, arrival.flow, arrival.size));
            free = free.max(at) + Duration::from_micros(u64::from(arrival.size));
        }
        run.finish();
        prop_assert_eq!(run.delivered().len(), arrivals.len());
        prop_assert_eq!(run.log.last().unwrap().0, free + Duration::from_millis(10), "{}", scheduler);
        prop_assert_eq!(run.hop.sending_until(), free);
    }
}

/// Every scheduler with every manager that it takes.
fn schedulers() -> impl Iterator<Item = (&'static str, &'static str)> {
    let managers = |scheduler: &'static str| {
        let config: SchedulerConfig = serde_json::from_value(scheduler_json(scheduler)).expect("valid");
        let queues = QueueConfig::ALL.iter().map(move |queue| (scheduler, *queue));
        queues.filter(move |(_, queue)| !config.entry().manages_queues() || *queue == "none")
    };
    let own = SchedulerConfig::ALL.iter().map(|scheduler| (*scheduler, "none"));
    own.chain(SchedulerConfig::ALL.iter().flat_map(move |scheduler| managers(scheduler)))
}

fn scheduler_and_queue() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop::sample::select(schedulers().collect::<Vec<_>>())
}

/// A limit on the wait, or none.
fn limit() -> impl Strategy<Value = Option<Duration>> {
    prop::option::of((1u64..20).prop_map(Duration::from_millis))
}

/// A scheduler, and what it holds according to what it said.
struct Bench {
    scheduler: Box<dyn Scheduler>,
    harq: Box<dyn Harq>,
    estimates: Estimates,
    channels: Vec<Box<dyn Channel>>,
    waiting: BTreeMap<u32, VecDeque<PacketRef>>,
    now: Time,
}

impl Bench {
    fn new(scheduler: Box<dyn Scheduler>, seed: u64) -> Bench {
        let estimates = Estimates::new(&EstimateConfig::default(), USERS as usize);
        let (channels, waiting) = (wild_channels(seed), BTreeMap::new());
        Bench { scheduler, harq: harq("none"), estimates, channels, waiting, now: Time::ZERO }
    }

    fn offer(&mut self, packet: PacketRef) {
        if self.scheduler.enqueue(self.now, packet).is_ok() {
            self.waiting.entry(packet.flow).or_default().push_back(packet);
        }
        self.forget_dropped();
    }

    fn select(&mut self) -> Option<PacketRef> {
        self.estimates.advance(self.now, &mut self.channels);
        let mut view = View::new(self.now, self.harq.as_ref(), &mut self.estimates, &mut self.channels);
        self.scheduler.select(self.now, &mut view)
    }

    fn take_one(&mut self) -> Result<(), TestCaseError> {
        let selected = self.select();
        self.forget_dropped();
        let Some(packet) = selected else {
            prop_assert_eq!(self.scheduler.backlog().packets, 0, "idle while packets wait");
            return Ok(());
        };
        let first = self.waiting.get_mut(&packet.flow).and_then(VecDeque::pop_front);
        let first = first.map(|first| (first.id, first.size));
        prop_assert_eq!(first, Some((packet.id, packet.size)), "the flow's first");
        check_mark(packet)
    }

    /// All is taken out, but for what had waited too long.
    fn drain(&mut self) -> Result<(), TestCaseError> {
        let mut lost = Vec::new();
        self.scheduler.drain(self.now, &mut lost);
        self.forget_dropped();
        for packet in lost {
            let first = self.waiting.get_mut(&packet.flow).and_then(VecDeque::pop_front);
            prop_assert_eq!(first.map(|first| first.id), Some(packet.id), "the flow's first");
        }
        prop_assert!(self.waiting.values().all(VecDeque::is_empty), "something stays");
        prop_assert!(self.select().is_none() && self.scheduler.backlog() == Backlog::default());
        Ok(())
    }

    fn forget_dropped(&mut self) {
        while let Some((packet, _)) = self.scheduler.poll_dropped() {
            assert!(self.scheduler.gives_up());
            let flow = self.waiting.get_mut(&packet.flow).unwrap();
            let index = flow.iter().position(|waiting| waiting.id == packet.id).expect("it was waiting");
            flow.remove(index);
        }
    }

    fn check_backlog(&self) -> Result<(), TestCaseError> {
        let packets: usize = self.waiting.values().map(VecDeque::len).sum();
        let bytes: u64 = self.waiting.values().flatten().map(|packet| u64::from(packet.size)).sum();
        let backlog = self.scheduler.backlog();
        prop_assert_eq!((backlog.packets, backlog.bytes), (packets, bytes));
        Ok(())
    }
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
    /// Processes in use from which on somebody may have to wait for one.
    blocked_from: usize,
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
        let blocked = run.hop.harq().processes >= self.blocked_from;
        prop_assert!(!idle || run.hop.queue().packets == 0 || blocked, "idle while packets wait");
        (self.bits, self.until) = (bits, until);
        Ok(())
    }
}

fn check_end(run: &Run, arrivals: &[Arrival]) -> Result<(), TestCaseError> {
    let mut left: Vec<u32> = Vec::new();
    let (mut delivered, mut marked, mut dropped) = (0u64, 0u64, Vec::new());
    for (_, output) in &run.log {
        let packet = match output {
            Output::Delivered(packet) => {
                delivered += u64::from(packet.size);
                packet
            }
            Output::Dropped(packet, reason) => {
                dropped.push(*reason);
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
    for reason in &dropped {
        let count = dropped.iter().filter(|other| *other == reason).count();
        prop_assert_eq!(report.dropped[*reason], count as u64, "{:?}", reason);
    }
    let counted = serde_json::to_value(report.dropped).expect("a table");
    let counted: u64 = counted.as_object().expect("a table").values().filter_map(serde_json::Value::as_u64).sum();
    prop_assert_eq!(counted, dropped.len() as u64);
    prop_assert_eq!(report.harq.failed, report.dropped[DropReason::Harq]);
    prop_assert_eq!(report.marked_packets, marked);
    prop_assert_eq!(report.delivered_bytes, delivered);
    prop_assert_eq!(report.harq.useful_bits, delivered * 8);
    prop_assert_eq!(report.harq.coded_bits, run.hop.coded_bits(), "what was sent arrived");
    prop_assert_eq!(run.hop.poll_timeout(), None);
    Ok(())
}

/// Feedback is a message that takes the delay: a repetition never starts sooner than one round trip after the burst
/// before.
#[test]
fn feedback_takes_its_time() {
    for harq in schemes_with_feedback() {
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

/// Every combination once.
#[test]
fn the_same_seed_gives_the_same_run() {
    for ((scheduler, queue), harq) in
        schedulers().flat_map(|pair| HarqConfig::ALL.iter().map(move |harq| (pair, *harq)))
    {
        let run = || {
            let settings = json!({
                "rate": "10 Mbit/s", "delay": "10 ms", "scheduler": scheduler_json(scheduler),
                "queue": queue_json(queue), "harq": { "kind": harq },
            });
            let law = uniform_block_fading(4, 200);
            let mut run = Run::of(settings, wild_channels(3), Some(&law));
            for id in 0..150 {
                run.offer(Time::from_nanos(u64::from(id) * 700_000), packet(id, id * 7 % (USERS * 2), 100 + id % 1000));
            }
            run.finish();
            let report = run.hop.report(Duration::from_secs(3));
            (run.log, report)
        };
        assert_eq!(run(), run());
    }
}

/// With these options the properties above speak of what a manager does, and not of one that lets everything pass.
#[test]
fn every_manager_marks_or_drops_with_the_options_of_these_tests() {
    for kind in QueueConfig::ALL {
        let mut queue = Queue::new(Limit::Packets(1000), manager(kind));
        let mut dropped = 0;
        for id in 0..1000 {
            let now = Time::from_nanos(u64::from(id) * 1_000_000);
            dropped += u64::from(queue.push(now, packet(id, id % (USERS * 2), 1000)).is_err());
            queue.expire(now);
            // One of two leaves.
            if id % 2 == 0 {
                queue.pop(now);
            }
            dropped += std::iter::from_fn(|| queue.poll_dropped()).count() as u64;
        }
        assert!(queue.marked() + dropped > 0, "{kind} neither marks nor drops: give it options in `queue_json`");
    }
}

/// The machines move between threads.
#[test]
fn a_last_hop_is_send() {
    fn is_send<T: Send>() {}
    is_send::<LastHop>();
}
