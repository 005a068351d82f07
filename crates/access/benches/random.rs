//! Nanoseconds for each burst of random access: placed, decoded, counted.
//!
//! `cargo bench -p transorbit-access --bench random`
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use access::random::{Columns, PlrStudy, RandomAccess, RandomConfig, RandomFrame, RandomLayout, Scheme};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::json;
use units::Db;

/// Of which the best counts: a busy computer disturbs some.
const REPETITIONS: usize = 20;
const BURSTS: u64 = 200_000;
const LAYOUT: RandomLayout = RandomLayout { timeslots: 40, block_slots: 100, one_amplifier: true };

fn main() {
    // A number of repetitions and a part of a name may be given, for a run under a profiler.
    let repetitions = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(REPETITIONS);
    let part =
        std::env::args().skip(1).find(|argument| argument.contains(char::is_alphabetic) && argument != "--bench");
    let wanted = |name: &str| part.as_ref().is_none_or(|part| name.contains(part.as_str()));
    for (name, config, spread, packets) in [
        ("aloha, 30 packets on 100 slots", json!({ "kind": "aloha" }), 0.0, 30),
        ("crdsa-2, 50 packets on 100 slots", json!({ "kind": "crdsa", "replicas": 2 }), 0.0, 50),
        ("crdsa-3, 60 packets on 100 slots", json!({ "kind": "crdsa" }), 0.0, 60),
        ("crdsa-3, 60 packets, powers 3 dB apart", json!({ "kind": "crdsa" }), 3.0, 60),
        ("irsa, 75 packets on 100 slots", json!({ "kind": "irsa" }), 0.0, 75),
        ("musca-3, 95 packets on 100 slots", json!({ "kind": "musca" }), 0.0, 95),
        ("musca-3, 95 packets, powers 3 dB apart", json!({ "kind": "musca" }), 3.0, 95),
    ] {
        if wanted(name) {
            let best = (0..repetitions).map(|_| study(&config, spread, packets)).fold(f64::INFINITY, f64::min);
            println!(
                "{name:40} {:6.1} ns per burst, {:5.3} s for a point of 10^6 bursts",
                best / BURSTS as f64 * 1e9,
                best / BURSTS as f64 * 1e6,
            );
        }
    }
    for (name, config) in [("crdsa", json!({ "kind": "crdsa" })), ("musca", json!({ "kind": "musca" }))] {
        let name = format!("{name}, 400 terminals, 13 packets each");
        if wanted(&name) {
            let best = (0..repetitions.min(5)).map(|_| frames(&config)).fold(f64::INFINITY, f64::min);
            println!("{name:40} {:6.1} ns per burst, {best:5.3} s for 444 frames", best / (444.0 * 15_600.0) * 1e9);
        }
    }
}

fn scheme(config: &serde_json::Value, spread: f64) -> Scheme {
    let config: RandomAccess = serde_json::from_value(config.clone()).expect("valid");
    let random = RandomConfig { power_spread: Db::new(spread), ..RandomConfig::default() };
    config.entry().check(&LAYOUT).expect("valid");
    config.load(&random, &mut units::MemoryFiles::new()).expect("no file")
}

/// Seconds for a point of a loss curve.
fn study(config: &serde_json::Value, spread: f64, packets: u32) -> f64 {
    let rng = Box::new(Xoshiro256PlusPlus::seed_from_u64(1));
    let mut study = PlrStudy::new(scheme(config, spread), LAYOUT, vec![packets], BURSTS, rng);
    let started = Instant::now();
    while study.advance(BURSTS / 10) {}
    black_box(study.points());
    started.elapsed().as_secs_f64()
}

/// Seconds for frames of 40 RA blocks in which every terminal sends as much as its amplifier allows.
fn frames(config: &serde_json::Value) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut frame = RandomFrame::new(scheme(config, 0.0), LAYOUT);
    let mut terminals = vec![Columns::new(LAYOUT.timeslots); 400];
    let started = Instant::now();
    for _ in 0..444 {
        frame.begin(40);
        for columns in &mut terminals {
            columns.clear();
            assert_eq!(frame.together(), Some(3));
            frame.add_all(13, columns, &mut rng);
        }
        frame.decode(&mut rng);
    }
    black_box(frame.counters());
    started.elapsed().as_secs_f64()
}
