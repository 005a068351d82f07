//! What every reliability scheme must do with delays on both ways and feedback that gets lost.

use std::collections::{BTreeMap, VecDeque};

use crate::common::schemes::{ask, has_feedback, is_accepted, read, schemes_with, schemes_with_feedback, with};
use crate::common::{packet, rng, uniform_block_fading, user_streams};
use channel::{CLEAR, ERASED};
use link::harq::{Burst, Decoding, Feedback, FeedbackMessage, Reception};
use link::{Harq, HarqConfig, PacketRef};
use proptest::prelude::*;
use rand::Rng;
use serde_json::{Value, json};
use units::{Db, Duration, Time};

const USERS: u32 = 3;

fn build(config: &Value, seed: u64) -> (HarqConfig, Box<dyn Harq>) {
    let config = read(config);
    let law = config.entry().law_request(Duration::ZERO).map(|law| uniform_block_fading(law.read, 200));
    let harq = config.entry().build(law.as_ref(), user_streams(seed)).unwrap();
    (config, harq)
}

/// Every kind of the registry as it is by default, and with each option that changes what bursts and feedback do, of
/// those that it has.
fn configurations() -> Vec<Value> {
    let kinds = || HarqConfig::ALL.iter().map(|kind| json!({ "kind": kind }));
    // Of kinds with feedback some is lost, too.
    let some_lost = |plain: Value| {
        let has_feedback = has_feedback(plain["kind"].as_str().expect("a name"));
        if has_feedback { with(&plain, json!({ "feedback": { "loss": "30 %" } })) } else { plain }
    };
    let mut all: Vec<Value> = kinds().collect();
    let mut vary = |configs: Vec<Value>, options: Value| {
        let varied = configs.iter().map(|config| with(config, options.clone()));
        let accepted: Vec<Value> = varied.filter(is_accepted).collect();
        assert!(!accepted.is_empty(), "no scheme accepts {options}");
        all.extend(accepted);
    };
    for options in [
        json!({ "padding": true }),
        json!({ "sizing": "estimate", "padding": true }),
        json!({ "feedback": { "loss": "30 %" } }),
        json!({ "feedback": { "loss": "100 %" } }),
        json!({ "feedback": { "enabled": false } }),
        json!({ "feedback": { "enabled": false }, "processes": 1, "transmissions": 1 }),
    ] {
        vary(kinds().collect(), options);
    }
    for options in [
        json!({ "sizing": "estimate" }),
        json!({ "transmissions": 1 }),
        json!({ "transmissions": 8 }),
        json!({ "repetitions": 1 }),
        json!({ "repetitions": 2 }),
        json!({ "repetitions": 8 }),
        json!({ "processes": 3 }),
    ] {
        vary(kinds().map(some_lost).collect(), options);
    }
    all
}

fn user(id: u32) -> u32 {
    id % USERS
}

fn offered(id: u32, size: u32) -> PacketRef {
    PacketRef { user: user(id), flow: user(id), ..packet(id, size) }
}

/// A sender and a receiver with a queue of bursts and one of feedback between them, first in, first out or in disorder,
/// and never with the same delay twice: what happens next is left to chance.
struct Link {
    harq: Box<dyn Harq>,
    name: String,
    sends_feedback: bool,
    go_back_n: bool,
    most: usize,
    chance: Box<dyn Rng + Send>,
    on_air: VecDeque<Burst>,
    feedback_in_flight: VecDeque<FeedbackMessage>,
    /// Bursts and feedback of each process that are in flight, and the packet they belong to.
    in_flight: BTreeMap<u32, (u32, usize)>,
    bursts_of: BTreeMap<u32, usize>,
    decided: BTreeMap<u32, Decoding>,
    decoded_order: Vec<u32>,
    bits: u64,
    bursts: u64,
    lost: u64,
    /// Whether bursts and feedback overtake others, and senders are replaced.
    disorder: bool,
    abandoned: u64,
}

impl Link {
    fn new(config: &Value, seed: u64) -> Link {
        let (resolved, harq) = build(config, seed);
        let sends_feedback = resolved.entry().feedback().is_some_and(|feedback| feedback.enabled);
        assert_eq!(harq.sends_feedback(), sends_feedback, "{config}");
        Link {
            most: harq.counters().decoded_after.len(),
            harq,
            name: config.to_string(),
            sends_feedback,
            go_back_n: resolved.kind() == "go-back-n",
            chance: rng(seed ^ 77),
            on_air: VecDeque::new(),
            feedback_in_flight: VecDeque::new(),
            in_flight: BTreeMap::new(),
            bursts_of: BTreeMap::new(),
            decided: BTreeMap::new(),
            decoded_order: Vec::new(),
            bits: 0,
            bursts: 0,
            lost: 0,
            disorder: false,
            abandoned: 0,
        }
    }

    /// The index of the burst or feedback that arrives next, of so many.
    fn next_index(&mut self, of: usize) -> usize {
        if self.disorder && of > 0 { self.chance.next_u64() as usize % of } else { 0 }
    }

    /// All that is in flight is gone.
    fn reset(&mut self) {
        let in_flight: Vec<Burst> = self.on_air.drain(..).collect();
        self.feedback_in_flight.clear();
        self.in_flight.clear();
        let mut lost = Vec::new();
        let undecided = self.harq.undecided();
        self.harq.reset(&in_flight, &mut lost);
        assert_eq!((lost.len(), self.harq.undecided()), (undecided, 0), "{}", self.name);
        for (packet, sequence) in lost {
            assert_eq!(sequence, u64::from(packet.id / USERS), "{}", self.name);
            assert!(self.bursts_of.contains_key(&packet.id), "{}: it was begun", self.name);
            let before = self.decided.insert(packet.id, Decoding::Undecided);
            assert_eq!(before, None, "{}: {} is given up and was decided", self.name, packet.id);
            self.abandoned += 1;
        }
        assert!(!self.harq.has_burst() && (0..USERS).all(|user| self.harq.may_start(user)), "{}", self.name);
    }

    fn send(&mut self, burst: Burst) {
        assert!(burst.coded.bits > 0, "{}", self.name);
        if self.sends_feedback || self.most > 1 {
            let (owner, count) = self.in_flight.entry(burst.coded.process).or_insert((burst.packet.id, 0));
            assert!(*count == 0 || *owner == burst.packet.id, "{}: a process is reused too early", self.name);
            *owner = burst.packet.id;
            *count += 1;
        }
        let bursts = self.bursts_of.entry(burst.packet.id).or_insert(0);
        *bursts += 1;
        assert!(*bursts <= self.most || self.go_back_n, "{}: {bursts} bursts", self.name);
        self.on_air.push_back(burst);
    }

    fn settle(&mut self, process: u32) {
        if let Some((_, count)) = self.in_flight.get_mut(&process) {
            *count -= 1;
        }
    }

    fn receive(&mut self) {
        let index = self.next_index(self.on_air.len());
        let Some(burst) = self.on_air.remove(index) else { return };
        let snr = [CLEAR, ERASED, Db::new(-3.0), Db::new(0.0), Db::new(4.0)][self.chance.next_u64() as usize % 5];
        (self.bits, self.bursts) = (self.bits + u64::from(burst.coded.bits), self.bursts + 1);
        let id = burst.packet.id;
        let reception = self.harq.receive(Time::ZERO, &burst, snr);
        if reception.decoding != Decoding::Undecided {
            assert_eq!(self.decided.insert(id, reception.decoding), None, "{}: {id} is decided twice", self.name);
        }
        if reception.decoding == Decoding::Decoded {
            self.decoded_order.push(id);
        }
        assert_eq!(reception.feedback.is_some(), self.sends_feedback, "{}", self.name);
        match reception.feedback {
            Some(feedback) => {
                let decoded = self.decided.get(&id) == Some(&Decoding::Decoded);
                assert!(
                    feedback == Feedback::Lost || (feedback == Feedback::Ack) == decoded,
                    "{}: {feedback:?}",
                    self.name
                );
                self.lost += u64::from(feedback == Feedback::Lost);
                self.feedback_in_flight.push_back(burst.coded.feedback(feedback));
            }
            None => self.settle(burst.coded.process),
        }
    }

    fn deliver_feedback(&mut self) {
        let index = self.next_index(self.feedback_in_flight.len());
        let Some(message) = self.feedback_in_flight.remove(index) else { return };
        let has = self.harq.handle_feedback(Time::ZERO, message);
        assert_eq!(has, self.harq.has_burst(), "{}", self.name);
        self.settle(message.process);
    }

    /// Sends `sizes`, one packet each, and returns when nothing is left to do.
    fn run(&mut self, sizes: &[u32]) {
        let mut fresh: Vec<VecDeque<PacketRef>> = vec![VecDeque::new(); USERS as usize];
        for (id, &size) in sizes.iter().enumerate() {
            fresh[user(id as u32) as usize].push_back(offered(id as u32, size));
        }
        loop {
            if self.disorder && self.chance.next_u64().is_multiple_of(400) {
                self.reset();
            }
            let chance = self.chance.next_u64();
            let (event, chosen) = (chance % 8, (chance >> 8) as usize % USERS as usize);
            match event {
                0..3 => {
                    if let Some(packet) = fresh[chosen].front().copied().filter(|p| self.harq.may_start(p.user)) {
                        fresh[chosen].pop_front();
                        let sequence = u64::from(packet.id / USERS);
                        let estimate = self.harq.wants_estimate().then_some((chance >> 16) as f64 % 101.0 / 100.0);
                        let coded = self.harq.start(Time::ZERO, &packet, sequence, estimate);
                        self.send(Burst { coded, packet, sequence });
                    }
                }
                3..5 => {
                    let has = self.harq.has_burst();
                    let burst = self.harq.poll_burst(Time::ZERO);
                    assert_eq!(has, burst.is_some(), "{}", self.name);
                    if let Some(burst) = burst {
                        assert_eq!(burst.packet, offered(burst.packet.id, sizes[burst.packet.id as usize]));
                        assert_eq!(burst.sequence, u64::from(burst.packet.id / USERS));
                        self.send(burst);
                    }
                }
                5..7 => self.receive(),
                _ => self.deliver_feedback(),
            }
            let quiet = self.on_air.is_empty() && self.feedback_in_flight.is_empty() && !self.harq.has_burst();
            if quiet {
                assert_eq!((self.harq.undecided(), self.harq.counters().processes), (0, 0), "{}: stalled", self.name);
                assert!((0..USERS).all(|user| self.harq.may_start(user)), "{}: stalled", self.name);
                if fresh.iter().all(VecDeque::is_empty) {
                    return;
                }
            }
        }
    }

    fn check(&self, sizes: &[u32]) {
        let counters = self.harq.counters();
        let name = &self.name;
        let count = |fate| self.decided.values().filter(|&&decoding| decoding == fate).count() as u64;
        let fates = (count(Decoding::Decoded), count(Decoding::Failed));
        assert_eq!(fates.0 + fates.1 + self.abandoned, sizes.len() as u64, "{name}");
        assert_eq!((counters.decoded(), counters.failed, counters.abandoned), (fates.0, fates.1, self.abandoned));
        assert_eq!(counters.started, sizes.len() as u64, "{name}");
        assert_eq!((counters.coded_bits, counters.bursts), (self.bits, self.bursts), "{name}");
        let finished = if self.abandoned == 0 { self.bits } else { counters.finished_bits.min(self.bits) };
        assert_eq!(counters.finished_bits, finished, "{name}: every bit belongs to a packet whose fate is known");
        let useful = self.decoded_order.iter().map(|&id| u64::from(sizes[id as usize]) * 8).sum::<u64>();
        assert_eq!(counters.useful_bits, useful, "{name}");
        if self.go_back_n {
            for user in 0..USERS {
                let own = self.decoded_order.iter().filter(|&&id| id % USERS == user);
                assert!(own.is_sorted(), "{name}: go-back-N hands up in order");
            }
        }
        if self.disorder {
            return; // a new sender knows nothing of the bursts and feedback before it
        }
        let feedback = counters.acks + counters.nacks + counters.lost_feedback;
        assert_eq!(counters.lost_feedback, self.lost, "{name}");
        assert_eq!(feedback, if self.sends_feedback { self.bursts } else { 0 }, "{name}: one for each burst");
        if !self.sends_feedback && self.most > 1 {
            assert!(self.bursts_of.values().all(|&bursts| bursts == self.most), "{name}: all are sent as often");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn packets_are_decided_once_and_bits_conserved(
        sizes in prop::collection::vec(prop_oneof![Just(1115u32), 1u32..=1115, 1u32..=4], 1..80), seed in any::<u64>()
    ) {
        for config in configurations() {
            for disorder in [false, true] {
                let mut link = Link { disorder, ..Link::new(&config, seed) };
                link.run(&sizes);
                link.check(&sizes);
            }
        }
    }
}

/// How many packets may start, user after user, before each has to wait, if nothing is sent and no feedback comes.
fn windows(config: &Value) -> [u32; USERS as usize] {
    let (_, mut harq) = build(config, 1);
    let mut windows = [0; USERS as usize];
    for (user, window) in (0..).zip(&mut windows) {
        while harq.may_start(user) && *window < 100 {
            let packet = PacketRef { user, flow: user, ..packet(*window, 1115) };
            harq.start(Time::ZERO, &packet, u64::from(*window), None);
            *window += 1;
        }
    }
    assert_eq!(harq.counters().processes, windows.iter().sum::<u32>() as usize, "{config}");
    windows
}

/// Each user has a window of its own, and a full one keeps no other user waiting; or all users share one, as those of
/// adaptive HARQ do.
#[test]
fn windows_are_those_of_each_user_or_of_all_together() {
    assert_eq!(windows(&json!({ "kind": "stop-and-wait" })), [1; 3]);
    assert_eq!(windows(&json!({ "kind": "chase", "processes": 5 })), [5; 3]);
    assert_eq!(windows(&json!({ "kind": "adaptive", "processes": 5 })), [5, 0, 0]);
    for kind in schemes_with(&["processes"]) {
        let windows = windows(&json!({ "kind": kind, "processes": 5 }));
        assert!([[5, 5, 5], [5, 0, 0]].contains(&windows), "{kind}: {windows:?} with 5 processes");
    }
}

/// The window of selective repeat is one of sequence numbers: the oldest holds it back; that of processes is not.
#[test]
fn selective_repeat_waits_for_its_oldest_packet() {
    for (kind, after) in [("selective-repeat", false), ("chase", true)] {
        let (_, mut harq) = build(&json!({ "kind": kind, "processes": 3 }), 1);
        let start = |harq: &mut dyn Harq, id: u32| {
            let packet = packet(id, 1115);
            Burst { coded: harq.start(Time::ZERO, &packet, u64::from(id), None), packet, sequence: u64::from(id) }
        };
        let bursts: Vec<Burst> = (0..3).map(|id| start(harq.as_mut(), id)).collect();
        for (burst, snr) in bursts.iter().zip([ERASED, CLEAR, CLEAR]) {
            let feedback = harq.receive(Time::ZERO, burst, snr).feedback.unwrap();
            harq.handle_feedback(Time::ZERO, burst.coded.feedback(feedback));
        }
        assert_eq!(harq.may_start(0), after, "{kind}: the oldest of three is still open");
        let again = harq.poll_burst(Time::ZERO).unwrap();
        assert_eq!(harq.receive(Time::ZERO, &again, CLEAR).decoding, Decoding::Decoded);
        harq.handle_feedback(Time::ZERO, again.coded.feedback(Feedback::Ack));
        assert!(harq.may_start(0) && harq.counters().processes == 0);
    }
}

/// A receiver that has the packet says so again when it is repeated because the feedback was lost, and gives it up only
/// once.
#[test]
fn a_repetition_after_lost_feedback_is_acknowledged_again() {
    for kind in schemes_with_feedback() {
        let (_, mut harq) = build(&json!({ "kind": kind }), 1);
        let packet = packet(0, 1115);
        let mut burst = Burst { coded: harq.start(Time::ZERO, &packet, 0, None), packet, sequence: 0 };
        let (mut bits, mut bursts) = (0, 0);
        loop {
            let reception = harq.receive(Time::ZERO, &burst, CLEAR);
            let expected = if bursts == 0 { Decoding::Decoded } else { Decoding::Undecided };
            assert_eq!((reception.decoding, reception.feedback), (expected, Some(Feedback::Ack)), "{kind}");
            (bits, bursts) = (bits + u64::from(burst.coded.bits), bursts + 1);
            let lost = burst.coded.feedback(Feedback::Lost);
            harq.handle_feedback(Time::ZERO, lost);
            match harq.poll_burst(Time::ZERO) {
                Some(next) => burst = next,
                None => break,
            }
        }
        assert!(!harq.has_burst() && harq.may_start(0), "{kind} gives up after the last");
        let counters = harq.counters();
        assert_eq!((counters.decoded_after[0], counters.failed, counters.processes), (1, 0, 0), "{kind}");
        assert_eq!((counters.lost_feedback, counters.finished_bits), (bursts, bits), "{kind}");
        let most = counters.decoded_after.len() as u64;
        // A plan by the channel's law may need fewer; that of adaptive HARQ makes all for this one.
        let fewest = if ask(kind, |entry| entry.law_request(Duration::ZERO).is_some()) { 2 } else { most };
        assert!((fewest..=most).contains(&bursts), "{kind}: {bursts} of {most} transmissions");
        assert!(kind != "adaptive" || bursts == most, "{bursts}");
    }
}

/// An acknowledgment says that all before it arrived, also the one whose own feedback was lost: only the rest is
/// repeated.
#[test]
fn acknowledgments_of_go_back_n_are_cumulative() {
    let (_, mut harq) = build(&json!({ "kind": "go-back-n" }), 1);
    let start = |harq: &mut dyn Harq, id: u32| {
        let packet = packet(id, 1115);
        Burst { coded: harq.start(Time::ZERO, &packet, u64::from(id), None), packet, sequence: u64::from(id) }
    };
    let bursts: Vec<Burst> = (0..4).map(|id| start(harq.as_mut(), id)).collect();
    for burst in &bursts {
        assert_eq!(harq.receive(Time::ZERO, burst, CLEAR).decoding, Decoding::Decoded);
    }
    let message = |burst: &Burst, feedback| burst.coded.feedback(feedback);
    harq.handle_feedback(Time::ZERO, message(&bursts[0], Feedback::Lost));
    harq.handle_feedback(Time::ZERO, message(&bursts[1], Feedback::Lost));
    harq.handle_feedback(Time::ZERO, message(&bursts[2], Feedback::Ack));
    assert_eq!(harq.counters().processes, 1, "0, 1 and 2 are done with");
    assert!(!harq.may_start(0), "3 is to be repeated first");
    assert_eq!(harq.poll_burst(Time::ZERO).unwrap().packet, bursts[3].packet);
    assert!(!harq.has_burst() && harq.may_start(0));
}

/// The receptions of a user's packets, each sent until both ends have done with it; before each packet another user has
/// one, if `others`.
fn receptions_of_one(harq: &mut dyn Harq, others: bool) -> Vec<Reception> {
    // Of packets of 1000 bytes without coding, about half arrive.
    const SNR: Db = Db::new(11.5);
    let mut receptions = Vec::new();
    for id in 0..200 {
        for user in [1, 0].into_iter().filter(|&user| others || user == 0) {
            let packet = PacketRef { user, flow: user, ..packet(id, 1000) };
            let sequence = u64::from(id);
            let coded = harq.start(Time::ZERO, &packet, sequence, Some(0.5));
            let mut next = Some(Burst { coded, packet, sequence });
            while let Some(burst) = next {
                let reception = harq.receive(Time::ZERO, &burst, SNR);
                if user == 0 {
                    receptions.push(reception);
                }
                if let Some(feedback) = reception.feedback {
                    harq.handle_feedback(Time::ZERO, burst.coded.feedback(feedback));
                }
                next = harq.poll_burst(Time::ZERO);
            }
        }
    }
    receptions
}

/// Chance decides for each user by itself.
#[test]
fn a_users_receptions_do_not_depend_on_other_users() {
    let mut some_lost = false;
    for config in &configurations() {
        let receptions = |others| receptions_of_one(build(config, 1).1.as_mut(), others);
        let (alone, among_others) = (receptions(false), receptions(true));
        assert!(alone == among_others, "{config}");
        let has = |feedback| alone.iter().any(|reception| reception.feedback == feedback);
        if config["feedback"]["loss"] == "30 %" {
            assert!(has(Some(Feedback::Lost)) && has(Some(Feedback::Ack)), "{config}");
        }
        // Without coding chance decides on the packets themselves.
        let decoded = alone.iter().filter(|reception| reception.decoding == Decoding::Decoded).count();
        some_lost |= (1..200).contains(&decoded);
    }
    assert!(some_lost, "no scheme drew a bit error");
}
