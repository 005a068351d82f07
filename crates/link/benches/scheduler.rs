//! Nanoseconds of a choice: of the packet to send next, and the arrival that keeps its user backlogged.
//!
//! `cargo bench -p transorbit-link --bench scheduler [USERS] [PART OF A NAME]`
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use channel::Channel;
use link::scheduler::{Parts, View};
use link::{
    Choose, Ecn, EstimateConfig, Estimates, Harq, HarqConfig, LinkFacts, PacketRef, Queue, QueueState, Scheduler,
    SchedulerConfig,
};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::json;
use units::{BitRate, Db, Duration, Time};

const CHOICES: u32 = 20_000;
/// Short and many, of which the best counts: a busy computer disturbs some.
const REPETITIONS: usize = 30;

fn main() {
    let users = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(500);
    let part =
        std::env::args().skip(1).find(|argument| argument.contains(char::is_alphabetic) && argument != "--bench");
    for kind in SchedulerConfig::ALL {
        if part.as_ref().is_some_and(|part| !kind.contains(part.as_str())) {
            continue;
        }
        let mut bench = Bench::new(kind, users);
        bench.choose(CHOICES); // fills the queues' memory
        let best = (0..REPETITIONS).map(|_| bench.choose(CHOICES)).fold(f64::INFINITY, f64::min);
        println!("{kind:12} {best:8.1} ns for a choice of {users} users");
    }
}

struct Bench {
    /// The one without processes: everybody may start.
    harq: Box<dyn Harq>,
    scheduler: Box<dyn Scheduler>,
    now: Time,
    estimates: Estimates,
    channels: Vec<Box<dyn Channel>>,
    id: u32,
}

impl Bench {
    /// All users have packets; a packet is sent in 178 µs, as 1115 bytes at 50 Mbit/s.
    fn new(kind: &str, users: usize) -> Bench {
        let mut options = json!({ "kind": kind, "buffer": format!("{} packets", users * 20) });
        if kind == "external" {
            options["name"] = json!("longest");
        }
        if kind == "fq-codel" {
            // Else it would be CoDel that is measured: all queues are too long all the time.
            (options["target"], options["interval"]) = (json!("100 s"), json!("1000 s"));
        }
        if kind == "codes" {
            options["limit"] = json!("100 s");
        }
        let config: SchedulerConfig = serde_json::from_value(options).expect("valid");
        let link = LinkFacts { rate: BitRate::from_bps(50_000_000), base_rtt: Duration::from_millis(160), users };
        let mut queue = |limit| Queue::new(limit, None);
        let mut choosers = |_: &str| Some(Box::new(Longest) as Box<dyn Choose>);
        let mut scheduler = config
            .entry()
            .build(&mut Parts { link: &link, queue: &mut queue, choosers: &mut choosers })
            .expect("valid");
        let mut now = Time::ZERO;
        for id in 0..users as u32 * 3 {
            now += Duration::from_micros(3);
            let user = (u64::from(id) * 7919 % users as u64) as u32;
            assert!(scheduler.enqueue(now, packet(id, user)).is_ok());
        }
        // Held constant: one report, for ever.
        let estimate = EstimateConfig { interval: Duration::from_secs(1_000_000), age: Duration::ZERO };
        let channels =
            (0..users).map(|user| Box::new(Constant(user as f64 % 13.0 - 2.0)) as Box<dyn Channel>).collect();
        let harq = HarqConfig::default()
            .entry()
            .build(None, Box::new(|_| Box::new(Xoshiro256PlusPlus::seed_from_u64(1))))
            .expect("valid");
        Bench { harq, scheduler, now, estimates: Estimates::new(&estimate, users), channels, id: 0 }
    }

    /// Nanoseconds for each.
    fn choose(&mut self, choices: u32) -> f64 {
        let started = Instant::now();
        for _ in 0..choices {
            self.now += Duration::from_micros(178);
            self.estimates.advance(self.now, &mut self.channels);
            let mut view = View::new(self.now, self.harq.as_ref(), &mut self.estimates, &mut self.channels);
            let chosen = black_box(self.scheduler.select(self.now, &mut view)).expect("all have packets");
            self.id = self.id.wrapping_add(1);
            assert!(self.scheduler.enqueue(self.now, packet(self.id, chosen.user)).is_ok());
        }
        started.elapsed().as_nanos() as f64 / f64::from(choices)
    }
}

fn packet(id: u32, user: u32) -> PacketRef {
    PacketRef { id, flow: user, user, class: 0, size: 1115, ecn: Ecn::NotEct }
}

struct Longest;

impl Choose for Longest {
    fn choose(&mut self, _now: Time, queues: &[QueueState]) -> Option<u32> {
        queues.iter().max_by_key(|queue| queue.head_wait).map(|queue| queue.user)
    }
}

struct Constant(f64);

impl Channel for Constant {
    fn burst_snr(&mut self, _now: Time) -> Db {
        Db::new(self.0)
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, _now: Time) -> Db {
        Db::new(self.0)
    }
}
