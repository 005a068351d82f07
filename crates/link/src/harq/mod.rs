//! Reliability schemes: what is sent for a packet, and when it is decoded.
//!
//! A scheme is both ends of the last hop in one machine: the sender, which makes bursts and hears of their fate one delay
//! later, and the receiver, which is handed each burst with the channel that it met. The last hop carries bursts and
//! feedback between them, so a scheme never looks at the clock of the other end. Automatic repeat request, chase combining,
//! incremental redundancy and forward error correction all fit; a new one is a file here, a line in the registry, and passes
//! the conformance test of this crate.

pub mod adaptive;
pub mod none;
pub mod plan;

use channel::TransmissionLaw;
use rand::Rng;
use units::{Db, FieldError, Time};

use crate::packet::PacketRef;
use adaptive::{Adaptive, AdaptiveConfig};
use none::{Uncoded, UncodedConfig};

units::registry! {
    /// The reliability schemes of the last hop.
    pub enum HarqConfig {
        "none" => None(UncodedConfig),
        "adaptive" => Adaptive(AdaptiveConfig),
    }
}

impl Default for HarqConfig {
    fn default() -> HarqConfig {
        HarqConfig::None(UncodedConfig::default())
    }
}

impl HarqConfig {
    /// The scheme. `law` is what [`HarqConfig::planned_transmissions`] asks for; `rng` decides what chance decides.
    ///
    /// # Errors
    /// If a value cannot be.
    ///
    /// # Panics
    /// If the scheme needs a law and is given none.
    pub fn build(&self, law: Option<&TransmissionLaw>, rng: Box<dyn Rng + Send>) -> Result<Box<dyn Harq>, FieldError> {
        Ok(match self {
            HarqConfig::None(_) => Box::new(Uncoded::new(rng)),
            HarqConfig::Adaptive(config) => {
                Box::new(Adaptive::new(config, law.expect("adaptive HARQ plans from the channel's law"))?)
            }
        })
    }

    /// Whether the scheme can be built.
    ///
    /// # Errors
    /// If a value cannot be.
    pub fn check(&self) -> Result<(), FieldError> {
        match self {
            HarqConfig::None(_) => Ok(()),
            HarqConfig::Adaptive(config) => config.check(),
        }
    }

    /// The same configuration with nothing left open, for whoever wants to see what a run uses.
    pub fn resolved(&self) -> HarqConfig {
        match self {
            HarqConfig::None(config) => HarqConfig::None(config.clone()),
            HarqConfig::Adaptive(config) => HarqConfig::Adaptive(config.resolved()),
        }
    }

    /// The number of transmissions whose joint law the scheme plans from, if it plans.
    pub fn planned_transmissions(&self) -> Option<usize> {
        match self {
            HarqConfig::None(_) => None,
            HarqConfig::Adaptive(config) => Some(usize::from(config.transmissions)),
        }
    }

    /// The largest packet that fits the scheme's block; `None` if any does.
    pub fn max_packet_bytes(&self) -> Option<u32> {
        match self {
            HarqConfig::None(_) => None,
            HarqConfig::Adaptive(config) => Some(config.max_packet_bytes()),
        }
    }
}

/// A reliability scheme, both ends of it.
///
/// Each packet that was started is decoded once or fails once, whatever the channel does.
pub trait Harq: Send {
    /// Sender: whether a new packet for `user` may start now.
    fn may_start(&self, user: u32) -> bool;

    /// Sender: takes a packet, which is the `sequence`-th of its flow, and makes its first burst. Only called after
    /// [`Harq::may_start`] answered yes.
    fn start(&mut self, now: Time, packet: &PacketRef, sequence: u64) -> Coded;

    /// Sender: the next burst to send for a packet that was started before; these go before new packets.
    fn poll_burst(&mut self, now: Time) -> Option<Burst>;

    /// Sender: whether [`Harq::poll_burst`] has one. Asked after it, [`Harq::start`] and [`Harq::handle_feedback`].
    fn has_burst(&self) -> bool;

    /// Receiver: a burst arrives, having met the signal-to-noise ratio `snr`.
    fn receive(&mut self, now: Time, burst: &Burst, snr: Db) -> Reception;

    /// Sender: what the receiver said reaches the sender.
    fn handle_feedback(&mut self, now: Time, feedback: Feedback);

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
    /// What is said to the sender, if anything.
    pub answer: Option<Answer>,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is decoded now.
    Decoded,
    /// It needs more.
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
}

/// An answer on its way to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The process it speaks of.
    pub process: u32,
    /// What it says.
    pub answer: Answer,
}

/// What a scheme counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HarqCounters {
    /// Packets started.
    pub started: u64,
    /// Packets decoded after 1, 2 … transmissions.
    pub decoded_after: Vec<u64>,
    /// Packets that all transmissions failed to carry.
    pub failed: u64,
    /// Bursts received.
    pub bursts: u64,
    /// Coded bits received.
    pub coded_bits: u64,
    /// Coded bits of the packets whose fate is known.
    pub finished_bits: u64,
    /// Payload bits (bytes of the packet times eight) decoded.
    pub useful_bits: u64,
    /// Positive acknowledgments that reached the sender.
    pub acks: u64,
    /// Negative acknowledgments that reached the sender.
    pub nacks: u64,
    /// Processes in use now.
    pub processes: usize,
    /// Most processes in use at once, each from its first burst to the feedback that ends it.
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
        (self.started - self.decoded() - self.failed) as usize
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
}
