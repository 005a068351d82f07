//! Queue managers against their specifications, alone and in a last hop.

use std::sync::{Arc, Mutex};

use crate::common::{self, Run, Scripted, ms, packet, rng, us};
use channel::CLEAR;
use link::queue::codel::{Codel, CodelConfig};
use link::queue::pie::{Pie, PieConfig};
use link::queue::red::{Red, RedConfig};
use link::queue::{Decision, QueueManager};
use link::{Backlog, DropReason, Ecn, LastHopConfig, LinkFacts, Output, PacketRef};
use rand::Rng;
use serde_json::{Value, json};
use units::{BitRate, Duration, Time};

const RTT: Duration = Duration::from_millis(160);
/// 1000 B in a millisecond.
const LINK: LinkFacts = LinkFacts { rate: BitRate::from_bps(8_000_000), base_rtt: RTT, users: 1 };

fn ect(id: u32) -> PacketRef {
    PacketRef { ecn: Ecn::Ect0, ..packet(id, 1000) }
}

fn waiting(packets: usize) -> Backlog {
    Backlog { packets, bytes: packets as u64 * 1000 }
}

fn hop(queue: Value) -> Run {
    let settings = json!({
        "rate": "8 Mbit/s", "delay": "10 ms", "scheduler": { "kind": "droptail", "buffer": "100 packets" },
        "queue": queue,
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
        // 0 is being sent; 1, 2, 3 find 0, 1, 2 packets, 4 finds 3: not more than the threshold. 6 understands no
        // marks.
        assert_eq!(marked(&run), [5, 7], "{threshold}");
        assert_eq!(run.delivered_ids(), [0, 1, 2, 3, 4, 5, 6, 7]);
        let report = run.hop.report(Duration::from_secs(1));
        assert_eq!(
            (report.marked_packets, report.dropped[DropReason::Early], report.dropped[DropReason::Overflow]),
            (2, 0, 0)
        );
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
    assert_eq!((report.dropped[DropReason::Overflow], report.marked_packets), (49, 49));
}

// RED

fn red(config: &RedConfig) -> Red {
    Red::new(config, &LINK, rng(5)).unwrap()
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
    // The average at 20, the middle of 10 and 30: p_b = max_p / 2 = 1/20. The count runs from 0 after a signal and from
    // 1 for the next packet, so that the gap is uniform over 1 … 19 (a gap of g needs g p_b <= 1 - p_b).
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
    assert_eq!(decisions(wide(), 25, Ecn::NotEct), Decision::Drop(DropReason::Early));
    assert_eq!(decisions(wide(), 35, Ecn::Ect0), Decision::Drop(DropReason::Early));
    assert_eq!(decisions(RedConfig { ecn: false, ..wide() }, 25, Ecn::Ect0), Decision::Drop(DropReason::Early));
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
            if decision != Decision::Drop(DropReason::Early) {
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
        let mut codel = Codel::new(CodelConfig::default());
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
    let mut codel = Codel::new(CodelConfig::default());
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
        let mut codel = Codel::new(CodelConfig::default());
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
    assert_eq!((report.dropped[DropReason::Early], report.marked_packets, report.delivered_packets), (1, 0, 149));
    assert!(run.delivered_ids().is_sorted());
}

#[test]
fn codel_asks_no_more_of_a_queue_that_waits_for_a_process() {
    // All processes are taken for a second at a time, so that everything waits much too long; what is dropped is never
    // more than what the law allows.
    let law = common::uniform_block_fading(4, 200);
    let settings = json!({
        "rate": "8 Mbit/s", "delay": "100 ms", "queue": { "kind": "codel" },
        "harq": { "kind": "adaptive", "processes": 2, "threshold": 1.0 },
    });
    let mut run = Run::of(settings, vec![Scripted::constant(CLEAR)], Some(&law));
    (0..60).for_each(|id| run.offer(ms(u64::from(id)), packet(id, 1000)));
    run.finish();
    let report = run.hop.report(Duration::from_secs(10));
    assert!(report.dropped[DropReason::Early] > 3, "{report:?}");
    assert_eq!(report.dropped[DropReason::Early] + report.delivered_packets, 60);
}

// PIE

fn pie(config: &PieConfig) -> Pie {
    Pie::new(config, rng(5))
}

/// Without bursts let pass, so that a test need not wait for their end.
fn eager() -> PieConfig {
    PieConfig { burst: Duration::ZERO, ..PieConfig::default() }
}

/// RFC 8033 section 4.2, step by step: what one computation adds, divided by the step of auto-tuning that the
/// probability is in, and at most 2 % once it is at 10 % (section 5.5).
#[test]
fn the_probability_of_pie_follows_the_control_law() {
    let mut manager = pie(&eager());
    let (mut probability, mut before) = (0.0f64, 0.0);
    let waits = [5u64, 20, 40, 60, 80, 80, 80, 100, 300, 500, 700, 900, 900, 1200, 1000, 400, 200, 100, 30, 10, 2];
    let mut tunings = Vec::new();
    let mut capped = false;
    for (step, wait) in
        (1u64..).zip(waits.into_iter().chain(std::iter::repeat_n(600, 40)).chain(std::iter::repeat_n(1, 40)))
    {
        manager.on_departure(ms(15 * step - 1), &packet(0, 1000), Duration::from_millis(wait), waiting(50));
        let wait = wait as f64 / 1e3;
        let tuning = match probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        tunings.push(tuning as u32);
        let mut change = (0.125 * (wait - 0.015) + 1.25 * (wait - before)) / tuning;
        if probability >= 0.1 && change > 0.02 {
            (change, capped) = (0.02, true);
        }
        (probability, before) = ((probability + change).clamp(0.0, 1.0), wait);
        manager.on_arrival(ms(15 * step), &packet(0, 1000), waiting(50));
        assert!(
            (manager.probability() - probability).abs() < 1e-12,
            "step {step}: {} {probability}",
            manager.probability()
        );
    }
    assert!([2048, 512, 128, 32, 8, 2, 1].iter().all(|tuning| tunings.contains(tuning)), "{tunings:?}");
    assert!(capped);
}

/// A constant load without a transport behind it: the probability settles where the rest fits, and the wait at the
/// target.
#[test]
fn pie_drops_what_is_too_much_and_keeps_the_wait_at_its_target() {
    for (load, excess) in [(1.25, 0.2), (2.0, 0.5)] {
        let mut run = hop(json!({ "kind": "pie", "target": "20 ms" }));
        let mut waits = Vec::new();
        for id in 0..100_000u32 {
            let at = Time::from_secs_f64(f64::from(id) / 1000.0 / load);
            run.offer(at, packet(id, 1000));
            if id > 20_000 {
                waits.push(run.hop.queue().packets as f64); // milliseconds
            }
        }
        let early =
            run.log[20_000..].iter().filter(|(_, output)| matches!(output, Output::Dropped(_, DropReason::Early)));
        let share = early.count() as f64 / (run.log.len() - 20_000) as f64;
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((share - excess).abs() < 0.01, "{load}: {share}");
        assert!((mean - 20.0).abs() < 3.0, "{load}: {mean} ms");
        let overflow = |entry: &&(Time, Output)| matches!(entry.1, Output::Dropped(_, DropReason::Overflow));
        assert_eq!(run.log[20_000..].iter().filter(overflow).count(), 0);
    }
}

#[test]
fn pie_leaves_short_waits_and_short_queues_alone() {
    let overloaded = |wait_ms: u64, length: usize| {
        let (mut manager, mut at) = (pie(&eager()), 1);
        let mut depart = |manager: &mut Pie, wait_ms| {
            manager.on_departure(ms(at), &packet(0, 1000), Duration::from_millis(wait_ms), waiting(50));
            at += 15;
            ms(at - 1)
        };
        // A long queue makes a probability of 15 %, and then the wait is what it is at two computations.
        while manager.probability() < 0.15 {
            depart(&mut manager, 60);
        }
        let now = depart(&mut manager, wait_ms);
        let decide = |id| manager.on_arrival(now, &packet(id, 1000), waiting(length));
        (0..1000).map(decide).filter(|&decision| decision != Decision::Pass).count()
    };
    assert_eq!(overloaded(7, 50), 0, "below half the target and 20 %");
    assert!(overloaded(10, 50) > 50);
    assert_eq!(overloaded(10, 2), 0, "two packets of 1000 B");
    assert!(overloaded(10, 3) > 50);
}

/// Section 4.4: a burst of 150 ms after a quiet time passes, however long the queue grows.
#[test]
fn pie_lets_a_burst_pass() {
    let first_drop = |config: Value| {
        let mut run = Run::of(
            json!({
                "rate": "8 Mbit/s", "delay": "10 ms", "scheduler": { "kind": "droptail", "buffer": "10000 packets" },
                "queue": config,
            }),
            vec![Scripted::constant(CLEAR)],
            None,
        );
        // Quiet until 1 s, then three times the rate.
        run.offer(ms(0), packet(0, 1000));
        (1..3000).for_each(|id| run.offer(us(1_000_000 + u64::from(id) * 333), packet(id, 1000)));
        run.finish();
        let early = |entry: &&(Time, Output)| matches!(entry.1, Output::Dropped(_, DropReason::Early));
        run.log.iter().find(early).expect("overloaded").0.since(ms(1000))
    };
    let (with, without) = (first_drop(json!({ "kind": "pie" })), first_drop(json!({ "kind": "pie", "burst": "0 s" })));
    assert!(with >= Duration::from_millis(150 - 15), "{with}");
    assert!(without < with, "{without} {with}");
}

#[test]
fn pie_marks_while_the_probability_is_small_and_drops_above() {
    let decisions = |probability: f64, ecn| {
        let mut manager = pie(&PieConfig { mark_below: units::Probability::new(0.1), ..eager() });
        let mut at = 1;
        while manager.probability() < probability {
            manager.on_departure(ms(at), &packet(0, 1000), Duration::from_millis(30), waiting(50));
            at += 15;
        }
        let decide = |id| manager.on_arrival(ms(at - 1), &PacketRef { ecn, ..packet(id, 1000) }, waiting(50));
        let decisions: Vec<Decision> = (0..2000).map(decide).filter(|&decision| decision != Decision::Pass).collect();
        assert!(decisions.len() > 20 && decisions.iter().all(|decision| *decision == decisions[0]));
        decisions[0]
    };
    assert_eq!(decisions(0.03, Ecn::Ect0), Decision::Mark);
    assert_eq!(decisions(0.03, Ecn::NotEct), Decision::Drop(DropReason::Early));
    assert_eq!(decisions(0.12, Ecn::Ect0), Decision::Drop(DropReason::Early));
}

/// Section 5.4: no two drops so close that less than 0.85 was added up between them.
#[test]
fn pie_spaces_its_drops() {
    let mut manager = pie(&eager());
    let mut at = 1;
    while manager.probability() < 0.05 {
        manager.on_departure(ms(at), &packet(0, 1000), Duration::from_millis(30), waiting(50));
        at += 15;
    }
    let probability = manager.probability();
    let mut gaps = vec![0u32];
    for id in 0..200_000 {
        *gaps.last_mut().unwrap() += 1;
        if manager.on_arrival(ms(at - 1), &packet(id, 1000), waiting(50)) == Decision::Drop(DropReason::Early) {
            gaps.push(0);
        }
    }
    gaps.pop();
    let (least, most) = ((0.85 / probability).ceil() as u32, (8.5 / probability).ceil() as u32);
    assert_eq!(gaps.iter().min(), Some(&least));
    assert!(*gaps.iter().max().unwrap() <= most);
    // Geometric from there on.
    let mean = gaps.iter().map(|&gap| f64::from(gap)).sum::<f64>() / gaps.len() as f64;
    let expected = f64::from(least) - 1.0 + 1.0 / probability;
    assert!((mean / expected - 1.0).abs() < 0.02, "{mean} {expected}");
}

/// The law is worked off when somebody comes; how often somebody does makes no difference.
#[test]
fn pie_needs_no_timer() {
    let after = |often: bool, pause_ms: u64| {
        let mut manager = pie(&eager());
        for n in 0..200 {
            manager.on_departure(ms(1 + 15 * n), &packet(0, 1000), Duration::from_millis(60), waiting(50));
        }
        let start = 1 + 15 * 200;
        manager.on_departure(ms(start), &packet(0, 1000), Duration::from_millis(60), waiting(0));
        for n in 1..pause_ms {
            if often {
                manager.on_departure(ms(start + n), &packet(0, 1000), Duration::ZERO, waiting(0));
            }
        }
        manager.on_arrival(ms(start + pause_ms), &packet(0, 1000), waiting(0));
        manager.probability()
    };
    for pause in [1, 14, 100, 1000, 100_000] {
        assert_eq!(after(false, pause), after(true, pause), "{pause} ms");
    }
    assert!(after(false, 100) > 0.0 && after(false, 10_000) == 0.0);
}

#[test]
fn a_time_limit_drops_what_has_waited_longer() {
    let mut run = hop(json!({ "kind": "time-limit", "limit": "3 ms" }));
    (0..8).for_each(|id| run.offer(ms(0), packet(id, 1000)));
    run.finish();
    // One in a millisecond: 3 leaves after exactly 3 ms, all others would wait longer.
    assert_eq!(run.delivered_ids(), [0, 1, 2, 3]);
    let report = run.hop.report(Duration::from_secs(1));
    assert_eq!((report.dropped[DropReason::Timeout], report.dropped[DropReason::Early]), (4, 0));
}

// What a scenario may write

#[test]
fn impossible_queues_are_refused_with_their_path() {
    let refusal = |queue: Value| {
        let settings = json!({ "rate": "8 Mbit/s", "delay": "10 ms", "queue": queue });
        match serde_json::from_value::<LastHopConfig>(settings) {
            Ok(config) => config.check(RTT, 1).expect_err("accepted").to_string(),
            Err(error) => error.to_string(),
        }
    };
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
    assert_eq!(refusal(json!({ "kind": "pie", "interval": "0 s" })), "queue.interval: must be more than 0 s");
    assert_eq!(refusal(json!({ "kind": "pie", "beta": -1.0 })), "queue.beta: -1 given, 0 to 1000 allowed");
    assert_eq!(refusal(json!({ "kind": "time-limit", "limit": "0 s" })), "queue.limit: must be more than 0 s");
    assert!(refusal(json!({ "kind": "codel", "buffer": "1 bdp" })).contains("unknown field `buffer`"));
}

#[test]
fn each_queue_has_a_generator_of_its_own() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let streams = move |purpose: &'static str, number: u64| -> Box<dyn Rng + Send> {
        noted.lock().unwrap().push((purpose, number));
        rng(1)
    };
    let config = common::config(json!({ "rate": "8 Mbit/s", "delay": "10 ms", "queue": { "kind": "red" } }));
    link::LastHop::new(
        &config,
        link::Propagation::fixed(Duration::ZERO),
        RTT,
        Vec::new(),
        None,
        streams,
        &mut common::choosers,
    )
    .unwrap();
    assert_eq!(*asked.lock().unwrap(), [("queue", 0)]);
}
