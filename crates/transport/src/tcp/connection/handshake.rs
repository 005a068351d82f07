//! The handshake: what the two SYNs say, and how often they are sent (RFC 9293 section 3.5, RFC 6298 section 5).

use std::sync::Arc;

use units::{Duration, Ecn, Time};

use super::super::accecn::{AccEcn, Offer, ace, ace_flags, handshake_ace};
use super::super::config::{EcnMode, Settings};
use super::super::info::{Counters, State};
use super::super::segment::{Flags, Segment, SynOptions};
use super::super::send::{Agreed, echo_age, timestamp};
use super::{Connection, Transmit};

/// RFC 6298 (5.7): the time-out for data after a SYN was lost.
const RTO_AFTER_SYN_LOSS: Duration = Duration::from_secs(3);
/// Expiries of the timer for a SYN that come at the same intervals in Linux (`tcp_syn_linear_timeouts`).
const LINEAR: u32 = 4;
/// The largest window without scaling.
const UNSCALED: u64 = 65_535;
/// Bytes of the timestamps option, which the maximum segment size of a SYN does not count (RFC 6691).
const TIMESTAMPS: u32 = 12;

impl Connection {
    /// Both ends of a connection that was opened just before `now`, the end that connected first. The handshake took no
    /// time, was not sent, and gave no measurement of the round trip; with [`Settings::syn`] each end has a SYN
    /// to send.
    pub fn pair(settings: impl Into<Arc<Settings>>, now: Time, entropy: [u64; 2]) -> [Connection; 2] {
        let settings = settings.into();
        let mut ends =
            [Connection::connect(Arc::clone(&settings), now, entropy[0]), Connection::listen(settings, entropy[1])];
        for step in 0..3 {
            let [one, other] = &mut ends;
            let (from, to) = if step % 2 == 0 { (one, other) } else { (other, one) };
            let transmit = from.poll_transmit(now).expect("a handshake has three segments");
            from.handshake.sent += 1; // as after a repetition: Karn's rule keeps its time out of the estimate
            to.handle_segment(now, &transmit.segment);
        }
        for end in &mut ends {
            end.counters = Counters::default();
            if end.settings.syn {
                end.send.begin_with_syn();
                end.recv.await_syn();
            }
        }
        ends
    }

    pub(super) fn handle_syn(&mut self, now: Time, segment: &Segment) {
        if segment.flags.has(Flags::RST) || segment.flags.has(Flags::ACK) {
            return self.refuse(segment); // of nothing that was sent
        }
        let Some(options) = segment.syn else { return };
        // RFC 3168 section 6.1.1: a SYN asks with two bits; RFC 9768 section 3.1.1: with three.
        self.agree_on_marks(segment, Offer::of_syn(segment.flags));
        self.accept_options(now, segment, options);
        self.send.start_window(segment.seq, 0, segment.window);
        self.state = State::SynReceived;
        self.handshake.due = true;
        self.admit_early(now, segment, options);
    }

    pub(super) fn handle_syn_ack(&mut self, now: Time, segment: &Segment) {
        let sent = 1 + self.syn_data();
        if segment.flags.has(Flags::ACK) && !(1..=sent).contains(&segment.ack) {
            return self.refuse(segment);
        }
        if segment.flags.has(Flags::RST) {
            if segment.flags.has(Flags::ACK) {
                self.give_up();
            }
            return;
        }
        let Some(options) = segment.syn.filter(|_| segment.flags.has(Flags::ACK)) else { return };
        self.agree_on_marks(segment, Offer::of_syn_ack(segment.flags));
        self.accept_options(now, segment, options);
        self.send.start_window(segment.seq, segment.ack, segment.window);
        self.establish(now, segment);
        self.recv.acknowledge();
        self.follow_fast_open(now, segment, options);
    }

    /// The peer's SYN or SYN-ACK asks for, or agrees to, feedback of marks. An end that has
    /// asked for accurate feedback and is offered RFC 3168 only uses RFC 3168. An end without accurate feedback reads
    /// the three bits of a SYN as two.
    fn agree_on_marks(&mut self, segment: &Segment, offer: Offer) {
        self.ecn = match (self.settings.ecn, offer) {
            (EcnMode::Off, _) | (_, Offer::None) => EcnMode::Off,
            (EcnMode::Accurate, Offer::Accurate) => EcnMode::Accurate,
            (EcnMode::Accurate, Offer::Classic) => EcnMode::Classic,
            (EcnMode::Classic, _) => {
                let asks = self.state == State::Listen && segment.flags.has(Flags::CWR);
                let agrees = self.state == State::SynSent && !segment.flags.has(Flags::CWR);
                if segment.flags.has(Flags::ECE) && (asks || agrees) { EcnMode::Classic } else { EcnMode::Off }
            }
        };
        if self.ecn == EcnMode::Accurate {
            let mut feedback = AccEcn::new(segment.ecn, self.settings.ecn_option);
            feedback.handshake = Some(segment.ecn);
            self.accurate = Some(Box::new(feedback));
        }
        let marks = self.settings.congestion.entry().marks();
        self.capable = match self.ecn {
            EcnMode::Off => Ecn::NotEct,
            EcnMode::Classic => Ecn::Ect0,
            EcnMode::Accurate => marks.unwrap_or(Ecn::Ect0),
        };
        self.capable_again = self.ecn == EcnMode::Accurate && marks.is_some();
    }

    /// The bits of a SYN or SYN-ACK that ask for feedback of marks or agree to it.
    fn marks_bits(&self) -> Flags {
        if self.handshake.peer.is_some() {
            return match (self.ecn, &self.accurate) {
                (EcnMode::Off, _) => Flags::default(),
                (EcnMode::Classic, _) => Flags::ECE,
                (EcnMode::Accurate, feedback) => {
                    let echo = feedback.as_ref().and_then(|feedback| feedback.handshake).unwrap_or_default();
                    ace_flags(handshake_ace(echo))
                }
            };
        }
        // RFC 9768 section 3.1.4.1: once more after a lost SYN.
        match (self.settings.ecn, self.handshake.expiries) {
            (EcnMode::Accurate, 0 | 1) => Flags::AE | Flags::CWR | Flags::ECE,
            (EcnMode::Classic, 0) => Flags::CWR | Flags::ECE,
            _ => Flags::default(),
        }
    }

    /// The first acknowledgment of our SYN-ACK, if it is bare, echoes its ECN field (RFC 9768 section 3.2.2.1).
    pub(super) fn read_handshake_echo(&mut self, segment: &Segment) {
        if let Some(feedback) = &mut self.accurate {
            feedback.handshake = None;
            if segment.len == 0 && segment.sack.is_empty() && ace(segment.flags) == handshake_ace(Ecn::Ce) {
                self.send.on_marked_handshake();
            }
        }
    }

    /// What the two SYNs agree on.
    fn accept_options(&mut self, now: Time, segment: &Segment, options: SynOptions) {
        self.handshake.peer = Some(options);
        self.timestamps &= segment.timestamps.is_some();
        let (window, unit) = match options.window_scale {
            Some(_) => (self.settings.receive_buffer.get(), 1 << self.window_shift()),
            None => (self.settings.receive_buffer.get().min(UNSCALED), 1),
        };
        let timestamp = segment.timestamps.filter(|_| self.timestamps).map(|stamps| stamps.0);
        self.recv.open(now, (window, unit), timestamp, self.ecn == EcnMode::Classic);
    }

    /// RFC 7323 section 2.3: so many that the receive buffer fits 16 bits.
    fn window_shift(&self) -> u8 {
        let bits = u64::BITS - self.settings.receive_buffer.get().leading_zeros();
        let shift = bits.saturating_sub(16);
        shift.min(14) as u8
    }

    /// Our SYN is acknowledged by `segment`.
    pub(super) fn establish(&mut self, now: Time, segment: &Segment) {
        let Some(peer) = self.handshake.peer else { return };
        let rtt = self.handshake_rtt(now, segment);
        if std::mem::take(&mut self.handshake.early) {
            self.send.confirm(now, rtt, self.handshake.expiries > 0);
        } else {
            self.open_sender(now, segment, peer, rtt);
        }
        if self.handshake.expiries > 0 && rtt.is_none() {
            self.send.rtt().restart(RTO_AFTER_SYN_LOSS);
        }
        self.recv.establish(self.send.rtt().rto(), rtt);
        self.handshake.timer = Time::MAX;
        self.handshake.due = false;
        self.state = State::Established;
    }

    /// The time between our SYN and `segment`, which acknowledges it. Karn: which of several SYNs was answered is not
    /// known, unless by its timestamp.
    fn handshake_rtt(&self, now: Time, segment: &Segment) -> Option<Duration> {
        match self.handshake.sent {
            1 => Some(now.since(self.handshake.sent_at)),
            _ => self.handshake_echo(segment).and_then(|echo| echo_age(now, echo)),
        }
    }

    /// The timestamp that the answer to our SYN echoes, where Linux looks at it.
    fn handshake_echo(&self, segment: &Segment) -> Option<u32> {
        let looks = self.timestamps && self.settings.linux_handshake;
        segment.timestamps.map(|stamps| stamps.1).filter(|&echo| looks && echo != 0)
    }

    /// What was agreed on goes to the send half.
    pub(super) fn open_sender(&mut self, now: Time, segment: &Segment, peer: SynOptions, rtt: Option<Duration>) {
        // A segment takes up the room that the timestamps would have had, if the peer does not want them.
        let (own, options) = if self.timestamps { (self.settings.mss, TIMESTAMPS) } else { (self.advertised_mss(), 0) };
        let mss = u32::from(peer.mss).saturating_sub(options).min(own).max(1);
        // Linux takes one lost SYN for the fault of the short time-out, and none for lost that a timestamp shows to
        // have arrived.
        let forgiven = if self.settings.linux_handshake { 1 } else { 0 };
        let arrived = self.handshake_echo(segment).is_some_and(|echo| echo == self.handshake.first_stamp);
        let syn_lost = self.handshake.expiries > forgiven && !arrived;
        self.send.open(
            now,
            &Agreed {
                mss: u64::from(mss),
                sack: self.settings.sack && peer.sack_permitted,
                timestamps: self.timestamps,
                ecn: self.ecn,
                syn_marked: self.state == State::SynSent && ace(segment.flags) == handshake_ace(Ecn::Ce),
                syn_lost,
                rtt,
                una: if self.state == State::SynSent { segment.ack } else { 1 },
                syn_end: 1 + self.syn_data(),
                early: self.handshake.early,
            },
        );
    }

    /// RFC 6691: timestamps do not count.
    pub(super) fn advertised_mss(&self) -> u32 {
        self.settings.mss + if self.settings.timestamps { TIMESTAMPS } else { 0 }
    }

    pub(super) fn poll_handshake(&mut self, now: Time) -> Option<Transmit> {
        if !self.handshake.due {
            return None;
        }
        let peer = self.handshake.peer;
        let mut flags = Flags::SYN;
        if peer.is_some() {
            flags |= Flags::ACK;
        }
        flags |= self.marks_bits();
        // A SYN-ACK repeats the options that both want (RFC 7323 sections 2.2 and 3.2); its window is not scaled yet.
        let offer_scale = peer.is_none_or(|peer| peer.window_scale.is_some());
        let mut segment = self.segment(now, 0, flags);
        segment.window = self.settings.receive_buffer.get().min(UNSCALED);
        segment.syn = Some(SynOptions {
            mss: self.advertised_mss().min(65_535) as u16,
            window_scale: offer_scale.then(|| self.window_shift()),
            sack_permitted: self.settings.sack && peer.is_none_or(|peer| peer.sack_permitted),
            fast_open: None,
        });
        if self.handshake.sent == 0 {
            self.fill_fast_open(&mut segment);
        }
        if self.handshake.early {
            self.recv.on_acknowledged();
        }
        if let Some(feedback) = self.accurate.as_mut().filter(|_| peer.is_some()) {
            segment.accecn = feedback.option(segment.option_room());
        }
        if self.handshake.sent == 0 {
            self.send.start_waiting(now);
            self.handshake.first_stamp = timestamp(now);
        }
        self.handshake.due = false;
        self.handshake.sent += 1;
        self.handshake.sent_at = now;
        let linear = if self.settings.linux_handshake && peer.is_none() { LINEAR } else { 0 };
        let rto = self.settings.initial_rto * (1 << self.handshake.expiries.saturating_sub(linear).min(16));
        self.handshake.timer = now + rto.min(self.settings.max_rto);
        self.counters.segments_sent += 1;
        Some(Transmit { segment, transmission: self.handshake.sent - 1 })
    }
}
