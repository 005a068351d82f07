//! The equations of rate adjustment and rate tracking, and bursts on a simulated bottleneck.

use super::super::NoordwijkConfig;
use super::super::noordwijk::Noordwijk;
use super::path::Path;
use super::*;

/// A train of `count` acknowledgments, evenly over `dispersion` ms, the last with a round-trip time of `rtt` ms.
fn train(controller: &mut Noordwijk, now: &mut Time, count: u32, dispersion: u64, rtt: u64, lost: u32) {
    for i in 0..count {
        controller.on_event(*now, &Event::Sent { in_flight: i + 1 });
    }
    for i in 0..count {
        if i > 0 {
            *now += Duration::from_millis(dispersion) / u64::from(count - 1);
        }
        let lost = if i + 1 == count { lost } else { 0 };
        let rtt = if i + 1 == count { Duration::from_millis(rtt) } else { Duration::from_millis(600) };
        controller.on_ack(&AckSample { lost, in_flight: 1, ..sample(*now, 1, rtt) });
    }
    (0..lost).for_each(|_| controller.on_event(*now, &Event::Sent { in_flight: 1 }));
    *now += Duration::from_secs(60);
    controller.on_event(*now, &Event::Timeout { in_flight: 0 });
}

#[test]
fn bursts_follow_the_equations() {
    let mut controller = Noordwijk::new(&NoordwijkConfig::default(), start(10));
    let mut now = Time::ZERO;
    let mut step = |count, dispersion, rtt, lost| {
        train(&mut controller, &mut now, count, dispersion, rtt, lost);
        (controller.burst(), controller.interval().as_secs_f64())
    };
    // After two trains: no congestion, 20 * 380 ms / 20 from burst to burst.
    assert_eq!(step(20, 380, 650, 0), (20, 0.5));
    let (burst, interval) = step(20, 380, 800, 0);
    assert!(burst == 20 && (interval - 0.38).abs() < 1e-6, "{burst} {interval}");
    // 380 ms more than the shortest: 20 / (1 + 380/380) = 10.
    step(20, 380, 980, 0);
    assert_eq!(step(20, 380, 980, 0).0, 10);
    // Tracking: half of what is missing.
    step(10, 190, 700, 0);
    assert_eq!(step(10, 190, 700, 0).0, 15);
    // Retransmissions are taken off.
    assert_eq!(step(15, 190, 700, 4).0, 11);
    // 10 / (1 + 1800/200) is a small burst: twice the time, 2 * 20 * 200 ms / 11.
    let (burst, interval) = step(11, 200, 2400, 0);
    assert!(burst == 1 && (interval - 40.0 * 0.2 / 11.0).abs() < 1e-6, "{burst} {interval}");
}

#[test]
fn a_timeout_restores_the_start_and_doubles_if_repeated() {
    let mut drive = Drive::new(&NoordwijkConfig::default(), 10, RTT);
    let begin = drive.now;
    for expected in [0.5, 1.0, 2.0] {
        drive.time_out();
        let next = drive.rig.timer().expect("a burst will come");
        assert!((next.since(begin).as_secs_f64() - expected).abs() < 1e-9);
    }
}

/// The first burst at once, nothing until the interval is over, although its acknowledgments have come; then the next.
#[test]
fn nothing_goes_between_bursts() {
    let mut path = Path::new(&NoordwijkConfig::default(), 1000, 100, 1000);
    path.run(0.59);
    assert_eq!(path.sent, 20);
    path.run(0.61);
    assert_eq!(path.sent, 40);
}

/// The bottleneck is found and kept busy, with a queue of no more than some bursts. Where a burst alone takes longer
/// than beta, here 0.38 s, it counts as congestion, and half the rate is left; at 0.19 s a short queue makes it so.
#[test]
fn the_rate_is_tracked() {
    for (rate, rtt, least) in [(50, 600, 0.4), (200, 600, 0.8), (1000, 600, 0.8), (100, 300, 0.7)] {
        let mut path = Path::new(&NoordwijkConfig::default(), rate, rtt, 1000);
        path.run(60.0);
        let share = path.rate_since(20.0) / f64::from(rate);
        println!("{rate}/s, {rtt} ms: {share:.3} of the rate, {} in the queue", path.queue());
        assert!(share > least, "{share}");
        assert!(path.queue() < 100, "{}", path.queue());
        assert_eq!(path.losses, 0);
    }
}

#[test]
fn losses_do_not_stop_it() {
    let mut path = Path::new(&NoordwijkConfig::default(), 100, 600, 1000);
    path.loss_period = Some(50);
    path.run(60.0);
    assert!(path.rate_since(20.0) > 40.0, "{}", path.rate_since(20.0));
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    refuses("kind = 'noordwijk'\nburst = 0", "burst");
    refuses("kind = 'noordwijk'\ninterval = '0 ms'", "interval");
    refuses("kind = 'noordwijk'\nstability = 0", "stability");
}
