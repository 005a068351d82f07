//! The most frequent segments and their answers, by a short way (header prediction, as in kernels): data in order that
//! arrive at an end with nothing to send, and the acknowledgment that arrives at an end that receives no data.

use units::Time;

use super::super::info::{InPlace, State};
use super::super::segment::{Flags, Segment};
use super::super::send::{Ack, NextFull};
use super::Connection;

impl Connection {
    /// Takes a segment of an open connection that is expected and carries only data or only an acknowledgment. Returns
    /// whether `segment` was one. The effect is that of the general way; tests whose result is known are left out.
    #[inline]
    pub(super) fn handle_plain(&mut self, now: Time, segment: &Segment) -> bool {
        self.expects(segment) && self.take_plain(now, segment)
    }

    /// As [`Connection::handle_segment`] and the first [`Connection::poll_segment`] after it, for these segments. The
    /// answer overwrites `segment`.
    #[inline]
    pub fn answer(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        if !self.expects(segment) {
            InPlace::Refused
        } else if segment.len > 0 {
            self.answer_data(now, segment)
        } else {
            self.answer_acknowledgment(now, segment)
        }
    }

    #[inline(always)]
    fn expects(&self, segment: &Segment) -> bool {
        self.state == State::Established
            && !self.abandoned
            && segment.is_plain()
            && self.marks.accurate.is_none()
            && self.recv.expects(segment)
    }

    #[inline(always)]
    fn take_plain(&mut self, now: Time, segment: &Segment) -> bool {
        let ack = Ack {
            seq: segment.seq,
            ack: segment.ack,
            window: segment.window,
            sack: &segment.sack,
            echo: segment.timestamps.map(|stamps| stamps.1).filter(|_| self.timestamps),
            bare: segment.len == 0,
            ece: false,
            marks: None,
        };
        if !self.send.handle_plain(now, &ack, &mut self.counters) {
            return false;
        }
        self.recv.take(now, segment);
        self.counters.segments_received += 1;
        true
    }

    /// Data arrive at an end with nothing to send. The end acknowledges them now or later.
    #[inline(always)]
    fn answer_data(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        if !self.send.is_at_rest() || self.probes_to_acknowledge > 0 || !self.take_plain(now, segment) {
            return InPlace::Refused;
        }
        if !self.recv.ack_due() {
            return InPlace::Nothing;
        }
        self.acknowledge(now, segment);
        InPlace::Acknowledged
    }

    /// An acknowledgment arrives. The end may send new data.
    #[inline(always)]
    fn answer_acknowledgment(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        if !self.take_plain(now, segment) {
            return InPlace::Refused;
        }
        match self.answer_further(now, segment) {
            InPlace::Refused => {}
            answered => return answered,
        }
        match self.poll_segment(now, segment) {
            None => InPlace::Nothing,
            Some(sent_before) if self.rests(now) => InPlace::One(sent_before),
            Some(sent_before) => InPlace::First(sent_before),
        }
    }

    /// Writes the next segment, if it is a full one of new data. [`InPlace::Nothing`] if new data wait to fill one.
    #[inline(always)]
    pub fn answer_further(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        if self.state != State::Established || self.recv.ack_due() || self.probes_to_acknowledge > 0 {
            return InPlace::Refused;
        }
        match self.send.next_full(now) {
            NextFull::Unknown => InPlace::Refused,
            NextFull::Waits => InPlace::Nothing,
            NextFull::Goes { seq, push, last } => {
                self.write_full(now, segment, seq, push);
                if last { InPlace::One(0) } else { InPlace::First(0) }
            }
        }
    }

    /// Writes a full segment of new data, as [`Connection::transmit`].
    #[inline(always)]
    fn write_full(&mut self, now: Time, segment: &mut Segment, seq: u64, push: bool) {
        self.recv.fill(now, segment, seq, if push { Flags::ACK | Flags::PSH } else { Flags::ACK });
        segment.len = self.send.mss();
        segment.ecn = self.marks.codepoint(0);
        self.on_sent(now, segment.len);
    }
}
