//! Routes between all pairs of stations: each against the one found for the pair alone, and next hops along them.

use orbit::{
    Access, AllPairs, AllPairsOptions, EARTH_RADIUS, FieldError, Links, Metric, NamedPlace, NextHop, Orbits, PairRoute,
    Place, Router, Station, preset,
};
use units::{Angle, Duration, SPEED_OF_LIGHT};

fn towns(count: usize) -> Vec<NamedPlace> {
    // Spread by the golden angle, between the latitudes that all presets cover.
    let place = |i: usize| {
        let latitude = -50.0 + 100.0 * (i as f64 + 0.5) / count as f64;
        Place::from_degrees(latitude, (i as f64 * 137.507_764).rem_euclid(360.0))
    };
    (0..count).map(|i| NamedPlace { name: format!("town {i}"), place: place(i) }).collect()
}

fn options(seconds: u64, step_ms: u64) -> AllPairsOptions {
    AllPairsOptions {
        metric: Metric::Delay,
        access: Access::All,
        minimum_elevation: Angle::from_degrees(25.0),
        duration: Duration::from_secs(seconds),
        step: Duration::from_millis(step_ms),
        forwarding: false,
        threads: None,
    }
}

fn study(name: &str, stations: &[NamedPlace], options: &AllPairsOptions) -> Result<AllPairs, FieldError> {
    let constellation = &preset(name).unwrap().constellation;
    let orbits = Orbits::new(constellation);
    let links = Links::new(constellation, &orbits);
    let minimum_elevation = match options.minimum_elevation.as_degrees() {
        25.0 => constellation.minimum_elevation,
        _ => options.minimum_elevation,
    };
    AllPairs::new(orbits, links, stations, &AllPairsOptions { minimum_elevation, ..options.clone() })
}

fn all(study: &mut AllPairs) -> (Vec<PairRoute>, Vec<NextHop>) {
    let (mut routes, mut next_hops) = (Vec::new(), Vec::new());
    while study.done() < study.steps() {
        let batch = study.advance();
        routes.extend(batch.routes);
        next_hops.extend(batch.next_hops);
    }
    assert!(study.advance().routes.is_empty());
    (routes, next_hops)
}

#[test]
fn every_pair_has_the_route_that_is_found_for_it_alone() {
    for (name, access) in [("leo-66", Access::All), ("starlink-shell-1", Access::All), ("oneweb", Access::Nearest)] {
        let constellation = &preset(name).unwrap().constellation;
        let towns = towns(9);
        let mut study = study(name, &towns, &AllPairsOptions { access, ..options(600, 60_000) }).unwrap();
        let (rows, _) = all(&mut study);
        assert_eq!(rows.len(), 11 * 36);
        let orbits = Orbits::new(constellation);
        let mut links = Links::new(constellation, &orbits);
        let (mut router, mut positions) = (Router::default(), Vec::new());
        let sin_mask = libm::sin(constellation.minimum_elevation.as_radians());
        for row in rows {
            orbits.positions_at(row.time_s, &mut positions);
            links.update(row.time_s, &positions);
            let [up, down] = [row.from, row.to].map(|number| {
                let horizon = Station::new(&towns[number as usize].place).at(row.time_s);
                let mut seen: Vec<_> = horizon.visible(&positions, sin_mask).map(|view| (view.0, view.1)).collect();
                if access == Access::Nearest {
                    seen.sort_by(|a, b| a.1.total_cmp(&b.1));
                    seen.truncate(1);
                }
                seen
            });
            let found = router.shortest(&links, up, down, |_| 0.0);
            assert_eq!(found.is_some(), row.route.is_some());
            let (Some(metres), Some(route)) = (found, row.route) else { continue };
            assert!((metres / SPEED_OF_LIGHT - route.one_way_delay_s).abs() < 1e-15, "{name} {row:?}");
            let way = router.route();
            assert_eq!((way[0], way[way.len() - 1], way.len() as u32 - 1), (route.first, route.last, route.hops));
        }
    }
}

#[test]
fn fewest_hops_are_fewer_and_longer() {
    let rows = |metric| {
        all(&mut study("starlink-shell-1", &towns(8), &AllPairsOptions { metric, ..options(100, 10_000) }).unwrap()).0
    };
    let (by_delay, by_hops) = (rows(Metric::Delay), rows(Metric::Hops));
    let pairs = || by_delay.iter().zip(&by_hops).map(|(a, b)| (a.route.unwrap(), b.route.unwrap()));
    assert!(pairs().all(|(delay, hops)| hops.hops <= delay.hops && hops.one_way_delay_s >= delay.one_way_delay_s));
    assert!(pairs().any(|(delay, hops)| hops.hops < delay.hops && hops.one_way_delay_s > delay.one_way_delay_s));
}

#[test]
fn next_hops_lead_along_the_routes() {
    for metric in [Metric::Delay, Metric::Hops] {
        let options = AllPairsOptions { forwarding: true, metric, ..options(400, 2000) };
        let mut study = study("leo-66", &towns(7), &options).unwrap();
        let (routes, next_hops) = all(&mut study);
        let satellites = study.satellites() as u32;
        assert_eq!(next_hops.iter().filter(|change| change.step == 0).count(), 7 * (66 + 6));
        assert!(next_hops.iter().any(|change| change.step > 0));
        let mut table = vec![vec![None; 66 + 7]; 7];
        let mut changes = next_hops.iter().peekable();
        for (step, rows) in routes.chunks(21).enumerate() {
            while let Some(change) = changes.next_if(|change| change.step == step as u64) {
                let entry = &mut table[change.to as usize][change.node as usize];
                assert!(step == 0 || *entry != change.next, "only changes are told");
                *entry = change.next;
            }
            for row in rows {
                for (from, to) in [(row.from, row.to), (row.to, row.from)] {
                    let mut way = vec![satellites + from];
                    while *way.last().unwrap() != satellites + to {
                        way.push(table[to as usize][*way.last().unwrap() as usize].expect("a route leads on"));
                        assert!(way.len() < 70, "goes round");
                    }
                    let route = row.route.unwrap();
                    assert_eq!(way.len() as u32 - 3, route.hops);
                    let ends = if from == row.from { (route.first, route.last) } else { (route.last, route.first) };
                    assert_eq!((way[1], way[way.len() - 2]), ends);
                }
            }
        }
        assert!(changes.next().is_none());
    }
}

#[test]
fn summaries_are_those_of_the_rows() {
    let mut study = study("leo-66", &towns(5), &options(900, 3000)).unwrap();
    let (rows, _) = all(&mut study);
    for (i, summary) in study.summaries().iter().enumerate() {
        let own: Vec<_> = rows.iter().skip(i).step_by(10).collect();
        assert!(own.iter().all(|row| (row.from, row.to) == (summary.from, summary.to)));
        let delays = || own.iter().map(|row| row.route.unwrap().one_way_delay_s);
        assert_eq!(summary.delay_s[0], delays().fold(f64::INFINITY, f64::min));
        assert!((summary.delay_s[1] - delays().sum::<f64>() / own.len() as f64).abs() < 1e-12);
        assert_eq!(summary.delay_s[2], delays().fold(0.0, f64::max));
        assert_eq!(summary.reached, 301);
        let ways = own.windows(2).map(|pair| [pair[0], pair[1]].map(|row| row.route.unwrap()));
        let seen = ways.filter(|[a, b]| (a.first, a.last, a.hops) != (b.first, b.last, b.hops)).count() as u64;
        assert!(seen > 0 && seen <= summary.changes && summary.changes < 100, "{seen} {summary:?}");
    }
}

#[test]
fn stations_that_see_nothing_are_found_with_their_best() {
    let mut stations = towns(3);
    stations.push(NamedPlace { name: "pole".to_owned(), place: Place::from_degrees(90.0, 0.0) });
    let mut study = study("starlink-shell-1", &stations, &options(3000, 1000)).unwrap();
    let unseen = loop {
        if let Some(unseen) = study.never_in_view() {
            break unseen;
        }
    };
    let [(3, best)] = unseen[..] else { panic!("{unseen:?}") };
    // The plane triangle at a central angle of 37 deg, on the polar radius: the satellite is far below the horizon.
    let (g, polar, r) = (37f64.to_radians(), 6_356_752.3, EARTH_RADIUS + 550e3);
    let highest = libm::atan((libm::cos(g) - polar / r) / libm::sin(g)).to_degrees();
    assert!((best.as_degrees() - highest).abs() < 0.05, "{best:?} but {highest}");
    let (rows, _) = all(&mut study);
    assert!(rows.iter().all(|row| (row.to == 3) == row.route.is_none()));
    let lost = study.summaries().into_iter().find(|summary| summary.to == 3).unwrap();
    assert!(lost.reached == 0 && lost.delay_s[1].is_nan() && lost.hops.is_none());
}

#[test]
fn refuses_what_makes_no_sense() {
    let says = |stations: &[NamedPlace], options: AllPairsOptions| {
        study("leo-66", stations, &options).unwrap_err().to_string()
    };
    let good = options(200, 100);
    assert_eq!(says(&towns(1), good.clone()), "stations: 1 given, 2 to 5000 are expected");
    let twice = [towns(3), towns(1)].concat();
    assert_eq!(says(&twice, good.clone()), "stations: \"town 0\" is there twice");
    assert_eq!(says(&towns(3), options(200, 0)), "step: must be more than 0 s");
    assert_eq!(says(&towns(3), options(0, 1)), "duration: must be more than 0 s");
    let long = says(&towns(500), options(1_000_000, 1));
    assert_eq!(
        long,
        "step: 1 ms is too short for 1000000 s and 500 stations: 1000000001 instants, at most 32064 are looked at"
    );
    let steep = AllPairsOptions { minimum_elevation: Angle::from_degrees(91.0), ..good };
    assert_eq!(says(&towns(3), steep), "minimum_elevation: 91 deg must be between 0 deg and 90 deg");
}
