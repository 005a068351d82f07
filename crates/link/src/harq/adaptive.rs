//! Adaptive HARQ: incremental redundancy (type II) in sizes planned from the law of the channel.
//!
//! Ali Ahmad, Lacan, Arnal, Gineste, Clarac, "Enhancing satellite system throughput using adaptive HARQ for delay tolerant
//! services in mobile communications", WTS 2015. A packet is decoded when the mutual information of its bursts adds up to
//! what the code needs at the rate reached so far.
//!
//! What is simplified, and who could notice:
//! * The decoder has a hard threshold; the real one's error rate falls from 1/2 to 1/100 within 2 to 4 % of the information.
//! * A packet shorter than the block is padded to it, as in the published studies; voice pays for it.
//! * The sizes follow from the reference signal-to-noise ratio alone: nobody measures the channel.

use std::collections::VecDeque;

use channel::{TransmissionLaw, qpsk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Db, FieldError, Probability, Time};

use super::plan::{Block, Threshold, plan};
use super::{Answer, Burst, Coded, Feedback, Harq, HarqCounters, Reception, Verdict};
use crate::packet::PacketRef;

/// Incremental redundancy with sizes planned from the channel's law; decodes by accumulated mutual information.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveConfig {
    /// Transmissions of a packet at most, the first included: 1 to 8.
    #[schemars(range(min = 1, max = 8))]
    pub transmissions: u8,
    /// Shares of packets to be decoded after transmissions 1, 2 …, growing; the last transmission has no share and carries
    /// all that is left. Without it 50 %, 70 %, 85 %, and then half of what is left each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<Probability>>,
    /// Data of a code block; a packet must fit in one and is padded to it.
    pub block: Bytes,
    /// Coded bits of a block at the mother rate.
    pub codeword_bits: u32,
    /// Mutual information per data bit at which a block is decoded: "code" for that of the CCSDS turbo code at the rate
    /// reached so far, or a number, the same at every rate.
    pub threshold: Threshold,
    /// Packets that may be under way between first burst and last feedback; more wait in the queue.
    #[schemars(range(min = 1))]
    pub processes: u32,
}

impl Default for AdaptiveConfig {
    fn default() -> AdaptiveConfig {
        AdaptiveConfig {
            transmissions: 4,
            targets: None,
            block: Bytes::new(1115),
            codeword_bits: 53_520,
            threshold: Threshold::Code,
            processes: 500,
        }
    }
}

impl AdaptiveConfig {
    /// The largest packet that fits a block.
    pub fn max_packet_bytes(&self) -> u32 {
        u32::try_from(self.block.get()).unwrap_or(u32::MAX)
    }

    /// Whether the scheme can be built.
    ///
    /// # Errors
    /// If a value cannot be.
    pub fn check(&self) -> Result<(), FieldError> {
        self.resolve().map(|_| ())
    }

    /// The same configuration with nothing left open.
    pub fn resolved(&self) -> AdaptiveConfig {
        let targets = self.targets().into_iter().map(Probability::new).collect();
        AdaptiveConfig { targets: Some(targets), ..self.clone() }
    }

    fn targets(&self) -> Vec<f64> {
        match &self.targets {
            Some(targets) => targets.iter().map(|target| target.get()).collect(),
            None => {
                let half_of_the_rest = std::iter::successors(Some(0.925), |share| Some(0.5 * (1.0 + share)));
                let count = usize::from(self.transmissions) - 1;
                [0.5, 0.7, 0.85].into_iter().chain(half_of_the_rest).take(count).collect()
            }
        }
    }

    fn resolve(&self) -> Result<(Block, Vec<f64>), FieldError> {
        let refuse = |field, reason: String| Err(FieldError::new(field, reason));
        if !(1..=8).contains(&self.transmissions) {
            return refuse("transmissions", format!("{} given, 1 to 8 allowed", self.transmissions));
        }
        let targets = self.targets();
        if targets.len() + 1 != usize::from(self.transmissions) {
            let (given, allowed) = (targets.len(), self.transmissions - 1);
            let reason = format!(
                "{given} given, one for each transmission but the last is needed: {allowed} for {} transmissions",
                self.transmissions
            );
            return refuse("targets", reason);
        }
        let growing = targets.windows(2).all(|pair| pair[0] < pair[1]);
        if !(growing && targets.iter().all(|&target| target > 0.0 && target < 1.0)) {
            return refuse("targets", "must grow, each more than 0 % and less than 100 %".to_owned());
        }
        let data_bits = match self.block.get() {
            bytes @ 1..=100_000 => bytes as u32 * 8,
            _ => return refuse("block", format!("{} given, 1 B to 100 kB allowed", self.block)),
        };
        if self.codeword_bits < data_bits || self.codeword_bits > data_bits * 64 {
            let reason = format!("{} given, 1 to 64 for each of the {data_bits} data bits allowed", self.codeword_bits);
            return refuse("codeword_bits", reason);
        }
        if let Threshold::Constant(value) = self.threshold
            && !(1.0..=6.0).contains(&value)
        {
            return refuse(
                "threshold",
                format!("{value} given, \"code\" or 1 to 6 allowed: no code needs less than 1"),
            );
        }
        if self.processes == 0 {
            return refuse("processes", "0 given, at least 1 needed".to_owned());
        }
        let block = Block { data_bits, coded_bits: self.codeword_bits, threshold: self.threshold };
        let all = f64::from(block.coded_bits);
        if !block.decodes(all, all) {
            let least = block.needed(all).ceil();
            return refuse("codeword_bits", format!("{} given, even without noise it takes {least}", block.coded_bits));
        }
        Ok((block, targets))
    }
}

/// See [`AdaptiveConfig`].
#[derive(Debug)]
pub struct Adaptive {
    block: Block,
    plans: Vec<Box<[u32]>>,
    processes: Vec<Process>,
    free: Vec<u32>,
    capacity: usize,
    /// Processes whose next increment waits for the transmitter, oldest first.
    waiting: VecDeque<u32>,
    counters: HarqCounters,
}

/// A packet under way, at both ends.
#[derive(Clone, Copy, Debug)]
struct Process {
    packet: PacketRef,
    sequence: u64,
    /// Its sizes, chosen when the packet arrives and not when a burst is sent.
    plan: u16,
    /// Sender: bursts made.
    made: u8,
    /// Receiver: bursts received, their coded bits and mutual information, and whether its fate is known.
    received: u8,
    closed: bool,
    received_bits: u32,
    information: f64,
}

impl Adaptive {
    /// Plans from `law`, whose rows hold at least `config.transmissions` values.
    ///
    /// # Errors
    /// If a value of the configuration cannot be.
    pub fn new(config: &AdaptiveConfig, law: &TransmissionLaw) -> Result<Adaptive, FieldError> {
        let (block, targets) = config.resolve()?;
        let sizes = plan(&block, &targets, law).into_boxed_slice();
        Ok(Adaptive {
            block,
            plans: vec![sizes],
            processes: Vec::new(),
            free: Vec::new(),
            capacity: config.processes as usize,
            waiting: VecDeque::new(),
            counters: HarqCounters::new(usize::from(config.transmissions)),
        })
    }

    /// The coded bits of each transmission.
    pub fn plan(&self) -> &[u32] {
        &self.plans[0]
    }

    /// The next increment of a process.
    fn increment(&mut self, index: u32) -> Coded {
        let process = &mut self.processes[index as usize];
        let bits = self.plans[usize::from(process.plan)][usize::from(process.made)];
        process.made += 1;
        Coded { process: index, bits }
    }
}

impl Harq for Adaptive {
    fn may_start(&self, _user: u32) -> bool {
        self.counters.processes < self.capacity
    }

    fn start(&mut self, _now: Time, packet: &PacketRef, sequence: u64) -> Coded {
        assert!(packet.size * 8 <= self.block.data_bits, "{packet:?} does not fit a block");
        let process = Process {
            packet: *packet,
            sequence,
            plan: 0,
            made: 0,
            received: 0,
            closed: false,
            received_bits: 0,
            information: 0.0,
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.processes.push(process);
            self.processes.len() as u32 - 1
        });
        self.processes[index as usize] = process;
        self.counters.started += 1;
        self.counters.processes += 1;
        self.counters.processes_max = self.counters.processes_max.max(self.counters.processes);
        self.increment(index)
    }

    fn poll_burst(&mut self, _now: Time) -> Option<Burst> {
        let index = self.waiting.pop_front()?;
        let coded = self.increment(index);
        let process = &self.processes[index as usize];
        Some(Burst { coded, packet: process.packet, sequence: process.sequence })
    }

    fn has_burst(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn receive(&mut self, _now: Time, burst: &Burst, snr: Db) -> Reception {
        self.counters.on_burst(burst.coded.bits);
        let process = &mut self.processes[burst.coded.process as usize];
        assert!(!process.closed, "a burst for a packet whose fate is known");
        process.received += 1;
        process.received_bits += burst.coded.bits;
        process.information += f64::from(burst.coded.bits) * qpsk::mutual_information(snr);
        let decoded = self.block.decodes(f64::from(process.received_bits), process.information);
        let last = usize::from(process.received) == self.plans[usize::from(process.plan)].len();
        let verdict = match (decoded, last) {
            (true, _) => Verdict::Decoded,
            (false, true) => Verdict::Failed,
            (false, false) => Verdict::Undecided,
        };
        let bits = u64::from(process.received_bits);
        match verdict {
            Verdict::Decoded => self.counters.on_decoded(usize::from(process.received), &process.packet, bits),
            Verdict::Failed => self.counters.on_failed(bits),
            Verdict::Undecided => {}
        }
        process.closed = verdict != Verdict::Undecided;
        Reception { verdict, answer: Some(if decoded { Answer::Ack } else { Answer::Nack }) }
    }

    fn handle_feedback(&mut self, _now: Time, feedback: Feedback) {
        let process = &self.processes[feedback.process as usize];
        let more = usize::from(process.made) < self.plans[usize::from(process.plan)].len();
        match feedback.answer {
            Answer::Ack => self.counters.acks += 1,
            Answer::Nack => self.counters.nacks += 1,
        }
        if feedback.answer == Answer::Nack && more {
            self.waiting.push_back(feedback.process);
        } else {
            self.free.push(feedback.process);
            self.counters.processes -= 1;
        }
    }

    fn undecided(&self) -> usize {
        self.counters.undecided()
    }

    fn counters(&self) -> &HarqCounters {
        &self.counters
    }
}
