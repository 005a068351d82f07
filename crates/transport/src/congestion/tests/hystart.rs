//! Slow start that ends before the queue overflows.

use super::super::{CubicConfig, HyStart, NewRenoConfig};
use super::path::Path;
use super::*;

fn newreno(hystart: HyStart) -> NewRenoConfig {
    NewRenoConfig { hystart: Some(hystart), ..Default::default() }
}

/// Rounds of `count` acknowledgments with these round-trip times, spread so that no train forms; the window after each.
fn rounds(hystart: HyStart, count: u32, rtts: &[u64]) -> (Vec<u32>, Window) {
    let mut drive = Drive::new(&newreno(hystart), 20, RTT);
    let (mut windows, mut end) = (Vec::new(), 1);
    for &rtt in rtts {
        let next = end + u64::from(count) * 10;
        for i in 0..count {
            drive.now += Duration::from_millis(5);
            let una = end + 1 + u64::from(i);
            let rtt = Duration::from_millis(rtt);
            drive.handle(&AckSample { una, nxt: next, ..sample(drive.now, 1, rtt) });
        }
        end = next;
        windows.push(drive.window().size);
    }
    (windows, drive.window())
}

/// RFC 9406 section 4.2: a rise of an eighth, at least 4 ms and at most 16 ms, of the shortest of eight.
#[test]
fn hystart_pp_grows_four_times_slower_for_five_rounds() {
    // 12 of 100 ms: the threshold is 112.5 ms. Eight acknowledgments enter the phase; the last four count for one
    // segment.
    let (windows, window) = rounds(HyStart::HyStartPlusPlus, 12, &[100, 100, 113, 113, 113, 113, 113, 113]);
    assert_eq!(windows[..2], [32, 44]);
    assert_eq!(windows[2], 44 + 7 + 1); // the eighth acknowledgment begins the phase
    assert_eq!(windows[3] - windows[2], 3);
    assert_eq!(windows[6] - windows[5], 3);
    // The round in which the phase began is the first of five.
    assert_eq!(window.threshold, windows[6]);
    assert_eq!(windows[7], windows[6]);
}

#[test]
fn hystart_pp_goes_back_when_the_delay_falls() {
    let (windows, window) = rounds(HyStart::HyStartPlusPlus, 12, &[100, 113, 105, 105]);
    assert_eq!(windows[3] - windows[2], 12);
    assert_eq!(window.threshold, Window::NO_THRESHOLD);
}

/// An eighth of 20 ms is less than the lower bound, an eighth of 400 ms more than the upper. Linux asks for more than
/// the bound.
#[test]
fn a_small_rise_is_no_queue() {
    for (before, bound) in [(20, 4), (64, 8), (400, 16)] {
        for (rise, ends, ends_linux) in [(bound - 1, false, false), (bound, true, false), (bound + 1, true, true)] {
            let rtts = [before, before + rise, before + rise];
            let (windows, _) = rounds(HyStart::HyStartPlusPlus, 12, &rtts);
            assert_eq!(windows[2] - windows[1] == 3, ends, "{rtts:?}");
            let (_, window) = rounds(HyStart::HyStart, 12, &rtts);
            assert_eq!(window.threshold != Window::NO_THRESHOLD, ends_linux, "{rtts:?}");
        }
    }
}

/// Linux ends slow start where it is, at the ninth round-trip time.
#[test]
fn hystart_ends_slow_start_at_once() {
    let (windows, window) = rounds(HyStart::HyStart, 12, &[100, 100, 113]);
    assert_eq!(windows[..2], [32, 44]);
    assert_eq!(window.threshold, 44 + 8);
}

/// In a window of less than 16, nothing ends it.
#[test]
fn small_windows_are_left_alone() {
    let mut drive = Drive::new(&newreno(HyStart::HyStart), 2, RTT);
    for i in 0..13 {
        drive.now += Duration::from_millis(5);
        let rtt = Duration::from_millis(100 + 10 * i);
        drive.handle(&AckSample { una: 2 + i, nxt: 1000, ..sample(drive.now, 1, rtt) });
    }
    assert_eq!(drive.window().threshold, Window::NO_THRESHOLD);
}

/// Acknowledgments a millisecond apart, for longer than half of 100 ms. A sender that spaces its segments makes such a
/// train itself.
#[test]
fn a_long_train_ends_slow_start() {
    for (gap, paced, ends) in [(1, false, true), (3, false, false), (1, true, false)] {
        let mut drive = Drive::new(&newreno(HyStart::HyStart), 20, RTT);
        for i in 0..60 {
            drive.now += Duration::from_millis(gap);
            drive.handle(&AckSample { una: 2 + i, nxt: 1000, paced, ..sample(drive.now, 1, RTT) });
        }
        assert_eq!(drive.window().threshold != Window::NO_THRESHOLD, ends, "{gap} ms");
    }
}

/// A queue of 1.5 times what the path holds: without, slow start loses what it sends too much; with either, much less,
/// and the path is as full.
#[test]
fn the_overshoot_is_avoided() {
    let losses = |hystart| {
        let config = CubicConfig { hystart: Some(hystart), ..Default::default() };
        let mut path = Path::new(&config, 1000, 100, 150);
        path.run(4.0);
        assert!(path.rate_since(3.0) > 900.0, "{hystart:?}: {}", path.rate_since(3.0));
        path.losses
    };
    let (none, linux, plus_plus) = (losses(HyStart::None), losses(HyStart::HyStart), losses(HyStart::HyStartPlusPlus));
    println!("{none} lost, {linux} with HyStart, {plus_plus} with HyStart++");
    assert!(none > 150 && linux == 0 && plus_plus <= none / 3);
}
