//! The test cases of draft-ietf-ccwg-bbr, on a simulated bottleneck.

use super::super::{Bbr3Config, BbrConfig, CubicConfig};
use super::path::Path;
use super::*;

fn path(rate: u32, rtt: u64, capacity: u32) -> Path {
    Path::new(&Bbr3Config::default(), rate, rtt, capacity)
}

#[test]
fn the_bottleneck_is_filled_and_its_queue_is_not() {
    // At 600 ms a probe of the round-trip time halves the window for 1.4 s of 5.6.
    for (rate, rtt, least) in [(1000, 100, 0.95), (100, 50, 0.95), (4000, 20, 0.95), (1000, 600, 0.86)] {
        let mut path = path(rate, rtt, 10_000);
        let seconds = 10.0 + 20.0 * rtt as f64 / 1000.0;
        path.run(seconds);
        let share = path.rate_since(seconds - 5.0) / f64::from(rate);
        let held = f64::from(rate) * rtt as f64 / 1000.0;
        println!("{rate}/s, {rtt} ms: {share:.3} of the rate, {} in the queue of {held}", path.queue());
        assert!(share > least, "{rate}/s, {rtt} ms: {share}");
        assert_eq!(path.losses, 0);
    }
}

/// A queue of a tenth of what the path holds: version 1 loses many segments, version 3 few.
#[test]
fn a_shallow_queue_is_learned() {
    let rates = |config: &dyn Kind| {
        let mut path = Path::new(config, 1000, 100, 10);
        path.run(40.0);
        (path.rate_since(10.0), path.loss_rate())
    };
    let (v1, v3) = (rates(&BbrConfig::default()), rates(&Bbr3Config::default()));
    println!("version 1 {v1:?}, version 3 {v3:?}");
    assert!(v3.1 < 0.02 && v3.1 < v1.1, "{v1:?}, {v3:?}");
    assert!(v3.0 > 700.0, "{v3:?}");
}

/// A probe ends after three round trips on a plateau, before it fills a queue of what the path holds, as the window is
/// more than half full, but not full: it is not the safe volume that limits.
#[test]
fn a_plateau_ends_a_probe_before_the_queue_overflows() {
    let mut path = path(1000, 100, 100);
    path.run(8.0);
    let startup = path.losses;
    assert!(startup > 0, "there is a safe volume");
    path.run(60.0);
    assert_eq!(path.losses - startup, 0);
    assert!(path.rate_since(10.0) > 900.0, "{}", path.rate_since(10.0));
}

/// One loss in a hundred, below the threshold of two.
#[test]
fn random_losses_below_the_threshold_do_not_slow_it() {
    let rate = |config: &dyn Kind| {
        let mut path = Path::new(config, 1000, 100, 200);
        path.loss_period = Some(100);
        path.run(30.0);
        path.rate_since(5.0)
    };
    let (bbr, cubic) = (rate(&Bbr3Config::default()), rate(&CubicConfig::default()));
    println!("bbr3 {bbr:.0}/s, cubic {cubic:.0}/s");
    assert!(bbr > 750.0 && cubic < 250.0, "{bbr}, {cubic}");
}

/// "Entering and Exiting PROBE_RTT": every five seconds, half of what the path holds for 200 ms and a round trip.
#[test]
fn the_round_trip_time_is_probed_every_five_seconds() {
    let mut path = path(1000, 100, 10_000);
    path.run(32.0);
    let mut probes: Vec<f64> = Vec::new();
    for (at, window) in &path.log {
        let at = at.as_secs_f64();
        if at > 2.0 && (45..=55).contains(window) && probes.last().is_none_or(|last| at - last > 1.0) {
            probes.push(at);
        }
        assert!(at < 2.0 || *window >= 45, "{window} at {at}");
    }
    println!("{probes:?}");
    assert!((4..=6).contains(&probes.len()), "{probes:?}");
    for pair in probes.windows(2) {
        assert!((4.9..6.5).contains(&(pair[1] - pair[0])), "{probes:?}");
    }
}

/// "Increasing Bandwidth 10x": found within some probes. "Decreasing Bandwidth 10x": followed, and the queue drains.
#[test]
fn the_estimate_follows_the_path() {
    let mut path = path(200, 50, 100);
    path.run(10.0);
    path.rate = 2000.0;
    path.run(35.0);
    assert!(path.rate_since(30.0) > 1700.0, "{}", path.rate_since(30.0));
    path.rate = 200.0;
    path.run(60.0);
    assert!(path.rate_since(50.0) > 180.0, "{}", path.rate_since(50.0));
    assert!(path.queue() < 60, "{}", path.queue());
}

/// "Correctly Managing Sub-Packet BDPs".
#[test]
fn four_segments_are_the_least() {
    let mut path = path(20, 10, 100);
    path.run(30.0);
    assert!(path.rate_since(5.0) > 18.0, "{}", path.rate_since(5.0));
    assert!(path.log.iter().all(|(_, window)| *window >= 4));
}

/// "Achieving Expected Cruise Bandwidth on a Link With Aggregation".
#[test]
fn aggregated_acknowledgments_are_allowed_for() {
    let mut path = path(1000, 40, 1000);
    path.aggregate = 40;
    path.run(12.0);
    assert!(path.rate_since(2.0) > 850.0, "{}", path.rate_since(2.0));
}

/// "Handling Spurious Fast Recovery": the window and the bounds are as before.
#[test]
fn a_spurious_recovery_is_taken_back() {
    let mut path = path(1000, 100, 10_000);
    path.run(4.0);
    let before = path.window().size;
    let congestion = Congestion {
        now: path.now,
        cause: Cause::Loss,
        from: before,
        in_flight: before,
        srtt: RTT,
        min_rtt: RTT,
        mss: MSS,
    };
    path.rig.tell(path.now, Event::Congestion(congestion));
    path.rig.window_mut().size = 10;
    path.rig.tell(path.now, Event::Undone);
    assert!(path.window().size >= before);
}
