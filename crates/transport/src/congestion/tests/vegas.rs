//! The numbers that ns-3 asserts, and where the window settles.

use super::super::VegasConfig;
use super::path::Path;
use super::*;

/// (window, threshold, round-trip time in ms) on a path of 100 ms, and the window and threshold a round trip later.
const NS3: [(u32, u32, u64, u32, u32); 5] =
    [(38, 40, 106, 36, 35), (5, 10, 118, 6, 10), (60, 40, 206, 59, 43), (15, 10, 106, 16, 12), (20, 10, 109, 20, 15)];

#[test]
fn windows_are_those_of_ns3() {
    for (size, threshold, rtt, expected, expected_threshold) in NS3 {
        let mut drive = Drive::new(&VegasConfig::default(), size, RTT);
        drive.window_mut().threshold = threshold;
        let first = AckSample { una: 1000, nxt: 2000, window_limited: false, ..sample(drive.now, 1, RTT) };
        drive.handle(&first); // the shortest, and a round begins
        let rtt = Duration::from_millis(rtt);
        for una in [1500, 1600, 1700] {
            let within = AckSample { una, nxt: 2000, window_limited: false, ..sample(drive.now, 1, rtt) };
            drive.handle(&within);
        }
        drive.handle(&AckSample { una: 2001, nxt: 3000, ..sample(drive.now, 1, rtt) });
        assert_eq!((drive.window().size, drive.window().threshold), (expected, expected_threshold), "{size} at {rtt}");
    }
}

/// Two to four segments wait in the queue, and nothing is lost.
#[test]
fn the_queue_holds_alpha_to_beta_segments() {
    for (alpha, beta) in [(2, 4), (10, 12)] {
        let mut path = Path::new(&VegasConfig { alpha, beta, gamma: 1 }, 1000, 100, 1000);
        path.run(60.0);
        let queued = path.queue();
        assert!((alpha..=beta + 1).contains(&queued), "{queued} segments");
        assert_eq!(path.losses, 0);
        assert!(path.rate_since(30.0) > 990.0, "{}", path.rate_since(30.0));
    }
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    refuses("kind = 'vegas'\nalpha = 5", "beta");
}
