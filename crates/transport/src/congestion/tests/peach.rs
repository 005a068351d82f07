//! Sudden start and rapid recovery.

use super::super::{NewRenoConfig, PeachConfig};
use super::path::Path;
use super::*;

/// Dummies spread over the first round trip, rwnd in all with the data; the window is open in the second.
#[test]
fn sudden_start_opens_the_window_in_a_round_trip() {
    let mut path = Path::new(&PeachConfig::default(), 2000, 600, 1000);
    path.run(0.6 + 0.3);
    assert!((31..=33).contains(&path.dummies), "{}", path.dummies);
    assert_eq!(path.window().size, 10);
    path.run(0.6 + 0.6 + 0.005);
    assert_eq!(path.dummies, 54);
    path.run(0.6 + 1.2 + 0.1);
    assert!((64..=66).contains(&path.window().size), "{}", path.window().size);
    assert_eq!(path.dummies, 54);
    let mut reno = Path::new(&NewRenoConfig::default(), 2000, 600, 1000);
    reno.run(0.6 + 1.2 - 0.1);
    assert!(reno.window().size < 40);
}

/// The path of a tenth: most dummies find no room.
#[test]
fn a_full_path_opens_little() {
    let mut path = Path::new(&PeachConfig { rwnd: 200 }, 100, 600, 1000);
    path.run(0.6 + 1.3);
    let held = 60 + 10;
    assert!(path.window().size <= held, "{}", path.window().size);
}

/// A link error: all dummies arrive, and the window is as before. A reduction by congestion: at most half do, and it
/// stays halved.
#[test]
fn rapid_recovery_tells_link_errors_from_congestion() {
    for (arriving, expected) in [(40, 40), (30, 30), (20, 20), (0, 20)] {
        let mut drive = Drive::new(&PeachConfig::default(), 40, RTT);
        drive.tell(Event::Starts { app_limited: true, last_sent: None });
        drive.reduce();
        assert_eq!(drive.window().size, 20);
        let mut dummies = 0;
        for _ in 0..50 {
            let state = CongestionState::Recovery;
            drive.handle(&AckSample { acked: 0, may_grow: false, state, ..drive.sample(1) });
            while drive.rig.probes.take() {
                dummies += 1;
            }
        }
        assert_eq!(dummies, 40);
        // Half of what arrives does so while the recovery still holds the window.
        for i in 0..arriving {
            let state = if i < 25 { CongestionState::Recovery } else { CongestionState::Open };
            if i == 25 {
                drive.tell(Event::Recovered);
            }
            drive.tell(Event::ProbeAcked { state });
        }
        drive.tell(Event::Recovered);
        assert_eq!(drive.window().size, expected, "{arriving} arrive");
    }
}

/// One loss in five hundred, on a path with room: Reno halves and crawls, Peach is back.
#[test]
fn link_errors_cost_less() {
    let rate = |config: &dyn Kind| {
        let mut path = Path::new(config, 2000, 300, 1000);
        path.loss_period = Some(500);
        path.dummy_capacity = 50;
        path.run(60.0);
        path.rate_since(5.0)
    };
    let (peach, reno) = (rate(&PeachConfig::default()), rate(&NewRenoConfig::default()));
    println!("peach {peach:.0}/s, reno {reno:.0}/s");
    assert!(peach > 1.5 * reno, "{peach} against {reno}");
}

#[test]
fn a_timeout_begins_a_sudden_start() {
    let mut drive = Drive::new(&PeachConfig { rwnd: 16 }, 10, RTT);
    drive.tell(Event::Starts { app_limited: true, last_sent: None });
    drive.time_out();
    let mut dummies = 0;
    while let Some(at) = drive.rig.timer() {
        drive.rig.handle_timeout(at, 1);
        while drive.rig.probes.take() {
            dummies += 1;
            drive.rig.tell(at, Event::ProbeAcked { state: CongestionState::Loss });
        }
    }
    assert_eq!((dummies, drive.window().size), (15, 16));
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    refuses("kind = 'peach'\nrwnd = 0", "rwnd");
}
