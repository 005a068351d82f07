//! The handshake: what the two SYNs say and agree on (RFC 9293 section 3.5).

use std::sync::Arc;

use units::{Duration, Ecn, Time};

use super::super::accecn::{ace, handshake_ace};
use super::super::config::{EcnMode, TIMESTAMPS};
use super::super::info::State;
use super::super::segment::{Flags, Segment, SynOptions};
use super::super::send::{Agreed, Opening, timestamp};
use super::Connection;
use super::handshake::Handshake;
use super::marks::Marks;
use super::reset::Reset;

/// RFC 6298 (5.7): the time-out for data after a SYN was lost.
const RTO_AFTER_SYN_LOSS: Duration = Duration::from_secs(3);
/// The largest window without scaling.
const UNSCALED: u64 = 65_535;

impl Connection {
    pub(super) fn handle_syn(&mut self, now: Time, segment: &Segment) {
        if segment.flags.has(Flags::RST) || segment.flags.has(Flags::ACK) {
            self.reset(Reset::answer_to(segment)); // acknowledges nothing that was sent
            return;
        }
        let Some(options) = segment.syn else { return };
        self.marks.agree(&self.settings, segment);
        self.accept_options(now, segment, options);
        self.send.start_window(segment.seq, 0, segment.window);
        self.state = State::SynReceived;
        self.handshake().due = true;
        if self.admits_early(segment, options) {
            self.handshake().early = true;
            self.open_sender(now, segment, options, None);
            self.take_syn_data(now, segment);
        }
    }

    pub(super) fn handle_syn_ack(&mut self, now: Time, segment: &Segment) {
        let sent = 1 + self.syn_data();
        if segment.flags.has(Flags::ACK) && !(1..=sent).contains(&segment.ack) {
            self.reset(Reset::answer_to(segment));
            return;
        }
        if segment.flags.has(Flags::RST) {
            if segment.flags.has(Flags::ACK) {
                self.give_up();
            }
            return;
        }
        let Some(options) = segment.syn.filter(|_| segment.flags.has(Flags::ACK)) else { return };
        self.marks.agree(&self.settings, segment);
        self.accept_options(now, segment, options);
        self.send.start_window(segment.seq, segment.ack, segment.window);
        let retransmitted = self.handshake().sent > 1;
        self.establish(now, segment);
        self.recv.acknowledge();
        self.follow_fast_open(now, segment, options, retransmitted);
    }

    /// Takes the peer's options: both SYNs together decide on them.
    fn accept_options(&mut self, now: Time, segment: &Segment, options: SynOptions) {
        self.handshake().peer = Some(options);
        self.timestamps &= segment.timestamps.is_some();
        let (window, unit) = match options.window_scale {
            Some(_) => (self.recv.buffer(), 1 << self.window_shift()),
            None => (self.recv.buffer().min(UNSCALED), 1),
        };
        let timestamp = segment.timestamps.filter(|_| self.timestamps).map(|stamps| stamps.0);
        self.recv.open(now, (window, unit), timestamp, self.marks.mode == EcnMode::Classic);
    }

    /// RFC 7323 section 2.3: so many that the receive buffer fits 16 bits.
    fn window_shift(&self) -> u8 {
        let bits = u64::BITS - self.recv.buffer().leading_zeros();
        let shift = bits.saturating_sub(16);
        shift.min(14) as u8
    }

    /// Our SYN is acknowledged by `segment`.
    pub(super) fn establish(&mut self, now: Time, segment: &Segment) {
        let echo = self.handshake_echo(segment);
        let Handshake { peer: Some(peer), early, expiries, .. } = *self.handshake() else { return };
        let rtt = self.handshake().rtt(now, echo);
        if early {
            self.send.confirm(now, rtt, expiries > 0);
        } else {
            self.open_sender(now, segment, peer, rtt);
        }
        if expiries > 0 && rtt.is_none() {
            self.send.rtt().restart(RTO_AFTER_SYN_LOSS);
        }
        self.recv.establish(self.send.rtt().rto(), rtt);
        self.handshake = None;
        self.state = State::Established;
    }

    /// The timestamp that the answer to our SYN echoes, where Linux looks at it.
    fn handshake_echo(&self, segment: &Segment) -> Option<u32> {
        let looks = self.timestamps && self.settings.linux_handshake;
        segment.timestamps.map(|stamps| stamps.1).filter(|&echo| looks && echo != 0)
    }

    /// Hands the options that both SYNs agreed on to the send half.
    fn open_sender(&mut self, now: Time, segment: &Segment, peer: SynOptions, rtt: Option<Duration>) {
        // A segment takes up the room that the timestamps would have had, if the peer does not want them.
        let (own, options) =
            if self.timestamps { (self.settings.mss, TIMESTAMPS) } else { (self.settings.advertised_mss(), 0) };
        let mss = u32::from(peer.mss).saturating_sub(options).min(own).max(1);
        let (echo, handshake) = (self.handshake_echo(segment), *self.handshake());
        self.send.open(
            now,
            &Opening {
                agreed: Agreed {
                    mss: u64::from(mss),
                    sack: self.settings.sack && peer.sack_permitted,
                    timestamps: self.timestamps,
                    ecn: self.marks.mode,
                    early: handshake.early,
                },
                syn_marked: self.state == State::SynSent && ace(segment.flags) == handshake_ace(Ecn::Ce),
                syn_lost: handshake.lost(&self.settings, echo),
                rtt,
                una: if self.state == State::SynSent { segment.ack } else { 1 },
                syn_end: 1 + self.syn_data(),
            },
        );
    }

    /// Writes our SYN or SYN-ACK. Returns how often it was sent before.
    pub(super) fn write_syn(&mut self, now: Time, segment: &mut Segment) -> u32 {
        let Handshake { peer, expiries, sent, early, .. } = *self.handshake();
        let flags = match peer {
            None => Flags::SYN | Marks::of_syn(self.settings.ecn, expiries),
            Some(_) => Flags::SYN | Flags::ACK | self.marks.of_syn_ack(),
        };
        // A SYN-ACK repeats the options that both want (RFC 7323 sections 2.2 and 3.2); its window is not scaled yet.
        let offer_scale = peer.is_none_or(|peer| peer.window_scale.is_some());
        self.recv.fill(now, segment, 0, flags);
        // What came with the peer's SYN may be in the buffer still.
        segment.window = (self.recv.buffer() - self.recv.readable()).min(UNSCALED);
        segment.timestamps = self.timestamps.then(|| (timestamp(now), self.recv.echo()));
        segment.syn = Some(SynOptions {
            mss: self.settings.advertised_mss().min(65_535) as u16,
            window_scale: offer_scale.then(|| self.window_shift()),
            sack_permitted: self.settings.sack && peer.is_none_or(|peer| peer.sack_permitted),
            fast_open: None,
        });
        if sent == 0 {
            self.fill_fast_open(segment);
            self.send.start_waiting(now);
        }
        if early {
            self.recv.on_acknowledged();
        }
        if let Some(feedback) = self.marks.accurate.as_mut().filter(|_| peer.is_some()) {
            segment.accecn = feedback.option(segment.option_room());
        }
        let settings = Arc::clone(&self.settings);
        self.handshake().on_sent(now, &settings);
        self.counters.segments_sent += 1;
        sent
    }
}
