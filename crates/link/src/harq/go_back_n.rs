//! Go-back-N: the receiver keeps only the next packet in sequence, so the sender repeats from the first packet that
//! fails.
//!
//! Lin, Costello, Miller, "Automatic-repeat-request error-control schemes", IEEE Communications Magazine 22(12), 1984.
//! Each user has its own window and expected number. Four rules where the textbook leaves a choice:
//! * A transmission counts as one of a packet's if the receiver was ready for the packet; a transmission that the
//!   receiver discards because an earlier packet is missing does not count. A burst has a flag that marks the last
//!   allowed transmission. If that one fails, the receiver goes on to the next packet at once, and the sender does so
//!   when the feedback arrives or was due: neither goes back for it.
//! * Acknowledgments are cumulative: an acknowledgment of a packet is one of all packets before it.
//! * Bursts and feedback carry the number of the transmission and the number of times that the sender had gone back,
//!   which identifies them where they overtake others; a negative acknowledgment of a packet other than the oldest then
//!   sends the sender back, too.
//! * Lost feedback counts as a negative acknowledgment. Of feedback to bursts sent before the sender last went back,
//!   only acknowledgments count.

use std::collections::VecDeque;

use units::{Db, FieldError, Time};

use super::codeword::{Codeword, check_processes, check_transmissions};
use super::feedback::{FeedbackChannel, FeedbackConfig};
use super::processes::{BlockOptions, FixedSizes, Scheme, Window, scheme_config};
use super::store::{Store, Stored};
use super::{Burst, Coded, Decoding, Feedback, FeedbackMessage, Harq, HarqCounters, Reception, UserStreams};
use crate::packet::PacketRef;

scheme_config! {
    /// Automatic repeat request that repeats a failed packet and all that were sent after it; the receiver stores no
    /// packet.
    pub struct GoBackNConfig {
        /// The most transmissions of a packet, the first included, without those for which the receiver was not ready:
        /// 1 to 32.
        #[schemars(range(min = 1, max = 32))]
        pub transmissions: u8 = 4,
        /// Packets of one user that may be sent from the oldest unacknowledged one on, including it.
        #[schemars(range(min = 1))]
        pub processes: u32 = 127, // of ISO 13239 (HDLC) with sequence numbers of 7 bits
        /// Data bits for each coded bit.
        #[schemars(range(min = 0.015625, max = 1.0))]
        pub code_rate: f64 = 0.5,
    }
    feedback: FeedbackConfig
}

impl FixedSizes for GoBackNConfig {
    fn scheme(&self) -> Result<Scheme, FieldError> {
        check_transmissions(self.transmissions, 32)?;
        check_processes(self.processes)?;
        Ok(Scheme {
            codeword: self.coding().repeated(self.transmissions, false)?,
            feedback: Some(self.feedback.resolve_enabled()?),
            window: Window::Span(self.processes),
        })
    }

    fn machine(scheme: Scheme, streams: UserStreams) -> Box<dyn Harq> {
        Box::new(GoBackN::new(scheme, streams))
    }
}

/// See [`GoBackNConfig`].
pub(crate) struct GoBackN {
    codeword: Codeword,
    feedback_channel: FeedbackChannel,
    window: usize,
    users: Vec<User>,
    packets: Store<Packet>,
    /// Users with packets to repeat, in turn, and the number of these packets.
    waiting: VecDeque<u32>,
    to_repeat: usize,
    counters: HarqCounters,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    packet: PacketRef,
    sequence: u64,
    data_bits: u32,
    /// Its number among the user's packets, in the order of their first transmission.
    number: u64,
    /// Sender: the number of its transmission, from 1; bursts without feedback; whether it has left the window.
    transmission: u8,
    feedback_due: u32,
    over: bool,
    /// Receiver: coded bits received until the packet's fate was known, and that fate.
    received_bits: u64,
    fate: Option<bool>,
}

impl Stored for Packet {
    fn packet(&self) -> (PacketRef, u64) {
        (self.packet, self.sequence)
    }

    fn is_decided(&self) -> bool {
        self.fate.is_some()
    }
}

#[derive(Debug, Default)]
struct User {
    /// Sender: the window, from packet number `base` on, as indices of packets.
    base: u64,
    window: VecDeque<u32>,
    /// Sender: packets of the window sent since the sender last went back; the rest are to be repeated.
    sent: usize,
    waits: bool,
    /// Sender: the number of times that it went back, modulo 256: no feedback is that old.
    round: u8,
    /// Receiver: the number of the packet for which it is ready.
    expected: u64,
}

impl GoBackN {
    /// `streams` draw the losses of feedback.
    pub(crate) fn new(scheme: Scheme, streams: UserStreams) -> GoBackN {
        let (Window::Count(window) | Window::Span(window)) = scheme.window;
        GoBackN {
            feedback_channel: FeedbackChannel::new(scheme.feedback.unwrap_or(0.0), streams),
            window: window as usize,
            users: Vec::new(),
            packets: Store::new(),
            waiting: VecDeque::new(),
            to_repeat: 0,
            counters: HarqCounters::new(scheme.codeword.transmissions()),
            codeword: scheme.codeword,
        }
    }

    fn burst(&mut self, index: u32) -> Burst {
        let packet = &mut self.packets[index];
        packet.feedback_due += 1;
        let user = &mut self.users[packet.packet.user as usize];
        user.sent += 1;
        let bits = self.codeword.bits(0, packet.data_bits);
        let tag = u16::from_le_bytes([packet.transmission, user.round]);
        Burst { coded: Coded { process: index, bits, tag }, packet: packet.packet, sequence: packet.sequence }
    }

    /// Removes the oldest packet from a user's window.
    fn advance(&mut self, user: u32) {
        let user = &mut self.users[user as usize];
        let index = user.window.pop_front().expect("the window holds what is acknowledged");
        user.base += 1;
        match user.sent.checked_sub(1) {
            Some(sent) => user.sent = sent,
            None => self.to_repeat -= 1, // acknowledged before it was repeated
        }
        self.counters.processes -= 1;
        self.packets[index].over = true;
        self.free_if_done(index);
    }

    fn go_back(&mut self, user: u32) {
        let state = &mut self.users[user as usize];
        self.to_repeat += state.sent;
        state.sent = 0;
        state.round = state.round.wrapping_add(1);
        if !std::mem::replace(&mut state.waits, true) {
            self.waiting.push_back(user);
        }
    }

    fn free_if_done(&mut self, index: u32) {
        let packet = &self.packets[index];
        if packet.over && packet.feedback_due == 0 {
            self.packets.release(index);
        }
    }
}

impl Harq for GoBackN {
    fn may_start(&self, user: u32) -> bool {
        let fits = |user: &User| user.window.len() < self.window && user.sent == user.window.len();
        self.users.get(user as usize).is_none_or(fits)
    }

    fn start(&mut self, _now: Time, packet: &PacketRef, sequence: u64, _estimate: Option<f64>) -> Coded {
        let user = packet.user as usize;
        if user >= self.users.len() {
            self.users.resize_with(user + 1, User::default);
        }
        let user = &mut self.users[user];
        let index = self.packets.insert(Packet {
            packet: *packet,
            sequence,
            data_bits: self.codeword.data_bits(packet.size),
            number: user.base + user.window.len() as u64,
            transmission: 1,
            feedback_due: 0,
            over: false,
            received_bits: 0,
            fate: None,
        });
        user.window.push_back(index);
        self.counters.on_start();
        self.burst(index).coded
    }

    fn poll_burst(&mut self, _now: Time) -> Option<Burst> {
        while let Some(user) = self.waiting.pop_front() {
            let state = &mut self.users[user as usize];
            match state.window.get(state.sent) {
                Some(&index) => {
                    self.waiting.push_back(user);
                    self.to_repeat -= 1;
                    return Some(self.burst(index));
                }
                None => state.waits = false,
            }
        }
        None
    }

    fn has_burst(&self) -> bool {
        self.to_repeat > 0
    }

    fn receive(&mut self, _now: Time, burst: &Burst, snr: Db) -> Reception {
        let packet = &mut self.packets[burst.coded.process];
        let user = &mut self.users[packet.packet.user as usize];
        let bits = u64::from(burst.coded.bits);
        let [transmission, _] = burst.coded.tag.to_le_bytes();
        self.counters.on_burst(burst.coded.bits);
        let mut decoding = Decoding::Undecided;
        if packet.fate.is_some() {
            self.counters.on_discarded(bits);
        } else {
            packet.received_bits += bits;
        }
        if packet.number == user.expected {
            let mut gain = [0.0];
            self.codeword.receive(&mut gain, 0, snr);
            if self.codeword.decodes(&gain, packet.data_bits) {
                decoding = Decoding::Decoded;
                packet.fate = Some(true);
                self.counters.on_decoded(usize::from(transmission), &packet.packet, packet.received_bits);
            } else if usize::from(transmission) == self.codeword.transmissions() {
                decoding = Decoding::Failed;
                packet.fate = Some(false);
                self.counters.on_failed(packet.received_bits);
            }
            user.expected += u64::from(packet.fate.is_some());
        }
        let feedback = if packet.fate == Some(true) { Feedback::Ack } else { Feedback::Nack };
        Reception { decoding, feedback: Some(self.feedback_channel.carry(burst.packet.user, feedback)) }
    }

    fn sends_feedback(&self) -> bool {
        true
    }

    fn handle_feedback(&mut self, _now: Time, message: FeedbackMessage) -> bool {
        self.counters.on_feedback(message.feedback);
        let index = message.process;
        let packet = &mut self.packets[index];
        packet.feedback_due -= 1;
        let Packet { number, over, fate, .. } = *packet;
        let owner = packet.packet.user;
        let user = &self.users[owner as usize];
        let [_, round] = message.tag.to_le_bytes();
        if over {
            self.free_if_done(index);
        } else if message.feedback == Feedback::Ack {
            for _ in user.base..=number {
                self.advance(owner);
            }
        } else if round == user.round {
            // It is the oldest packet, or feedback came out of order; in that case the receiver may not have been ready
            // for a transmission, which is then repeated.
            let last = usize::from(packet.transmission) == self.codeword.transmissions();
            if number == user.base && last && fate.is_some() {
                self.advance(owner);
            } else {
                packet.transmission += u8::from(number == user.base && !last);
                self.go_back(owner);
            }
        }
        self.has_burst()
    }

    fn reset(&mut self, _in_flight: &[Burst], lost: &mut Vec<(PacketRef, u64)>) {
        self.packets.reset(lost, &mut self.counters);
        self.users.clear();
        self.waiting.clear();
        self.to_repeat = 0;
    }

    fn undecided(&self) -> usize {
        self.counters.undecided()
    }

    fn counters(&self) -> &HarqCounters {
        &self.counters
    }
}
