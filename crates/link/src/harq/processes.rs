//! The machine of schemes that handle each packet separately: parallel stop-and-wait processes, or repetitions without
//! feedback.
//!
//! With feedback a process has one burst in flight at a time: the next is made when the feedback has arrived, or was
//! due and was lost. Without, all transmissions of a packet follow one another and its process is free when the last is
//! made. The process ends at the sender then; the receiver reuses its index only when all its bursts have arrived.

use std::collections::VecDeque;

use channel::{DECIDED, TransmissionLaw};
use units::{Bytes, Db, FieldError, Time};

use super::codeword::{Codeword, FixedRate};
use super::feedback::{FeedbackChannel, FeedbackConfig};
use super::store::{Store, Stored};
use super::{Burst, Coded, Decoding, Feedback, FeedbackMessage, Harq, HarqCounters, Kind, Reception, UserStreams};
use crate::packet::PacketRef;

/// A scheme of fixed sizes, resolved.
#[derive(Clone, Debug)]
pub(crate) struct Scheme {
    pub(crate) codeword: Codeword,
    /// Probability that feedback is lost; `None` without feedback.
    pub(crate) feedback: Option<f64>,
    pub(crate) window: Window,
}

/// The number of packets of one user that may be in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Window {
    /// At most this number.
    Count(u32),
    /// At most this span from the oldest on, including finished packets: a window of sequence numbers.
    Span(u32),
}

/// The options of a scheme of fixed sizes.
pub(crate) trait FixedSizes: BlockOptions {
    /// # Errors
    /// If a value cannot be.
    fn scheme(&self) -> Result<Scheme, FieldError>;

    /// The machine that runs the HARQ scheme.
    fn machine(scheme: Scheme, streams: UserStreams) -> Box<dyn Harq>
    where
        Self: Sized,
    {
        Box::new(Processes::new(scheme, streams))
    }
}

impl<S: FixedSizes> Kind for S {
    fn check(&self) -> Result<(), FieldError> {
        self.scheme().map(drop)
    }

    fn build(&self, _law: Option<&TransmissionLaw>, streams: UserStreams) -> Result<Box<dyn Harq>, FieldError> {
        Ok(S::machine(self.scheme()?, streams))
    }

    fn block(&self) -> Option<Bytes> {
        Some(self.coding().block)
    }

    fn pads_block(&self) -> bool {
        self.coding().padding
    }

    fn feedback(&self) -> Option<&FeedbackConfig> {
        BlockOptions::feedback(self)
    }
}

/// The options that all schemes share; see [`scheme_config`].
pub(crate) trait BlockOptions {
    fn feedback(&self) -> Option<&FeedbackConfig>;

    fn coding(&self) -> FixedRate;
}

/// Declares the options of a scheme: its own, each with its default, one of them `code_rate`; then those of the block,
/// which all schemes have, and with `feedback` at the end those of the feedback.
macro_rules! scheme_config {
    (
        $(#[$meta:meta])* pub struct $name:ident {
            $($(#[$option:meta])* pub $field:ident: $type:ty = $default:expr,)*
        }
        $(feedback: $feedback:ty)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$option])* pub $field: $type,)*
            /// Data of a code block; a packet must fit in one.
            pub block: units::Bytes,
            /// Mutual information per data bit at which a block is decoded: "code" for that of the CCSDS turbo code at
            /// the rate reached so far, or a number.
            pub threshold: $crate::harq::sizes::Threshold,
            /// Whether a packet shorter than the block is padded to it; if not, its coded bits are in proportion.
            pub padding: bool,
            $(
                /// Delay and loss of the feedback.
                pub feedback: $feedback,
            )?
        }

        impl Default for $name {
            fn default() -> $name {
                $name {
                    $($field: $default,)*
                    block: units::Bytes::new(1115),
                    threshold: $crate::harq::sizes::Threshold::Code,
                    padding: false,
                    $(feedback: <$feedback>::default(),)?
                }
            }
        }

        impl $crate::harq::processes::BlockOptions for $name {
            fn feedback(&self) -> Option<&$crate::harq::feedback::FeedbackConfig> {
                None$(.or(Some::<&$feedback>(&self.feedback)))?
            }

            fn coding(&self) -> $crate::harq::codeword::FixedRate {
                let &$name { block, code_rate, threshold, padding, .. } = self;
                $crate::harq::codeword::FixedRate { block, code_rate, threshold, padding }
            }
        }
    };
}
pub(super) use scheme_config;

/// See the module.
pub(crate) struct Processes {
    codeword: Codeword,
    sends_feedback: bool,
    feedback_channel: FeedbackChannel,
    window: Window,
    users: Vec<User>,
    processes: Store<Process>,
    /// For each process the signal-to-noise ratios that the receiver has of the packet's parts, one after the other.
    gains: Vec<f64>,
    /// Processes whose next transmission waits for the transmitter, oldest first.
    waiting: VecDeque<u32>,
    counters: HarqCounters,
}

#[derive(Clone, Copy, Debug)]
struct Process {
    packet: PacketRef,
    sequence: u64,
    data_bits: u32,
    /// Sender: its number among the user's packets, in the order of their first transmission.
    number: u64,
    /// Sender: bursts made, and whether the sender has finished the packet.
    made: u8,
    over: bool,
    /// Receiver: bursts received, their coded bits until the packet's fate is known, and that fate.
    received: u8,
    received_bits: u64,
    fate: Option<bool>,
}

impl Stored for Process {
    fn packet(&self) -> (PacketRef, u64) {
        (self.packet, self.sequence)
    }

    fn is_decided(&self) -> bool {
        self.fate.is_some()
    }
}

/// The HARQ processes of one user at the sender.
#[derive(Debug, Default)]
struct User {
    open: u32,
    /// The number of the oldest unfinished packet, and whether each packet from there on is finished. Unused if only
    /// the number of packets is limited.
    base: u64,
    over: VecDeque<bool>,
}

impl Processes {
    /// `streams` draw the losses of feedback.
    pub(crate) fn new(scheme: Scheme, streams: UserStreams) -> Processes {
        Processes {
            sends_feedback: scheme.feedback.is_some(),
            feedback_channel: FeedbackChannel::new(scheme.feedback.unwrap_or(0.0), streams),
            window: scheme.window,
            users: Vec::new(),
            processes: Store::new(),
            gains: Vec::new(),
            waiting: VecDeque::new(),
            counters: HarqCounters::new(scheme.codeword.transmissions()),
            codeword: scheme.codeword,
        }
    }

    /// The next transmission of a process.
    fn transmission(&mut self, index: u32) -> Coded {
        let process = &mut self.processes[index];
        let transmission = process.made;
        let bits = self.codeword.bits(usize::from(transmission), process.data_bits);
        process.made += 1;
        if !self.sends_feedback && usize::from(process.made) == self.codeword.transmissions() {
            self.end_process(index);
        }
        Coded { process: index, bits, tag: u16::from(transmission) }
    }

    /// The sender has finished a packet.
    fn end_process(&mut self, index: u32) {
        let process = &mut self.processes[index];
        process.over = true;
        self.counters.processes -= 1;
        let user = &mut self.users[process.packet.user as usize];
        user.open -= 1;
        if let Window::Span(_) = self.window {
            user.over[(process.number - user.base) as usize] = true;
            while user.over.front() == Some(&true) {
                user.over.pop_front();
                user.base += 1;
            }
        }
        self.free_if_done(index);
    }

    fn free_if_done(&mut self, index: u32) {
        let process = &self.processes[index];
        if process.over && process.received == process.made {
            self.processes.release(index);
        }
    }

    fn insert(&mut self, process: Process) -> u32 {
        let index = self.processes.insert(process);
        let packet_parts = self.codeword.parts();
        self.gains.resize(self.processes.len() * packet_parts, 0.0);
        self.gains[index as usize * packet_parts..][..packet_parts].fill(0.0);
        index
    }
}

impl Harq for Processes {
    fn may_start(&self, user: u32) -> bool {
        self.users.get(user as usize).is_none_or(|user| match self.window {
            Window::Count(most) => user.open < most,
            Window::Span(most) => user.over.len() < most as usize,
        })
    }

    fn start(&mut self, _now: Time, packet: &PacketRef, sequence: u64, _estimate: Option<f64>) -> Coded {
        let user = packet.user as usize;
        if user >= self.users.len() {
            self.users.resize_with(user + 1, User::default);
        }
        let user = &mut self.users[user];
        let number = user.base + user.over.len() as u64;
        user.open += 1;
        if let Window::Span(_) = self.window {
            user.over.push_back(false);
        }
        let index = self.insert(Process {
            packet: *packet,
            sequence,
            data_bits: self.codeword.data_bits(packet.size),
            number,
            made: 0,
            over: false,
            received: 0,
            received_bits: 0,
            fate: None,
        });
        self.counters.on_start();
        if !self.sends_feedback && self.codeword.transmissions() > 1 {
            self.waiting.push_back(index);
        }
        self.transmission(index)
    }

    fn poll_burst(&mut self, _now: Time) -> Option<Burst> {
        let &index = self.waiting.front()?;
        let coded = self.transmission(index);
        let process = &self.processes[index];
        if self.sends_feedback || process.over {
            self.waiting.pop_front();
        }
        Some(Burst { coded, packet: process.packet, sequence: process.sequence })
    }

    fn has_burst(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn receive(&mut self, _now: Time, burst: &Burst, snr: Db) -> Reception {
        let index = burst.coded.process;
        let packet_parts = self.codeword.parts();
        let process = &mut self.processes[index];
        let gains = &mut self.gains[index as usize * packet_parts..][..packet_parts];
        let bits = u64::from(burst.coded.bits);
        self.counters.on_burst(burst.coded.bits);
        process.received += 1;
        let received = usize::from(process.received);
        let decoding = if process.fate.is_some() {
            self.counters.on_discarded(bits);
            Decoding::Undecided
        } else {
            process.received_bits += bits;
            self.codeword.receive(gains, usize::from(burst.coded.tag), snr);
            let last = received == self.codeword.transmissions();
            match (snr >= DECIDED || self.codeword.decodes(gains, process.data_bits), last) {
                (true, _) => Decoding::Decoded,
                (false, true) => Decoding::Failed,
                (false, false) => Decoding::Undecided,
            }
        };
        match decoding {
            Decoding::Decoded => {
                process.fate = Some(true);
                self.counters.on_decoded(received, &process.packet, process.received_bits);
            }
            Decoding::Failed => {
                process.fate = Some(false);
                self.counters.on_failed(process.received_bits);
            }
            Decoding::Undecided => {}
        }
        let decoded = process.fate == Some(true);
        self.free_if_done(index);
        let feedback = if decoded { Feedback::Ack } else { Feedback::Nack };
        Reception {
            decoding,
            feedback: self.sends_feedback.then(|| self.feedback_channel.carry(burst.packet.user, feedback)),
        }
    }

    fn sends_feedback(&self) -> bool {
        self.sends_feedback
    }

    fn handle_feedback(&mut self, _now: Time, message: FeedbackMessage) -> bool {
        self.counters.on_feedback(message.feedback);
        let process = &self.processes[message.process];
        let more = usize::from(process.made) < self.codeword.transmissions();
        if message.feedback != Feedback::Ack && more {
            self.waiting.push_back(message.process);
        } else {
            self.end_process(message.process);
        }
        self.has_burst()
    }

    fn reset(&mut self, _in_flight: &[Burst], lost: &mut Vec<(PacketRef, u64)>) {
        self.processes.reset(lost, &mut self.counters);
        self.gains.clear();
        self.waiting.clear();
        self.users.clear();
    }

    fn undecided(&self) -> usize {
        self.counters.undecided()
    }

    fn counters(&self) -> &HarqCounters {
        &self.counters
    }
}
