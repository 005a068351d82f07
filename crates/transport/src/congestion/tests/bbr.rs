//! What draft-cardwell-iccrg-bbr-congestion-control and the measurements of Linux say of BBR, on a simulated
//! bottleneck.

use super::super::BbrConfig;
use super::super::bbr::{Bbr, BbrMode};
use super::path::Path;
use super::*;

fn path(rate: u32, rtt: u64, capacity: u32) -> Path {
    Path::new(&BbrConfig::default(), rate, rtt, capacity)
}

/// The rate of the initial window per round-trip time of the handshake, times 2.885 and 0.99; a millisecond without
/// one. Linux 6.18: 279,529 bytes per second for ten segments of 1000 bytes and 102.194 ms.
#[test]
fn the_first_rate_is_that_of_linux() {
    let mut controller = Bbr::new(start(10));
    let rate = |controller: &Bbr| controller.pacing_rate().expect("BBR paces").as_bps() as f64 / 8.0;
    assert!((rate(&controller) / (2.885 * 0.99 * 1e7) - 1.0).abs() < 1e-6);
    controller.on_event(Time::ZERO, &Event::Established { srtt: Duration::from_micros(102_194) });
    assert!((rate(&controller) / 279_529.0 - 1.0).abs() < 1e-3, "{}", rate(&controller));
}

/// 2.885, then 1/2.885 until the queue is gone, then around the bandwidth: the rate of the bottleneck within a few
/// percent, and a queue of little more than the probes.
#[test]
fn the_bottleneck_is_filled_and_its_queue_is_not() {
    for (rate, rtt) in [(1000, 100), (100, 50), (4000, 20), (1000, 600)] {
        let mut path = path(rate, rtt, 10_000);
        let seconds = 9.0 + 20.0 * rtt as f64 / 1000.0;
        path.run(seconds);
        let since = seconds - 5.0;
        let share = path.rate_since(since) / f64::from(rate);
        let held = f64::from(rate) * rtt as f64 / 1000.0;
        let mean = path.log.iter().filter(|(at, _)| at.as_secs_f64() > since).map(|(_, w)| f64::from(*w)).sum::<f64>()
            / path.log.iter().filter(|(at, _)| at.as_secs_f64() > since).count() as f64;
        println!("{rate}/s, {rtt} ms: {share:.3} of the rate, window {:.2} of what the path holds", mean / held);
        assert!(share > 0.93, "{rate}/s, {rtt} ms: {share}");
        assert!(mean < 2.3 * held + 12.0, "{rate}/s, {rtt} ms: {mean} of {held}");
        assert_eq!(path.losses, 0);
    }
}

/// One loss in a hundred slows Reno to a tenth, and BBR not.
#[test]
fn random_losses_do_not_slow_it() {
    let mut bbr = path(1000, 100, 200);
    bbr.loss_period = Some(100);
    bbr.run(30.0);
    let mut reno = Path::new(&super::super::NewRenoConfig::default(), 1000, 100, 200);
    reno.loss_period = Some(100);
    reno.run(30.0);
    println!("bbr {:.0}/s, reno {:.0}/s", bbr.rate_since(5.0), reno.rate_since(5.0));
    assert!(bbr.rate_since(5.0) > 900.0, "{}", bbr.rate_since(5.0));
    assert!(reno.rate_since(5.0) < 200.0, "{}", reno.rate_since(5.0));
}

/// Ten seconds without a shorter round-trip time: four segments for 200 ms and a round trip, then on.
#[test]
fn the_round_trip_time_is_probed_every_ten_seconds() {
    let mut path = path(1000, 100, 10_000);
    path.run(45.0);
    let mut probes = Vec::new();
    for (at, window) in &path.log {
        let at = at.as_secs_f64();
        if *window <= 4 && probes.last().is_none_or(|(_, last)| at - last > 1.0) {
            probes.push((at, at));
        } else if *window <= 4 {
            probes.last_mut().expect("one began").1 = at;
        }
    }
    println!("{probes:?}");
    assert!((3..=4).contains(&probes.len()), "{probes:?}");
    for (first, last) in &probes {
        assert!((0.15..0.7).contains(&(last - first)), "{probes:?}");
    }
    for pair in probes.windows(2) {
        assert!((9.9..11.5).contains(&(pair[1].0 - pair[0].0)), "{probes:?}");
    }
}

/// Half the bandwidth: after ten round trips the rate has followed; twice: the probes find it.
#[test]
fn the_estimate_follows_the_path() {
    let mut path = path(1000, 50, 400);
    path.run(5.0);
    path.rate = 500.0;
    path.run(9.0);
    let queue = path.queue();
    assert!(queue < 100, "{queue} in the queue of half the path");
    assert!(path.rate_since(7.0) > 450.0, "{}", path.rate_since(7.0));
    path.rate = 1000.0;
    path.run(14.0);
    assert!(path.rate_since(12.0) > 900.0, "{}", path.rate_since(12.0));
}

/// An application that sends a tenth of the rate for forty round trips does not make the estimate smaller.
#[test]
fn an_application_that_pauses_leaves_the_estimate() {
    let mut path = path(1000, 50, 400);
    path.run(5.0);
    let before = path.rig.controller.pacing_rate().expect("BBR paces").as_bps();
    path.app_limit = Some(100.0);
    path.run(7.0);
    path.app_limit = None;
    path.run(7.05);
    let after = path.rig.controller.pacing_rate().expect("BBR paces").as_bps();
    // A phase of the cycle drains at 0.75 times the bandwidth.
    assert!(after as f64 > 0.7 * before as f64, "{before} to {after}");
    path.run(8.0);
    assert!(path.rate_since(7.05) > 900.0, "{}", path.rate_since(7.05));
}

/// On a short path four segments are in flight for more than ten round trips.
#[test]
fn a_probe_of_the_round_trip_time_leaves_the_estimate() {
    let mut path = path(5000, 10, 400);
    path.run(12.0);
    let windows: Vec<u32> = path.log.iter().map(|(_, window)| *window).skip_while(|window| *window < 10).collect();
    let first = windows.iter().position(|window| *window <= 4).expect("it probes");
    let after = windows[first..].iter().skip_while(|window| **window <= 4).nth(50).expect("it ends");
    assert!(2 * after > windows[first - 1], "{} before, {after} after", windows[first - 1]);
}

/// Acknowledgments that come forty at a time stop nothing.
#[test]
fn aggregated_acknowledgments_are_allowed_for() {
    let mut path = path(1000, 40, 1000);
    path.aggregate = 40;
    path.run(12.0);
    assert!(path.rate_since(2.0) > 880.0, "{}", path.rate_since(2.0));
}

#[test]
fn connections_probe_at_different_times() {
    let mut phases = std::collections::BTreeSet::new();
    for entropy in 0..40 {
        let mut path = path(1000, 100, 10_000);
        path.rig = Rig::new(Box::new(Bbr::new(Start { entropy, ..start(10) })));
        path.run(2.0);
        let rate = path.rig.controller.pacing_rate().expect("BBR paces").as_bps();
        phases.insert(rate / 500_000);
    }
    assert!(phases.len() >= 2, "{phases:?}");
}

/// In the first round trip of a recovery a segment is sent for each delivered; after it the window is as before.
#[test]
fn a_recovery_conserves_and_restores() {
    let mut controller = Bbr::new(start(10));
    assert_eq!(controller.mode, BbrMode::Startup);
    let at = |state, lost, in_flight, delivered_total| AckSample {
        state,
        lost,
        in_flight,
        delivered_total,
        ..sample(Time::ZERO, 1, RTT)
    };
    controller.window_mut().size = 40;
    controller.on_ack(&at(CongestionState::Open, 0, 39, 10));
    let before = controller.window().size;
    let congestion = Congestion {
        now: Time::ZERO,
        cause: Cause::Loss,
        from: before,
        in_flight: 30,
        srtt: RTT,
        min_rtt: RTT,
        mss: MSS,
    };
    controller.on_event(Time::ZERO, &Event::Congestion(congestion));
    assert_eq!(controller.window().threshold, Window::NO_THRESHOLD);
    controller.on_ack(&at(CongestionState::Recovery, 5, 30, 11));
    assert_eq!(controller.window().size, 31);
    controller.on_ack(&at(CongestionState::Recovery, 0, 30, 12));
    assert_eq!(controller.window().size, 31);
    controller.on_ack(&at(CongestionState::Open, 0, 20, 13));
    assert!(controller.window().size >= before.min(40), "{}", controller.window().size);
}
