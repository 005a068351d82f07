//! Nanoseconds for each satellite's position: 10,000 satellites of a pattern, with and without the drift by J2, and as
//! many by their elements.
//!
//! `cargo bench -p transorbit-orbit --bench propagation`
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use orbit::{Constellation, ElementOrbits, ElementSet, Epoch, Links, Orbits, preset};

/// Of which the best counts: a busy computer disturbs some.
const REPETITIONS: u32 = 30;
const INSTANTS: u32 = 20;

fn main() {
    let shell = preset("starlink-shell-1").expect("exists").constellation.clone();
    let shell = Constellation { planes: 100, satellites_per_plane: 100, ..shell };
    for (name, j2) in [("Walker, two bodies", false), ("Walker, J2", true)] {
        let constellation = Constellation { j2, ..shell.clone() };
        let orbits = Orbits::new(&constellation);
        report(name, &orbits);
        let mut links = Links::new(&constellation, &orbits);
        report_links(&format!("{name}, and their 20,000 links"), &orbits, &mut links);
    }
    report("SGP4, near the Earth", &by_elements(15.05, 0.0002));
    report("SGP4, deep space without resonance", &by_elements(5.0, 0.0004));
    report("SGP4, 12 h resonance", &by_elements(2.006, 0.7));
}

fn by_elements(mean_motion: f64, eccentricity: f64) -> Orbits {
    let epoch: Epoch = "2026-11-21T00:00:00".parse().expect("an instant");
    let set = |number: u32| ElementSet {
        name: number.to_string(),
        number: u64::from(number),
        epoch,
        mean_motion,
        eccentricity,
        inclination: 53.0,
        right_ascension: f64::from(number % 100) * 3.6,
        argument_of_perigee: 90.0,
        mean_anomaly: f64::from(number / 100) * 3.6,
        drag: 1e-4,
    };
    let sets: Vec<ElementSet> = (0..10_000).map(set).collect();
    Orbits::Elements(ElementOrbits::new(&sets, epoch).expect("orbits"))
}

fn report(name: &str, orbits: &Orbits) {
    let mut positions = Vec::new();
    print(name, || {
        for i in 0..INSTANTS {
            orbits.positions_at(f64::from(i) * 432.1, &mut positions);
            black_box(&positions);
        }
    });
}

fn report_links(name: &str, orbits: &Orbits, links: &mut Links) {
    let mut positions = Vec::new();
    print(name, || {
        for i in 0..INSTANTS {
            orbits.positions_at(f64::from(i) * 432.1, &mut positions);
            links.update(f64::from(i) * 432.1, &positions);
            black_box(&links);
        }
    });
}

fn print(name: &str, mut work: impl FnMut()) {
    let timed = |_| {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64()
    };
    let best = (0..REPETITIONS).map(timed).fold(f64::INFINITY, f64::min);
    println!("{name:45} {:7.1} ns for each satellite", best / f64::from(INSTANTS * 10_000) * 1e9);
}
