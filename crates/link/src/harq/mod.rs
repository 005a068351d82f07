//! Reliability schemes: what is sent for a packet, and when it is decoded.
//!
//! A scheme is both ends of the last hop in one machine: the sender, which makes bursts and hears of their fate one delay
//! later, and the receiver, which is handed each burst with the channel that it met. The last hop carries bursts and
//! feedback between them, so a scheme never looks at the clock of the other end. There are four machines: none and adaptive
//! HARQ have their own, go-back-N has one because its receiver keeps nothing, and all others are one machine of processes
//! with different codewords and windows. A new scheme is a file here, a line in the registry, and passes the
//! conformance test of this crate.

mod codeword;
pub mod feedback;
pub mod plan;
mod processes;

use channel::TransmissionLaw;
use rand::Rng;
use units::{Bytes, Db, Duration, FieldError, Time};

use crate::packet::PacketRef;
use feedback::FeedbackConfig;

units::registry! {
    /// The reliability schemes of the last hop.
    pub enum HarqConfig: dyn Kind {
        #[default] "none" => None(UncodedConfig) in none,
        "fec" => Fec(FecConfig) in fec,
        "stop-and-wait" => StopAndWait(StopAndWaitConfig) in stop_and_wait,
        "go-back-n" => GoBackN(GoBackNConfig) in go_back_n,
        "selective-repeat" => SelectiveRepeat(SelectiveRepeatConfig) in selective_repeat,
        "chase" => Chase(ChaseConfig) in chase,
        "incremental-redundancy" => IncrementalRedundancy(IncrementalRedundancyConfig) in incremental_redundancy,
        "self-decodable" => SelfDecodable(SelfDecodableConfig) in self_decodable,
        "adaptive" => Adaptive(AdaptiveConfig) in adaptive,
        "nr-ntn" => NrNtn(NrNtnConfig) in nr_ntn,
    }
}

/// The options of a scheme, from which it is built.
///
/// Schemes of fixed sizes implement [`processes::FixedSizes`] instead, and need no more than their codeword and window.
pub trait Kind {
    /// Whether the scheme can be built.
    ///
    /// # Errors
    /// If a value cannot be.
    fn check(&self) -> Result<(), FieldError>;

    /// Writes out what is left open, for whoever wants to see what a run uses.
    fn resolve(&mut self) {}

    /// The scheme. `law` is what [`Kind::planned_transmissions`] asks for; `rng` decides what chance decides.
    ///
    /// # Errors
    /// As [`Kind::check`].
    ///
    /// # Panics
    /// If the scheme needs a law and is given none.
    fn build(&self, law: Option<&TransmissionLaw>, rng: Box<dyn Rng + Send>) -> Result<Box<dyn Harq>, FieldError>;

    /// The number of transmissions whose joint law the scheme plans from, if it plans.
    fn planned_transmissions(&self) -> Option<usize> {
        None
    }

    /// Data of a code block; `None` if the scheme has no blocks.
    fn block(&self) -> Option<Bytes> {
        None
    }

    /// Whether a packet shorter than the block is padded to it.
    fn padding(&self) -> bool {
        false
    }

    /// What answers meet on their way, of a scheme that can have answers.
    fn feedback(&self) -> Option<&FeedbackConfig> {
        None
    }

    /// How long an answer takes from the receiver to the sender; `None` for as long as the link's own delay.
    fn feedback_delay(&self) -> Option<Duration> {
        self.feedback()?.delay
    }

    /// The largest packet that fits the scheme's block; `None` if any does.
    fn max_packet_bytes(&self) -> Option<u32> {
        self.block().map(|block| u32::try_from(block.get()).unwrap_or(u32::MAX))
    }

    /// What must be learnt of a packet to decode it with an ideal code, in bits: its own bits, or those of the whole block if
    /// the scheme pads it to that.
    fn information_bits(&self, packet_bytes: u32) -> f64 {
        let block = self.max_packet_bytes().filter(|_| self.padding());
        f64::from(block.unwrap_or(packet_bytes)) * 8.0
    }
}

/// A reliability scheme, both ends of it.
///
/// Each packet that was started is decoded once or fails once, whatever the channel does.
pub trait Harq: Send {
    /// Whether each packet is one burst of its own bits, which is decoded if it meets no noise and is not answered.
    fn sends_uncoded(&self) -> bool {
        false
    }

    /// Sender: whether a new packet for `user` may start now.
    fn may_start(&self, user: u32) -> bool;

    /// Sender: whether [`Harq::start`] wants an estimate of the channel. Asked once.
    fn wants_estimate(&self) -> bool {
        false
    }

    /// Sender: takes a packet, which is the `sequence`-th of its flow, and makes its first burst. Only called after
    /// [`Harq::may_start`] answered yes.
    ///
    /// `estimate`: the mutual information of a coded bit, 0 to 1, that the sender believes the user's channel to bring now;
    /// it may be old. `None` unless [`Harq::wants_estimate`].
    fn start(&mut self, now: Time, packet: &PacketRef, sequence: u64, estimate: Option<f64>) -> Coded;

    /// Sender: the next burst to send for a packet that was started before; these go before new packets.
    fn poll_burst(&mut self, now: Time) -> Option<Burst>;

    /// Sender: whether [`Harq::poll_burst`] has one. Asked after it, [`Harq::start`] and [`Harq::handle_feedback`].
    fn has_burst(&self) -> bool;

    /// Receiver: a burst arrives, having met the signal-to-noise ratio `snr`.
    fn receive(&mut self, now: Time, burst: &Burst, snr: Db) -> Reception;

    /// Receiver: the burst of a packet arrives and met no noise, in place of [`Harq::receive`]. Only of a scheme that
    /// [`Harq::sends_uncoded`].
    fn receive_clear(&mut self, packet: &PacketRef) {
        unreachable!("{packet:?} is sent coded");
    }

    /// Whether the receiver answers each burst. Never changes.
    fn answers(&self) -> bool;

    /// Sender: what the receiver said reaches the sender, or was to reach it now. Each burst is answered once, and mostly in the
    /// order of the bursts: where the delay falls bursts and answers overtake others.
    fn handle_feedback(&mut self, now: Time, feedback: Feedback);

    /// Both ends: all that is under way is gone, the bursts `in_flight` and all answers, and the sender is another that begins
    /// anew. The packets that are not decided will not be: they are put in `lost` with their numbers, in any order.
    fn reset(&mut self, in_flight: &[Burst], lost: &mut Vec<(PacketRef, u64)>);

    /// Packets that were started and are neither decoded nor failed.
    fn undecided(&self) -> usize;

    /// What was counted so far.
    fn counters(&self) -> &HarqCounters;
}

/// Coded bits of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coded {
    /// The scheme's own number for the packet on its way.
    pub process: u32,
    /// How many bits.
    pub bits: u32,
    /// What the scheme wants to know again when the burst arrives and when it is answered: which transmission it is.
    pub tag: u16,
}

impl Coded {
    /// The answer to the burst with these bits.
    pub fn answered(self, answer: Answer) -> Feedback {
        Feedback { process: self.process, tag: self.tag, answer }
    }
}

/// What the transmitter sends in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// What is sent.
    pub coded: Coded,
    /// The packet that it is a part of.
    pub packet: PacketRef,
    /// Its number within its flow, from 0 without gaps, in the order of first transmission.
    pub sequence: u64,
}

/// What the receiver makes of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reception {
    /// The fate of the packet.
    pub verdict: Verdict,
    /// What is said to the sender, if anything is: [`Answer::Lost`] if it gets lost on the way.
    pub answer: Option<Answer>,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is decoded now.
    Decoded,
    /// Nothing new: it needs more, or its fate was known before and this repetition was of no use.
    Undecided,
    /// It never will be decoded: this was its last transmission.
    Failed,
}

/// What a receiver says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The packet is decoded.
    Ack,
    /// It is not.
    Nack,
    /// An answer was due and did not come: the sender notices at the instant at which it was due, for it knows all delays.
    Lost,
}

/// An answer on its way to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The process it speaks of.
    pub process: u32,
    /// The tag of the burst that it answers.
    pub tag: u16,
    /// What it says.
    pub answer: Answer,
}

/// What a scheme counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HarqCounters {
    /// Packets started.
    pub started: u64,
    /// Packets decoded after 1, 2 … transmissions; of go-back-N, without those which the receiver was not ready for.
    pub decoded_after: Vec<u64>,
    /// Packets that all transmissions failed to carry.
    pub failed: u64,
    /// Packets given up by [`Harq::reset`].
    pub abandoned: u64,
    /// Bursts received.
    pub bursts: u64,
    /// Coded bits received.
    pub coded_bits: u64,
    /// Coded bits received of packets whose fate is known, those included that came when it already was.
    pub finished_bits: u64,
    /// Payload bits (bytes of the packet times eight) decoded.
    pub useful_bits: u64,
    /// Positive acknowledgments that reached the sender.
    pub acks: u64,
    /// Negative acknowledgments that reached the sender.
    pub nacks: u64,
    /// Answers that were lost on their way.
    pub lost_answers: u64,
    /// Processes in use at the sender now.
    pub processes: usize,
    /// Most processes in use at once, each from its first burst to the feedback that ends it, or without feedback to its last.
    pub processes_max: usize,
}

impl HarqCounters {
    /// Nothing counted yet, of a scheme of at most `transmissions`.
    pub fn new(transmissions: usize) -> HarqCounters {
        HarqCounters { decoded_after: vec![0; transmissions], ..HarqCounters::default() }
    }

    /// Packets decoded.
    pub fn decoded(&self) -> u64 {
        self.decoded_after.iter().sum()
    }

    /// Packets started whose fate is open.
    pub fn undecided(&self) -> usize {
        (self.started - self.decoded() - self.failed - self.abandoned) as usize
    }

    /// The sender gives up so many packets, and has no other.
    pub(crate) fn on_reset(&mut self, abandoned: usize) {
        self.abandoned += abandoned as u64;
        self.processes = 0;
    }

    /// A packet takes a process.
    pub(crate) fn on_start(&mut self) {
        self.started += 1;
        self.processes += 1;
        self.processes_max = self.processes_max.max(self.processes);
    }

    pub(crate) fn on_answer(&mut self, answer: Answer) {
        match answer {
            Answer::Ack => self.acks += 1,
            Answer::Nack => self.nacks += 1,
            Answer::Lost => self.lost_answers += 1,
        }
    }

    pub(crate) fn on_burst(&mut self, bits: u32) {
        self.bursts += 1;
        self.coded_bits += u64::from(bits);
    }

    /// A packet is decoded by its `transmission`-th burst (from 1), `bits` coded bits in all.
    pub(crate) fn on_decoded(&mut self, transmission: usize, packet: &PacketRef, bits: u64) {
        self.decoded_after[transmission - 1] += 1;
        self.finished_bits += bits;
        self.useful_bits += u64::from(packet.size) * 8;
    }

    pub(crate) fn on_failed(&mut self, bits: u64) {
        self.failed += 1;
        self.finished_bits += bits;
    }

    /// A burst of a packet whose fate was known before.
    pub(crate) fn on_discarded(&mut self, bits: u64) {
        self.finished_bits += bits;
    }
}
