//! The next segment of a connection: a reset, its SYN, data or an acknowledgment.

use units::Time;

use super::super::info::{InPlace, State};
use super::super::segment::{Flags, Segment};
use super::super::send::Outgoing;
use super::prediction::Prediction;
use super::{Connection, Transmit};

impl Connection {
    /// The next segment to be sent, if any may go now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let mut segment = Segment::default();
        let sent_before = self.poll_segment(now, &mut segment)?;
        Some(Transmit { segment, sent_before })
    }

    /// As [`Connection::poll_transmit`], written in place of `segment`. Returns how often its data were sent before.
    #[inline(always)]
    pub fn poll_segment(&mut self, now: Time, segment: &mut Segment) -> Option<u32> {
        if !self.is_synchronized() {
            let polled = self.poll_unsynchronized(now, segment);
            if polled.is_some() || self.gone || !self.is_open_early() {
                return polled;
            }
        }
        // RFC 9768 section 3.2.2.1: the third segment of the handshake goes alone.
        let echoes = self.marks.accurate.as_ref().is_some_and(|feedback| feedback.handshake.is_some());
        if !(echoes || self.recv.ack_alone())
            && let Some(outgoing) = self.send.poll(now)
        {
            return Some(self.transmit(now, &outgoing, segment));
        }
        if self.recv.ack_due() {
            self.acknowledge(now, segment);
            return Some(0);
        }
        if self.probes_to_acknowledge > 0 {
            self.probes_to_acknowledge -= 1;
            self.recv.fill(now, segment, self.send.nxt(), Flags::ACK | Flags::DUMMY);
            self.counters.segments_sent += 1;
            return Some(0);
        }
        None
    }

    #[cold]
    fn poll_unsynchronized(&mut self, now: Time, segment: &mut Segment) -> Option<u32> {
        if let Some(reset) = self.reset_due.take() {
            *segment = reset.segment(now, self.send.nxt(), &self.recv);
            self.counters.segments_sent += 1;
            return Some(0);
        }
        let handshakes = matches!(self.state, State::SynSent | State::SynReceived);
        let due = self.handshake.as_ref().is_some_and(|handshake| handshake.due);
        (handshakes && due).then(|| self.write_syn(now, segment))
    }

    /// As [`Connection::poll_segment`], and whether others may follow, by [`Connection::rests`].
    #[inline(never)]
    pub(crate) fn poll_in_place(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        match self.poll_segment(now, segment) {
            None => InPlace::Nothing,
            Some(sent_before) if self.rests(now) => InPlace::One(sent_before),
            Some(sent_before) => InPlace::First(sent_before),
        }
    }

    /// Whether [`Connection::poll_transmit`] would give nothing after the segment polled last: an end that only
    /// receives has acknowledged, or the congestion window of an end that sends is full.
    #[inline(always)]
    pub fn rests(&mut self, now: Time) -> bool {
        self.state == State::Established
            && !self.recv.ack_due()
            && self.probes_to_acknowledge == 0
            && self.send.rests(now)
    }

    /// Writes the segment that the send half polled. Returns how often its data were sent before.
    #[inline(always)]
    fn transmit(&mut self, now: Time, outgoing: &Outgoing, segment: &mut Segment) -> u32 {
        self.prediction = Prediction::Unknown;
        let (seq, len, fin, sent_before, push, cwr) = match *outgoing {
            Outgoing::Data { seq, len, fin, sent_before, push, cwr } => (seq, len, fin, sent_before, push, cwr),
            Outgoing::Probe { seq } => (seq, 0, false, 0, false, false),
            Outgoing::Dummy { seq, len } => return self.low_priority_probe(now, seq, len, segment),
        };
        let mut flags = if push && len > 0 { Flags::ACK | Flags::PSH } else { Flags::ACK };
        if seq == 0 || fin || cwr {
            let syn = seq == 0 && matches!(outgoing, Outgoing::Data { .. });
            for (set, flag) in [(syn, Flags::SYN), (fin, Flags::FIN), (cwr, Flags::CWR)] {
                if set {
                    flags |= flag;
                }
            }
        }
        self.recv.fill(now, segment, seq, flags);
        segment.len = len;
        if len > 0 {
            segment.ecn = self.marks.codepoint(sent_before);
        }
        if let Some(feedback) = &mut self.marks.accurate {
            segment.flags |= feedback.on_sent(false);
        }
        self.recv.on_acknowledged();
        if len > 0 {
            self.recv.on_data_sent(now);
        }
        self.counters.segments_sent += 1;
        self.counters.data_segments_sent += u64::from(len > 0);
        self.counters.data_bytes_sent += u64::from(len);
        self.counters.retransmitted_segments += u64::from(sent_before > 0);
        if fin {
            self.follow_teardown();
        }
        sent_before
    }

    /// A dummy segment of TCP Peach: a copy of data with the flag `DUMMY`.
    #[cold]
    fn low_priority_probe(&mut self, now: Time, seq: u64, len: u32, segment: &mut Segment) -> u32 {
        self.recv.fill(now, segment, seq, Flags::ACK | Flags::DUMMY);
        segment.len = len;
        self.counters.segments_sent += 1;
        0
    }

    #[inline(always)]
    pub(super) fn acknowledge(&mut self, now: Time, segment: &mut Segment) {
        self.recv.fill(now, segment, self.send.nxt(), Flags::ACK);
        if self.send.sack() {
            self.recv.write_sack(&mut segment.sack);
        }
        if let Some(feedback) = &mut self.marks.accurate {
            segment.flags |= feedback.on_sent(segment.sack.is_empty());
            segment.accecn = feedback.option(segment.option_room());
        }
        self.recv.on_acknowledged();
        self.counters.segments_sent += 1;
    }
}
