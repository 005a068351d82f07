//! The equations of Caini and Firrincieli, with the numbers that ns-3 asserts.

use super::super::HyblaConfig;
use super::*;

fn drive(rtt0: u64, rtt: u64, initial: u32) -> Drive {
    let config = HyblaConfig { rtt0: Duration::from_millis(rtt0), ..Default::default() };
    Drive::new(&config, initial, Duration::from_millis(rtt))
}

/// ns-3, RTT0 50 ms: 2^rho - 1 segments of 500 bytes on a window of 1000: 1571, 2500 and 16,384,500 bytes.
#[test]
fn slow_start_opens_by_two_to_the_rho_less_one() {
    for (rtt, bytes) in [(55, 1571u32), (100, 2500), (750, 16_384_500)] {
        let mut drive = drive(50, rtt, 2);
        drive.ack(1);
        assert_eq!(drive.window().size, bytes / 500, "RTT {rtt} ms");
    }
}

/// The parts of segments add up: rho 1.1 opens by 8.01 segments in seven acknowledgments (2^1.1 - 1 is 1.1435).
#[test]
fn parts_of_segments_are_kept() {
    let mut drive = drive(50, 55, 2);
    (0..7).for_each(|_| drive.ack(1));
    assert_eq!(drive.window().size, 10);
}

/// ns-3, congestion avoidance from 2 segments: rho^2/W is 60.5 for rho 11 and 112.5 for rho 15, of which whole segments
/// count.
#[test]
fn avoidance_opens_by_rho_squared_over_the_window() {
    for (rho, window) in [(11, 62), (15, 114), (2, 4)] {
        let mut drive = drive(50, 50 * rho, 2);
        drive.window_mut().threshold = 2;
        drive.ack(1);
        assert_eq!(drive.window().size, window, "rho {rho}");
    }
}

/// What it is for: in the same time the rate, segments per round trip, grows as on the short path.
#[test]
fn growth_in_time_is_that_of_the_reference_path() {
    let growth = |rtt: u64| {
        let mut drive = drive(25, rtt, (rtt / 25) as u32 * 200);
        drive.window_mut().threshold = 2;
        let before = f64::from(drive.window().size);
        while drive.now < Time::from_secs_f64(20.0) {
            drive.round();
        }
        (f64::from(drive.window().size) - before) / rtt as f64 / (drive.now.as_secs_f64() - rtt as f64 * 1e-3)
    };
    let reference = growth(25);
    for rtt in [100, 200, 500] {
        assert!((growth(rtt) / reference - 1.0).abs() < 0.04, "RTT {rtt} ms: {} against {reference}", growth(rtt));
    }
}

#[test]
fn short_paths_and_disorder_are_renos() {
    for (rtt, state) in [(10, CongestionState::Open), (500, CongestionState::Disorder)] {
        let mut drive = drive(25, rtt, 10);
        let sample = AckSample { state, ..drive.sample(1) };
        drive.handle(&sample);
        assert_eq!(drive.window().size, 11);
    }
    let mut drive = drive(25, 500, 40);
    drive.lose();
    assert_eq!(drive.window().size, 20);
}

#[test]
fn the_initial_window_may_be_rho() {
    let config = HyblaConfig { initial_rho: true, ..Default::default() };
    assert_eq!(Drive::new(&config, 10, Duration::from_millis(600)).window().size, 24);
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    refuses("kind = 'hybla'\nrtt0 = '0 ms'", "rtt0");
}
