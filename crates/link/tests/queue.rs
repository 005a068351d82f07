//! Queue managers against their specifications, alone and in a last hop.

mod common;

use channel::CLEAR;
use common::{Run, Scripted, ms, packet, rng, us};
use link::queue::codel::{Codel, CodelConfig};
use link::queue::red::{Red, RedConfig};
use link::queue::{Decision, QueueManager};
use link::{Backlog, DropReason, Ecn, LastHopConfig, Output, PacketRef, QueueConfig};
use rand::Rng;
use serde_json::{Value, json};
use units::{BitRate, Duration, Time};

const RATE: BitRate = BitRate::from_bps(8_000_000); // 1000 B in a millisecond
const RTT: Duration = Duration::from_millis(160);

fn ect(id: u32) -> PacketRef {
    PacketRef { ecn: Ecn::Ect0, ..packet(id, 1000) }
}

fn waiting(packets: usize) -> Backlog {
    Backlog { packets, bytes: packets as u64 * 1000 }
}

fn hop(queue: Value) -> Run {
    let settings = json!({
        "rate": "8 Mbit/s", "delay": "10 ms", "scheduler": { "kind": "droptail", "buffer": "100 packets" }, "queue": queue,
    });
    Run::of(settings, vec![Scripted::constant(CLEAR)], None)
}

fn marked(run: &Run) -> Vec<u32> {
    let marked = |output: &Output| match output {
        Output::Delivered(packet) if packet.ecn == Ecn::Ce => Some(packet.id),
        _ => None,
    };
    run.log.iter().filter_map(|(_, output)| marked(output)).collect()
}

// Drop-tail

#[test]
fn the_threshold_marks_what_finds_more_than_it_and_drops_only_at_the_limit() {
    for threshold in ["3 packets", "3 kB", "3 ms"] {
        let mut run = hop(json!({ "kind": "droptail", "mark_above": threshold }));
        for id in 0..8 {
            run.offer(ms(0), if id == 6 { packet(id, 1000) } else { ect(id) });
        }
        run.finish();
        // 0 is being sent; 1, 2, 3 find 0, 1, 2 packets, 4 finds 3: not more than the threshold. 6 understands no marks.
        assert_eq!(marked(&run), [5, 7], "{threshold}");
        assert_eq!(run.delivered_ids(), [0, 1, 2, 3, 4, 5, 6, 7]);
        let report = run.hop.report(Duration::from_secs(1));
        assert_eq!((report.marked_packets, report.dropped_early, report.dropped_overflow), (2, 0, 0));
    }
}

#[test]
fn a_packet_that_was_marked_before_is_not_counted_again() {
    let mut run = hop(json!({ "kind": "droptail", "mark_above": "1 packet" }));
    for id in 0..6 {
        run.offer(ms(0), PacketRef { ecn: if id == 5 { Ecn::Ce } else { Ecn::Ect1 }, ..packet(id, 1000) });
    }
    run.finish();
    assert_eq!(marked(&run), [3, 4, 5]);
    assert_eq!(run.hop.report(Duration::from_secs(1)).marked_packets, 2);
}

#[test]
fn a_mark_is_not_made_on_a_packet_that_finds_no_room() {
    let mut run = hop(json!({ "kind": "droptail", "mark_above": "50 packets" }));
    (0..150).for_each(|id| run.offer(ms(0), ect(id)));
    run.finish();
    let report = run.hop.report(Duration::from_secs(1));
    assert_eq!((report.dropped_overflow, report.marked_packets), (49, 49));
}

// RED

fn red(config: &RedConfig) -> Red {
    Red::new(config, RATE, RTT, rng(5)).unwrap()
}

fn wide() -> RedConfig {
    serde_json::from_value(json!({ "min": "10 packets", "max": "30 packets" })).unwrap()
}

/// Floyd and Jacobson 1993, section 4: after n arrivals that all find L packets the average is L (1 - (1 - w)^n).
#[test]
fn the_average_of_red_follows_a_step_and_forgets_while_the_queue_is_empty() {
    let mut manager = red(&wide());
    let mut decay = 1.0;
    for _ in 0..500 {
        manager.on_arrival(ms(0), &packet(0, 1000), waiting(8));
        decay *= 1.0 - 0.002;
        assert!((manager.average() - 8.0 * (1.0 - decay)).abs() < 1e-9);
    }
    // Empty from 1 s on; at 1.25 s 250 typical packets could have left.
    manager.on_departure(ms(1000), &packet(0, 1000), Duration::ZERO, waiting(0));
    let before = manager.average();
    manager.on_arrival(ms(1250), &packet(0, 1000), waiting(0));
    let forgotten = libm::pow(1.0 - 0.002, 250.0);
    assert!((manager.average() - before * forgotten).abs() < 1e-9, "{} of {before}", manager.average());
    // A packet that found it empty and was refused starts no new pause in the past.
    let before = manager.average();
    manager.on_arrival(ms(1250), &packet(0, 1000), waiting(0));
    assert_eq!(manager.average(), before);
}

#[test]
fn red_measures_in_the_unit_of_its_thresholds() {
    let bytes: RedConfig = serde_json::from_value(json!({ "min": "10 kB", "max": "30 ms", "weight": 1.0 })).unwrap();
    let mut manager = red(&bytes);
    manager.on_arrival(ms(0), &packet(0, 1000), waiting(12));
    assert_eq!(manager.average(), 12_000.0);
}

/// Gaps between signals while the average stays where it is, as a share of all packets and as their spread.
fn gaps(config: &RedConfig, length: usize, packets: u32) -> Vec<u32> {
    let mut manager = red(&RedConfig { weight: 1.0, ..config.clone() });
    let mut gaps = vec![0];
    for id in 0..packets {
        *gaps.last_mut().unwrap() += 1;
        if manager.on_arrival(ms(0), &ect(id), waiting(length)) != Decision::Pass {
            gaps.push(0);
        }
    }
    gaps.pop();
    gaps
}

/// Section 5 of the paper: with p_b the gap between two signals is uniform over 1 … 1/p_b, mean 1/(2 p_b) + 1/2.
#[test]
fn signals_of_red_are_spaced_uniformly() {
    // The average at 20, the middle of 10 and 30: p_b = max_p / 2 = 1/20. The count runs from 0 after a signal and from 1 for
    // the next packet, so that the gap is uniform over 1 … 19 (a gap of g needs g p_b <= 1 - p_b).
    let gaps = gaps(&wide(), 20, 200_000);
    let mean = gaps.iter().map(|&gap| f64::from(gap)).sum::<f64>() / gaps.len() as f64;
    assert!((1..=20).contains(gaps.iter().max().unwrap()), "{:?}", gaps.iter().max());
    let counts: Vec<usize> = (1..=19).map(|gap| gaps.iter().filter(|&&other| other == gap).count()).collect();
    let expected = gaps.len() as f64 / 19.0;
    // Chi-square of 18 degrees of freedom: below 42.3 in 99.9 % of cases.
    let chi: f64 = counts.iter().map(|&count| libm::pow(count as f64 - expected, 2.0) / expected).sum();
    assert!(chi < 42.3, "{chi}: {counts:?}");
    assert!((mean - 10.0).abs() < 0.15, "{mean}");
}

#[test]
fn red_is_silent_below_the_lower_threshold_and_gentle_above_the_upper_one() {
    let share = |config: &RedConfig, length| gaps(config, length, 50_000).len() as f64 / 50_000.0;
    assert_eq!(share(&wide(), 9), 0.0);
    // Just below max: p_b = 0.095; a gap of 1 … 9 has p_b / (1 - p_b) each, one of 10 the rest: 5.277 on average.
    assert!((share(&wide(), 29) - 1.0 / 5.277).abs() < 0.003, "{}", share(&wide(), 29));
    // Halfway from max to twice max: p_b = 0.55, more than 1/2, so that the packet after a signal is always hit.
    assert!(share(&wide(), 45) > 0.999);
    assert_eq!(share(&wide(), 60), 1.0);
    assert_eq!(share(&RedConfig { gentle: false, ..wide() }, 30), 1.0);
}

#[test]
fn red_marks_below_the_upper_threshold_and_drops_above_it() {
    let decisions = |config: RedConfig, length, ecn| {
        let mut manager = red(&RedConfig { weight: 1.0, ..config });
        let decide = |id| manager.on_arrival(ms(0), &PacketRef { ecn, ..packet(id, 1000) }, waiting(length));
        let decisions: Vec<Decision> = (0..1000).map(decide).filter(|&decision| decision != Decision::Pass).collect();
        assert!(decisions.len() > 10 && decisions.iter().all(|&decision| decision == decisions[0]));
        decisions[0]
    };
    assert_eq!(decisions(wide(), 25, Ecn::Ect0), Decision::Mark);
    assert_eq!(decisions(wide(), 25, Ecn::Ect1), Decision::Mark);
    assert_eq!(decisions(wide(), 25, Ecn::NotEct), Decision::Drop);
    assert_eq!(decisions(wide(), 35, Ecn::Ect0), Decision::Drop);
    assert_eq!(decisions(RedConfig { ecn: false, ..wide() }, 25, Ecn::Ect0), Decision::Drop);
}

#[test]
fn red_draws_for_each_packet_also_where_chance_has_no_say() {
    let fates = |first: usize| {
        let mut manager = red(&RedConfig { weight: 1.0, ..wide() });
        for id in 0..100 {
            manager.on_arrival(ms(0), &ect(id), waiting(first));
        }
        manager.on_arrival(ms(0), &ect(0), waiting(1)); // resets the count
        (0..200).map(|id| manager.on_arrival(ms(0), &ect(id), waiting(20))).collect::<Vec<_>>()
    };
    assert_eq!(fates(1), fates(29));
}

// CoDel

/// Drives CoDel with packets that leave every millisecond and waited `waited`; the instants of its signals.
fn signals(manager: &mut Codel, from: Time, count: u64, waited: Duration, ecn: Ecn) -> Vec<Time> {
    let mut signals = Vec::new();
    for n in 0..count {
        let now = from + Duration::from_millis(n);
        // A dropped packet is followed by the next at the same instant.
        for _ in 0..100 {
            let decision = manager.on_departure(now, &PacketRef { ecn, ..packet(0, 1000) }, waited, waiting(50));
            if decision != Decision::Pass {
                signals.push(now);
            }
            if decision != Decision::Drop {
                break;
            }
        }
    }
    signals
}

/// RFC 8289 section 4.4: the first signal after an interval above the target, then interval / sqrt(n) after the n-th.
#[test]
fn codel_signals_at_intervals_divided_by_the_square_root_of_their_number() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut codel = Codel::new(&CodelConfig::default()).unwrap();
        let seen = signals(&mut codel, ms(1000), 1000, Duration::from_millis(20), ecn);
        // 100 ms, then + 100/sqrt(1), + 100/sqrt(2), + 100/sqrt(3) …; the law's own times add up without rounding.
        let (mut law, mut expected) = (1100.0, vec![1100.0]);
        for n in 1..30 {
            law += 100.0 / f64::from(n).sqrt();
            expected.push(law);
        }
        let seen: Vec<f64> = seen.iter().map(|at| at.as_secs_f64() * 1e3).take(12).collect();
        for (seen, law) in seen.iter().zip(&expected) {
            assert!((*seen - law.ceil()).abs() < 1e-6, "{ecn:?}: at {seen} ms, the law says {law}");
        }
        assert_eq!(seen.len(), 12);
    }
}

#[test]
fn codel_leaves_short_waits_and_short_queues_alone() {
    let mut codel = Codel::new(&CodelConfig::default()).unwrap();
    assert!(signals(&mut codel, ms(0), 2000, Duration::from_micros(4999), Ecn::NotEct).is_empty());
    for n in 0..2000 {
        let one = Backlog { packets: 1, bytes: 1500 };
        let decision = codel.on_departure(ms(2000 + n), &packet(0, 1000), Duration::from_secs(1), one);
        assert_eq!(decision, Decision::Pass, "no more than a full packet waits");
    }
    // A single short wait within an interval starts it anew.
    assert!(signals(&mut codel, ms(5000), 99, Duration::from_millis(20), Ecn::NotEct).is_empty());
    assert!(signals(&mut codel, ms(5099), 1, Duration::from_millis(4), Ecn::NotEct).is_empty());
    let next = signals(&mut codel, ms(5100), 150, Duration::from_millis(20), Ecn::NotEct);
    assert_eq!(next, [ms(5200)]);
}

/// RFC 8289 section 5.5: within 16 intervals it goes on at the rate it had, less the signals before the last start.
#[test]
fn codel_resumes_its_rate_after_a_short_pause_and_starts_afresh_after_a_long_one() {
    let second_gap = |pause_ms: u64| {
        let mut codel = Codel::new(&CodelConfig::default()).unwrap();
        let first = signals(&mut codel, ms(0), 1000, Duration::from_millis(20), Ecn::Ect0);
        let start = 1000 + pause_ms;
        signals(&mut codel, ms(1000), pause_ms, Duration::ZERO, Ecn::Ect0);
        let again = signals(&mut codel, ms(start), 400, Duration::from_millis(20), Ecn::Ect0);
        (first.len(), again[1].since(again[0]))
    };
    let (count, gap) = second_gap(50);
    // The first run made `count` signals; last_count was 1 when it started, so it resumes at count - 1.
    let resumed = Duration::from_millis(100).mul_f64(1.0 / ((count - 1) as f64).sqrt());
    assert!(gap >= resumed && gap < resumed + Duration::from_millis(1), "{gap}, {resumed} expected");
    assert_eq!(second_gap(5000).1, Duration::from_millis(100));
}

#[test]
fn codel_in_a_last_hop_drops_at_the_head_and_tells_at_once() {
    let mut run = hop(json!("codel").as_str().map(|kind| json!({ "kind": kind })).unwrap());
    // Twice the rate: the wait grows by half a millisecond each millisecond.
    for id in 0..150 {
        run.offer(us(u64::from(id) * 500), packet(id, 1000));
    }
    run.finish();
    let dropped: Vec<(Time, u32)> = run
        .log
        .iter()
        .filter_map(|(at, output)| match output {
            Output::Dropped(packet, DropReason::Early) => Some((*at, packet.id)),
            _ => None,
        })
        .collect();
    // Packet n leaves at n ms and came at n/2 ms: 10 is the first that waited 5 ms, an interval later 110 is dropped.
    assert_eq!(dropped, [(ms(110), 110)]);
    let report = run.hop.report(Duration::from_secs(1));
    assert_eq!((report.dropped_early, report.marked_packets, report.delivered_packets), (1, 0, 149));
    assert!(run.delivered_ids().is_sorted());
}

#[test]
fn codel_asks_no_more_of_a_queue_that_waits_for_a_process() {
    // All processes are taken for a second at a time, so that everything waits much too long; what is dropped is never more
    // than what the law allows.
    let law = common::uniform_block_fading(4, 200);
    let settings = json!({
        "rate": "8 Mbit/s", "delay": "100 ms", "queue": { "kind": "codel" },
        "harq": { "kind": "adaptive", "processes": 2, "threshold": 1.0 },
    });
    let mut run = Run::of(settings, vec![Scripted::constant(CLEAR)], Some(&law));
    (0..60).for_each(|id| run.offer(ms(u64::from(id)), packet(id, 1000)));
    run.finish();
    let report = run.hop.report(Duration::from_secs(10));
    assert!(report.dropped_early > 3, "{report:?}");
    assert_eq!(report.dropped_early + report.delivered_packets, 60);
}

// What a scenario may write

#[test]
fn impossible_queues_are_refused_with_their_path() {
    let refusal = |queue: Value| {
        let settings = json!({ "rate": "8 Mbit/s", "delay": "10 ms", "queue": queue });
        match serde_json::from_value::<LastHopConfig>(settings) {
            Ok(config) => config.check(RTT).expect_err("accepted").to_string(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(QueueConfig::ALL, ["droptail", "red", "codel"]);
    assert!(
        refusal(json!({ "kind": "droptail", "mark_above": "1 ns" }))
            .starts_with("queue.mark_above: \"1 ns\" is no byte")
    );
    assert_eq!(
        refusal(json!({ "kind": "red", "min": "5 ms" })),
        "queue.max: \"15 packets\" and min = \"5 ms\": both in packets or neither"
    );
    assert_eq!(
        refusal(json!({ "kind": "red", "max": "5 packets" })),
        "queue.max: \"5 packets\" must be more than min = \"5 packets\""
    );
    assert!(refusal(json!({ "kind": "red", "weight": 0.0 })).starts_with("queue.weight: 0 given"));
    assert!(refusal(json!({ "kind": "red", "max_p": "0 %" })).starts_with("queue.max_p: 0 % given"));
    assert!(refusal(json!({ "kind": "red", "mean_packet": "0 B" })).starts_with("queue.mean_packet: 0 B"));
    assert_eq!(
        refusal(json!({ "kind": "codel", "target": "100 ms" })),
        "queue.target: 100 ms given, less than the interval of 100 ms needed"
    );
    assert_eq!(refusal(json!({ "kind": "codel", "interval": "0 s" })), "queue.interval: must be more than 0 s");
    assert!(refusal(json!({ "kind": "codel", "buffer": "1 bdp" })).contains("unknown field `buffer`"));
}

#[test]
fn each_queue_has_a_generator_of_its_own() {
    let mut asked = Vec::new();
    let mut streams = |purpose: &'static str, number: u64| -> Box<dyn Rng + Send> {
        asked.push((purpose, number));
        rng(1)
    };
    let config = common::config(json!({ "rate": "8 Mbit/s", "delay": "10 ms", "queue": { "kind": "red" } }));
    link::LastHop::new(&config, RTT, Vec::new(), None, &mut streams).unwrap();
    assert_eq!(asked, [("harq", 0), ("queue", 0)]);
}
