//! RFC 5681 and RFC 3465, and what ns-3 asserts of Linux' Reno.

use super::super::NewRenoConfig;
use super::*;

fn drive(initial: u32) -> Drive {
    Drive::new(&NewRenoConfig::default(), initial, RTT)
}

#[test]
fn slow_start_doubles_each_round_trip() {
    let mut drive = drive(10).limited(1);
    for expected in [20, 40, 80, 160] {
        drive.round();
        assert_eq!(drive.window().size, expected);
    }
}

/// RFC 3465 section 2.2.
#[test]
fn slow_start_counts_at_most_l_segments_for_an_acknowledgment() {
    for (limit, expected) in [(1, 11), (2, 12), (3, 13), (8, 14), (u32::MAX, 14)] {
        let mut drive = drive(10).limited(limit);
        drive.ack(4);
        assert_eq!(drive.window().size, expected, "limit {limit}");
    }
}

/// RFC 3465 section 2.3; Linux, which counts all, does so then too.
#[test]
fn after_a_timeout_slow_start_counts_one_segment() {
    for (limit, expected) in [(4, 2), (u32::MAX, 5)] {
        let mut drive = drive(40).limited(limit);
        drive.time_out();
        drive.ack(4);
        assert_eq!(drive.window().size, expected);
    }
}

#[test]
fn a_loss_halves_and_each_round_trip_adds_a_segment() {
    let mut drive = drive(40);
    drive.lose();
    assert_eq!(drive.window().threshold, 20);
    for expected in 20..40 {
        assert_eq!(drive.window().size, expected);
        drive.round();
    }
}

/// The acknowledgment that reaches the threshold counts in both.
#[test]
fn slow_start_stops_at_the_threshold() {
    let mut drive = drive(40);
    drive.lose();
    drive.window_mut().size = 10;
    drive.ack(8);
    drive.ack(5);
    assert_eq!(drive.window().size, 20);
    // Three segments were left over: 17 more complete the window.
    drive.ack(16);
    assert_eq!(drive.window().size, 20);
    drive.ack(1);
    assert_eq!(drive.window().size, 21);
}

/// RFC 3465 section 2.1: what one acknowledgment covers beyond the window counts for the next segment.
#[test]
fn segments_beyond_a_window_are_carried_over() {
    let mut drive = drive(20);
    drive.lose();
    for expected in [10, 11, 12, 12, 13] {
        drive.ack(7); // 7, 14 - 10, 11 - 11, 7, 14 - 12
        assert_eq!(drive.window().size, expected);
    }
}

/// RFC 5681 equation (4).
#[test]
fn timeouts_halve_to_no_less_than_two() {
    let mut drive = drive(10);
    drive.time_out();
    assert_eq!((drive.window().size, drive.window().threshold), (1, 5));
    drive.time_out();
    assert_eq!((drive.window().size, drive.window().threshold), (1, 2));
}

/// ns-3's test of Linux' Reno: 7 segments in slow start from 2 leave 9; 6 from 1 with a threshold of 2 leave 4.
#[test]
fn windows_are_those_of_ns3() {
    for acked in [1, 2] {
        let mut slow_start = drive(2);
        (0..7 / acked).for_each(|_| slow_start.ack(acked));
        slow_start.ack(7 % acked);
        assert_eq!(slow_start.window().size, 9);
    }
    let mut avoidance = drive(1);
    avoidance.window_mut().threshold = 2;
    (0..6).for_each(|_| avoidance.ack(1));
    assert_eq!(avoidance.window().size, 4);
}

/// RFC 9438 section 5.1, tables 1 and 2: Reno's column, 1.2/sqrt(p).
#[test]
fn average_window_is_that_of_the_deterministic_loss_model() {
    for (period, expected) in [(100, 12.0), (1_000, 38.0), (10_000, 120.0), (100_000, 379.0)] {
        let average = drive(10).average_window(period);
        println!("reno 1/{period}: {average:.2} ({expected})");
        assert!((average / expected - 1.0).abs() < 0.04, "1/{period}: {average} against {expected}");
    }
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    refuses("kind = 'reno'\nbeta = 1.0", "beta");
    refuses("kind = 'newreno'\nbeta = nan", "beta");
}
