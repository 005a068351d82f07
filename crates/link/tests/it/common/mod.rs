//! Channels with known answers, packets, and a driver that steps a last hop from wake-up to wake-up.

pub mod buffer;
pub mod desk;
pub mod schemes;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use channel::{CLEAR, Channel, ERASED, TransmissionLaw};
use link::harq::UserStreams;
use link::{
    Choose, Ecn, LastHop, LastHopConfig, Output, PacketRef, Propagation, QueueState, SchedulerConfig, Transfer,
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Db, Duration, Time};

pub fn rng(seed: u64) -> Box<dyn Rng + Send> {
    Box::new(Xoshiro256PlusPlus::seed_from_u64(seed))
}

/// The streams of a scheme's users: that of the first is [`rng`] of `seed`.
pub fn user_streams(seed: u64) -> UserStreams {
    Box::new(move |user| rng(seed + 100_000 * user))
}

/// The streams of a last hop: independent, and those of the reliability scheme as [`rng`] of 1.
pub fn streams(purpose: &'static str, number: u64) -> Box<dyn Rng + Send> {
    if purpose == "harq" { user_streams(1)(number) } else { rng(1001 + number) }
}

pub fn ms(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

pub fn us(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

pub fn packet(id: u32, size: u32) -> PacketRef {
    PacketRef { id, flow: 0, user: 0, size, class: 0, ecn: Ecn::NotEct }
}

/// Answers each burst in turn from a script, then with the last answer; remembers when it was asked.
pub struct Scripted {
    pub answers: VecDeque<Db>,
    pub last: Db,
    pub asked: Arc<Mutex<Vec<Time>>>,
}

impl Scripted {
    pub fn constant(snr: Db) -> Box<Scripted> {
        Scripted::new(&[], snr).0
    }

    pub fn new(answers: &[Db], last: Db) -> (Box<Scripted>, Arc<Mutex<Vec<Time>>>) {
        let asked = Arc::default();
        let answers = answers.iter().copied().collect();
        (Box::new(Scripted { answers, last, asked: Arc::clone(&asked) }), asked)
    }
}

impl Channel for Scripted {
    fn burst_snr(&mut self, now: Time) -> Db {
        let mut asked = self.asked.lock().unwrap();
        assert!(asked.last().is_none_or(|&before| before <= now), "the channel was asked to go back in time");
        asked.push(now);
        self.answers.pop_front().unwrap_or(self.last)
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, _now: Time) -> Db {
        CLEAR
    }
}

/// A signal-to-noise ratio from a random word: anything from noise alone to no noise.
pub fn wild_snr(word: u64) -> Db {
    match word % 8 {
        0 => ERASED,
        1 => CLEAR,
        step => Db::new(step as f64 * 4.0 - 16.0),
    }
}

/// Each burst meets a signal-to-noise ratio of its own, anything from noise alone to no noise.
pub struct Wild(pub Box<dyn Rng + Send>);

impl Channel for Wild {
    fn burst_snr(&mut self, _now: Time) -> Db {
        wild_snr(self.0.next_u64())
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, now: Time) -> Db {
        self.burst_snr(now)
    }
}

/// Chooses at random, sometimes nobody or somebody who is not there.
pub struct Dice(pub Box<dyn Rng + Send>);

impl Choose for Dice {
    fn choose(&mut self, _now: Time, queues: &[QueueState]) -> Option<u32> {
        assert!(!queues.is_empty() && queues.is_sorted_by(|a, b| a.user < b.user), "{queues:?}");
        assert!(queues.iter().all(|queue| queue.packets > 0 && queue.bytes >= u64::from(queue.head_size)));
        let draw = self.0.next_u64() as usize;
        match draw % 5 {
            0 => None,
            1 => Some(u32::MAX),
            _ => Some(queues[draw / 5 % queues.len()].user),
        }
    }
}

/// Knows the name `dice`.
pub fn choosers(name: &str) -> Option<Box<dyn Choose>> {
    (name == "dice").then(|| Box::new(Dice(rng(5))) as Box<dyn Choose>)
}

/// The options with which every kind of scheduler can be built.
pub fn scheduler_json(kind: &str) -> serde_json::Value {
    match kind {
        "external" => serde_json::json!({ "kind": kind, "name": "dice" }),
        other => serde_json::json!({ "kind": other }),
    }
}

/// The kinds of schedulers with this option.
pub fn schedulers_with(option: &str) -> Vec<&'static str> {
    let has = |kind: &&str| {
        let options = serde_json::to_value(SchedulerConfig::with_defaults(kind)).expect("a table");
        options.get(option).is_some()
    };
    let kinds: Vec<&str> = SchedulerConfig::ALL.iter().copied().filter(has).collect();
    assert!(!kinds.is_empty(), "no scheduler has the option {option}");
    kinds
}

/// Block fading: all transmissions of a packet bring the same information, and that is uniform over 0 to 1.
pub fn uniform_block_fading(transmissions: usize, rows: usize) -> TransmissionLaw {
    let value = |row: usize| (row as f32 + 0.5) / rows as f32;
    let samples = (0..rows).flat_map(|row| std::iter::repeat_n(value(row), transmissions)).collect();
    TransmissionLaw { transmissions, samples }
}

pub fn config(json: serde_json::Value) -> LastHopConfig {
    serde_json::from_value(json).expect("a valid configuration")
}

/// A last hop, its clock, and what left it when.
pub struct Run {
    pub hop: LastHop,
    pub now: Time,
    pub log: Vec<(Time, Output)>,
    pub offered: usize,
}

impl Run {
    pub fn new(hop: LastHop) -> Run {
        Run { hop, now: Time::ZERO, log: Vec::new(), offered: 0 }
    }

    /// A last hop to users with these channels; base round-trip time 160 ms.
    pub fn of(json: serde_json::Value, channels: Vec<Box<dyn Channel>>, law: Option<&TransmissionLaw>) -> Run {
        let config = config(json);
        let propagation = Propagation::fixed(config.delay.given().expect("a delay that does not follow the orbit"));
        Run::over(config, propagation, channels, law)
    }

    /// The same with another delay than the configuration's.
    pub fn over(
        config: LastHopConfig,
        propagation: Propagation,
        channels: Vec<Box<dyn Channel>>,
        law: Option<&TransmissionLaw>,
    ) -> Run {
        let rtt = Duration::from_millis(160);
        Run::new(LastHop::new(&config, propagation, rtt, channels, law, streams, &mut choosers).unwrap())
    }

    pub fn offer(&mut self, now: Time, packet: PacketRef) {
        self.run_until(now);
        self.now = now;
        self.hop.handle_packet(now, packet);
        self.offered += 1;
        self.collect();
    }

    /// Steps to every wake-up before or at `until`.
    pub fn run_until(&mut self, until: Time) {
        while let Some(at) = self.hop.poll_timeout().filter(|&at| at <= until) {
            self.step_to(at);
        }
    }

    /// Wakes the last hop at `at`, whether it asked for it or not.
    pub fn step_to(&mut self, at: Time) {
        assert!(at >= self.now, "woken in the past");
        self.now = at;
        self.hop.handle_timeout(at);
        self.collect();
    }

    /// Another satellite takes over.
    pub fn hand_over(&mut self, now: Time, resume: Time, transfer: Transfer) {
        self.run_until(now);
        self.now = now;
        self.hop.hand_over(now, resume, transfer);
        self.collect();
    }

    /// None serves.
    pub fn halt(&mut self, now: Time) {
        self.run_until(now);
        self.now = now;
        self.hop.halt(now);
        self.collect();
    }

    /// One serves again.
    pub fn resume(&mut self, now: Time) {
        self.run_until(now);
        self.now = now;
        self.hop.resume(now);
        self.collect();
    }

    pub fn finish(&mut self) {
        self.run_until(Time::MAX);
        assert_eq!(self.hop.in_flight(), 0);
    }

    pub fn collect(&mut self) {
        while let Some(output) = self.hop.poll_output() {
            self.log.push((self.now, output));
        }
        assert_eq!(self.hop.queue().packets == 0, self.hop.queue().bytes == 0);
        assert_eq!(self.hop.in_flight() + self.log.len(), self.offered, "a packet was lost or made");
    }

    pub fn delivered(&self) -> Vec<(Time, u32)> {
        let delivered = |&(at, output): &(Time, Output)| match output {
            Output::Delivered(packet) => Some((at, packet.id)),
            Output::Dropped(..) => None,
        };
        self.log.iter().filter_map(delivered).collect()
    }

    pub fn delivered_ids(&self) -> Vec<u32> {
        self.delivered().into_iter().map(|(_, id)| id).collect()
    }
}
