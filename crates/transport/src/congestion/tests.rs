//! What every controller holds to, and the numbers of the documents they come from.

use proptest::prelude::*;
use serde_json::json;
use units::{Duration, Time};

use super::{
    AckSample, CongestionConfig, CongestionController, Cubic, CubicConfig, LossSample, NewReno, NewRenoConfig, Start,
};

const SEGMENT: u64 = 1000;

/// A sender that always has data, and a path that acknowledges each segment a round trip after it was sent.
struct Drive {
    controller: Box<dyn CongestionController>,
    now: Time,
    rtt: Duration,
}

impl Drive {
    fn new(controller: impl CongestionController + 'static, rtt: Duration) -> Drive {
        Drive { controller: Box::new(controller), now: Time::ZERO, rtt }
    }

    fn segments(&self) -> f64 {
        self.controller.window() as f64 / SEGMENT as f64
    }

    fn ack(&mut self) {
        self.controller.on_ack(&ack(self.now, SEGMENT, self.controller.window(), self.rtt));
    }

    /// One acknowledgment for each full segment in the window, evenly over a round trip.
    fn round(&mut self) {
        let segments = self.controller.window() / SEGMENT;
        let end = self.now + self.rtt;
        let start = self.now;
        for i in 0..segments {
            self.now = start + self.rtt * i / segments;
            self.ack();
        }
        self.now = end;
    }

    /// A loss detected with a full window in flight, and repaired in a round trip.
    fn lose(&mut self) {
        let sample = loss(self.now, self.controller.window(), self.rtt);
        self.controller.on_loss(&sample);
        self.now += self.rtt;
        self.controller.on_recovered(self.now);
    }

    /// The average window, in segments, when each `period`-th segment is lost: the segments delivered in a round trip.
    fn average_window(&mut self, period: u64) -> f64 {
        let (mut start, mut round_trips, mut segments) = (Time::ZERO, 0.0, 0u64);
        for cycle in 0..60 {
            if cycle == 20 {
                (start, round_trips, segments) = (self.now, 0.0, 0);
            }
            for _ in 0..period {
                let spacing = self.rtt.mul_f64(SEGMENT as f64 / self.controller.window() as f64);
                self.now += spacing;
                round_trips += spacing.as_secs_f64() / self.rtt.as_secs_f64();
                self.ack();
            }
            segments += period;
            let sample = loss(self.now, self.controller.window(), self.rtt);
            self.controller.on_loss(&sample);
            self.controller.on_recovered(self.now);
        }
        assert!(self.now > start);
        segments as f64 / round_trips
    }
}

fn ack(now: Time, acked: u64, in_flight: u64, rtt: Duration) -> AckSample {
    AckSample {
        now,
        acked,
        delivered: acked,
        delivered_total: acked,
        in_flight_before: in_flight,
        in_flight: in_flight.saturating_sub(acked),
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        window_limited: true,
        in_recovery: false,
    }
}

fn loss(now: Time, in_flight: u64, rtt: Duration) -> LossSample {
    LossSample { now, in_flight, srtt: rtt, min_rtt: rtt }
}

fn start(segments: u64) -> Start {
    Start { segment: SEGMENT, window: segments * SEGMENT }
}

fn cubic(config: CubicConfig, segments: u64) -> Cubic {
    Cubic::new(&config, start(segments))
}

fn newreno(config: NewRenoConfig, segments: u64) -> NewReno {
    NewReno::new(&config, start(segments))
}

const RTT: Duration = Duration::from_millis(100);

mod reno {
    use super::*;

    #[test]
    fn slow_start_doubles_each_round_trip() {
        let mut drive = Drive::new(newreno(NewRenoConfig::default(), 10), RTT);
        for expected in [20.0, 40.0, 80.0, 160.0] {
            drive.round();
            assert_eq!(drive.segments(), expected);
        }
    }

    /// RFC 3465 section 2.2.
    #[test]
    fn slow_start_counts_at_most_l_segments_for_an_acknowledgment() {
        for (abc, expected) in [(1, 11), (2, 12), (3, 13), (8, 14)] {
            let mut controller = newreno(NewRenoConfig { abc, ..Default::default() }, 10);
            controller.on_ack(&ack(Time::ZERO, 4 * SEGMENT, 10 * SEGMENT, RTT));
            assert_eq!(controller.window(), expected * SEGMENT, "abc {abc}");
        }
        // Many acknowledgments of parts of a segment open the window by no more than one of the whole.
        let mut controller = newreno(NewRenoConfig::default(), 10);
        (0..8).for_each(|_| controller.on_ack(&ack(Time::ZERO, SEGMENT / 8, 10 * SEGMENT, RTT)));
        assert_eq!(controller.window(), 11 * SEGMENT);
    }

    /// RFC 3465 section 2.3.
    #[test]
    fn after_a_timeout_slow_start_counts_one_segment() {
        let mut controller = newreno(NewRenoConfig { abc: 4, ..Default::default() }, 40);
        controller.on_timeout(&loss(Time::ZERO, 40 * SEGMENT, RTT), true);
        controller.on_ack(&ack(Time::ZERO, 4 * SEGMENT, 4 * SEGMENT, RTT));
        assert_eq!(controller.window(), 2 * SEGMENT);
    }

    #[test]
    fn a_loss_halves_and_each_round_trip_adds_a_segment() {
        let mut drive = Drive::new(newreno(NewRenoConfig::default(), 40), RTT);
        drive.lose();
        assert_eq!(drive.controller.slow_start_threshold(), 20 * SEGMENT);
        for expected in 20..40 {
            assert_eq!(drive.segments(), f64::from(expected));
            drive.round();
        }
    }

    /// The acknowledgment that reaches the threshold counts in both.
    #[test]
    fn slow_start_stops_at_the_threshold() {
        let mut controller = newreno(NewRenoConfig { abc: 8, ..Default::default() }, 40);
        controller.on_loss(&loss(Time::ZERO, 40 * SEGMENT, RTT));
        controller.on_recovered(Time::ZERO);
        controller.on_idle(Time::ZERO, 10 * SEGMENT);
        assert_eq!(controller.window(), 10 * SEGMENT);
        controller.on_ack(&ack(Time::ZERO, 8 * SEGMENT, 10 * SEGMENT, RTT));
        controller.on_ack(&ack(Time::ZERO, 5 * SEGMENT, 10 * SEGMENT, RTT));
        assert_eq!(controller.window(), 20 * SEGMENT);
        // Three segments were left over: 17 more complete the window.
        controller.on_ack(&ack(Time::ZERO, 17 * SEGMENT - 1, 20 * SEGMENT, RTT));
        assert_eq!(controller.window(), 20 * SEGMENT);
        controller.on_ack(&ack(Time::ZERO, 1, 20 * SEGMENT, RTT));
        assert_eq!(controller.window(), 21 * SEGMENT);
    }

    /// RFC 3465 section 2.1: what one acknowledgment covers beyond the window counts for the next segment.
    #[test]
    fn bytes_beyond_a_window_are_carried_over() {
        let mut controller = newreno(NewRenoConfig::default(), 20);
        controller.on_loss(&loss(Time::ZERO, 20 * SEGMENT, RTT));
        controller.on_recovered(Time::ZERO);
        for expected in [10, 11, 12, 12, 13] {
            controller.on_ack(&ack(Time::ZERO, 7 * SEGMENT, 10 * SEGMENT, RTT)); // 7, 14 - 10, 11 - 11, 7, 14 - 12
            assert_eq!(controller.window(), expected * SEGMENT);
        }
    }

    #[test]
    fn timeouts_follow_rfc_5681_equation_4() {
        let mut controller = newreno(NewRenoConfig::default(), 10);
        controller.on_timeout(&loss(Time::ZERO, 10 * SEGMENT, RTT), true);
        assert_eq!((controller.window(), controller.slow_start_threshold()), (SEGMENT, 5 * SEGMENT));
        controller.on_timeout(&loss(Time::ZERO, SEGMENT, RTT), false);
        assert_eq!((controller.window(), controller.slow_start_threshold()), (SEGMENT, 5 * SEGMENT));
        controller.on_timeout(&loss(Time::ZERO, SEGMENT, RTT), true);
        assert_eq!((controller.window(), controller.slow_start_threshold()), (SEGMENT, 2 * SEGMENT));
    }

    /// FlightSize grows during a recovery that a lost retransmission keeps open; neither that nor limited transmit may
    /// count.
    #[test]
    fn data_sent_beyond_the_window_do_not_count_in_the_threshold() {
        let mut controller = newreno(NewRenoConfig::default(), 40);
        controller.on_loss(&loss(Time::ZERO, 42 * SEGMENT, RTT));
        assert_eq!(controller.slow_start_threshold(), 20 * SEGMENT);
        let mut recovered = controller.clone();
        controller.on_timeout(&loss(Time::ZERO, 60 * SEGMENT, RTT), true);
        assert_eq!(controller.slow_start_threshold(), 20 * SEGMENT);
        recovered.on_recovered(Time::ZERO);
        recovered.on_timeout(&loss(Time::ZERO, 60 * SEGMENT, RTT), true);
        assert_eq!(recovered.slow_start_threshold(), 10 * SEGMENT);
    }

    /// RFC 9438 section 5.1, tables 1 and 2: Reno's column, 1.2/sqrt(p).
    #[test]
    fn average_window_is_that_of_the_deterministic_loss_model() {
        for (period, expected) in [(100, 12.0), (1_000, 38.0), (10_000, 120.0), (100_000, 379.0)] {
            let average = Drive::new(newreno(NewRenoConfig::default(), 10), RTT).average_window(period);
            println!("reno 1/{period}: {average:.2} ({expected})");
            assert!((average / expected - 1.0).abs() < 0.04, "1/{period}: {average} against {expected}");
        }
    }
}

mod cubic_rfc9438 {
    use super::*;

    /// W(t) for C 0.4 and beta 0.7 at 0, 0.1, 0.5, 1, 2, 5 and 10 s.
    const CURVES: [(u64, f64, [f64; 7]); 3] = [
        (40, 3.1072, [28.0, 29.122, 32.911, 36.257, 39.457, 42.712, 170.991]),
        (100, 4.2172, [70.0, 72.084, 79.456, 86.681, 95.640, 100.192, 177.354]),
        (1000, 9.0856, [700.0, 709.797, 746.853, 788.555, 857.705, 972.721, 1000.306]),
    ];

    #[test]
    fn curve_after_a_loss_is_figure_1() {
        for (w_max, k, windows) in CURVES {
            let mut controller = cubic(CubicConfig::default(), w_max);
            controller.on_loss(&loss(Time::ZERO, w_max * SEGMENT, RTT));
            controller.on_recovered(Time::ZERO);
            controller.on_ack(&ack(Time::ZERO, SEGMENT, 28 * SEGMENT, RTT));
            let (actual_k, curve) = controller.curve().expect("congestion avoidance has begun");
            assert!((actual_k - k).abs() < 5e-5, "K {actual_k}");
            for (t, expected) in [0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0].into_iter().zip(windows) {
                assert!((curve(t) - expected).abs() < 6e-4, "W_max {w_max}: W({t}) = {}", curve(t));
            }
        }
    }

    #[test]
    fn window_follows_the_curve() {
        for (w_max, k, _) in CURVES {
            let mut drive = Drive::new(cubic(CubicConfig { reno_friendly: false, ..Default::default() }, w_max), RTT);
            drive.lose();
            let epoch = drive.now;
            let mut worst: f64 = 0.0;
            for _ in 0..(2.0 * k / 0.1) as usize {
                drive.round();
                let t = drive.now.since(epoch).as_secs_f64();
                let expected = 0.4 * libm::pow(t - k, 3.0) + w_max as f64;
                worst = worst.max((drive.segments() - expected).abs() / expected);
            }
            println!("W_max {w_max}: off the curve by at most {worst:.4}");
            assert!(worst < 0.015, "W_max {w_max}: {worst}");
        }
    }

    /// The window of Linux 6.18 at the end of each round trip of 100 ms after a loss at a window of 40, recorded. Linux
    /// counts in whole segments and rounds the target up, so it is the window rounded up that is to be within a segment
    /// of it.
    #[test]
    fn window_after_a_loss_is_that_of_linux() {
        let linux = [29, 31, 32, 33, 33, 34, 35, 36, 36, 37, 37, 39, 39, 39, 39, 39, 39, 40];
        let mut drive = Drive::new(cubic(CubicConfig::default(), 40), RTT);
        drive.lose();
        assert_eq!(drive.segments(), 28.0);
        let mut equal = 0;
        for (round, expected) in linux.into_iter().enumerate() {
            drive.round();
            let window = drive.segments().ceil() as i32;
            assert!((window - expected).abs() <= 1, "round {round}: {} against {expected}", drive.segments());
            equal += u32::from(window == expected);
        }
        assert!(equal >= 14, "only {equal} of {} round trips end with the same window", linux.len());
    }

    /// Section 4.7: W_max is 40, then 0.85 x 28; without fast convergence it is 28.
    #[test]
    fn fast_convergence_lowers_the_plateau() {
        for (fast_convergence, plateau) in [(true, 23.8), (false, 28.0)] {
            let mut controller = cubic(CubicConfig { fast_convergence, ..Default::default() }, 40);
            controller.on_loss(&loss(Time::ZERO, 40 * SEGMENT, RTT));
            controller.on_loss(&loss(Time::ZERO, 28 * SEGMENT, RTT));
            controller.on_recovered(Time::ZERO);
            controller.on_ack(&ack(Time::ZERO, SEGMENT, 19 * SEGMENT, RTT));
            let (k, curve) = controller.curve().expect("congestion avoidance has begun");
            assert!((curve(k) - plateau).abs() < 1e-9, "{}", curve(k));
            assert!((curve(0.0) - 19.6).abs() < 1e-9, "{}", curve(0.0));
        }
    }

    /// Section 4.3: on a short path 3(1 - beta)/(1 + beta) of a segment per round trip, and a segment from cwnd_prior
    /// on.
    #[test]
    fn short_paths_grow_as_reno_does() {
        let mut drive = Drive::new(cubic(CubicConfig::default(), 40), Duration::from_millis(1));
        drive.lose();
        for _ in 0..100 {
            let before = drive.segments();
            drive.round();
            let rate = if before < 39.5 { 9.0 / 17.0 } else { 1.0 };
            let expected = rate * before.floor() / before;
            let growth = drive.segments() - before;
            // W_est counts acknowledged segments: a round trip carries the whole segments of the window.
            assert!((39.0..41.0).contains(&before) || (growth - expected).abs() < 0.02, "{growth} at {before}");
        }
        assert!(drive.segments() > 100.0);
        let mut alone =
            Drive::new(cubic(CubicConfig { reno_friendly: false, ..Default::default() }, 40), Duration::from_millis(1));
        alone.lose();
        (0..100).for_each(|_| alone.round());
        assert!(alone.segments() < 30.0, "{}", alone.segments());
    }

    /// Section 5.1, tables 1 and 2, of C 0.4. The curve is flat at the plateau, so without fast convergence, of which
    /// the analysis knows nothing, a window is handed on from loss to loss almost as it is: the drive begins with the
    /// analysis' own.
    #[test]
    fn average_window_is_that_of_the_deterministic_loss_model() {
        const RENO: f64 = (1.0 + 0.7) / 2.0; // average over largest window, on a straight line
        const CUBIC: f64 = (3.0 + 0.7) / 4.0; // the same, on the concave half of the curve
        let table = [
            (100, 100, 12.0, RENO),
            // The table says 38, the larger of Reno's and the cubic's: a cycle here has its first part on the curve and
            // the rest on the line. Integrated, the two give 39.9.
            (100, 1_000, 39.9, RENO),
            (100, 10_000, 187.0, CUBIC),
            (100, 100_000, 1054.0, CUBIC),
            (10, 100, 12.0, RENO),
            (10, 1_000, 38.0, RENO),
            (10, 10_000, 120.0, RENO),
            (10, 100_000, 379.0, RENO),
        ];
        for (rtt, period, expected, shape) in table {
            let config = CubicConfig { fast_convergence: false, ..Default::default() };
            let mut drive = Drive::new(cubic(config, (expected / shape) as u64), Duration::from_millis(rtt));
            drive.lose();
            let average = drive.average_window(period);
            println!("cubic {rtt} ms 1/{period}: {average:.2} ({expected})");
            assert!((average / expected - 1.0).abs() < 0.03, "{rtt} ms, 1/{period}: {average} against {expected}");
        }
    }

    /// Section 5.1 again: with fast convergence, and from a slow start that overshoots fifty times, the window settles
    /// as well.
    #[test]
    fn average_window_is_found_from_an_overshoot() {
        for (period, expected) in [(100, 12.0), (1_000, 39.9), (10_000, 187.0), (100_000, 1054.0)] {
            let average = Drive::new(cubic(CubicConfig::default(), 10), RTT).average_window(period);
            println!("cubic, fast convergence, 1/{period}: {average:.2} ({expected})");
            assert!((average / expected - 1.0).abs() < 0.1, "1/{period}: {average} against {expected}");
        }
    }

    /// Section 4.8: ssthresh by beta, slow start, then the convex half of the curve from the window it ended with.
    #[test]
    fn after_a_timeout_the_stage_begins_on_the_plateau() {
        let mut drive = Drive::new(cubic(CubicConfig { reno_friendly: false, ..Default::default() }, 100), RTT);
        drive.lose(); // a plateau of 100, to be forgotten
        drive.controller.on_timeout(&loss(drive.now, 40 * SEGMENT, RTT), true);
        assert_eq!((drive.segments(), drive.controller.slow_start_threshold()), (1.0, 28 * SEGMENT));
        for expected in [2.0, 4.0, 8.0, 16.0] {
            drive.round();
            assert_eq!(drive.segments(), expected);
        }
        while drive.segments() < 28.0 {
            drive.ack();
        }
        let epoch = drive.now;
        (0..50).for_each(|_| drive.round());
        let t = drive.now.since(epoch).as_secs_f64();
        let expected = 28.0 + 0.4 * t * t * t;
        assert!((drive.segments() / expected - 1.0).abs() < 0.02, "{} against {expected}", drive.segments());
    }

    /// Sections 4.2 and 5.8: ten seconds with little to send, or with nothing, leave the curve where it was.
    #[test]
    fn the_curve_waits_for_the_application() {
        let windows = |pause: fn(&mut Drive)| {
            let mut drive = Drive::new(cubic(CubicConfig::default(), 100), RTT);
            drive.lose();
            (0..10).for_each(|_| drive.round());
            pause(&mut drive);
            (0..10).map(|_| (drive.round(), drive.segments()).1).collect::<Vec<_>>()
        };
        let busy = windows(|_| ());
        let limited = windows(|drive| {
            let before = drive.controller.window();
            for _ in 0..100 {
                drive.now += RTT;
                let sample = AckSample { window_limited: false, ..ack(drive.now, SEGMENT, SEGMENT, RTT) };
                drive.controller.on_ack(&sample);
            }
            assert_eq!(drive.controller.window(), before);
        });
        let silent = windows(|drive| {
            drive.controller.on_ack(&ack(drive.now, SEGMENT, SEGMENT, RTT)); // the last on its way
            drive.now += Duration::from_secs(10);
        });
        for (i, busy) in busy.iter().enumerate() {
            assert!((limited[i] - busy).abs() < 1.5, "limited: {} against {busy}", limited[i]);
            assert!((silent[i] - busy).abs() < 1.5, "silent: {} against {busy}", silent[i]);
        }
    }

    /// Section 4.2: the target is at most half as large again as the window.
    #[test]
    fn a_round_trip_opens_the_window_by_at_most_half() {
        let mut drive = Drive::new(cubic(CubicConfig { c: 1e6, ..Default::default() }, 100), RTT);
        drive.lose();
        for _ in 0..20 {
            let before = drive.segments();
            drive.round();
            // Each acknowledgment compounds a little on the one before: e^(1/2) at most.
            assert!(drive.segments() <= before * libm::exp(0.5), "{before} to {}", drive.segments());
        }
    }
}

/// What every entry of the registry holds to.
mod conformance {
    use super::*;

    fn config(kind: &str) -> CongestionConfig {
        serde_json::from_value(json!({ "kind": kind })).expect("every option has a default")
    }

    fn every(mut test: impl FnMut(&str, Drive)) {
        for kind in CongestionConfig::ALL {
            let controller = config(kind).build(start(10));
            test(kind, Drive { controller, now: Time::from_nanos(1), rtt: RTT });
        }
    }

    #[test]
    fn defaults_are_accepted_and_written_as_read() {
        for kind in CongestionConfig::ALL {
            let config = config(kind);
            assert_eq!((config.kind(), config.check()), (*kind, Ok(())));
            let text = toml::to_string(&config).expect("a table");
            assert_eq!(toml::from_str::<CongestionConfig>(&text).expect("what was written"), config);
            assert!(toml::from_str::<CongestionConfig>(&format!("{text}colour = 1\n")).is_err());
        }
    }

    #[test]
    fn slow_start_is_monotone_and_opens_from_the_initial_window() {
        every(|kind, mut drive| {
            assert_eq!(drive.controller.window(), 10 * SEGMENT, "{kind}");
            for _ in 0..200 {
                let before = drive.controller.window();
                drive.ack();
                assert!(drive.controller.window() >= before, "{kind}");
            }
            assert!(drive.controller.window() > 20 * SEGMENT, "{kind}");
        });
    }

    #[test]
    fn a_loss_reduces_and_a_timeout_leaves_one_segment() {
        every(|kind, mut drive| {
            (0..3).for_each(|_| drive.round());
            let before = drive.controller.window();
            drive.lose();
            assert!(drive.controller.window() < before, "{kind}");
            drive.controller.on_timeout(&loss(drive.now, drive.controller.window(), RTT), true);
            assert_eq!(drive.controller.window(), SEGMENT, "{kind}");
            drive.round();
            assert!(drive.controller.window() > SEGMENT, "{kind}");
        });
    }

    #[test]
    fn an_idle_time_leaves_the_restart_window() {
        every(|kind, mut drive| {
            (0..3).for_each(|_| drive.round());
            drive.controller.on_idle(drive.now, 10 * SEGMENT);
            assert_eq!(drive.controller.window(), 10 * SEGMENT, "{kind}");
            drive.controller.on_idle(drive.now, 20 * SEGMENT);
            assert_eq!(drive.controller.window(), 10 * SEGMENT, "{kind}");
            drive.controller.on_idle(drive.now, 0);
            assert_eq!(drive.controller.window(), SEGMENT, "{kind}");
        });
    }

    #[derive(Clone, Copy, Debug)]
    enum Event {
        Ack { after: u64, bytes: u64, rtt: u64, limited: bool, recovery: bool },
        Loss { in_flight: u64 },
        Timeout { in_flight: u64, first: bool },
        Recovered,
        Idle { restart: u64 },
    }

    fn event() -> impl Strategy<Value = Event> {
        let bytes = || prop_oneof![4 => Just(SEGMENT), 2 => 0..4 * SEGMENT, 1 => 0..1_000_000_000u64];
        let nanos = || prop_oneof![4 => 0..1_000_000u64, 4 => 0..1_000_000_000u64, 1 => 0..1_000_000_000_000_000u64];
        prop_oneof![
            12 => (nanos(), bytes(), nanos(), prop::bool::weighted(0.9), prop::bool::weighted(0.1))
                .prop_map(|(after, bytes, rtt, limited, recovery)| Event::Ack { after, bytes, rtt, limited, recovery }),
            1 => bytes().prop_map(|in_flight| Event::Loss { in_flight }),
            1 => (bytes(), any::<bool>()).prop_map(|(in_flight, first)| Event::Timeout { in_flight, first }),
            1 => Just(Event::Recovered),
            1 => bytes().prop_map(|restart| Event::Idle { restart }),
        ]
    }

    fn apply(controller: &mut dyn CongestionController, now: &mut Time, event: Event) {
        match event {
            Event::Ack { after, bytes, rtt, limited, recovery } => {
                *now += Duration::from_nanos(after);
                let sample = ack(*now, bytes, controller.window(), Duration::from_nanos(rtt));
                controller.on_ack(&AckSample { window_limited: limited, in_recovery: recovery, ..sample });
            }
            Event::Loss { in_flight } => controller.on_loss(&loss(*now, in_flight, RTT)),
            Event::Timeout { in_flight, first } => controller.on_timeout(&loss(*now, in_flight, RTT), first),
            Event::Recovered => controller.on_recovered(*now),
            Event::Idle { restart } => controller.on_idle(*now, restart),
        }
    }

    proptest! {
        #[test]
        fn the_window_moves_only_as_it_may(events in prop::collection::vec(event(), 1..400)) {
            for kind in CongestionConfig::ALL {
                let (mut controller, mut twin) = (config(kind).build(start(10)), config(kind).build(start(10)));
                let (mut now, mut twin_now) = (Time::ZERO, Time::ZERO);
                for &event in &events {
                    let before = controller.window();
                    apply(&mut *controller, &mut now, event);
                    apply(&mut *twin, &mut twin_now, event);
                    let window = controller.window();
                    prop_assert_eq!(window, twin.window(), "{} is not deterministic", kind);
                    prop_assert!(window >= SEGMENT, "{}: {} bytes", kind, window);
                    prop_assert!(controller.slow_start_threshold() >= 2 * SEGMENT, "{}", kind);
                    match event {
                        Event::Ack { limited, recovery, .. } if !limited || recovery => {
                            prop_assert_eq!(window, before, "{} moved although it may not", kind);
                        }
                        Event::Ack { .. } => prop_assert!(window >= before, "{} fell without a loss", kind),
                        Event::Timeout { .. } => prop_assert_eq!(window, SEGMENT, "{}", kind),
                        _ => prop_assert!(window <= before, "{} grew without an acknowledgment", kind),
                    }
                }
            }
        }

        /// Since the last reduction no controller here has opened the window by more than was acknowledged (RFC 5681
        /// section 3.1).
        #[test]
        fn the_window_grows_by_at_most_what_was_acknowledged(events in prop::collection::vec(event(), 1..400)) {
            for kind in ["cubic", "newreno"] {
                let mut controller = config(kind).build(start(10));
                let (mut now, mut allowed) = (Time::ZERO, 10 * SEGMENT);
                for &event in &events {
                    apply(&mut *controller, &mut now, event);
                    match event {
                        Event::Ack { bytes, .. } => allowed += bytes,
                        _ => allowed = controller.window() + SEGMENT, // a segment may be counted up already
                    }
                    prop_assert!(controller.window() <= allowed + SEGMENT, "{}: {}", kind, controller.window());
                }
            }
        }
    }

    #[test]
    fn options_out_of_range_are_refused_by_name() {
        for (text, field) in [
            ("kind = 'reno'\nbeta = 1.0", "beta"),
            ("kind = 'newreno'\nbeta = nan", "beta"),
            ("kind = 'newreno'\nabc = 0", "abc"),
            ("kind = 'cubic'\nbeta = 0.0", "beta"),
            ("kind = 'cubic'\nc = 0.0", "c"),
            ("kind = 'cubic'\nc = inf", "c"),
            ("kind = 'cubic'\nabc = 5000", "abc"),
        ] {
            let config: CongestionConfig = toml::from_str(text).expect(text);
            assert_eq!(config.check().expect_err(text).field, field);
        }
    }
}
