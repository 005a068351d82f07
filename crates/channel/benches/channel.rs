//! What the fading of a user costs: nanoseconds for each second of a series that is made, and for each sample read of
//! it.
//!
//! `cargo bench -p transorbit-channel`
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use channel::{Channel, ChannelConfig, ChannelModel};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Duration, Time};

/// As many as a cell has, in turn: none finds its series in the cache.
const USERS: u64 = 200;
const SECONDS: u64 = 5;
/// Short and many, of which the best counts: a busy computer disturbs some.
const REPETITIONS: usize = 10;

fn main() {
    // A number of repetitions and a part of a name may be given, for a run under a profiler.
    let repetitions = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(REPETITIONS);
    let part =
        std::env::args().skip(1).find(|argument| argument.contains(char::is_alphabetic) && argument != "--bench");
    for (name, text) in [
        ("lms, 60 km/h", r#"{ "kind": "lms" }"#),
        ("lms, 120 km/h", r#"{ "kind": "lms", "speed": "120 km/h" }"#),
        ("p681, 60 km/h", r#"{ "kind": "p681" }"#),
    ] {
        if part.as_ref().is_some_and(|part| !name.contains(part.as_str())) {
            continue;
        }
        let model = serde_json::from_str::<ChannelConfig>(text)
            .expect("valid")
            .entry()
            .load(&mut units::MemoryFiles::new(), None)
            .expect("loads");
        let best = |gap| (0..repetitions).map(|_| measure(&*model, gap)).fold(f64::INFINITY, f64::min);
        let (made, voice) = (best(Duration::from_millis(500)), best(Duration::from_millis(20)));
        let fine = best(Duration::from_millis(10));
        println!(
            "{name:16} {made:8.0} ns per second made, {voice:8.0} with a read each 20 ms, {:6.1} ns per sample read",
            (fine - voice) / 50.0
        );
    }
}

/// Nanoseconds for a user and a second, with a read each `gap`.
fn measure(model: &dyn ChannelModel, gap: Duration) -> f64 {
    let mut channels: Vec<Box<dyn Channel>> = (0..USERS).map(|user| channel(model, user)).collect();
    // The first block of each user.
    channels.iter_mut().for_each(|channel| _ = channel.burst_snr(Time::ZERO));
    let started = Instant::now();
    let mut now = Time::ZERO + gap;
    while now <= Time::ZERO + Duration::from_secs(SECONDS) {
        for channel in &mut channels {
            black_box(channel.burst_snr(now));
        }
        now += gap;
    }
    started.elapsed().as_nanos() as f64 / (USERS * SECONDS) as f64
}

fn channel(model: &dyn ChannelModel, user: u64) -> Box<dyn Channel> {
    let mut purposes = 0;
    let mut streams = |_: &'static str| -> Box<dyn Rng + Send> {
        purposes += 1;
        Box::new(Xoshiro256PlusPlus::seed_from_u64(1000 * user + purposes))
    };
    model.build(0, &mut streams)
}
