//! The delay over a constellation: against the literature, against geometry, and against itself.

use orbit::{
    ConstellationPath, DelayTrace, HandoverPolicy, Highest, KeepUntilMask, Links, Orbits, Place, ShortestPath, Station,
    constellation_delay, preset,
};
use units::{Angle, Duration, MemoryFiles, SPEED_OF_LIGHT, Time};

const KEEP: HandoverPolicy = HandoverPolicy::KeepUntilMask(KeepUntilMask {});
const HIGHEST: HandoverPolicy = HandoverPolicy::Highest(Highest {});
const SHORTEST: HandoverPolicy = HandoverPolicy::ShortestPath(ShortestPath {});
const POLICIES: [HandoverPolicy; 3] = [KEEP, HIGHEST, SHORTEST];

fn toulouse() -> Place {
    Place::from_degrees(43.6, 1.4)
}

fn auckland() -> Place {
    Place::from_degrees(-36.9, 174.8)
}

fn path(constellation: &str, handover: HandoverPolicy) -> ConstellationPath {
    ConstellationPath {
        handover: Some(handover),
        ..ConstellationPath::new(constellation.into(), toulouse(), auckland())
    }
}

/// The delay every `step` seconds over a day, in ms, sorted; outages left out.
fn day(path: &ConstellationPath, step: u64) -> Vec<f64> {
    let trace = ConstellationPath { step: Duration::from_secs(step), ..path.clone() }.trace(hours(24)).unwrap();
    let at = |i: u64| trace.delay(Time::ZERO + Duration::from_secs(i * step));
    let mut delays: Vec<f64> = (0..86_400 / step).filter_map(at).map(|d| d.as_secs_f64() * 1e3).collect();
    delays.sort_by(f64::total_cmp);
    delays
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() - 1) * percent / 100]
}

fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * 3600)
}

/// An independent computation with 66 satellites at 800 km, plus-grid with links across the seam and polar cut-off,
/// the highest satellite at both ends; percentiles 5, 50 and 95 of the one-way delay in ms.
#[test]
fn percentiles_of_eleven_pairs_over_a_day() {
    let (new_york, tokyo) = ((40.7, -74.0), (35.7, 139.7));
    let perth = (-31.95, 115.86);
    let toulouse = (43.6, 1.4);
    let pairs = [
        (toulouse, new_york, [29.7, 43.9, 69.9]),
        (toulouse, tokyo, [49.6, 62.2, 78.1]),
        (toulouse, (1.3, 103.8), [55.0, 67.0, 85.0]),
        (toulouse, perth, [70.9, 83.8, 97.0]),
        (toulouse, (-17.5, -149.6), [72.5, 83.1, 91.5]),
        (toulouse, (-22.3, 166.5), [74.5, 77.8, 90.9]),
        (toulouse, (-33.9, 151.2), [76.8, 86.8, 90.5]),
        (toulouse, (-36.9, 174.8), [74.7, 78.3, 90.7]),
        (new_york, perth, [74.8, 78.9, 91.1]),
        ((-23.55, -46.6), tokyo, [74.2, 78.3, 91.1]),
        ((-34.6, -58.4), (31.2, 121.5), [75.2, 77.9, 91.5]),
    ];
    let mut square = 0.0;
    for (from, to, expected) in pairs {
        let place = |(latitude, longitude)| Place::from_degrees(latitude, longitude);
        let path = ConstellationPath {
            handover: Some(HIGHEST),
            ..ConstellationPath::new("leo-66".into(), place(from), place(to))
        };
        let delays = day(&path, 30);
        for (percent, expected) in [5, 50, 95].into_iter().zip(expected) {
            let found = percentile(&delays, percent);
            assert!((found - expected).abs() < 1.0, "{from:?} {to:?}: {percent} % at {found:.1}, not {expected} ms");
            square += (found - expected) * (found - expected) / 33.0;
        }
    }
    assert!(square.sqrt() < 0.5, "rms {}", square.sqrt());
}

/// The range of the thesis (section 3.2.3, 4.2.1), for a whole day, with drift and both kinds of jumps (figure 3.3).
#[test]
fn toulouse_to_auckland_stays_between_70_and_100_ms_with_small_and_large_jumps() {
    for (handover, expected) in
        [(KEEP, [74.8, 78.8, 92.6]), (HIGHEST, [74.8, 78.4, 90.8]), (SHORTEST, [74.8, 78.1, 80.3])]
    {
        let delays = day(&path("leo-66", handover.clone()), 10);
        assert_eq!(delays.len(), 8640, "{handover:?}: no outage");
        assert!(delays[0] > 70.0 && delays[8639] < 100.0, "{handover:?}: {} to {}", delays[0], delays[8639]);
        for (percent, expected) in [5, 50, 95].into_iter().zip(expected) {
            assert!((percentile(&delays, percent) - expected).abs() < 0.3, "{handover:?}: {percent} %");
        }
    }
    let trace = path("leo-66", KEEP).trace(hours(24)).unwrap();
    let jumps: Vec<f64> = jumps(&trace).collect();
    assert!(jumps.iter().filter(|&&ms| ms > 0.05 && ms < 5.0).count() > 100, "small ones");
    assert!(jumps.iter().filter(|&&ms| ms > 10.0).count() > 50, "large ones");
    assert!((350..500).contains(&trace.handovers()), "each end about every 7 min: {}", trace.handovers());
    assert!((50..300).contains(&trace.route_changes()), "{}", trace.route_changes());
    // Between jumps the drift is slow: satellites pass the ends, and each other at the seam, at 7.5 km/s each.
    let points: Vec<_> = trace.points().collect();
    for pair in points.windows(2).filter(|pair| pair[1].0 > pair[0].0) {
        let drift = pair[1].1.unwrap().as_secs_f64() - pair[0].1.unwrap().as_secs_f64();
        let speed = drift.abs() / pair[1].0.since(pair[0].0).as_secs_f64() * SPEED_OF_LIGHT;
        assert!(speed < 4.0 * 7.5e3, "{speed} m/s at {}", pair[0].0);
    }
}

/// The sizes of the jumps, ms.
fn jumps(trace: &DelayTrace) -> impl Iterator<Item = f64> {
    let points: Vec<_> = trace.points().collect();
    let jump = |pair: &[(Time, Option<Duration>)]| {
        let (before, after) = (pair[0].1?.as_secs_f64(), pair[1].1?.as_secs_f64());
        (pair[0].0 == pair[1].0).then_some((after - before).abs() * 1e3)
    };
    points.windows(2).filter_map(jump).collect::<Vec<_>>().into_iter()
}

#[test]
fn the_first_ten_minutes_are_like_the_day() {
    let trace = path("leo-66", HandoverPolicy::default()).trace(Duration::from_secs(600)).unwrap();
    let ms = |delay: Option<Duration>| delay.unwrap().as_secs_f64() * 1e3;
    assert!(ms(trace.min()) > 70.0 && ms(trace.max()) < 90.0 && (80.0..82.0).contains(&ms(trace.mean())));
    assert!(jumps(&trace).any(|ms| ms > 0.05 && ms < 3.0) && jumps(&trace).any(|ms| ms > 10.0));
    assert!(trace.handovers() >= 2 && trace.route_changes() >= 1);
}

#[test]
fn without_links_across_the_seam_some_routes_go_the_long_way_round() {
    let delays = day(&path("iridium-66", KEEP), 10);
    let within = delays.iter().filter(|&&ms| (70.0..=90.0).contains(&ms)).count() as f64 / delays.len() as f64;
    assert!((0.70..0.86).contains(&within), "{within}");
    assert!((95.0..143.0).contains(delays.last().unwrap()), "{:?}", delays.last());
}

/// The delay at samples is the length of the shortest way between the serving satellites, found by another algorithm.
#[test]
fn delay_is_length_over_the_speed_of_light() {
    for name in ["leo-66", "iridium-66", "starlink-shell-1"] {
        let constellation = &preset(name).unwrap().constellation;
        let orbits = Orbits::new(constellation);
        let mut links = Links::new(constellation, &orbits);
        let mut positions = Vec::new();
        for handover in POLICIES {
            let trace = path(name, handover.clone()).trace(Duration::from_secs(1200)).unwrap();
            for seconds in (0..1200).step_by(97) {
                let t = f64::from(seconds);
                let now = Time::from_secs_f64(t);
                orbits.positions_at(t, &mut positions);
                links.update(t, &positions);
                let interval = trace.interval_at(now).unwrap();
                let (first, last) = (interval.gateway_satellite.unwrap(), interval.user_satellite.unwrap());
                let up = Station::new(&toulouse()).at(t).look(positions[first as usize]).0;
                let down = Station::new(&auckland()).at(t).look(positions[last as usize]).0;
                let (between, hops) = bellman_ford(&links, first, last);
                let expected = (up + between + down) / SPEED_OF_LIGHT;
                let found = trace.delay(now).unwrap().as_secs_f64();
                assert!((found - expected).abs() < 1e-9, "{name} {handover:?} at {t} s: {found} but {expected}");
                assert_eq!(interval.hops, Some(hops));
                let last_link = trace.last_link_delay(now).unwrap().as_secs_f64();
                assert!((last_link - down / SPEED_OF_LIGHT).abs() < 1e-9);
            }
        }
    }
}

fn bellman_ford(links: &Links, from: u32, to: u32) -> (f64, u32) {
    let mut best = vec![(f64::INFINITY, 0); links.satellites()];
    best[from as usize] = (0.0, 0);
    loop {
        let before = best.clone();
        for s in 0..links.satellites() {
            for (t, metres) in links.of(s as u32) {
                let way = (best[s].0 + metres, best[s].1 + 1);
                if way.0 < best[t as usize].0 {
                    best[t as usize] = way;
                }
            }
        }
        if best == before {
            return best[to as usize];
        }
    }
}

/// Another choice of end satellites is never shorter than the shortest path's.
#[test]
fn shortest_path_is_the_shortest() {
    let [keep, highest, shortest] = POLICIES.map(|handover| path("leo-66", handover).trace(hours(3)).unwrap());
    for seconds in (0..3 * 3600).step_by(11) {
        let now = Time::from_secs_f64(f64::from(seconds));
        let best = shortest.delay(now).unwrap();
        assert!(best <= keep.delay(now).unwrap() && best <= highest.delay(now).unwrap());
    }
}

#[test]
fn there_and_back_take_the_same_time() {
    for name in ["leo-66", "kuiper-630"] {
        for handover in POLICIES {
            let there = path(name, handover.clone());
            let back = ConstellationPath { source: auckland().into(), user: toulouse().into(), ..there.clone() };
            let (there, back) = (there.trace(hours(1)).unwrap(), back.trace(hours(1)).unwrap());
            assert_eq!(there.handovers(), back.handovers());
            for seconds in 0..3600 {
                let now = Time::from_secs_f64(f64::from(seconds));
                let (a, b) = (there.delay(now).unwrap().as_nanos(), back.delay(now).unwrap().as_nanos());
                assert!(a.abs_diff(b) <= 1, "{name} {handover:?} at {seconds} s");
            }
        }
    }
}

/// A coarse step finds the changes where a fine one does, to a millisecond.
#[test]
fn changes_are_located_whatever_the_step() {
    for handover in POLICIES {
        let with =
            |millis| ConstellationPath { step: Duration::from_millis(millis), ..path("leo-66", handover.clone()) };
        let [coarse, fine] = [5000, 500].map(|millis| with(millis).trace(hours(4)).unwrap());
        let key = |trace: &DelayTrace| -> Vec<_> {
            trace
                .intervals()
                .iter()
                .map(|interval| (interval.gateway_satellite, interval.user_satellite, interval.hops, interval.change))
                .collect()
        };
        assert_eq!(key(&coarse), key(&fine), "{handover:?}");
        for (a, b) in coarse.intervals().iter().zip(fine.intervals()) {
            assert!(a.from.as_nanos().abs_diff(b.from.as_nanos()) <= 1_000_000, "{} and {}", a.from, b.from);
        }
        // A jump is a jump: just before it the old delay, from it on the new one.
        let (points, jump) = (coarse.points().collect::<Vec<_>>(), |pair: &&[(Time, _)]| pair[0].0 == pair[1].0);
        for pair in points.windows(2).filter(jump) {
            let near = |a: Option<Duration>, b: Option<Duration>| {
                a.unwrap().as_nanos().abs_diff(b.unwrap().as_nanos()) <= 1 // 1 us of drift, at 30 km/s at most
            };
            assert!(near(coarse.delay(pair[0].0 - Duration::from_micros(1)), pair[0].1));
            assert_eq!(coarse.delay(pair[1].0), pair[1].1);
        }
    }
}

/// Between samples a second apart, the line is within 0.1 us of the curve.
#[test]
fn the_line_between_samples_is_as_good_as_the_curve() {
    for handover in POLICIES {
        let with =
            |millis| ConstellationPath { step: Duration::from_millis(millis), ..path("leo-66", handover.clone()) };
        let [whole, half] = [1000, 500].map(|millis| with(millis).trace(hours(4)).unwrap());
        for half_seconds in (1..4 * 7200).step_by(2) {
            let now = Time::from_secs_f64(f64::from(half_seconds) / 2.0);
            // The traces may locate a change up to a millisecond apart.
            let changing =
                whole.intervals().iter().any(|interval| interval.from.as_nanos().abs_diff(now.as_nanos()) <= 1_000_000);
            let (a, b) = (whole.delay(now).unwrap(), half.delay(now).unwrap());
            assert!(changing || a.as_nanos().abs_diff(b.as_nanos()) < 100, "{handover:?} at {now}: {a} {b}");
        }
    }
}

/// ns-2's rule: a satellite is kept until it drops below the mask, then the highest takes over.
#[test]
fn a_satellite_is_kept_until_it_sets() {
    let constellation = &preset("leo-66").unwrap().constellation;
    let sin_mask = libm::sin(constellation.minimum_elevation.as_radians());
    let orbits = Orbits::new(constellation);
    let trace = path("leo-66", KEEP).trace(hours(6)).unwrap();
    let station = Station::new(&toulouse());
    let mut positions = Vec::new();
    let mut look = |satellite: Option<u32>, now: Time| {
        orbits.positions_at(now.as_secs_f64(), &mut positions);
        let horizon = station.at(now.as_secs_f64());
        let highest = horizon.visible(&positions, sin_mask).max_by(|a, b| a.2.total_cmp(&b.2)).unwrap().0;
        (horizon.look(positions[satellite.unwrap() as usize]).1, highest)
    };
    let mut changes = 0;
    for pair in trace.intervals().windows(2) {
        let (old, new) = (pair[0].gateway_satellite, pair[1].gateway_satellite);
        let begin = pair[1].from;
        assert!(look(old, begin - Duration::from_millis(1)).0 >= sin_mask, "in view up to {begin}");
        if old != new {
            assert!(look(old, begin).0 < sin_mask, "set at {begin}");
            assert_eq!(Some(look(new, begin).1), new, "the highest takes over at {begin}");
            assert!(pair[1].change.gateway_handover);
            changes += 1;
        }
    }
    assert!(changes > 30, "{changes}");
}

#[test]
fn where_no_satellite_is_high_enough_there_is_an_outage() {
    for handover in POLICIES {
        let steep = ConstellationPath {
            minimum_elevation: Some(Angle::from_degrees(45.0)),
            ..path("leo-66", handover.clone())
        };
        let trace = steep.trace(hours(6)).unwrap();
        let without = trace.intervals().iter().filter(|interval| interval.hops.is_none()).count();
        assert!(without > 10, "{handover:?}: {without}");
        assert!(trace.outage() > hours(1) && trace.outage() < hours(6));
        for pair in trace.intervals().windows(2) {
            let now = pair[0].from;
            assert_eq!(trace.delay(now).is_none(), pair[0].hops.is_none());
            assert_eq!(trace.last_link_delay(now).is_none(), pair[0].hops.is_none());
            let just_before = pair[1].from - Duration::from_micros(1);
            assert_eq!(trace.delay(just_before).is_none(), pair[0].hops.is_none(), "until {}", pair[1].from);
        }
        let without: Duration = trace
            .intervals()
            .windows(2)
            .filter(|pair| pair[0].hops.is_none())
            .map(|pair| pair[1].from.since(pair[0].from))
            .sum();
        let to_the_end = match trace.intervals().last() {
            Some(interval) if interval.hops.is_none() => (Time::ZERO + hours(6)).since(interval.from),
            _ => Duration::ZERO,
        };
        assert_eq!(trace.outage(), without + to_the_end);
    }
}

#[test]
fn a_later_start_is_the_same_sky_shifted() {
    let whole = path("leo-66", HIGHEST).trace(hours(2)).unwrap();
    let later = ConstellationPath { start: hours(1), ..path("leo-66", HIGHEST) }.trace(hours(1)).unwrap();
    for seconds in 0..3600 {
        let now = Time::from_secs_f64(f64::from(seconds));
        assert_eq!(later.delay(now), whole.delay(now + hours(1)));
    }
}

#[test]
fn the_table_reads_the_trace_on_its_grid() {
    let constellation = &preset("leo-66").unwrap().constellation;
    let step = Duration::from_millis(2500);
    let path =
        ConstellationPath { step, ..ConstellationPath::new(constellation.clone().into(), toulouse(), auckland()) };
    let table = constellation_delay(&path, Duration::from_secs(3601), &mut MemoryFiles::new()).unwrap();
    assert_eq!(table.rows.len(), 1442, "0, 2.5, ... 3600 and the end at 3601 s");
    assert_eq!(table.rows.last().unwrap().time_s, 3601.0);
    let mut events = 0;
    for (before, row) in table.rows.iter().zip(&table.rows[1..]) {
        let now = Time::from_secs_f64(row.time_s);
        assert_eq!(row.one_way_delay_s, table.trace.delay(now).map(Duration::as_secs_f64));
        assert_eq!(row.gateway, Some(0));
        let look = table.trace.look(now).unwrap();
        assert_eq!((row.elevation_deg, row.range_m), (Some(look.elevation_deg), Some(look.range_m)));
        assert_eq!(row.range_rate_mps, Some(look.range_rate_mps));
        let ends = |row: &orbit::DelayRow| (row.source_satellite, row.user_satellite);
        assert_eq!(before.user_satellite != row.user_satellite, row.event.contains("user-handover"));
        assert_eq!(before.source_satellite != row.source_satellite, row.event.contains("gateway-handover"));
        assert!(ends(before) == ends(row) || row.event != "route-change");
        assert!(before.hops == row.hops || !row.event.is_empty());
        events += usize::from(!row.event.is_empty());
    }
    assert_eq!(table.rows[0].event, "");
    let rounded_up = |interval: &orbit::RouteInterval| interval.from.as_nanos().div_ceil(step.as_nanos());
    let mut rows_with_change: Vec<_> = table.trace.intervals()[1..].iter().map(rounded_up).collect();
    rows_with_change.dedup();
    assert_eq!(events, rows_with_change.len());
    assert!(events > 8, "{events}");

    let counted = |name: &str| table.rows.iter().filter(|row| row.event.contains(name)).count() as u64;
    assert_eq!(counted("user-handover"), table.trace.user_handovers());
    assert_eq!(counted("gateway-handover"), table.trace.gateway_handovers());

    let nowhere = ConstellationPath { source: Place::from_degrees(99.0, 0.0).into(), ..path };
    let refused = constellation_delay(&nowhere, step, &mut MemoryFiles::new());
    assert_eq!(refused.unwrap_err().to_string(), "source.latitude: 99 deg must be between -90 deg and 90 deg");
}

/// It rises and sets over both ends, and nobody ever takes over from it.
#[test]
fn a_single_satellite_has_outages_and_no_handover() {
    let mut constellation = preset("leo-66").unwrap().constellation.clone();
    (constellation.planes, constellation.satellites_per_plane, constellation.node_spacing) = (1, 1, None);
    for links in [orbit::LinkPattern::None, orbit::LinkPattern::PlusGrid] {
        constellation.links = links;
        let path = ConstellationPath::new(constellation.clone().into(), toulouse(), Place::from_degrees(48.9, 2.4));
        let table = constellation_delay(&path, hours(24), &mut MemoryFiles::new()).unwrap();
        let trace = &table.trace;
        assert_eq!((trace.user_handovers(), trace.gateway_handovers(), trace.route_changes()), (0, 0, 0));
        let events: Vec<&str> =
            table.rows.iter().map(|row| row.event.as_str()).filter(|event| !event.is_empty()).collect();
        let passes = events.iter().filter(|&&event| event == "outage").count();
        assert!(passes >= 4, "{events:?}");
        assert!(events.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(events.iter().all(|event| ["outage", "route-again"].contains(event)), "{events:?}");
    }
}
