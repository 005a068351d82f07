//! Adaptive HARQ: incremental redundancy (type II) with sizes planned from the law of the channel, or from an estimate
//! of it.
//!
//! Ali Ahmad, Lacan, Arnal, Gineste, Clarac, "Enhancing satellite system throughput using adaptive HARQ for delay
//! tolerant services in mobile communications", WTS 2015. A packet is decoded when the mutual information of its bursts
//! adds up to what the code needs at the rate reached so far.
//!
//! What is simplified, and who could notice:
//! * The decoder has a hard threshold; a real one's error rate falls from 1/2 to 1/100 within 2 to 4 % of the
//!   information.
//! * By default a packet shorter than the block is padded to it, as in the published studies, at the expense of voice.
//!   Without padding the code is as good for a short packet as for a full block; a real one loses some tenths of a
//!   decibel.
//! * By default the sizes follow from the reference signal-to-noise ratio alone, without any measurement.

use std::collections::VecDeque;

use channel::{DECIDED, LawRequest, TransmissionLaw, qpsk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Db, Duration, FieldError, Probability, Time};

use super::codeword::{check_codeword_bits, check_processes, check_threshold, check_transmissions, data_bits, scaled};
use super::feedback::{FeedbackChannel, FeedbackConfig};
use super::sizes::{Block, Threshold, transmission_sizes};
use super::store::{Store, Stored};
use super::{Burst, Coded, Decoding, Feedback, FeedbackMessage, Harq, HarqCounters, Kind, Reception, UserStreams};
use crate::packet::PacketRef;

/// Incremental redundancy with sizes planned from the channel's law; decodes by accumulated mutual information.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveConfig {
    /// The most transmissions of a packet, the first included: 1 to 8.
    #[schemars(range(min = 1, max = 8))]
    pub transmissions: u8,
    /// The source of the sizes.
    pub sizing: Sizing,
    /// The shares of packets decoded after transmissions 1, 2 …, increasing; the last transmission has no share and
    /// carries the rest. By default 50 %, 70 %, 85 %, and then half of the rest each time. Only for sizes from the law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<Probability>>,
    /// Data of a code block; a packet must fit in one.
    pub block: Bytes,
    /// Coded bits of a block at the mother rate.
    pub codeword_bits: u32,
    /// Mutual information per data bit at which a block is decoded: "code" for that of the CCSDS turbo code at the rate
    /// reached so far, or a number, the same at every rate.
    pub threshold: Threshold,
    /// Packets that may be in flight between first burst and last feedback; more wait in the queue.
    #[schemars(range(min = 1))]
    pub processes: u32,
    /// Whether a packet shorter than the block is padded to it; if not, its coded bits are in proportion.
    pub padding: bool,
    /// Delay and loss of the feedback.
    pub feedback: FeedbackConfig,
}

/// The source of the sizes of adaptive HARQ's transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sizing {
    /// The joint law of the channel at its reference: the same sizes for every packet.
    #[default]
    Law,
    /// The estimate of the user's channel when the packet is first sent, and the missing information that the receiver
    /// reports.
    Estimate,
}

impl Default for AdaptiveConfig {
    fn default() -> AdaptiveConfig {
        AdaptiveConfig {
            transmissions: 4,
            sizing: Sizing::Law,
            targets: None,
            block: Bytes::new(1115),
            codeword_bits: 53_520,
            threshold: Threshold::Code,
            processes: 500,
            padding: false,
            feedback: FeedbackConfig::default(),
        }
    }
}

impl Kind for AdaptiveConfig {
    fn check(&self) -> Result<(), FieldError> {
        self.block_and_targets().map(drop)
    }

    fn resolve(&mut self) {
        let targets = || self.targets().into_iter().map(Probability::new).collect();
        self.targets = (self.sizing == Sizing::Law).then(targets);
    }

    fn build(&self, law: Option<&TransmissionLaw>, streams: UserStreams) -> Result<Box<dyn Harq>, FieldError> {
        Ok(Box::new(Adaptive::new(self, law, streams)?))
    }

    fn law_request(&self, spacing: Duration) -> Option<LawRequest> {
        let drawn = usize::from(self.transmissions);
        // The last transmission carries the rest, whatever it brings.
        let read = (drawn - 1).max(1);
        (self.sizing == Sizing::Law).then_some(LawRequest { drawn, read, spacing })
    }

    fn block(&self) -> Option<Bytes> {
        Some(self.block)
    }

    fn pads_block(&self) -> bool {
        self.padding
    }

    fn feedback(&self) -> Option<&FeedbackConfig> {
        Some(&self.feedback)
    }
}

impl AdaptiveConfig {
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

    fn block_and_targets(&self) -> Result<(Block, Vec<f64>), FieldError> {
        check_transmissions(self.transmissions, 8)?;
        let targets = self.targets();
        self.check_targets(&targets)?;
        let data_bits = data_bits(self.block)?;
        check_codeword_bits(self.codeword_bits, data_bits)?;
        check_threshold(self.threshold)?;
        check_processes(self.processes)?;
        self.feedback.resolve_enabled()?;
        let block = Block { data_bits, coded_bits: self.codeword_bits, threshold: self.threshold };
        let all = f64::from(block.coded_bits);
        if !block.decodes(all, all) {
            let (given, least) = (block.coded_bits, block.needed(all).ceil());
            let reason = format!("{given} given, even without noise it takes {least}");
            return Err(FieldError::new("codeword_bits", reason));
        }
        Ok((block, targets))
    }

    fn check_targets(&self, targets: &[f64]) -> Result<(), FieldError> {
        let refuse = |reason: String| Err(FieldError::new("targets", reason));
        if self.sizing == Sizing::Estimate && self.targets.is_some() {
            return refuse("given although sizes follow from the estimate: leave one of the two out".to_owned());
        }
        if targets.len() + 1 != usize::from(self.transmissions) {
            let (given, allowed) = (targets.len(), self.transmissions - 1);
            return refuse(format!(
                "{given} given, one for each transmission but the last is needed: {allowed} for {} transmissions",
                self.transmissions
            ));
        }
        let growing = targets.windows(2).all(|pair| pair[0] < pair[1]);
        if !(growing && targets.iter().all(|&target| target > 0.0 && target < 1.0)) {
            return refuse("must grow, each more than 0 % and less than 100 %".to_owned());
        }
        Ok(())
    }
}

/// See [`AdaptiveConfig`].
pub struct Adaptive {
    block: Block,
    transmissions: u8,
    padding: bool,
    /// Coded bits of a full block sent after each transmission; empty if sizes follow from the estimate.
    sums: Box<[u32]>,
    feedback_channel: FeedbackChannel,
    processes: Store<Process>,
    capacity: usize,
    /// Processes whose next increment waits for the transmitter, oldest first.
    waiting: VecDeque<u32>,
    counters: HarqCounters,
}

#[derive(Clone, Copy, Debug)]
struct Process {
    packet: PacketRef,
    sequence: u64,
    /// The data bits of its block: the configured size, or the packet's own.
    data_bits: u32,
    coded_bits: u32,
    /// Sender: transmissions made, and coded bits sent.
    made: u8,
    made_bits: u32,
    /// Sender: the estimated mutual information of a coded bit, and the information that the receiver last reported.
    estimate: f64,
    reported: f64,
    /// Receiver: bursts received, their coded bits and mutual information, and whether the packet's fate is known.
    received: u8,
    closed: bool,
    received_bits: u32,
    information: f64,
}

impl Stored for Process {
    fn packet(&self) -> (PacketRef, u64) {
        (self.packet, self.sequence)
    }

    fn is_decided(&self) -> bool {
        self.closed
    }
}

impl Adaptive {
    /// Plans from `law`, that of [`Kind::law_request`]; not needed if sizes follow from the estimate. `streams` draw
    /// the losses of feedback.
    ///
    /// # Errors
    /// If a value of the configuration cannot be.
    ///
    /// # Panics
    /// If a law is needed and not given.
    pub fn new(
        config: &AdaptiveConfig,
        law: Option<&TransmissionLaw>,
        streams: UserStreams,
    ) -> Result<Adaptive, FieldError> {
        let (block, targets) = config.block_and_targets()?;
        let sizes = match config.sizing {
            Sizing::Law => transmission_sizes(&block, &targets, law.expect("sizes from the law need one")),
            Sizing::Estimate => Vec::new(),
        };
        let sums = sizes.iter().scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        });
        Ok(Adaptive {
            block,
            transmissions: config.transmissions,
            padding: config.padding,
            sums: sums.collect(),
            feedback_channel: FeedbackChannel::new(config.feedback.resolve_enabled()?, streams),
            processes: Store::new(),
            capacity: config.processes as usize,
            waiting: VecDeque::new(),
            counters: HarqCounters::new(usize::from(config.transmissions)),
        })
    }

    /// The coded bits of each transmission of a full block; empty if they follow from the estimate.
    pub fn transmission_sizes(&self) -> Vec<u32> {
        let before = std::iter::once(&0).chain(&self.sums);
        self.sums.iter().zip(before).map(|(sum, before)| sum - before).collect()
    }

    /// The next increment of a process. The sizes never change; the estimate is that of the packet's first burst.
    #[inline]
    fn increment(&mut self, index: u32) -> Coded {
        let process = &mut self.processes[index];
        let sent = process.made_bits;
        match self.sums.get(usize::from(process.made)) {
            Some(&sum) if process.data_bits == self.block.data_bits => {
                process.made_bits = sum;
                process.made += 1;
            }
            Some(_) => self.short_increment(index),
            None => self.estimated_increment(index),
        }
        Coded { process: index, bits: self.processes[index].made_bits - sent, tag: 0 }
    }

    #[inline]
    fn reception(&mut self, burst: &Burst, decoding: Decoding, feedback: Feedback) -> Reception {
        Reception { decoding, feedback: Some(self.feedback_channel.carry(burst.packet.user, feedback)) }
    }

    /// The sizes in proportion. An increment without bits is skipped.
    #[inline(never)]
    fn short_increment(&mut self, index: u32) {
        let process = &mut self.processes[index];
        let sent = process.made_bits;
        while process.made_bits == sent {
            let sum = self.sums[usize::from(process.made)];
            process.made_bits = scaled(sum, process.data_bits, self.block.data_bits);
            process.made += 1;
        }
    }

    #[inline(never)]
    fn estimated_increment(&mut self, index: u32) {
        let process = &mut self.processes[index];
        process.made += 1;
        let block = Block { data_bits: process.data_bits, coded_bits: process.coded_bits, ..self.block };
        process.made_bits += estimated(&block, process, self.transmissions - process.made);
    }
}

/// The size of the next increment from the estimate, with `to_come` increments after it.
///
/// It is the information that the receiver misses, at the rate reached with this increment. If the whole rest of the
/// codeword would not carry that information, the estimate is ignored and the rest is divided evenly among the
/// remaining transmissions. The last increment carries the whole rest.
fn estimated(block: &Block, process: &Process, to_come: u8) -> u32 {
    let left = block.coded_bits - process.made_bits;
    let missing = block.missing(f64::from(process.made_bits), process.reported, process.estimate).ceil();
    if to_come == 0 {
        left
    } else if missing <= f64::from(left) {
        (missing as u32).max(1)
    } else {
        left.div_ceil(u32::from(to_come) + 1)
    }
}

impl Harq for Adaptive {
    fn may_start(&self, _user: u32) -> bool {
        self.counters.processes < self.capacity
    }

    fn wants_estimate(&self) -> bool {
        self.sums.is_empty()
    }

    fn start(&mut self, _now: Time, packet: &PacketRef, sequence: u64, estimate: Option<f64>) -> Coded {
        assert!(packet.size * 8 <= self.block.data_bits, "{packet:?} does not fit a block");
        assert!(estimate.is_some() || !self.wants_estimate(), "sizes follow from an estimate and there is none");
        let Block { mut data_bits, mut coded_bits, .. } = self.block;
        if !self.padding && packet.size * 8 < data_bits {
            coded_bits = scaled(coded_bits, packet.size * 8, data_bits);
            data_bits = packet.size * 8;
        }
        let index = self.processes.insert(Process {
            packet: *packet,
            sequence,
            data_bits,
            coded_bits,
            made: 0,
            made_bits: 0,
            estimate: estimate.unwrap_or(0.0),
            reported: 0.0,
            received: 0,
            closed: false,
            received_bits: 0,
            information: 0.0,
        });
        self.counters.on_start();
        self.increment(index)
    }

    fn poll_burst(&mut self, _now: Time) -> Option<Burst> {
        let index = self.waiting.pop_front()?;
        let coded = self.increment(index);
        let process = &self.processes[index];
        Some(Burst { coded, packet: process.packet, sequence: process.sequence })
    }

    fn has_burst(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn receive(&mut self, _now: Time, burst: &Burst, snr: Db) -> Reception {
        self.counters.on_burst(burst.coded.bits);
        let process = &mut self.processes[burst.coded.process];
        process.received += 1;
        process.received_bits += burst.coded.bits;
        if process.closed {
            // Only a decoded packet is repeated further, because its acknowledgment was lost.
            self.counters.on_discarded(u64::from(burst.coded.bits));
            return self.reception(burst, Decoding::Undecided, Feedback::Ack);
        }
        process.information += f64::from(burst.coded.bits) * qpsk::mutual_information(snr);
        let block = Block { data_bits: process.data_bits, ..self.block };
        let decoded = snr >= DECIDED || block.decodes(f64::from(process.received_bits), process.information);
        let decoding = match (decoded, process.received_bits == process.coded_bits) {
            (true, _) => Decoding::Decoded,
            (false, true) => Decoding::Failed,
            (false, false) => Decoding::Undecided,
        };
        let bits = u64::from(process.received_bits);
        match decoding {
            Decoding::Decoded => self.counters.on_decoded(usize::from(process.received), &process.packet, bits),
            Decoding::Failed => self.counters.on_failed(bits),
            Decoding::Undecided => {}
        }
        process.closed = decoding != Decoding::Undecided;
        let feedback = if decoded { Feedback::Ack } else { Feedback::Nack };
        self.reception(burst, decoding, feedback)
    }

    fn sends_feedback(&self) -> bool {
        true
    }

    fn handle_feedback(&mut self, _now: Time, message: FeedbackMessage) -> bool {
        self.counters.on_feedback(message.feedback);
        let process = &mut self.processes[message.process];
        if message.feedback == Feedback::Nack {
            // There is one burst at a time, so the receiver still has what it reported.
            process.reported = process.information;
        }
        if message.feedback != Feedback::Ack && process.made_bits < process.coded_bits {
            self.waiting.push_back(message.process);
        } else {
            self.processes.release(message.process);
            self.counters.processes -= 1;
        }
        self.has_burst()
    }

    fn reset(&mut self, _in_flight: &[Burst], lost: &mut Vec<(PacketRef, u64)>) {
        self.processes.reset(lost, &mut self.counters);
        self.waiting.clear();
    }

    fn undecided(&self) -> usize {
        self.counters.undecided()
    }

    fn counters(&self) -> &HarqCounters {
        &self.counters
    }
}
