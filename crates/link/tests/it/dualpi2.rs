//! DualPI2 against RFC 9332: its controller, its coupling, its service, its behaviour in overload.

use crate::common::{Run, Scripted, ms, packet, us};
use channel::CLEAR;
use link::queue::dualpi2::{DualPi2, DualPi2Config, Service};
use link::queue::{Decision, Heads, Lane, QueueManager};
use link::{Backlog, DropReason, Ecn, Output, PacketRef, Queue};
use serde_json::{Value, json};
use units::{Duration, Time};

fn of(id: u32, ecn: Ecn) -> PacketRef {
    PacketRef { ecn, ..packet(id, 1000) }
}

fn waiting(packets: usize) -> Backlog {
    Backlog { packets, bytes: packets as u64 * 1000 }
}

fn hop(queue: Value) -> Run {
    let settings = json!({
        "rate": "8 Mbit/s", "delay": "10 ms", "queue": queue,
        "scheduler": { "kind": "droptail", "buffer": "400 packets" },
    });
    Run::of(settings, vec![Scripted::constant(CLEAR)], None)
}

/// A manager whose Classic queue's first packet has waited 40 ms at each computation until the base probability is
/// `base`.
fn at_base(config: DualPi2Config, base: f64) -> (DualPi2, Time) {
    let mut manager = DualPi2::new(config);
    let mut now = Time::ZERO;
    while manager.base() < base {
        let since = now;
        now += manager.interval();
        let classic = Time::from_nanos((now.as_nanos()).saturating_sub(40_000_000)).min(since);
        manager.on_progress(now, Heads { classic: Some(classic), low_latency: None });
    }
    (manager, now)
}

/// The share of so many packets that get a signal.
fn share(manager: &mut DualPi2, ecn: Ecn, signal: Decision) -> f64 {
    let decide = |manager: &mut DualPi2, id| manager.on_departure(ms(0), &of(id, ecn), Duration::ZERO, waiting(1));
    let hits = (0..20_000).filter(|&id| decide(manager, id) == signal).count();
    hits as f64 / 20_000.0
}

/// Appendix A.1, by hand: T_update = 15 ms, alpha = 0.1 * 0.015 / 0.01 = 0.15 /s, beta = 3 /s.
#[test]
fn the_base_probability_follows_a_step_of_the_waiting_time() {
    let mut manager = DualPi2::new(DualPi2Config::default());
    assert_eq!(manager.interval(), Duration::from_millis(15));
    // A packet comes at 100 ms and stays at the head: it has waited 5 ms, 20 ms, 35 ms, … at 105 ms, 120 ms, 135 ms, ….
    let heads = Heads { classic: Some(ms(100)), low_latency: None };
    manager.on_progress(ms(100), Heads::default());
    assert_eq!(manager.base(), 0.0, "an empty queue");
    let (mut base, mut before) = (0.0f64, 0.0);
    for step in 7..20u64 {
        manager.on_progress(ms(15 * step), heads);
        let wait = 0.015 * step as f64 - 0.1;
        base = (base + 0.15 * (wait - 0.015) + 3.0 * (wait - before)).clamp(0.0, 1.0);
        before = wait;
        assert!((manager.base() - base).abs() < 1e-12, "{step}: {} {base}", manager.base());
    }
    // The same in one call, as after a long time without an event.
    let mut late = DualPi2::new(DualPi2Config::default());
    late.on_progress(ms(100), Heads::default());
    late.on_progress(ms(15 * 19), heads);
    assert_eq!(late.base(), manager.base());
    // It empties: the probability falls to nothing, beta's part at once and alpha's over time.
    manager.on_progress(ms(300), Heads::default());
    let falling = manager.base();
    manager.on_progress(ms(600), Heads::default());
    assert!(manager.base() < falling);
    manager.on_progress(ms(60_000), Heads::default());
    assert_eq!(manager.base(), 0.0);
}

/// Section 2.1: p_C is the square of p', p_CL k times it; what cannot be marked is dropped.
#[test]
fn signals_are_coupled() {
    for coupling in [2.0, 3.0] {
        let config = DualPi2Config { coupling, ..DualPi2Config::default() };
        let (mut manager, _) = at_base(config, 0.15);
        let base = manager.base();
        assert!(base < 0.3, "{base}");
        for (ecn, signal, expected) in [
            (Ecn::Ect1, Decision::Mark, coupling * base),
            (Ecn::Ect0, Decision::Mark, base * base),
            (Ecn::NotEct, Decision::Drop(DropReason::Early), base * base),
        ] {
            let share = share(&mut manager, ecn, signal);
            assert!((share - expected).abs() < 1e-4, "{ecn:?}: {share} of {expected}");
        }
    }
}

/// Appendix A.2: with p_C at 1/k² and more, both queues drop with it, and what is left of L is marked.
#[test]
fn a_saturated_queue_drops_in_both_lanes() {
    let (mut manager, _) = at_base(DualPi2Config::default(), 0.6);
    let dropped = manager.base() * manager.base();
    for (ecn, rest) in [(Ecn::Ect1, Decision::Mark), (Ecn::Ect0, Decision::Pass), (Ecn::NotEct, Decision::Pass)] {
        let share_of_drops = share(&mut manager, ecn, Decision::Drop(DropReason::Early));
        assert!((share_of_drops - dropped).abs() < 1e-4, "{ecn:?}: {share_of_drops}");
        let others = share(&mut manager, ecn, rest);
        assert!((others - (1.0 - dropped)).abs() < 1e-4, "{ecn:?}: {others}");
    }
}

/// The ramp from 800 µs to 1200 µs, and no mark for a packet with none behind it.
#[test]
fn a_ramp_marks_what_waits_in_the_low_latency_queue() {
    for (waited, expected) in [(700, 0.0), (800, 0.0), (900, 0.25), (1000, 0.5), (1200, 1.0), (9000, 1.0)] {
        let mut manager = DualPi2::new(DualPi2Config::default());
        let mut hits = |behind| {
            let decide =
                |id| manager.on_departure(ms(0), &of(id, Ecn::Ect1), Duration::from_micros(waited), waiting(behind));
            (0..1000).map(decide).filter(|&decision| decision == Decision::Mark).count() as f64 / 1000.0
        };
        assert!((hits(1) - expected).abs() < 2e-3, "{waited} µs");
        assert_eq!(hits(0), 0.0);
    }
    let step = json!({ "kind": "dualpi2", "mark_from": "1 ms", "mark_all": "1 ms" });
    let mut run = hop(step);
    (0..4).for_each(|id| run.offer(ms(0), of(id, Ecn::Ect1)));
    run.finish();
    let marked = |entry: &&(Time, Output)| matches!(entry.1, Output::Delivered(PacketRef { ecn: Ecn::Ce, .. }));
    let ids: Vec<usize> = run.log.iter().enumerate().filter(|(_, entry)| marked(entry)).map(|(n, _)| n).collect();
    // 0 goes at once, 1 makes the count one but not more, 3 leaves nobody behind.
    assert_eq!(ids, [2]);
}

#[test]
fn the_low_latency_queue_goes_first_but_for_the_share_of_the_other() {
    // 100 packets of each at once; a millisecond each.
    let order = |queue: Value| {
        let mut run = hop(queue);
        (0..100).for_each(|id| run.offer(ms(0), of(id, Ecn::NotEct)));
        (100..200).for_each(|id| run.offer(ms(0), of(id, Ecn::Ect1)));
        run.finish();
        run.delivered_ids()
    };
    let weighted = order(json!({ "kind": "dualpi2", "target": "1 s", "rtt_max": "10 s" }));
    let of_low = weighted[1..101].iter().filter(|&&id| id >= 100).count();
    assert!((89..=92).contains(&of_low), "{of_low} of 100");
    // The first packet was being sent when the others came.
    assert_eq!(&weighted[..3], [0, 100, 101]);
    let shifted = order(json!({ "kind": "dualpi2", "target": "1 s", "rtt_max": "10 s", "service": "time-shifted" }));
    assert!(shifted[1..101].iter().all(|&id| id >= 100), "two seconds later than all");
}

#[test]
fn the_shift_is_how_much_longer_a_classic_packet_waits() {
    let manager = DualPi2::new(DualPi2Config { service: Service::TimeShifted, ..DualPi2Config::default() });
    let first = |classic, low| manager.first(Heads { classic: Some(ms(classic)), low_latency: Some(ms(low)) });
    assert_eq!((first(10, 40), first(10, 41)), (Lane::LowLatency, Lane::Classic), "twice the target of 15 ms");
}

/// A marked packet belongs to the low-latency queue (section 2.3).
#[test]
fn packets_go_to_queues_by_their_codepoint() {
    let manager = DualPi2::new(DualPi2Config::default());
    let lanes = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(|ecn| manager.lane(&of(0, ecn)));
    assert_eq!(lanes, [Lane::Classic, Lane::Classic, Lane::LowLatency, Lane::LowLatency]);
}

/// Both queues share the limit, expire together and are emptied together; the bytes add up.
#[test]
fn two_queues_are_one_to_whoever_holds_them() {
    let manager: Box<dyn QueueManager> = Box::new(DualPi2::new(DualPi2Config::default()));
    let mut queue = Queue::new(link::Limit::Packets(4), Some(manager)).with_max_wait(Some(Duration::from_millis(50)));
    for (id, ecn) in [Ecn::NotEct, Ecn::Ect1, Ecn::NotEct, Ecn::Ect1].into_iter().enumerate() {
        queue.push(ms(10 * id as u64), of(id as u32, ecn)).unwrap();
    }
    assert_eq!(queue.push(ms(40), of(4, Ecn::Ect1)), Err(DropReason::Overflow));
    assert_eq!((queue.backlog(), queue.front().map(|packet| packet.id)), (waiting(4), Some(1)));
    let sizes: Vec<Option<u32>> = (0..5).map(|index| queue.size_at(index)).collect();
    assert_eq!(sizes, [Some(1000), Some(1000), Some(1000), Some(1000), None]);
    assert!(queue.expire(ms(61)), "0 and 1 came more than 50 ms ago");
    let dropped: Vec<u32> = std::iter::from_fn(|| queue.poll_dropped()).map(|(packet, _)| packet.id).collect();
    assert_eq!((dropped, queue.backlog()), (vec![0, 1], waiting(2)));
    assert_eq!(queue.pop(ms(62)).map(|packet| packet.id), Some(3), "of low latency");
    let left: Vec<u32> = queue.drain(ms(63)).map(|packet| packet.id).collect();
    assert_eq!((left, queue.backlog(), queue.front()), (vec![2], Backlog::default(), None));
}

/// Open loop at 1.2 times the rate: the controller drops about what is too much, and the Classic wait settles at the
/// target.
#[test]
fn the_classic_queue_settles_at_its_target() {
    let mut run = hop(json!({ "kind": "dualpi2" }));
    for id in 0..60_000u32 {
        run.offer(us(u64::from(id) * 833), packet(id, 1000));
    }
    run.finish();
    let came = |id: u32| us(u64::from(id) * 833);
    let delivered: Vec<f64> = run
        .delivered()
        .into_iter()
        .filter(|&(at, _)| at > ms(30_000) && at < ms(49_000))
        .map(|(at, id)| at.since(came(id)).as_secs_f64() - 0.011)
        .collect();
    let mean = delivered.iter().sum::<f64>() / delivered.len() as f64;
    assert!((mean - 0.015).abs() < 0.003, "{mean}");
    let dropped = run.log.iter().filter(|entry| matches!(entry.1, Output::Dropped(_, DropReason::Early))).count();
    let excess = 1.0 - 0.833;
    assert!((dropped as f64 / 60_000.0 - excess).abs() < 0.02, "{dropped}");
}

#[test]
fn options_that_cannot_be_are_refused() {
    let refused = |queue: Value| {
        let config: link::LastHopConfig =
            serde_json::from_value(json!({ "rate": "8 Mbit/s", "delay": "1 ms", "queue": queue })).unwrap();
        config.check(Duration::from_millis(20), 1).expect_err("refused").to_string()
    };
    for (queue, words) in [
        (json!({ "kind": "dualpi2", "target": "0 s" }), "queue.target: 0 s given, at least 100 us needed"),
        (json!({ "kind": "dualpi2", "rtt_max": "2 ns" }), "queue.rtt_max: 2 ns given, at least 1 ms needed"),
        (json!({ "kind": "dualpi2", "coupling": 0 }), "queue.coupling: 0 given, 1 to 100 allowed"),
        (json!({ "kind": "dualpi2", "mark_all": "1 us" }), "at least mark_from"),
        (json!({ "kind": "dualpi2", "classic_share": 0 }), "0.01 to 0.99 allowed"),
        (json!({ "kind": "dualpi2", "time_shift": "1 ms" }), "time-shifted"),
    ] {
        let message = refused(queue);
        assert!(message.contains(words), "{message}");
    }
}
