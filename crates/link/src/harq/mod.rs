//! Reliability schemes: the transmissions of a packet, and when it is decoded.
//!
//! A scheme is one machine for both ends of the last hop: the sender, which makes bursts and gets feedback a delay
//! later, and the receiver, which gets each burst with its signal-to-noise ratio. The last hop carries bursts and
//! feedback between them, so neither end reads the state of the other. There are four machines: none, adaptive HARQ and
//! go-back-N (whose receiver stores nothing) have their own, and all others share one machine of processes with
//! different codewords and windows. A new scheme is a file here, a line in the registry, and passes the conformance
//! test of this crate.

mod chance;
mod codeword;
pub mod feedback;
mod processes;
pub mod sizes;
mod store;

use channel::{LawRequest, TransmissionLaw};
use units::{Bytes, Db, Duration, FieldError, Time};

use crate::buffer::Backlog;
use crate::packet::PacketRef;
pub use chance::UserStreams;
pub use feedback::Feedback;
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
    /// Checks that the scheme can be built.
    ///
    /// # Errors
    /// If a value cannot be.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// Fills in the defaults that depend on other options, as a run uses them.
    fn resolve(&mut self) {}

    /// The scheme. `law` is the law of [`Kind::law_request`]; `streams` makes the random stream of each user.
    ///
    /// # Errors
    /// As [`Kind::check`].
    ///
    /// # Panics
    /// If the scheme needs a law and is given none.
    fn build(&self, law: Option<&TransmissionLaw>, streams: UserStreams) -> Result<Box<dyn Harq>, FieldError>;

    /// The law from which the scheme takes the sizes of its transmissions, where they are `spacing` apart; `None` if it
    /// needs none.
    fn law_request(&self, _spacing: Duration) -> Option<LawRequest> {
        None
    }

    /// Data of a code block; `None` if the scheme has no blocks.
    fn block(&self) -> Option<Bytes> {
        None
    }

    /// Whether packets are sent without a code.
    fn sends_uncoded(&self) -> bool {
        false
    }

    /// Whether a packet shorter than the code block is padded to it.
    fn pads_block(&self) -> bool {
        false
    }

    /// Delay and loss of the feedback; `None` if the scheme cannot have feedback.
    fn feedback(&self) -> Option<&FeedbackConfig> {
        None
    }

    /// The delay of feedback; `None` for the link's own delay.
    fn feedback_delay(&self) -> Option<Duration> {
        self.feedback()?.delay
    }

    /// The largest packet that fits the scheme's block; `None` without a limit.
    fn max_packet_bytes(&self) -> Option<u32> {
        self.block().map(|block| u32::try_from(block.get()).unwrap_or(u32::MAX))
    }

    /// The information that an ideal code needs to decode a packet, in bits: the packet's bits, or those of the whole
    /// block if the scheme pads it.
    fn information_bits(&self, packet_bytes: u32) -> f64 {
        let block = self.max_packet_bytes().filter(|_| self.pads_block());
        f64::from(block.unwrap_or(packet_bytes)) * 8.0
    }
}

/// A reliability scheme, at both ends.
///
/// Each packet that was started is decoded once or fails once, whatever the channel.
pub trait Harq: Send {
    /// Whether each packet is one burst of its own bits, which is decoded if it meets no noise and has no feedback.
    fn sends_uncoded(&self) -> bool {
        false
    }

    /// Sender: whether a new packet for `user` may start now.
    fn may_start(&self, user: u32) -> bool;

    /// Sender: whether [`Harq::start`] needs an estimate of the channel; constant.
    fn wants_estimate(&self) -> bool {
        false
    }

    /// Sender: takes a packet, the `sequence`-th of its flow, and makes its first burst. Only called after
    /// [`Harq::may_start`] returned true.
    ///
    /// `estimate`: the sender's estimate of the mutual information of a coded bit on the user's channel, 0 to 1. `None`
    /// unless [`Harq::wants_estimate`].
    fn start(&mut self, now: Time, packet: &PacketRef, sequence: u64, estimate: Option<f64>) -> Coded;

    /// Sender: the next burst of a packet that was started before; such bursts are sent before new packets.
    fn poll_burst(&mut self, now: Time) -> Option<Burst>;

    /// Sender: whether [`Harq::poll_burst`] has one. Called after [`Harq::poll_burst`] and [`Harq::start`].
    fn has_burst(&self) -> bool;

    /// Receiver: a burst arrives with the signal-to-noise ratio `snr`.
    fn receive(&mut self, now: Time, burst: &Burst, snr: Db) -> Reception;

    /// So many packets were started, and those of `arrived` received without noise, beside [`Harq::start`] and
    /// [`Harq::receive`]. Only of a scheme that [`Harq::sends_uncoded`].
    fn count_clear(&mut self, started: u64, arrived: Backlog) {
        unreachable!("{started} packets are sent coded, {arrived:?} arrived");
    }

    /// Whether the receiver sends feedback for each burst; constant.
    fn sends_feedback(&self) -> bool;

    /// Sender: feedback arrives, or was due and is lost. There is one for each burst, mostly in the order of the
    /// bursts: where the delay falls, bursts and feedback overtake others. Returns whether
    /// [`Harq::poll_burst`] has a burst then.
    fn handle_feedback(&mut self, now: Time, message: FeedbackMessage) -> bool;

    /// Both ends: all bursts (`in_flight`) and all feedback in flight are lost, and another sender takes over. The
    /// packets that are not decided will not be decoded: they are added to `lost` with their numbers, in any order.
    fn reset(&mut self, in_flight: &[Burst], lost: &mut Vec<(PacketRef, u64)>);

    /// Packets that were started and are neither decoded nor failed.
    fn undecided(&self) -> usize;

    /// The counters.
    fn counters(&self) -> &HarqCounters;
}

/// Coded bits of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coded {
    /// The scheme's number for the packet in flight.
    pub process: u32,
    /// The number of bits.
    pub bits: u32,
    /// The number of the transmission, which the scheme needs again when the burst and its feedback arrive.
    pub tag: u16,
}

impl Coded {
    /// The feedback to the burst with these bits.
    pub fn feedback(self, feedback: Feedback) -> FeedbackMessage {
        FeedbackMessage { process: self.process, tag: self.tag, feedback }
    }
}

/// A burst of the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The coded bits.
    pub coded: Coded,
    /// Their packet.
    pub packet: PacketRef,
    /// The packet's number within its flow, from 0 without gaps, in the order of first transmission.
    pub sequence: u64,
}

/// The receiver's result of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reception {
    /// Whether the burst decodes the packet.
    pub decoding: Decoding,
    /// The receiver's feedback, if it sends any: [`Feedback::Lost`] if it is lost.
    pub feedback: Option<Feedback>,
}

/// How far the decoding of a packet is after a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoding {
    /// The packet is decoded now.
    Decoded,
    /// It needs more bits, or its fate was known before and the burst is redundant.
    Undecided,
    /// The packet will never be decoded: this was its last transmission.
    Failed,
}

/// Feedback in flight to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackMessage {
    /// The process.
    pub process: u32,
    /// The tag of the burst.
    pub tag: u16,
    /// The receiver's answer.
    pub feedback: Feedback,
}

/// Counters of a scheme. Those that change together do not stand side by side, as of the last hop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HarqCounters {
    /// Packets started.
    pub started: u64,
    /// Packets decoded after 1, 2 … transmissions; in go-back-N without transmissions for which the receiver was not
    /// ready.
    pub decoded_after: Vec<u64>,
    /// Bursts received.
    pub bursts: u64,
    /// Packets that were not decoded after all transmissions.
    pub failed: u64,
    /// Coded bits received.
    pub coded_bits: u64,
    /// Packets given up by [`Harq::reset`].
    pub abandoned: u64,
    /// Coded bits received of packets whose fate is known, including those received after it was known.
    pub finished_bits: u64,
    /// Positive acknowledgments that reached the sender.
    pub acks: u64,
    /// Payload bits (bytes of the packet times eight) decoded.
    pub useful_bits: u64,
    /// Negative acknowledgments that reached the sender.
    pub nacks: u64,
    /// HARQ feedback that was lost.
    pub lost_feedback: u64,
    /// Processes in use at the sender.
    pub processes: usize,
    /// The most processes in use at once, each from its first burst to its last feedback, or without feedback to its
    /// last burst.
    pub processes_max: usize,
}

impl HarqCounters {
    /// All counters at zero, for a scheme of at most `transmissions`.
    pub fn new(transmissions: usize) -> HarqCounters {
        HarqCounters { decoded_after: vec![0; transmissions], ..HarqCounters::default() }
    }

    /// Packets decoded.
    pub fn decoded(&self) -> u64 {
        self.decoded_after.iter().sum()
    }

    /// Packets started whose fate is not known.
    pub fn undecided(&self) -> usize {
        (self.started - self.decoded() - self.failed - self.abandoned) as usize
    }

    /// The sender gives up so many packets, which are all it has.
    pub(crate) fn on_reset(&mut self, abandoned: usize) {
        self.abandoned += abandoned as u64;
        self.processes = 0;
    }

    /// Packets were sent without coding, of which `arrived` were decoded.
    pub(crate) fn on_clear(&mut self, started: u64, arrived: Backlog) {
        let (packets, bits) = (arrived.packets as u64, arrived.bytes * 8);
        self.started += started;
        self.bursts += packets;
        self.decoded_after[0] += packets;
        self.coded_bits += bits;
        self.finished_bits += bits;
        self.useful_bits += bits;
    }

    /// A packet takes a process.
    pub(crate) fn on_start(&mut self) {
        self.started += 1;
        self.processes += 1;
        self.processes_max = self.processes_max.max(self.processes);
    }

    pub(crate) fn on_feedback(&mut self, feedback: Feedback) {
        match feedback {
            Feedback::Ack => self.acks += 1,
            Feedback::Nack => self.nacks += 1,
            Feedback::Lost => self.lost_feedback += 1,
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

    /// The bits of a burst count whose packet's fate was known before.
    pub(crate) fn on_discarded(&mut self, bits: u64) {
        self.finished_bits += bits;
    }
}
