//! Nanoseconds for each packet through the last hop: everything between its arrival and its output.
//!
//! `cargo bench -p transorbit-link`
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use channel::{CLEAR, Channel, TransmissionLaw};
use link::{Ecn, LastHop, LastHopConfig, PacketRef, Propagation};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};
use units::chance::unit_interval;
use units::{Db, Duration, Time};

const PACKETS: u32 = 50_000;
const DELAY: Duration = Duration::from_millis(10);
/// Short and many, of which the best counts: a busy computer disturbs some.
const REPETITIONS: usize = 100;

fn main() {
    // A number of repetitions and a part of a name may be given, for a run under a profiler.
    let repetitions = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(REPETITIONS);
    let part =
        std::env::args().skip(1).find(|argument| argument.contains(char::is_alphabetic) && argument != "--bench");
    let buffer = json!({ "kind": "droptail", "buffer": "1 bdp" });
    let none = json!({ "rate": "50 Mbit/s", "delay": "10 ms", "scheduler": buffer });
    let adaptive =
        json!({ "rate": "50 Mbit/s", "delay": "10 ms", "scheduler": buffer, "harq": { "kind": "adaptive" } });
    let pf = json!({
        "rate": "50 Mbit/s", "delay": "10 ms", "scheduler": { "kind": "pf" }, "harq": { "kind": "adaptive" },
    });
    let managed = |queue: Value| json!({ "rate": "50 Mbit/s", "delay": "10 ms", "scheduler": buffer, "queue": queue });
    let marking = managed(json!({ "kind": "droptail", "mark_above": "5 ms" }));
    let (red, codel) = (managed(json!({ "kind": "red" })), managed(json!({ "kind": "codel" })));
    for (name, settings, load, users) in [
        ("none, half loaded", &none, 0.5, 1),
        ("none, full", &none, 1.0, 1),
        ("none, overloaded twice", &none, 2.0, 1),
        ("marking threshold, overloaded twice", &marking, 2.0, 1),
        ("red, overloaded twice", &red, 2.0, 1),
        ("codel, overloaded twice", &codel, 2.0, 1),
        ("adaptive with reordering, half loaded", &adaptive, 0.2, 1),
        ("adaptive with reordering, overloaded", &adaptive, 1.0, 1),
        ("pf, adaptive, 200 users, overloaded", &pf, 1.0, 200),
    ] {
        if part.as_ref().is_some_and(|part| !name.contains(part.as_str())) {
            continue;
        }
        let best = (0..repetitions).map(|_| measure(settings, load, users)).fold(f64::INFINITY, f64::min);
        println!("{name:40} {best:6.1} ns per packet offered");
    }
}

fn measure(settings: &serde_json::Value, load: f64, users: u32) -> f64 {
    let config: LastHopConfig = serde_json::from_value(settings.clone()).expect("valid");
    let rng = |seed| Box::new(Xoshiro256PlusPlus::seed_from_u64(seed));
    let streams = move |_: &'static str, _: u64| -> Box<dyn Rng + Send> { rng(1) };
    let fading = config.law_request(DELAY).is_some();
    let channel = |user: u32| -> Box<dyn Channel> {
        if fading { Box::new(Fading(rng(2 + u64::from(user)))) } else { Box::new(Clear) }
    };
    let channels = (0..users).map(channel).collect();
    let law = fading.then(law);
    let mut hop = LastHop::new(
        &config,
        Propagation::fixed(DELAY),
        Duration::from_millis(160),
        channels,
        law.as_ref(),
        streams,
        &mut |_| None,
    )
    .expect("valid");
    let gap = config.rate.given().expect("a rate").tx_time(1115 * 8).mul_f64(1.0 / load);
    let started = Instant::now();
    let (mut at, mut outputs) = (Time::ZERO, 0);
    for id in 0..PACKETS {
        while let Some(wake) = hop.poll_timeout().filter(|&wake| wake <= at) {
            hop.handle_timeout(wake);
            while let Some(output) = hop.poll_output() {
                black_box(output);
                outputs += 1;
            }
        }
        hop.handle_packet(
            at,
            PacketRef { id, flow: id % 8.max(users), user: id % users, class: 0, size: 1115, ecn: Ecn::NotEct },
        );
        while let Some(output) = hop.poll_output() {
            black_box(output);
            outputs += 1;
        }
        at += gap;
    }
    let nanos = started.elapsed().as_nanos() as f64;
    assert!(outputs > PACKETS / 2);
    nanos / f64::from(PACKETS)
}

struct Clear;

impl Channel for Clear {
    fn burst_snr(&mut self, _now: Time) -> Db {
        CLEAR
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, _now: Time) -> Db {
        CLEAR
    }
}

/// Uniform from -10 to 12 dB, so that all transmissions are used.
struct Fading(Box<Xoshiro256PlusPlus>);

impl Channel for Fading {
    fn burst_snr(&mut self, _now: Time) -> Db {
        Db::new(-10.0 + 22.0 * unit_interval(self.0.next_u64()))
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, _now: Time) -> Db {
        CLEAR
    }
}

fn law() -> TransmissionLaw {
    let mut channel = Fading(Box::new(Xoshiro256PlusPlus::seed_from_u64(3)));
    let information = |_| channel::qpsk::mutual_information(channel.burst_snr(Time::ZERO)) as f32;
    TransmissionLaw { transmissions: 4, samples: (0..40_000).map(information).collect() }
}
