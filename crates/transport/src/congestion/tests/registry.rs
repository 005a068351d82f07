//! What every entry of the registry holds to.

use proptest::prelude::*;

use super::super::{Growth, LostSegment, RateSample};
use super::path::Path;
use super::*;

fn every(mut test: impl FnMut(&str, Drive)) {
    for kind in CongestionConfig::ALL {
        test(kind, Drive::of_kind(kind, 10));
    }
}

#[test]
fn defaults_are_accepted_and_written_as_read() {
    for kind in CongestionConfig::ALL {
        let config = config(kind);
        assert_eq!((config.kind(), config.entry().check()), (*kind, Ok(())));
        let text = toml::to_string(&config).expect("a table");
        assert_eq!(toml::from_str::<CongestionConfig>(&text).expect("what was written"), config);
        assert!(toml::from_str::<CongestionConfig>(&format!("{text}colour = 1\n")).is_err());
    }
}

/// A resolved configuration says everything, means the same in every profile, and builds the same as the classic one
/// left open.
#[test]
fn resolved_is_complete() {
    for kind in CongestionConfig::ALL {
        for profile in Profile::ALL {
            let resolved = config(kind).resolved(profile);
            assert_eq!(resolved.entry().check(), Ok(()));
            for other in Profile::ALL {
                assert_eq!(resolved.resolved(other), resolved);
            }
            let text = toml::to_string(&resolved).expect("a table");
            assert_eq!(toml::from_str::<CongestionConfig>(&text).expect("what was written"), resolved);
            let schema = serde_json::to_value(schemars::schema_for!(CongestionConfig)).expect("JSON");
            let variants = schema["oneOf"].as_array().expect("one of the kinds");
            let variant = variants.iter().find(|variant| variant["title"] == *kind).expect("the kind's schema");
            let name = variant["$ref"].as_str().map(|path| path.rsplit('/').next().expect("a name").to_owned());
            let fields = name.map_or(&variant["properties"], |name| &schema["$defs"][name]["properties"]);
            for field in fields.as_object().into_iter().flatten().map(|(field, _)| field) {
                assert!(text.contains(&format!("{field} =")), "{kind} leaves {field} open: {text}");
            }
        }
        let windows = |config: CongestionConfig| {
            let mut drive = Drive::new(config.entry(), 10, RTT);
            (0..20).for_each(|_| drive.ack(1));
            drive.lose();
            let mut step = || (drive.now += RTT / 20, drive.ack(1), drive.window().size).2;
            (0..500).map(|_| step()).collect::<Vec<_>>()
        };
        assert_eq!(windows(config(kind)), windows(config(kind).resolved(Profile::Classic)), "{kind}");
    }
}

/// A controller that is told only of acknowledgments that advance would do nothing at others.
#[test]
fn a_duplicate_changes_nothing_where_only_advances_are_needed() {
    let mut found = 0;
    let all = CongestionConfig::ALL.iter().flat_map(|kind| Profile::ALL.map(|profile| (kind, profile)));
    for (kind, profile) in all {
        let config = config(kind).resolved(profile);
        let [mut told, mut untold] = [(); 2].map(|()| Drive::new(config.entry(), 10, RTT));
        if !told.rig.needs.advances_only {
            continue;
        }
        found += 1;
        for step in 0..2000 {
            for drive in [&mut told, &mut untold] {
                drive.now += RTT / 20;
                drive.ack(1);
                match step % 600 {
                    299 => drive.lose(),
                    599 => drive.time_out(),
                    _ => {}
                }
            }
            for state in [CongestionState::Open, CongestionState::Disorder, CongestionState::Recovery] {
                let duplicate = AckSample { delivered: 1, state, may_grow: false, ..told.sample(0) };
                told.handle(&duplicate);
            }
            assert_eq!(told.window(), untold.window(), "{kind}, step {step}");
        }
    }
    assert!(found > 0, "some controller asks for advances only");
}

#[test]
fn slow_start_is_monotone_and_opens_from_the_initial_window() {
    every(|kind, mut drive| {
        if drive.rig.needs.drives || drive.rig.needs.probes {
            return; // these have none
        }
        assert_eq!(drive.window().size, 10, "{kind}");
        for _ in 0..200 {
            let before = drive.window().size;
            drive.now += RTT / 200;
            drive.ack(1);
            assert!(drive.window().size >= before, "{kind}");
        }
        assert!(drive.window().size > 20, "{kind}");
    });
}

#[test]
fn a_loss_reduces_and_a_timeout_starts_over() {
    every(|kind, mut drive| {
        (0..50).for_each(|_| drive.ack(1));
        let before = drive.window().size;
        drive.reduce();
        assert!(drive.window().size <= before, "{kind}");
        if !drive.rig.needs.drives {
            assert!(drive.window().threshold < before, "{kind}");
        }
        drive.tell(Event::Recovered);
        drive.time_out();
        assert_eq!(drive.window().size, 1, "{kind}");
        (0..50).for_each(|_| drive.ack(1));
        assert!(drive.window().size > 1 || drive.window().holds, "{kind}");
    });
}

/// On a path with room and without loss, every controller fills at least half of it, and none stops.
#[test]
fn every_controller_fills_a_path() {
    for kind in CongestionConfig::ALL {
        let mut path = Path::new(config(kind).entry(), 200, 100, 40);
        path.run(40.0);
        let rate = path.rate_since(10.0);
        println!("{kind}: {rate:.1} of 200 segments per second, {:.4} lost", path.loss_rate());
        assert!(rate > 150.0, "{kind}: {rate}");
        // Who opens faster adds sixteen segments in a round trip (Hybla) to a path that holds sixty with its queue.
        let bound = if config(kind).entry().growth() == Growth::Faster { 0.2 } else { 0.1 };
        assert!(path.loss_rate() < bound, "{kind}: {}", path.loss_rate());
    }
}

/// A kind says whether its controllers may have a timer, before there is one.
#[test]
fn only_kinds_that_say_so_have_timers() {
    for kind in CongestionConfig::ALL {
        let has = Drive::of_kind(kind, 10).rig.needs.timer;
        assert!(!has || config(kind).entry().has_timer(), "{kind}");
    }
}

/// Every loss pattern is survived: the path goes on delivering.
#[test]
fn every_controller_goes_on_through_losses() {
    for kind in CongestionConfig::ALL {
        for period in [3, 10, 30] {
            let mut path = Path::new(config(kind).entry(), 200, 100, 40);
            path.loss_period = Some(period);
            path.run(60.0);
            assert!(path.rate_since(30.0) > 1.0, "{kind}, one in {period}: {}", path.rate_since(30.0));
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ack { after: u64, acked: u32, lost: u32, in_flight: u32, rtt: u64, limited: bool, state: u8, rate: bool },
    Loss { from: u32, mark: bool },
    TimeOut,
    Happens { event: u8 },
    Sent { in_flight: u32 },
    Dummy,
    Timer { after: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let count = || prop_oneof![6 => Just(1u32), 3 => 0..5u32, 1 => 0..u32::MAX / 4];
    let nanos = || prop_oneof![4 => 0..1_000_000u64, 4 => 0..1_000_000_000u64, 1 => 0..1_000_000_000_000_000u64];
    let lost = || prop_oneof![6 => Just(0u32), 1 => 0..10u32];
    let ack = (nanos(), count(), lost(), count(), nanos(), prop::bool::weighted(0.9), 0..20u8, any::<bool>());
    prop_oneof![
        12 => ack.prop_map(|(after, acked, lost, in_flight, rtt, limited, state, rate)| Step::Ack {
            after, acked, lost, in_flight, rtt, limited, state, rate
        }),
        1 => (count(), any::<bool>()).prop_map(|(from, mark)| Step::Loss { from, mark }),
        1 => Just(Step::TimeOut),
        2 => (0..4u8).prop_map(|event| Step::Happens { event }),
        4 => count().prop_map(|in_flight| Step::Sent { in_flight }),
        1 => Just(Step::Dummy),
        2 => nanos().prop_map(|after| Step::Timer { after }),
    ]
}

fn state(number: u8) -> CongestionState {
    match number {
        0 => CongestionState::Disorder,
        1 => CongestionState::Cwr,
        2 | 3 => CongestionState::Recovery,
        4 => CongestionState::Loss,
        _ => CongestionState::Open,
    }
}

/// A sender's calls, in the order in which it makes them.
fn apply(drive: &mut Drive, lost_total: &mut u64, step: Step) {
    match step {
        Step::Ack { after, acked, lost, in_flight, rtt, limited, state: number, rate } => {
            drive.now += Duration::from_nanos(after);
            drive.una += u64::from(acked) * u64::from(MSS);
            drive.delivered += u64::from(acked);
            *lost_total += u64::from(lost);
            let rtt = Duration::from_nanos(rtt);
            for n in 0..lost.min(3) {
                let segment = LostSegment { tx_in_flight: in_flight, lost_since: n, app_limited: limited };
                drive.tell(Event::Lost(segment));
            }
            let rate = rate.then(|| RateSample {
                delivered: acked,
                lost,
                prior_delivered: drive.delivered.saturating_sub(u64::from(acked)),
                tx_in_flight: in_flight,
                interval: (!rtt.is_zero()).then_some(rtt),
                app_limited: !limited,
                retransmitted: false,
            });
            let sample = AckSample {
                lost,
                lost_total: *lost_total,
                in_flight,
                in_flight_before: in_flight.saturating_add(acked),
                state: state(number),
                may_grow: !matches!(state(number), CongestionState::Cwr | CongestionState::Recovery),
                window_limited: limited,
                window_full: limited,
                rate,
                rtt: (!rtt.is_zero()).then_some(rtt),
                srtt: rtt,
                min_rtt: rtt,
                ..drive.sample(acked)
            };
            drive.handle(&sample);
        }
        Step::Loss { from, mark } => {
            let cause = if mark { Cause::Mark } else { Cause::Loss };
            let congestion = Congestion { from, ..drive.congestion(cause) };
            drive.before = drive.window().size;
            drive.rig.reduce(congestion);
        }
        Step::TimeOut => drive.time_out(),
        Step::Happens { event } => {
            let event = [
                Event::Starts { app_limited: true, last_sent: None },
                Event::Recovered,
                Event::Undone,
                Event::Restarted,
            ][usize::from(event)];
            if matches!(event, Event::Undone) && !drive.rig.needs.drives {
                drive.window_mut().size = drive.window().size.max(drive.before);
            }
            drive.tell(event);
        }
        Step::Sent { in_flight } => drive.tell(Event::Sent { in_flight }),
        Step::Dummy => {
            drive.rig.probes.take();
            drive.tell(Event::ProbeAcked { state: CongestionState::Open });
        }
        Step::Timer { after } => {
            drive.now += Duration::from_nanos(after);
            drive.rig.handle_timeout(drive.now, 5);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Nothing panics, nothing overflows, the same calls give the same window, and where the window may not move it
    /// does not.
    #[test]
    fn the_window_moves_only_as_it_may(steps in prop::collection::vec(step(), 1..300)) {
        for kind in CongestionConfig::ALL {
            let mut drives = [Drive::of_kind(kind, 10), Drive::of_kind(kind, 10)];
            let (mut lost, mut lost_twin) = (0, 0);
            let (moves, growth) = (drives[0].rig.needs.drives, config(kind).entry().growth());
            for &step in &steps {
                let before = drives[0].window().size;
                apply(&mut drives[0], &mut lost, step);
                apply(&mut drives[1], &mut lost_twin, step);
                let window = drives[0].window();
                prop_assert_eq!(window, drives[1].window(), "{} is not deterministic", kind);
                prop_assert!(window.size >= 1 && window.threshold >= 2, "{}: {:?}", kind, window);
                let rate = drives[0].rig.controller.pacing_rate();
                prop_assert_eq!(rate, drives[1].rig.controller.pacing_rate());
                if moves {
                    continue;
                }
                match step {
                    Step::Ack { limited: false, .. } => {
                        prop_assert_eq!(window.size, before, "{} moved although it may not", kind);
                    }
                    Step::Ack { .. } if growth != Growth::Delay => {
                        prop_assert!(window.size >= before, "{} fell without a loss", kind);
                    }
                    Step::TimeOut => prop_assert_eq!(window.size, 1, "{}", kind),
                    Step::Loss { .. } => prop_assert!(window.size <= before, "{} grew by a loss", kind),
                    _ => (),
                }
            }
        }
    }

    /// Since the last reduction a window has not opened by more than was acknowledged, unless its kind says so.
    #[test]
    fn the_window_grows_by_at_most_what_was_acknowledged(steps in prop::collection::vec(step(), 1..300)) {
        for kind in CongestionConfig::ALL {
            for profile in Profile::ALL {
                let config = config(kind).resolved(profile);
                let mut drive = Drive::new(config.entry(), 10, RTT);
                if drive.rig.needs.drives || config.entry().growth() != Growth::Acknowledged {
                    continue;
                }
                let (mut lost, mut allowed) = (0, 10u64);
                for &step in &steps {
                    apply(&mut drive, &mut lost, step);
                    match step {
                        Step::Ack { acked, .. } => allowed += u64::from(acked),
                        _ => allowed = u64::from(drive.window().size) + 1, // a segment may be counted up already
                    }
                    prop_assert!(u64::from(drive.window().size) <= allowed + 1, "{}: {}", kind, drive.window().size);
                }
            }
        }
    }
}
