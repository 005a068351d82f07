//! The filter of the bandwidth, and the window after a loss.

use super::super::WestwoodConfig;
use super::super::westwood::Westwood;
use super::*;

/// Measures `acked` segments in each round trip of 100 ms (and a nanosecond: the interval has to be longer), and what
/// was estimated.
fn estimates(rounds: &[u32]) -> Vec<f64> {
    let mut controller = Westwood::new(start(10));
    let mut now = Time::ZERO;
    controller.on_ack(&sample(now, rounds[0], RTT));
    let mut estimates = Vec::new();
    for (i, _) in rounds.iter().enumerate() {
        now = now + RTT + Duration::from_nanos(1);
        let next = rounds.get(i + 1).copied().unwrap_or(0);
        controller.on_ack(&sample(now, next, RTT));
        estimates.push(controller.bandwidth().expect("an interval has passed"));
    }
    estimates
}

/// Two cascaded filters of 7/8; the first measurement as it is: 10 segments in 100 ms, then none.
#[test]
fn bandwidth_is_filtered_twice() {
    let expected = [100.0, 98.4375, 95.703_125, 92.114_257_812_5];
    for (actual, expected) in estimates(&[10, 0, 0, 0]).into_iter().zip(expected) {
        assert!((actual - expected).abs() < 1e-3, "{actual} against {expected}");
    }
    // The step of the other direction: 1 - (1 + n/8) (7/8)^n of it after n round trips, in the limit of a small first
    // one.
    let rising = estimates(&[0, 80, 80, 80, 80, 80, 80, 80, 80]);
    for (n, actual) in rising.into_iter().enumerate() {
        let expected = 800.0 * (1.0 - (1.0 + n as f64 / 8.0) * libm::pow(7.0 / 8.0, n as f64));
        assert!((actual - expected).abs() < 1e-2, "{n}: {actual} against {expected}");
    }
}

/// No loss takes the window below what the path has carried: 20 segments in 100 ms, whatever the window.
#[test]
fn a_loss_leaves_what_the_path_holds() {
    let mut drive = Drive::new(&WestwoodConfig::default(), 20, RTT);
    drive.window_mut().threshold = 20;
    for _ in 0..40 {
        let start = drive.now;
        for i in 0..20 {
            drive.now = start + RTT * i / 20;
            drive.ack(1);
        }
        drive.now = start + RTT;
    }
    assert!(drive.window().size > 22);
    drive.window_mut().size = 60;
    drive.lose();
    assert!((18..=20).contains(&drive.window().size), "{}", drive.window().size);
    // Less in the window than the path holds: it stays.
    drive.window_mut().size = 12;
    drive.lose();
    assert_eq!(drive.window().size, 12);
    // After a timeout slow start goes up to it.
    drive.time_out();
    assert!((18..=20).contains(&drive.window().threshold), "{}", drive.window().threshold);
}

#[test]
fn without_a_measurement_half_is_left() {
    let mut drive = Drive::new(&WestwoodConfig::default(), 10, RTT);
    drive.lose();
    assert_eq!(drive.window().size, 5);
}

/// A timeout: the path may be another one, whose shortest round-trip time is longer.
#[test]
fn a_timeout_forgets_the_shortest_round_trip_time() {
    let threshold = |timed_out: bool| {
        let mut drive = Drive::new(&WestwoodConfig::default(), 20, RTT);
        (0..5).for_each(|_| drive.round());
        if timed_out {
            drive.time_out();
        }
        drive.rtt = RTT * 3;
        drive.window_mut().size = 40;
        drive.window_mut().threshold = 2;
        (0..30).for_each(|_| (drive.window_mut().size = 40, drive.round()).1);
        drive.window_mut().size = 1000;
        drive.reduce();
        drive.window().threshold
    };
    let (kept, forgotten) = (threshold(false), threshold(true));
    assert!((f64::from(forgotten) / f64::from(kept) - 3.0).abs() < 0.5, "{kept} and {forgotten}");
}

/// In Linux 2.6.22 the estimate is the window in a recovery, and half the window the threshold, also after a time-out.
#[test]
fn of_linux_2_6_22_the_estimate_is_the_window_in_a_recovery() {
    let mut controller = Westwood::new(Start { of_linux_2_6_22: true, ..start(10) });
    assert_eq!(controller.floor(), 2, "nothing is measured");
    let mut now = Time::ZERO;
    for _ in 0..40 {
        controller.on_ack(&sample(now, 20, RTT));
        now = now + RTT + Duration::from_nanos(1);
    }
    assert_eq!(controller.floor(), 19);
    for cause in [Cause::Loss, Cause::Timeout] {
        let (srtt, min_rtt) = (RTT, RTT);
        let congestion = Congestion { now, cause, from: 60, in_flight: 60, srtt, min_rtt, mss: MSS };
        controller.on_event(now, &Event::Congestion(congestion));
        assert_eq!((controller.window().threshold, controller.floor()), (30, 19));
    }
    controller.on_event(now, &Event::TimedOut);
    now += RTT * 3;
    controller.on_ack(&sample(now, 0, RTT * 3));
    assert!(controller.floor() < 30, "no time-out forgets the shortest round-trip time: {}", controller.floor());
}
