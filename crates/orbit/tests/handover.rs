//! Each policy against a plain reading of its definition: what holds at every instant of a satellite's service, and
//! what holds when the next takes over.

use orbit::{
    ConstellationPath, DelayTrace, FixedEpochs, HandoverPolicy, Highest, Hysteresis, KeepUntilMask, Links,
    LongestVisibility, Orbits, Place, ShortestPath, Station, passes, preset,
};
use units::{Angle, Duration, SPEED_OF_LIGHT, Time};

const MILLISECOND: Duration = Duration::from_millis(1);

fn policies() -> [HandoverPolicy; 5] {
    [
        HandoverPolicy::KeepUntilMask(KeepUntilMask {}),
        HandoverPolicy::Highest(Highest {}),
        HandoverPolicy::LongestVisibility(LongestVisibility {}),
        HandoverPolicy::FixedEpochs(FixedEpochs { every: Duration::from_secs(15) }),
        HandoverPolicy::Hysteresis(Hysteresis { margin: Angle::from_degrees(5.0) }),
    ]
}

/// Which satellites an end may use.
struct View<'a> {
    satellites: u32,
    /// The elevation of one in degrees, if it may be used at that instant.
    usable: &'a dyn Fn(u32, Time) -> Option<f64>,
}

impl View<'_> {
    /// All that may be used, with their elevations.
    fn at(&self, now: Time) -> Vec<(u32, f64)> {
        (0..self.satellites).filter_map(|number| Some((number, (self.usable)(number, now)?))).collect()
    }
}

fn highest(view: &[(u32, f64)]) -> (u32, f64) {
    view.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap()
}

/// Whether the policy lets a satellite go on.
fn may_stay(policy: &HandoverPolicy, satellite: u32, view: &[(u32, f64)]) -> bool {
    let Some(&(_, elevation)) = view.iter().find(|one| one.0 == satellite) else { return false };
    match policy {
        HandoverPolicy::Highest(_) => highest(view).0 == satellite,
        HandoverPolicy::Hysteresis(hysteresis) => highest(view).1 < elevation + hysteresis.margin.as_degrees(),
        _ => true,
    }
}

/// How long a satellite stays usable, by steps of a tenth of a second.
fn stays(satellite: u32, from: Time, view: &View) -> u32 {
    let tenth = |i: u32| from + Duration::from_millis(100 * u64::from(i));
    (0..).find(|&i| (view.usable)(satellite, tenth(i)).is_none()).unwrap()
}

/// Holds the satellites that served an end (instant of the takeover, satellite) against the policy; returns how many
/// takeovers were seen.
fn audit(policy: &HandoverPolicy, served: &[(Time, Option<u32>)], end: Time, view: &View) -> usize {
    for (i, &(from, satellite)) in served.iter().enumerate() {
        let name = policy.kind();
        let until = served.get(i + 1).map_or(end, |next| next.0);
        let at_begin = view.at(from);
        match satellite {
            None => assert!(at_begin.is_empty(), "{name}: somebody could serve at {from}"),
            Some(satellite) => match policy {
                HandoverPolicy::LongestVisibility(_) => {
                    let own = stays(satellite, from, view);
                    for other in &at_begin {
                        assert!(stays(other.0, from, view) <= own + 1, "{name}: {other:?} stays longer at {from}");
                    }
                }
                _ => assert_eq!(highest(&at_begin).0, satellite, "{name}: takes over at {from}"),
            },
        }
        // Up to the change it may stay, and at the change it may not.
        let mut now = from;
        while now + MILLISECOND < until {
            match satellite {
                Some(satellite) => {
                    assert!(
                        may_stay(policy, satellite, &view.at(now)),
                        "{name}: {satellite} should have gone by {now}"
                    );
                    let is_epoch = matches!(policy, HandoverPolicy::FixedEpochs(_))
                        && now.as_nanos().is_multiple_of(15_000_000_000);
                    assert!(!is_epoch || highest(&view.at(now)).0 == satellite, "{name}: the highest at {now}");
                }
                None => assert!(view.at(now).is_empty(), "{name}: outage at {now}"),
            }
            now = Time::from_nanos((now.as_nanos() / 500_000_000 + 1) * 500_000_000);
        }
        if until < end
            && let Some(satellite) = satellite
        {
            assert!(
                may_stay(policy, satellite, &view.at(until - MILLISECOND)),
                "{name}: {satellite} may stay up to {until}"
            );
            let is_epoch =
                matches!(policy, HandoverPolicy::FixedEpochs(_)) && until.as_nanos().is_multiple_of(15_000_000_000);
            assert!(
                is_epoch || !may_stay(policy, satellite, &view.at(until)),
                "{name}: {satellite} may stay at {until}"
            );
        }
    }
    served.len() - 1
}

fn served(trace: &DelayTrace, of: impl Fn(&orbit::RouteInterval) -> Option<u32>) -> Vec<(Time, Option<u32>)> {
    let mut served: Vec<(Time, Option<u32>)> =
        trace.intervals().iter().map(|interval| (interval.from, of(interval))).collect();
    served.dedup_by_key(|one| one.1);
    served
}

#[test]
fn every_policy_does_what_it_says() {
    for (name, minutes, least) in [("leo-66", 120, 10), ("starlink-shell-1", 20, 4)] {
        let constellation = &preset(name).unwrap().constellation;
        let (orbits, mask) = (Orbits::new(constellation), constellation.minimum_elevation.as_degrees());
        let (toulouse, auckland) = (Place::from_degrees(43.6, 1.4), Place::from_degrees(-36.9, 174.8));
        let duration = Duration::from_secs(minutes * 60);
        for policy in policies() {
            let path = ConstellationPath {
                handover: Some(policy.clone()),
                ..ConstellationPath::new(name.into(), toulouse, auckland)
            };
            let trace = path.trace(duration).unwrap();
            for (place, of) in [
                (toulouse, (|interval| interval.gateway_satellite) as fn(&orbit::RouteInterval) -> Option<u32>),
                (auckland, |interval| interval.user_satellite),
            ] {
                let station = Station::new(&place);
                let usable = |satellite: u32, now: Time| {
                    let seconds = now.as_secs_f64();
                    let look = station.at(seconds).look_angles(orbits.position_of(satellite, seconds));
                    Some(look.elevation.as_degrees()).filter(|&elevation| elevation >= mask)
                };
                let view = View { satellites: orbits.len() as u32, usable: &usable };
                let seen = audit(&policy, &served(&trace, of), Time::ZERO + duration, &view);
                assert!(seen >= least, "{name} {}: {seen}", policy.kind());
            }
        }
    }
}

/// The one that takes over is that whose pass ends last.
#[test]
fn the_longest_visibility_is_that_of_the_passes() {
    let constellation = &preset("starlink-shell-1").unwrap().constellation;
    let (toulouse, auckland) = (Place::from_degrees(43.6, 1.4), Place::from_degrees(-36.9, 174.8));
    let path = ConstellationPath {
        handover: Some(HandoverPolicy::LongestVisibility(LongestVisibility {})),
        ..ConstellationPath::new("starlink-shell-1".into(), toulouse, auckland)
    };
    let trace = path.trace(Duration::from_secs(1800)).unwrap();
    let orbits = Orbits::new(constellation);
    let all = passes(&orbits, &Station::new(&auckland), constellation.minimum_elevation, [0.0, 3000.0]);
    let served = served(&trace, |interval| interval.user_satellite);
    assert!(served.len() > 5, "{}", served.len());
    for &(from, satellite) in &served {
        let now = from.as_secs_f64();
        let over =
            all.iter().filter(|pass| pass.rise_s.unwrap_or(0.0) <= now + 1e-3 && pass.set_s.unwrap() > now + 2e-3);
        let last = over.reduce(|a, b| if b.set_s > a.set_s { b } else { a }).unwrap();
        assert_eq!(satellite, Some(last.satellite), "at {from}");
    }
    // Whoever stays longest leaves last: service after service ends with the pass.
    for pair in served.windows(2) {
        let pass =
            all.iter().find(|pass| Some(pass.satellite) == pair[0].1 && pass.set_s.unwrap() > pair[0].0.as_secs_f64());
        assert!((pass.unwrap().set_s.unwrap() - pair[1].0.as_secs_f64()).abs() < 2.1e-3);
    }
}

/// Without links between satellites the policy chooses among those that a gateway sees too, and the nearest gateway
/// follows.
#[test]
fn a_bent_pipe_with_every_policy() {
    let user = Place::from_degrees(43.6, 1.4);
    let gateways = [Place::from_degrees(48.9, 2.4), Place::from_degrees(40.4, -3.7), Place::from_degrees(52.5, 13.4)];
    for (name, hours, least) in [("o3b", 12, 5), ("geo", 3, 0), ("starlink-shell-1", 0, 2)] {
        let mut constellation = preset(name).unwrap().constellation.clone();
        constellation.links = orbit::LinkPattern::None;
        constellation.minimum_elevation = Angle::from_degrees(if name == "starlink-shell-1" { 25.0 } else { 5.0 });
        let mask = constellation.minimum_elevation.as_degrees();
        let orbits = Orbits::new(&constellation);
        let duration = Duration::from_secs(hours * 3600 + 900);
        let stations = gateways.map(|gateway| Station::new(&gateway));
        let own = Station::new(&user);
        let elevation = |station: &Station, now: Time, satellite: u32| {
            let position = orbits.position_of(satellite, now.as_secs_f64());
            station.at(now.as_secs_f64()).look_angles(position).elevation.as_degrees()
        };
        let range = |station: &Station, now: Time, satellite: u32| {
            station.at(now.as_secs_f64()).look(orbits.position_of(satellite, now.as_secs_f64())).0
        };
        // The way up from the nearest gateway that sees a satellite.
        let nearest = |now: Time, satellite: u32| {
            let seeing = stations.iter().zip(0u32..).filter(|one| elevation(one.0, now, satellite) >= mask);
            let ranges = seeing.map(|(station, number)| (range(station, now, satellite), number));
            ranges.reduce(|a, b| if b.0 < a.0 { b } else { a })
        };
        let usable = |satellite: u32, now: Time| {
            let degrees = Some(elevation(&own, now, satellite)).filter(|&degrees| degrees >= mask)?;
            nearest(now, satellite).map(|_| degrees)
        };
        let view = View { satellites: orbits.len() as u32, usable: &usable };
        for policy in policies() {
            let path = ConstellationPath {
                handover: Some(policy.clone()),
                ..ConstellationPath::new(constellation.clone().into(), gateways.to_vec(), user)
            };
            let trace = path.trace(duration).unwrap();
            let seen = match (name, &policy) {
                // It never sets: the longest visibility has no end.
                ("geo", HandoverPolicy::LongestVisibility(_)) => {
                    served(&trace, |interval| interval.user_satellite).len() - 1
                }
                _ => audit(&policy, &served(&trace, |interval| interval.user_satellite), Time::ZERO + duration, &view),
            };
            assert!(seen >= least, "{name} {}: {seen}", policy.kind());
            for seconds in (0..duration.as_nanos() / 1_000_000_000).step_by(61) {
                let now = Time::ZERO + Duration::from_secs(seconds);
                let interval = trace.interval_at(now).unwrap();
                assert_eq!(interval.gateway_satellite, interval.user_satellite);
                let Some(satellite) = interval.user_satellite else { continue };
                let (up, gateway) = nearest(now, satellite).unwrap();
                assert_eq!(interval.gateway, Some(gateway), "{name} {} at {now}", policy.kind());
                let expected = (up + range(&own, now, satellite)) / SPEED_OF_LIGHT;
                assert!((trace.delay(now).unwrap().as_secs_f64() - expected).abs() < 1e-9);
            }
        }
        // And the shortest way is the shortest of all.
        let path = ConstellationPath {
            handover: Some(HandoverPolicy::ShortestPath(ShortestPath {})),
            ..ConstellationPath::new(constellation.clone().into(), gateways.to_vec(), user)
        };
        let trace = path.trace(duration).unwrap();
        for seconds in (0..duration.as_nanos() / 1_000_000_000).step_by(307) {
            let now = Time::ZERO + Duration::from_secs(seconds);
            let ways = view.at(now).into_iter().map(|one| nearest(now, one.0).unwrap().0 + range(&own, now, one.0));
            let best = ways.fold(f64::INFINITY, f64::min);
            assert!((trace.delay(now).unwrap().as_secs_f64() - best / SPEED_OF_LIGHT).abs() < 1e-9, "{name} at {now}");
        }
    }
}

#[test]
fn epochs_are_exact_also_between_the_steps() {
    let every = Duration::from_millis(2_300);
    let path = ConstellationPath {
        handover: Some(HandoverPolicy::FixedEpochs(FixedEpochs { every })),
        ..ConstellationPath::new(
            "starlink-shell-1".into(),
            Place::from_degrees(43.6, 1.4),
            Place::from_degrees(50.0, 8.0),
        )
    };
    let trace = path.trace(Duration::from_secs(600)).unwrap();
    let served = served(&trace, |interval| interval.user_satellite);
    let exact = served[1..].iter().filter(|one| one.0.as_nanos() % every.as_nanos() == 0).count();
    assert!(exact > 5 && exact + 1 == served.len(), "{exact} of {}", served.len());
}

/// A wider margin means fewer handovers; none at all is the highest.
#[test]
fn hysteresis_lies_between_the_highest_and_the_mask() {
    let count = |handover| {
        let (from, to) = (Place::from_degrees(43.6, 1.4), Place::from_degrees(50.0, 8.0));
        let path = ConstellationPath {
            handover: Some(handover),
            ..ConstellationPath::new("starlink-shell-1".into(), from, to)
        };
        path.trace(Duration::from_secs(1800)).unwrap().handovers()
    };
    let margin = |degrees| HandoverPolicy::Hysteresis(Hysteresis { margin: Angle::from_degrees(degrees) });
    let counts = [0.0, 2.0, 10.0, 90.0].map(|degrees| count(margin(degrees)));
    assert!(counts.windows(2).all(|pair| pair[1] <= pair[0]) && counts[3] < counts[0], "{counts:?}");
    assert_eq!(counts[0], count(HandoverPolicy::Highest(Highest {})));
    assert_eq!(counts[3], count(HandoverPolicy::default()));
}

/// From the satellite left behind to the new one, over the links as they are then.
#[test]
fn forwarding_takes_the_shortest_way() {
    for name in ["leo-66", "starlink-shell-1"] {
        let constellation = &preset(name).unwrap().constellation;
        let orbits = Orbits::new(constellation);
        let mut links = Links::new(constellation, &orbits);
        let mut router = orbit::Router::default();
        let mut positions = Vec::new();
        let mut path =
            ConstellationPath::new(name.into(), Place::from_degrees(43.6, 1.4), Place::from_degrees(-36.9, 174.8));
        let plain = path.trace(Duration::from_secs(3600)).unwrap();
        path.hops.processing_delay = Duration::from_millis(3);
        let slow = path.trace(Duration::from_secs(3600)).unwrap();
        let mut last = plain.intervals()[0].user_satellite;
        let mut seen = 0;
        for interval in &plain.intervals()[1..] {
            match (last, interval.user_satellite) {
                (Some(old), Some(new)) if old != new => {
                    orbits.positions_at(interval.from.as_secs_f64(), &mut positions);
                    links.update(interval.from.as_secs_f64(), &positions);
                    let metres = router.distances(&links, [(old, 0.0)])[new as usize];
                    let found = interval.forwarding.unwrap().as_secs_f64();
                    assert!((found - metres / SPEED_OF_LIGHT).abs() < 1e-9, "{name} at {}", interval.from);
                    let same = slow
                        .intervals()
                        .iter()
                        .find(|other| other.from == interval.from && other.user_satellite == interval.user_satellite);
                    let extra = same.unwrap().forwarding.unwrap().as_secs_f64() - found;
                    assert!(extra > 0.003 - 1e-9, "a link at least: {extra}");
                    seen += 1;
                }
                _ => assert_eq!(interval.forwarding, None),
            }
            last = interval.user_satellite.or(last);
        }
        assert!(seen >= 5, "{name}: {seen}");
    }
    // Without links there is no way.
    let near = Place::from_degrees(48.9, 2.4);
    let mut constellation = preset("starlink-shell-1").unwrap().constellation.clone();
    constellation.links = orbit::LinkPattern::None;
    let path = ConstellationPath::new(constellation.into(), near, Place::from_degrees(43.6, 1.4));
    let trace = path.trace(Duration::from_secs(1800)).unwrap();
    assert!(trace.handovers() > 4 && trace.intervals().iter().all(|interval| interval.forwarding.is_none()));
}

/// A gateway that points at whichever satellite makes the route best, against all that it sees; and a user who does.
#[test]
fn one_end_may_take_whatever_is_best() {
    let (paris, lyon) = (Place::from_degrees(48.9, 2.4), Place::from_degrees(45.8, 4.8));
    let constellation = &preset("starlink-shell-1").unwrap().constellation;
    let mask = libm::sin(constellation.minimum_elevation.as_radians());
    let (orbits, duration) = (Orbits::new(constellation), Duration::from_secs(300));
    let mut links = Links::new(constellation, &orbits);
    let mut router = orbit::Router::default();
    let shortest = || HandoverPolicy::ShortestPath(ShortestPath {});
    let path = |handover: HandoverPolicy, source_handover: Option<HandoverPolicy>| {
        let path = ConstellationPath::new("starlink-shell-1".into(), paris, lyon);
        ConstellationPath { handover: Some(handover), source_handover, ..path }.trace(duration).unwrap()
    };
    for policy in policies() {
        let both = path(policy.clone(), None);
        assert_eq!(both, path(policy.clone(), Some(policy.clone())));
        let free_gateway = path(policy.clone(), Some(shortest()));
        let free_user = path(shortest(), Some(policy.clone()));
        let mut positions = Vec::new();
        for seconds in (0..300).step_by(7) {
            let now = Time::ZERO + Duration::from_secs(seconds);
            let t = now.as_secs_f64();
            orbits.positions_at(t, &mut positions);
            links.update(t, &positions);
            for (trace, kept, free, serving, is_user) in [
                (
                    &free_gateway,
                    lyon,
                    paris,
                    (|interval| interval.user_satellite) as fn(&orbit::RouteInterval) -> Option<u32>,
                    true,
                ),
                (&free_user, paris, lyon, |interval| interval.gateway_satellite, false),
            ] {
                let near =
                    |interval: &orbit::RouteInterval| interval.from.as_nanos().abs_diff(now.as_nanos()) < 3_000_000;
                if trace.intervals()[1..].iter().chain(both.intervals()).any(near) {
                    continue;
                }
                // The end that keeps its satellite keeps the same one.
                let satellite = serving(trace.interval_at(now).unwrap());
                assert_eq!(satellite, serving(both.interval_at(now).unwrap()), "{} at {now}", policy.kind());
                let down = Station::new(&kept).at(t).look(positions[satellite.unwrap() as usize]).0;
                let ways = router.distances(&links, [(satellite.unwrap(), down)]);
                let seen = Station::new(&free).at(t);
                let all = seen.visible(&positions, mask).map(|(number, metres, _)| ways[number as usize] + metres);
                let best = all.fold(f64::INFINITY, f64::min) / SPEED_OF_LIGHT;
                let found = trace.delay(now).unwrap().as_secs_f64();
                assert!((found - best).abs() < 2e-9, "{} at {now}, {is_user}: {found} {best}", policy.kind());
            }
        }
    }
    // What two blind choices cost, and what becomes of it.
    let mean = |trace: DelayTrace| trace.mean().unwrap().as_secs_f64() * 1e3;
    let highest = HandoverPolicy::Highest(Highest {});
    let means = [path(highest.clone(), None), path(highest, Some(shortest())), path(shortest(), None)].map(mean);
    assert!(means[0] > 20.0 && means[1] < 8.0 && means[2] < 5.0, "{means:?}");
}

/// Epochs of the user are not those of the gateway.
#[test]
fn each_end_has_its_own_epochs() {
    let epochs = |every| HandoverPolicy::FixedEpochs(FixedEpochs { every: Duration::from_secs(every) });
    let (paris, lyon) = (Place::from_degrees(48.9, 2.4), Place::from_degrees(45.8, 4.8));
    let path = ConstellationPath {
        handover: Some(epochs(14)),
        source_handover: Some(epochs(10)),
        ..ConstellationPath::new("starlink-shell-1".into(), vec![paris], lyon)
    };
    let trace = path.trace(Duration::from_secs(600)).unwrap();
    for (of, every) in [
        ((|interval| interval.user_satellite) as fn(&orbit::RouteInterval) -> Option<u32>, 14),
        (|interval| interval.gateway_satellite, 10),
    ] {
        let served = served(&trace, of);
        let exact = served[1..].iter().filter(|one| one.0.as_nanos() % (every * 1_000_000_000) == 0).count();
        assert!(exact > 5 && exact * 10 > served.len() * 8, "{exact} of {}", served.len());
    }
}

/// From Lisbon to New York the geodesic alone takes 18 ms at the speed of light. Two ends that keep the highest
/// satellites pay for where these fly; a dense preset chooses them by the route unless the path says otherwise, and a
/// pattern of one's own does not.
#[test]
fn dense_presets_choose_satellites_by_the_route() {
    let (lisbon, new_york) = (Place::from_degrees(38.7, -9.1), Place::from_degrees(40.7, -74.0));
    let mean =
        |path: ConstellationPath| path.trace(Duration::from_secs(600)).unwrap().mean().unwrap().as_secs_f64() * 1e3;
    let path = |name: &str| ConstellationPath::new(name.into(), lisbon, new_york);
    let keeps = Some(HandoverPolicy::default());
    for name in ["starlink-shell-1", "kuiper-630"] {
        let (by_route, blind) = (mean(path(name)), mean(ConstellationPath { handover: keeps.clone(), ..path(name) }));
        assert!((18.0..40.0).contains(&by_route) && by_route < 0.8 * blind, "{name}: {by_route} and {blind} ms");
    }
    let mut own = preset("starlink-shell-1").unwrap().constellation.clone();
    own.handover = None;
    let plain = ConstellationPath::new(own.into(), lisbon, new_york);
    let said = ConstellationPath { handover: keeps, ..path("starlink-shell-1") };
    assert_eq!(mean(plain), mean(said));
}
