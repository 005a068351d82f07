//! All pairs of 100 stations over 1584 satellites, every 100 ms for 200 s; and one tree of routes by Dijkstra's
//! algorithm.
//!
//! `cargo bench -p transorbit-orbit --bench routes [SECONDS] [forwarding] [hops]`
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::num::NonZero;
use std::time::Instant;

use orbit::{Access, AllPairs, AllPairsOptions, Links, Metric, NamedPlace, Orbits, Place, Router, Station, preset};
use units::Duration;

const STATIONS: usize = 100;

fn main() {
    let seconds = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(200);
    let has = |word: &str| std::env::args().any(|argument| argument == word);
    let constellation = &preset("starlink-shell-1").expect("is there").constellation;
    // Spread by the golden angle, between the latitudes that the shell covers.
    let place = |i: usize| {
        let latitude = -50.0 + 100.0 * (i as f64 + 0.5) / STATIONS as f64;
        Place::from_degrees(latitude, (i as f64 * 137.507_764).rem_euclid(360.0))
    };
    let stations: Vec<_> = (0..STATIONS).map(|i| NamedPlace { name: format!("{i}"), place: place(i) }).collect();
    let orbits = Orbits::new(constellation);
    let links = Links::new(constellation, &orbits);
    for threads in [1, 2] {
        let options = AllPairsOptions {
            metric: if has("hops") { Metric::Hops } else { Metric::Delay },
            access: Access::All,
            minimum_elevation: constellation.minimum_elevation,
            duration: Duration::from_secs(seconds),
            step: Duration::from_millis(100),
            forwarding: has("forwarding"),
            threads: NonZero::new(threads),
        };
        let mut study = AllPairs::new(orbits.clone(), links.clone(), &stations, &options).expect("is sound");
        let (mut routes, mut changes) = (0, 0);
        let started = Instant::now();
        while study.done() < study.steps() {
            let batch = study.advance();
            routes += batch.routes.len();
            changes += batch.next_hops.len();
        }
        let taken = started.elapsed().as_secs_f64();
        let each = taken / (study.steps() as usize * STATIONS) as f64 * 1e6;
        println!(
            "{threads} threads: {taken:6.2} s for {seconds} s, {routes} routes, {changes} next hops; {each:.1} us for \
             a tree with its part of the rest"
        );
    }
    dijkstra(&stations);
}

/// What a tree takes if nothing is known of the step before.
fn dijkstra(stations: &[NamedPlace]) {
    let constellation = &preset("starlink-shell-1").expect("is there").constellation;
    let orbits = Orbits::new(constellation);
    let mut links = Links::new(constellation, &orbits);
    let (mut router, mut positions) = (Router::default(), Vec::new());
    let sin_mask = libm::sin(constellation.minimum_elevation.as_radians());
    let mut spent = 0.0;
    for step in 0..20 {
        let seconds = f64::from(step) * 0.1;
        orbits.positions_at(seconds, &mut positions);
        links.update(seconds, &positions);
        for station in stations {
            let horizon = Station::new(&station.place).at(seconds);
            let in_view: Vec<_> = horizon.visible(&positions, sin_mask).map(|view| (view.0, view.1)).collect();
            let started = Instant::now();
            black_box(router.distances(&links, in_view));
            spent += started.elapsed().as_secs_f64();
        }
    }
    println!("Dijkstra's algorithm: {:.1} us for a tree", spent / (20 * STATIONS) as f64 * 1e6);
}
