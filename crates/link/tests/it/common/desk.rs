//! A scheduler alone, with estimates that a test paints and users that it blocks.

use std::sync::{Arc, Mutex};

use channel::{CLEAR, Channel, ERASED, qpsk};
use link::harq::{Burst, Coded, FeedbackMessage, HarqCounters, Reception};
use link::scheduler::{Parts, View};
use link::{
    Choose, Ecn, EstimateConfig, Estimates, Harq, LinkFacts, PacketRef, Queue, QueueConfig, Scheduler, SchedulerConfig,
};
use proptest::prelude::ProptestConfig;
use rand::Rng;
use serde_json::{Value, json};
use units::chance::unit_interval;
use units::{BitRate, Db, Duration, Time};

use super::scheduler_json;

/// 8 Mbit/s: 1000 bytes in a millisecond.
pub const RATE: BitRate = BitRate::from_bps(8_000_000);

/// A packet of 1000 bytes at that rate.
pub const MS: Duration = Duration::from_millis(1);

/// What the sender believes of each user's channel.
pub type Painted = Arc<Mutex<Vec<Db>>>;

struct Canvas {
    user: usize,
    painted: Painted,
}

impl Channel for Canvas {
    fn burst_snr(&mut self, _now: Time) -> Db {
        unreachable!("nothing is sent")
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, _now: Time) -> Db {
        self.painted.lock().unwrap()[self.user]
    }
}

/// Of a reliability scheme only whom it lets start.
struct Gate {
    open: Vec<bool>,
}

impl Harq for Gate {
    fn may_start(&self, user: u32) -> bool {
        self.open[user as usize]
    }

    fn start(&mut self, _: Time, _: &PacketRef, _: u64, _: Option<f64>) -> Coded {
        unreachable!()
    }

    fn poll_burst(&mut self, _: Time) -> Option<Burst> {
        unreachable!()
    }

    fn has_burst(&self) -> bool {
        unreachable!()
    }

    fn receive(&mut self, _: Time, _: &Burst, _: Db) -> Reception {
        unreachable!()
    }

    fn sends_feedback(&self) -> bool {
        unreachable!()
    }

    fn handle_feedback(&mut self, _: Time, _: FeedbackMessage) -> bool {
        unreachable!()
    }

    fn reset(&mut self, _: &[Burst], _: &mut Vec<(PacketRef, u64)>) {
        unreachable!()
    }

    fn undecided(&self) -> usize {
        unreachable!()
    }

    fn counters(&self) -> &HarqCounters {
        unreachable!()
    }
}

/// A scheduler and all that it looks at.
pub struct Desk {
    pub scheduler: Box<dyn Scheduler>,
    pub now: Time,
    pub painted: Painted,
    gate: Gate,
    estimates: Estimates,
    channels: Vec<Box<dyn Channel>>,
    next_id: u32,
}

impl Desk {
    /// A scheduler with these options for so many users in a clear channel, told of each change at once.
    pub fn new(options: Value, users: usize) -> Desk {
        Desk::with_chooser(options, users, &mut super::choosers)
    }

    pub fn with_chooser(
        options: Value,
        users: usize,
        choosers: &mut dyn FnMut(&str) -> Option<Box<dyn Choose>>,
    ) -> Desk {
        let config: SchedulerConfig = serde_json::from_value(options).expect("valid options");
        let link = LinkFacts { rate: RATE, base_rtt: Duration::from_secs(10), users };
        let mut queue = |limit| Queue::new(limit, QueueConfig::default().entry().build(&link, super::rng(1)));
        let scheduler = config.entry().build(&mut Parts { link: &link, queue: &mut queue, choosers }).unwrap();
        let painted: Painted = Arc::new(Mutex::new(vec![CLEAR; users]));
        let canvas = |user| Box::new(Canvas { user, painted: Arc::clone(&painted) }) as Box<dyn Channel>;
        let channels = (0..users).map(canvas).collect();
        let now = Time::ZERO + Duration::from_millis(1);
        let mut desk = Desk {
            scheduler,
            now,
            painted: Arc::clone(&painted),
            gate: Gate { open: vec![true; users] },
            estimates: Estimates::new(&EstimateConfig { interval: Duration::ZERO, age: Duration::ZERO }, users),
            channels,
            next_id: 0,
        };
        desk.estimates.advance(now, &mut desk.channels);
        desk
    }

    /// The same with other estimates.
    pub fn estimating(mut self, config: &EstimateConfig) -> Desk {
        self.estimates = Estimates::new(config, self.channels.len());
        self.estimates.advance(self.now, &mut self.channels);
        self
    }

    pub fn wait(&mut self, duration: Duration) {
        self.now += duration;
        self.estimates.advance(self.now, &mut self.channels);
    }

    /// The users' channels from now on; looked at when the clock next moves.
    pub fn paint(&mut self, snrs: &[Db]) {
        self.painted.lock().unwrap().copy_from_slice(snrs);
    }

    pub fn information(&self, user: usize) -> f64 {
        qpsk::mutual_information(self.painted.lock().unwrap()[user]).max(1e-3)
    }

    pub fn open(&mut self, user: u32, open: bool) {
        self.gate.open[user as usize] = open;
    }

    pub fn is_open(&self, user: u32) -> bool {
        self.gate.open[user as usize]
    }

    /// A packet for `user` in a flow of the same number arrives; whether it is taken.
    pub fn offer(&mut self, user: u32, size: u32) -> bool {
        let packet = PacketRef { id: self.next_id, flow: user, user, class: 0, size, ecn: Ecn::NotEct };
        self.next_id += 1;
        self.scheduler.enqueue(self.now, packet).is_ok()
    }

    pub fn select(&mut self) -> Option<PacketRef> {
        let mut view = View::new(self.now, &self.gate, &mut self.estimates, &mut self.channels);
        self.scheduler.select(self.now, &mut view)
    }
}

pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

pub fn with_limit(kind: &str, limit: Duration) -> Value {
    let mut options = scheduler_json(kind);
    options["limit"] = json!(limit);
    options
}

/// A number from 0 to 1.
pub fn uniform(chance: &mut dyn Rng) -> f64 {
    unit_interval(chance.next_u64())
}

/// A channel that fades anywhere between noise alone and no noise.
pub fn fade(chance: &mut dyn Rng) -> Db {
    match chance.next_u64() % 10 {
        0 => ERASED,
        1 => CLEAR,
        _ => Db::new(-12.0 + 22.0 * uniform(chance)),
    }
}

/// Serves users with always more packets of 1000 bytes, one in a millisecond, whose channels `paint` changes before
/// each; how many packets each was sent.
pub fn serve(options: Value, users: usize, packets: usize, mut paint: impl FnMut(usize, &mut Vec<Db>)) -> Vec<u64> {
    let mut desk = Desk::new(options, users);
    let mut snrs = vec![CLEAR; users];
    for _ in 0..20 {
        (0..users as u32).for_each(|user| assert!(desk.offer(user, 1000)));
    }
    let mut served = vec![0; users];
    for n in 0..packets {
        paint(n, &mut snrs);
        desk.paint(&snrs);
        desk.wait(MS);
        let packet = desk.select().expect("all have packets");
        served[packet.user as usize] += 1;
        assert!(desk.offer(packet.user, 1000));
    }
    served
}

/// The share of each.
pub fn shares(served: &[u64]) -> Vec<f64> {
    let all: u64 = served.iter().sum();
    served.iter().map(|&served| served as f64 / all as f64).collect()
}

/// Channels that bring this information, about.
pub fn bringing(information: &[f64]) -> Vec<Db> {
    let search = |&target: &f64| {
        let (mut low, mut high) = (-40.0, 20.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if channel::qpsk::mutual_information(Db::new(middle)) < target { low = middle } else { high = middle }
        }
        Db::new(low)
    };
    information.iter().map(search).collect()
}

/// Options with which a kind drops nothing in a test.
pub fn lossless(kind: &str) -> Value {
    let mut options = with_limit(kind, Duration::from_secs(1000));
    if kind == "fq-codel" {
        (options["target"], options["interval"]) = (json!("100 s"), json!("1000 s"));
    }
    options
}
