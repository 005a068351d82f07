//! The ends of a path: several gateways, users who move, what they see of their satellite; and what routes are chosen
//! by.

use orbit::{
    Access, AllPairs, AllPairsOptions, ConstellationPath, DelayTrace, FixedEpochs, HandoverPolicy, Highest, Look,
    Metric, MovingUser, NamedPlace, Orbits, Place, ShortestPath, Sky, Station, Waypoint, Whereabouts, preset,
};
use units::{Angle, Duration, Frequency, Length, SPEED_OF_LIGHT, Speed, Time};

fn toulouse() -> Place {
    Place::from_degrees(43.6, 1.4)
}

fn auckland() -> Place {
    Place::from_degrees(-36.9, 174.8)
}

fn at(seconds: f64) -> Time {
    Time::from_secs_f64(seconds)
}

/// Whether a route changes within a few milliseconds of `now`.
fn is_changing(trace: &DelayTrace, now: Time) -> bool {
    trace.intervals()[1..].iter().any(|interval| interval.from.as_nanos().abs_diff(now.as_nanos()) < 3_000_000)
}

/// Each gateway is served as if it were alone, and the route begins where it is shortest.
#[test]
fn of_several_gateways_the_route_takes_the_best() {
    let gateways = [toulouse(), Place::from_degrees(-33.9, 151.2), Place::from_degrees(35.7, 139.7)];
    let user = Place::from_degrees(10.0, 100.0);
    for (metric, handover) in [
        (Metric::Delay, HandoverPolicy::default()),
        (Metric::Delay, HandoverPolicy::Highest(Highest {})),
        (Metric::Delay, HandoverPolicy::FixedEpochs(FixedEpochs::default())),
        (Metric::Delay, HandoverPolicy::ShortestPath(ShortestPath {})),
        (Metric::Hops, HandoverPolicy::default()),
        (Metric::Hops, HandoverPolicy::ShortestPath(ShortestPath {})),
    ] {
        let path = |source: Vec<Place>| ConstellationPath {
            metric,
            handover: Some(handover.clone()),
            ..ConstellationPath::new("leo-66".into(), source, user)
        };
        let hour = Duration::from_secs(2 * 3600);
        let together = path(gateways.to_vec()).trace(hour).unwrap();
        let alone = gateways.map(|gateway| path(vec![gateway]).trace(hour).unwrap());
        let mut seen = [0; 3];
        for seconds in (0..2 * 3600).step_by(7) {
            let now = at(f64::from(seconds));
            if is_changing(&together, now) || alone.iter().any(|trace| is_changing(trace, now)) {
                continue;
            }
            let cost = |trace: &DelayTrace| {
                let hops = if metric == Metric::Hops { trace.interval_at(now).unwrap().hops.unwrap() } else { 0 };
                (hops, trace.delay(now).unwrap())
            };
            let (best, number) = alone.iter().map(cost).zip(0..).min().unwrap();
            assert_eq!(cost(&together), best, "{metric:?} {} at {now}", handover.kind());
            let interval = together.interval_at(now).unwrap();
            assert_eq!(interval.gateway, Some(number));
            assert_eq!(interval.gateway_satellite, alone[number as usize].interval_at(now).unwrap().gateway_satellite);
            seen[number as usize] += 1;
        }
        assert!(seen.iter().filter(|&&seen| seen > 0).count() >= 2, "{metric:?} {}: {seen:?}", handover.kind());
    }
}

#[test]
fn a_thousand_gateways_are_followed() {
    let place =
        |i: u32| Place::from_degrees(-50.0 + 0.1 * f64::from(i), (f64::from(i) * 137.507_764).rem_euclid(360.0));
    let path = ConstellationPath::new("leo-66".into(), (0..1000).map(place).collect::<Vec<_>>(), auckland());
    let trace = path.trace(Duration::from_secs(120)).unwrap();
    // Somebody sees the user's own satellite.
    assert!(trace.intervals().iter().all(|interval| interval.hops == Some(0)), "{:?}", trace.intervals());
}

/// Against the trees of routes of all pairs, which another algorithm grows.
#[test]
fn the_metric_is_that_of_all_pairs() {
    let constellation = &preset("kuiper-630").unwrap().constellation;
    let sky = Sky::of_walker(constellation, &mut units::MemoryFiles::new()).unwrap();
    let (london, tokyo) = (Place::from_degrees(51.0, 0.0), Place::from_degrees(35.7, 139.7));
    let named = [("london", london), ("tokyo", tokyo)].map(|(name, place)| NamedPlace { name: name.to_owned(), place });
    let [delay, hops] = [Metric::Delay, Metric::Hops].map(|metric| {
        let path = ConstellationPath {
            metric,
            handover: Some(HandoverPolicy::ShortestPath(ShortestPath {})),
            ..ConstellationPath::new("kuiper-630".into(), london, tokyo)
        };
        let trace = path.trace(Duration::from_secs(600)).unwrap();
        let options = AllPairsOptions {
            metric,
            access: Access::All,
            minimum_elevation: constellation.minimum_elevation,
            duration: Duration::from_secs(600),
            step: Duration::from_secs(5),
            forwarding: false,
            threads: None,
        };
        let mut all = AllPairs::new(sky.orbits.clone(), sky.links.clone(), &named, &options).unwrap();
        while all.done() < all.steps() {
            for pair in all.advance().routes {
                let (now, route) = (at(pair.time_s), pair.route.unwrap());
                if !is_changing(&trace, now) {
                    assert_eq!(trace.interval_at(now).unwrap().hops, Some(route.hops), "{metric:?} at {now}");
                    assert!((trace.delay(now).unwrap().as_secs_f64() - route.one_way_delay_s).abs() < 1e-9);
                }
            }
        }
        trace
    });
    let worse = (0..600).filter(|&seconds| hops.delay(at(f64::from(seconds))) > delay.delay(at(f64::from(seconds))));
    let worse = worse.count();
    assert!(worse > 100, "fewest hops are not always the shortest way: {worse}");
}

#[test]
fn processing_counts_on_every_satellite() {
    let mut path = ConstellationPath::new("leo-66".into(), toulouse(), auckland());
    let plain = path.trace(Duration::from_secs(1200)).unwrap();
    path.hops.processing_delay = Duration::from_micros(1500);
    let little = path.trace(Duration::from_secs(1200)).unwrap();
    path.hops.processing_delay = Duration::from_millis(500);
    let much = path.trace(Duration::from_secs(1200)).unwrap();
    path.hops.processing_delay = Duration::ZERO;
    path.metric = Metric::Hops;
    let hops = path.trace(Duration::from_secs(1200)).unwrap();
    for seconds in (0..1200).step_by(13) {
        let now = at(f64::from(seconds));
        if [&plain, &little, &much, &hops].iter().any(|trace| is_changing(trace, now)) {
            continue;
        }
        let (one, other) = (plain.interval_at(now).unwrap(), little.interval_at(now).unwrap());
        let satellites = f64::from(other.hops.unwrap() + 1);
        let way = little.delay(now).unwrap().as_secs_f64() - satellites * 0.0015;
        let shortest = plain.delay(now).unwrap().as_secs_f64();
        // Never shorter than the shortest way, and never dearer than the shortest way with its processing.
        assert!(
            way >= shortest - 2e-9 && way <= shortest + (f64::from(one.hops.unwrap() + 1) - satellites) * 0.0015 + 2e-9
        );
        // Half a second each: the fewest.
        let (few, dear) = (hops.delay(now).unwrap().as_secs_f64(), much.delay(now).unwrap().as_secs_f64());
        let count = f64::from(hops.interval_at(now).unwrap().hops.unwrap() + 1);
        assert!((dear - 0.5 * count - few).abs() < 2e-9, "at {now}");
        assert_eq!(little.last_link_delay(now), plain.last_link_delay(now), "the last link takes no processing");
    }
}

fn waypoint(latitude: f64, longitude: f64, altitude: f64) -> Waypoint {
    Waypoint {
        latitude: Angle::from_degrees(latitude),
        longitude: Angle::from_degrees(longitude),
        altitude: Length::from_metres(altitude),
        speed: None,
    }
}

/// An aeroplane northwards on a meridian: at each instant it is as if it stood there.
#[test]
fn a_user_who_moves_is_where_the_course_says() {
    let user = MovingUser {
        waypoints: vec![waypoint(40.0, 3.0, 0.0), waypoint(50.0, 3.0, 10_000.0)],
        speed: Some(Speed::from_mps(900.0)),
    };
    let handover = HandoverPolicy::Highest(Highest {});
    let path = |user: Whereabouts| ConstellationPath {
        handover: Some(handover.clone()),
        ..ConstellationPath::new("leo-66".into(), auckland(), user)
    };
    let moving = path(user.into()).trace(Duration::from_secs(1500)).unwrap();
    let end = 6_371_008.8 * 10f64.to_radians() / 900.0;
    for seconds in (0..1500).step_by(100) {
        let share = (f64::from(seconds) / end).min(1.0);
        let place =
            Place { altitude: Length::from_metres(10_000.0 * share), ..Place::from_degrees(40.0 + 10.0 * share, 3.0) };
        let still = path(place.into()).trace(Duration::from_secs(1500)).unwrap();
        let now = at(f64::from(seconds));
        assert!(!is_changing(&moving, now));
        assert!(moving.delay(now).unwrap().as_nanos().abs_diff(still.delay(now).unwrap().as_nanos()) <= 1, "at {now}");
        let (own, other) = (moving.look(now).unwrap(), still.look(now).unwrap());
        assert!((own.elevation_deg - other.elevation_deg).abs() < 1e-4 && (own.range_m - other.range_m).abs() < 1.0);
        // It flies, and so the distance changes otherwise; after its arrival it does not.
        let faster = (own.range_rate_mps - other.range_rate_mps).abs();
        assert!(if share < 1.0 { faster < 910.0 } else { faster < 1e-2 }, "{faster} at {now}");
    }
    let early = (0..1000).map(|s| at(f64::from(s)));
    let still = path(Place::from_degrees(40.0, 3.0).into()).trace(Duration::from_secs(1500)).unwrap();
    assert!(early.filter(|&now| moving.delay(now) != still.delay(now)).count() > 900);
}

/// Elevation, range and how fast it changes, against geometry and against differences of ranges.
#[test]
fn looks_are_what_the_user_sees() {
    for name in ["leo-66", "starlink-shell-1", "o3b"] {
        let constellation = &preset(name).unwrap().constellation;
        let orbits = Orbits::new(constellation);
        let (source, user) = (Place::from_degrees(5.0, 10.0), Place::from_degrees(-12.0, 20.0));
        let trace = ConstellationPath::new(name.into(), source, user).trace(Duration::from_secs(1200)).unwrap();
        let station = Station::new(&user);
        let look = |satellite: u32, seconds: f64| {
            let mut positions = Vec::new();
            orbits.positions_at(seconds, &mut positions);
            assert_eq!(orbits.position_of(satellite, seconds), positions[satellite as usize]);
            station.at(seconds).look_angles(positions[satellite as usize])
        };
        for (now, seen) in trace.looks().filter(|(now, _)| now.as_nanos() % 50_000_000_000 == 0) {
            let seconds = now.as_secs_f64();
            let satellite = trace.interval_at(now).unwrap().user_satellite.unwrap();
            let (seen, expected) = (seen.unwrap(), look(satellite, seconds));
            assert!((seen.elevation_deg - expected.elevation.as_degrees()).abs() < 1e-5);
            assert!((seen.range_m - expected.range_metres).abs() < 1.0);
            let (before, after) =
                (look(satellite, seconds - 0.5).range_metres, look(satellite, seconds + 0.5).range_metres);
            assert!((seen.range_rate_mps - (after - before)).abs() < 0.1, "{name} at {now}: {seen:?}");
            assert!(seen.range_rate_mps.abs() < 7500.0);
            let rates = [0.5, -0.5].map(|offset| {
                let range = |more: f64| look(satellite, seconds + offset + more).range_metres;
                (range(0.25) - range(-0.25)) / 0.5
            });
            let acceleration = trace.range_acceleration(now).unwrap();
            assert!((acceleration - (rates[0] - rates[1])).abs() < 1.0, "{name} at {now}: {acceleration} {rates:?}");
            assert_eq!(trace.look(now), Some(seen));
            assert!((seen.range_m / SPEED_OF_LIGHT - trace.last_link_delay(now).unwrap().as_secs_f64()).abs() < 1e-8);
        }
    }
}

/// In the plane of the equator, a satellite at the angle g from the user: r^2 = R^2 + a^2 - 2 R a cos g.
#[test]
fn the_rate_of_the_range_is_that_of_the_triangle() {
    let mut constellation = preset("leo-66").unwrap().constellation.clone();
    (constellation.inclination, constellation.first_node) = (Angle::from_degrees(0.0), Angle::from_degrees(0.0));
    (constellation.planes, constellation.satellites_per_plane, constellation.node_spacing) = (1, 1, None);
    let (radius, a) = (orbit::EARTH_RADIUS, constellation.radius());
    let rate = constellation.latitude_rate() - orbit::EARTH_ROTATION;
    let user = Place::from_degrees(0.0, 10.0);
    let path = ConstellationPath::new(constellation.into(), Place::from_degrees(0.0, 9.0), user);
    let trace = path.trace(Duration::from_secs(300)).unwrap();
    let mut seen = 0;
    for seconds in 0..300 {
        let Some(look) = trace.look(at(f64::from(seconds))) else { continue };
        let angle = rate * f64::from(seconds) - 10f64.to_radians();
        let range = (radius * radius + a * a - 2.0 * radius * a * libm::cos(angle)).sqrt();
        let expected = radius * a * libm::sin(angle) * rate / range;
        assert!(
            (look.range_m - range).abs() < 0.2 && (look.range_rate_mps - expected).abs() < 0.01,
            "{look:?} {expected}"
        );
        let shift = look.doppler_shift(Frequency::from_hz(2e9));
        assert!((shift + expected / 299_792_458.0 * 2e9).abs() < 0.1);
        seen += 1;
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn looks_jump_with_the_satellite_and_stop_with_the_service() {
    let mut constellation = preset("leo-66").unwrap().constellation.clone();
    constellation.minimum_elevation = Angle::from_degrees(22.0);
    let path = ConstellationPath::new(constellation.into(), toulouse(), auckland());
    let trace = path.trace(Duration::from_secs(2 * 3600)).unwrap();
    let all: Vec<(Time, Option<Look>)> = trace.looks().collect();
    assert!(all.windows(2).all(|pair| pair[0].0 <= pair[1].0 && (pair[0].1.is_some() || pair[1].1.is_some())));
    let (mut jumps, mut stops) = (0, 0);
    for pair in all.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        let now = pair[0].0;
        let before = trace.interval_at(now - Duration::from_micros(1)).unwrap().user_satellite;
        let after = trace.interval_at(now).unwrap().user_satellite;
        assert_ne!(before, after, "at {now}");
        assert_eq!((pair[0].1.is_some(), pair[1].1.is_some()), (before.is_some(), after.is_some()));
        match (before, after) {
            (Some(_), Some(_)) => jumps += 1,
            _ => stops += 1,
        }
        assert_eq!(trace.look(now), pair[1].1);
        assert_eq!(trace.range_acceleration(now).is_some(), after.is_some());
    }
    let changes = trace.intervals().windows(2).filter(|pair| pair[0].user_satellite != pair[1].user_satellite).count();
    let begins = all.windows(2).filter(|pair| pair[0].1.is_none() && pair[0].0 < pair[1].0).count();
    assert_eq!(jumps + stops + begins, changes, "every change is told");
    assert!(jumps > 0 && stops > 3, "{jumps} {stops}");
    // A satellite may serve the user where no route leads to it.
    assert!(trace.points().any(|(now, delay)| delay.is_none() && trace.look(now).is_some()));
}

#[test]
fn a_cut_trace_is_the_same_up_to_there() {
    let trace =
        ConstellationPath::new("leo-66".into(), toulouse(), auckland()).trace(Duration::from_secs(900)).unwrap();
    let until = at(432.1);
    let cut = trace.cut(until);
    assert_eq!(cut.looks().last().map(|look| look.0), Some(until));
    assert_eq!(cut.looks().count(), trace.looks().filter(|look| look.0 < until).count() + 1);
    for tenth in 0..=4321 {
        let now = at(f64::from(tenth) / 10.0);
        assert_eq!(cut.delay(now), trace.delay(now));
        let (a, b) = (cut.look(now).unwrap(), trace.look(now).unwrap());
        assert!((a.elevation_deg - b.elevation_deg).abs() < 1e-5 && (a.range_rate_mps - b.range_rate_mps).abs() < 1e-2);
        assert_eq!(cut.interval_at(now), trace.interval_at(now));
    }
    assert_eq!(DelayTrace::fixed(Duration::from_millis(1)).looks().count(), 0);
    assert_eq!(DelayTrace::fixed(Duration::from_millis(1)).look(until), None);
}

/// The value after the jump begins when the run ends: it is no part of the last stretch.
#[test]
fn a_trace_that_is_cut_at_a_jump_ends_before_it() {
    let trace =
        ConstellationPath::new("leo-66".into(), toulouse(), auckland()).trace(Duration::from_secs(900)).unwrap();
    let points: Vec<_> = trace.points().collect();
    let jump = points.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1).unwrap();
    let cut = trace.cut(jump[0].0);
    assert_eq!(cut.points().last(), Some(jump[0]));
    assert_eq!(cut.looks().count(), cut.points().count());
    let before = jump[0].0 - Duration::from_millis(1);
    assert_eq!((cut.delay(before), cut.look(before)), (trace.delay(before), trace.look(before)));
}

#[test]
fn an_end_that_never_sees_a_satellite_is_told_how_near_it_came() {
    let north = Place::from_degrees(75.0, 20.0);
    let constellation = &preset("starlink-shell-1").unwrap().constellation;
    let mask = constellation.minimum_elevation.as_degrees();
    let duration = Duration::from_secs(60);
    let (orbits, station) = (Orbits::new(constellation), Station::new(&north));
    let mut best = -90.0f64;
    let mut positions = Vec::new();
    for seconds in 0..=60 {
        orbits.positions_at(f64::from(seconds), &mut positions);
        let horizon = station.at(f64::from(seconds));
        best = positions.iter().map(|&p| horizon.look_angles(p).elevation.as_degrees()).fold(best, f64::max);
    }
    let says = |source: Place, user: Place| {
        ConstellationPath::new("starlink-shell-1".into(), source, user).trace(duration).unwrap_err().to_string()
    };
    let expected =
        format!("no satellite comes above {mask} deg within 60 s: the best is {best:.1} deg, looked for every 1 s");
    assert_eq!(says(toulouse(), north), format!("user: {expected}"));
    assert_eq!(says(north, toulouse()), format!("source: {expected}"));
    // Of several gateways one is enough; but one that is there for nothing is told.
    let some = ConstellationPath::new("starlink-shell-1".into(), vec![north, toulouse()], auckland());
    let trace = some.trace(duration).unwrap();
    assert!(trace.intervals().iter().all(|interval| interval.gateway == Some(1)));
    assert_eq!(trace.warnings(), [format!("gateway 0: {expected}")]);
    assert_eq!(trace.cut(at(30.0)).warnings(), trace.warnings());
    let seeing = ConstellationPath::new("starlink-shell-1".into(), vec![toulouse(), auckland()], toulouse());
    assert!(seeing.trace(duration).unwrap().warnings().is_empty());
    let mut many = vec![north; 12];
    many.push(toulouse());
    let many = ConstellationPath::new("starlink-shell-1".into(), many, auckland()).trace(duration).unwrap();
    assert_eq!(many.warnings().len(), 11);
    assert_eq!(many.warnings()[10], "and 2 more gateways that see no satellite");
    let mut unlinked = constellation.clone();
    unlinked.links = orbit::LinkPattern::None;
    for handover in [HandoverPolicy::default(), HandoverPolicy::ShortestPath(ShortestPath {})] {
        let far = ConstellationPath {
            handover: Some(handover),
            ..ConstellationPath::new(unlinked.clone().into(), toulouse(), auckland())
        };
        assert_eq!(
            far.trace(duration).unwrap_err().to_string(),
            "user: no satellite is seen by user and gateway at once within 60 s, and there are no links between \
             satellites"
        );
    }
}

/// Doppler shift and its rate at 2 GHz every half second (hertz, hertz per second), with points every `millis`.
fn doppler(path: &ConstellationPath, duration: u64, millis: u64) -> Vec<(f64, f64)> {
    let path = ConstellationPath { step: Duration::from_millis(millis), ..path.clone() };
    let trace = path.trace(Duration::from_secs(duration)).unwrap();
    let instants = (0..2 * duration).map(|half| at(half as f64 / 2.0));
    let per_mps = -2e9 / SPEED_OF_LIGHT;
    instants
        .map(|now| {
            let rate = trace.look(now).unwrap().range_rate_mps;
            (per_mps * rate, per_mps * trace.range_acceleration(now).unwrap())
        })
        .collect()
}

fn train(way: &[(f64, f64)], kmh: f64) -> MovingUser {
    MovingUser {
        waypoints: way.iter().map(|&(latitude, longitude)| waypoint(latitude, longitude, 0.0)).collect(),
        speed: Some(Speed::from_mps(kmh / 3.6)),
    }
}

/// A train under a geostationary satellite: the shift is that of its speed, and jumps where it sets out, turns and
/// stops; its rate is next to nothing all the time.
#[test]
fn the_doppler_of_a_train_under_a_geostationary_satellite() {
    // About 300 s northwards, then eastwards for 290 s, and an arrival between two points of any grid.
    let user = train(&[(45.0, 3.0), (45.202_3, 3.0), (45.202_3, 3.277_7)], 270.0);
    let path = ConstellationPath::new("geo".into(), Place::from_degrees(43.6, 1.4), user);
    for millis in [100, 1000, 10_000] {
        let seen = doppler(&path, 900, millis);
        for (half, (shift, rate)) in seen.iter().enumerate() {
            assert!(rate.abs() < 0.02, "{rate} Hz/s at {half} half seconds, step {millis} ms");
            // Northwards it draws away at 75 m/s times the cosine of the elevation and of the azimuth; at rest not at
            // all.
            assert!(
                if half < 590 { *shift < -200.0 } else { half < 1185 || shift.abs() < 0.1 },
                "{shift} at {half}, {millis}"
            );
        }
        assert!(seen[0].0 < -200.0, "at the begin it moves already: {:?}", seen[0]);
    }
}

/// The way to a way-point counts up to there, the way from it from there on.
#[test]
fn the_rate_of_the_range_jumps_where_the_user_turns() {
    let user = train(&[(45.0, 3.0), (45.1, 3.0), (45.0, 3.0)], 3600.0);
    let turn = 6_371_008.8 * 0.1f64.to_radians() / 1000.0;
    let path = ConstellationPath::new("geo".into(), Place::from_degrees(43.6, 1.4), user);
    let trace = path.trace(Duration::from_secs(60)).unwrap();
    let rate = |seconds: f64| trace.look(at(seconds)).unwrap().range_rate_mps;
    let (there, back) = (rate(turn - 1e-6), rate(turn + 1e-6));
    assert!(there > 500.0 && (there + back).abs() < 1.0, "{there} {back}");
    assert!((rate(0.0) - there).abs() < 5.0 && (rate(2.0 * turn - 1e-6) - back).abs() < 5.0);
    assert!(rate(2.0 * turn + 1e-6).abs() < 1e-6);
    for seconds in [0.0, turn - 0.3, turn, turn + 0.3, 2.0 * turn, 30.0] {
        let acceleration = trace.range_acceleration(at(seconds)).unwrap();
        assert!(acceleration.abs() < 0.4, "{acceleration} at {seconds}"); // that of the circle: v^2 / R is 0.16 m/s^2
    }
    let jumps = trace.looks().collect::<Vec<_>>();
    assert_eq!(jumps.windows(2).filter(|pair| pair[0].0 == pair[1].0).count(), 2, "at the turn and at the arrival");
}

/// Whatever the points, the rate is that of the orbit.
#[test]
fn the_rate_of_the_doppler_shift_does_not_depend_on_the_step() {
    let user = Place::from_degrees(43.6, 1.4);
    let handover = Some(HandoverPolicy::default());
    let paris = Place::from_degrees(48.9, 2.4);
    let path = ConstellationPath { handover, ..ConstellationPath::new("starlink-shell-1".into(), paris, user) };
    let constellation = &preset("starlink-shell-1").unwrap().constellation;
    let (orbits, station) = (Orbits::new(constellation), Station::new(&user));
    let trace = path.trace(Duration::from_secs(600)).unwrap();
    let per_mps = -2e9 / SPEED_OF_LIGHT;
    for millis in [100, 1000, 10_000] {
        for (half, (_, rate)) in doppler(&path, 600, millis).into_iter().enumerate() {
            let seconds = half as f64 / 2.0;
            // Another trace may find a handover up to a millisecond off.
            if is_changing(&trace, at(seconds)) {
                continue;
            }
            let satellite = trace.interval_at(at(seconds)).unwrap().user_satellite.unwrap();
            let range = |offset: f64| {
                let now = seconds + offset;
                station.at(now).look(orbits.position_of(satellite, now)).0
            };
            let expected = per_mps * (range(0.5) - 2.0 * range(0.0) + range(-0.5)) / 0.25;
            let error = (rate - expected).abs() / expected.abs();
            assert!(error < 0.03, "{rate} instead of {expected} Hz/s at {seconds} s, step {millis} ms");
        }
    }
}
