//! Prague and DCTCP: the average fraction, one reduction in a round trip, growth by the virtual round-trip time.

use super::super::dctcp::{Dctcp, DctcpConfig};
use super::super::prague::{Prague, PragueConfig};
use super::*;

const SLOW: Duration = Duration::from_millis(50);

/// Round trips of a sender that always has its window in flight, with the fraction of segments that come with a mark.
struct Rounds {
    now: Time,
    una: u64,
    owed: f64,
}

impl Rounds {
    const NEW: Rounds = Rounds { now: Time::ZERO, una: 1, owed: 0.0 };

    /// The windows after each.
    fn run(
        &mut self,
        controller: &mut dyn CongestionController,
        rtt: Duration,
        fractions: impl IntoIterator<Item = f64>,
    ) -> Vec<u32> {
        let mut windows = Vec::new();
        for fraction in fractions {
            let segments = u64::from(controller.window().size);
            for _ in 0..segments {
                self.now += rtt / segments;
                self.owed += fraction;
                let marked = u32::from(self.owed >= 1.0);
                self.owed -= f64::from(marked);
                self.una += 1;
                let nxt = self.una + segments;
                controller.on_ack(&AckSample { una: self.una, nxt, marked, ..sample(self.now, 1, rtt) });
            }
            windows.push(controller.window().size);
        }
        windows
    }
}

fn rounds(
    controller: &mut dyn CongestionController,
    rtt: Duration,
    fractions: impl IntoIterator<Item = f64>,
) -> Vec<u32> {
    let mut clock = Rounds::NEW;
    clock.run(controller, rtt, fractions)
}

fn calm(mut controller: impl CongestionController, window: u32) -> impl CongestionController {
    (controller.window_mut().size, controller.window_mut().threshold) = (window, window);
    controller
}

/// RFC 8257 section 3.3 by hand: the first mark finds alpha at 1, then it follows the fraction.
#[test]
fn the_first_mark_halves_and_later_ones_take_half_the_fraction() {
    let mut prague = calm(Prague::new(&PragueConfig::default(), start(100)), 100);
    let windows = rounds(&mut prague, SLOW, std::iter::repeat_n(0.0, 3).chain([0.5]));
    assert!((102..=103).contains(&windows[2]), "a segment more in a round trip: {windows:?}");
    assert!((50..54).contains(&windows[3]), "{windows:?}");
    // After a hundred round trips of a tenth, alpha is a tenth: each takes a twentieth and adds less than one.
    let mut prague = calm(Prague::new(&PragueConfig::default(), start(1000)), 1000);
    let mut clock = Rounds::NEW;
    clock.run(&mut prague, SLOW, std::iter::repeat_n(0.1, 100));
    prague.window_mut().size = 1000;
    let windows = clock.run(&mut prague, SLOW, [0.1, 0.1]);
    assert!((895..=912).contains(&windows[1]), "twice 0.95, and less than two segments: {windows:?}");
}

/// The window stays where a round trip's growth is what its marks take: W p = 2.
#[test]
fn the_window_settles_where_two_marks_come_in_a_round_trip() {
    for fraction in [0.02, 0.05, 0.1] {
        for dctcp in [false, true] {
            let mut controller: Box<dyn CongestionController> = if dctcp {
                Box::new(calm(Dctcp::new(&DctcpConfig::default(), start(60)), 60))
            } else {
                Box::new(calm(Prague::new(&PragueConfig::default(), start(60)), 60))
            };
            let windows = rounds(controller.as_mut(), SLOW, std::iter::repeat_n(fraction, 2000));
            let mean = windows[1000..].iter().map(|&size| f64::from(size)).sum::<f64>() / 1000.0;
            assert!((0.8..1.3).contains(&(mean * fraction / 2.0)), "{fraction} {dctcp}: {mean}");
        }
    }
}

/// Over 5 ms a flow grows as one over 25 ms: a segment in five round trips, in each of which it has a fifth of the
/// window.
#[test]
fn a_short_path_grows_as_one_of_25_ms() {
    let short = Duration::from_millis(5);
    let grown = |config: PragueConfig| {
        let mut prague = calm(Prague::new(&config, start(100)), 100);
        *rounds(&mut prague, short, std::iter::repeat_n(0.0, 250)).last().unwrap() - 100
    };
    assert!((9..=10).contains(&grown(PragueConfig::default())), "250 round trips of 1/25");
    assert!(grown(PragueConfig { rtt_virtual: Duration::ZERO, ..PragueConfig::default() }) >= 249);
}

/// The loss in the round trip of a reduction for marks counts from before that.
#[test]
fn a_mark_and_a_loss_of_one_round_trip_are_one_reduction() {
    let mut prague = calm(Prague::new(&PragueConfig::default(), start(100)), 100);
    rounds(&mut prague, SLOW, std::iter::repeat_n(0.1, 100));
    prague.window_mut().size = 100;
    let now = Time::ZERO + SLOW * 1000;
    prague.on_ack(&AckSample { una: 1 << 40, nxt: 1 << 41, marked: 1, ..sample(now, 1, SLOW) });
    let after = prague.window().size;
    assert!((94..=96).contains(&after), "{after}");
    let loss = |now, from| {
        Event::Congestion(Congestion {
            now,
            cause: Cause::Loss,
            from,
            in_flight: from,
            srtt: SLOW,
            min_rtt: SLOW,
            mss: MSS,
        })
    };
    prague.on_event(now, &loss(now + SLOW / 2, after));
    assert_eq!(prague.window().threshold, 50);
    prague.on_event(now, &loss(now + SLOW * 2, after));
    assert_eq!(prague.window().threshold, after / 2);
}

#[test]
fn the_rate_is_the_window_in_a_round_trip() {
    let mut prague = calm(Prague::new(&PragueConfig::default(), start(100)), 100);
    assert_eq!(prague.pacing_rate(), None, "no round-trip time yet");
    prague.on_ack(&AckSample { window_limited: false, ..sample(Time::ZERO, 1, SLOW) });
    let rate = prague.pacing_rate().unwrap().as_bps();
    assert!(rate.abs_diff(u64::from(100 * MSS) * 8 * 20) <= 1);
    prague.window_mut().threshold = 1000;
    assert!(prague.pacing_rate().unwrap().as_bps().abs_diff(2 * rate) <= 1, "in slow start");
}

#[test]
fn options_that_cannot_be_are_refused() {
    refuses("kind = \"prague\"\ngain = 0.0", "gain");
    refuses("kind = \"dctcp\"\ngain = 1.5", "gain");
    refuses("kind = \"prague\"\nbeta = 1.0", "beta");
    refuses("kind = \"prague\"\nrtt_virtual = \"2 s\"", "rtt_virtual");
}
