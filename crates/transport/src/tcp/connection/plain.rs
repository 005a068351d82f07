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

    /// As [`Connection::handle_plain`], with the answer in place of `segment`; `None` if it was not one.
    #[inline(always)]
    pub(super) fn answer_plain(&mut self, now: Time, segment: &mut Segment) -> Option<InPlace> {
        if !self.expects(segment) {
            None
        } else if segment.len > 0 && self.send.is_at_rest() && self.probes_to_acknowledge == 0 {
            self.answer_data(now, segment)
        } else {
            self.take_plain(now, segment).then(|| self.send_plain(now, segment))
        }
    }

    /// Data arrive at an end with nothing to send. The end acknowledges them now or later.
    #[inline(always)]
    fn answer_data(&mut self, now: Time, segment: &mut Segment) -> Option<InPlace> {
        if !self.take_plain(now, segment) {
            return None;
        }
        if !self.recv.ack_due() {
            return Some(InPlace::Nothing);
        }
        self.acknowledge(now, segment);
        Some(InPlace::Acknowledged)
    }

    /// Writes the next segment, if any may go now, in place of `segment`.
    #[inline(always)]
    pub fn send_in_place(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        match self.marks.accurate {
            None => self.send_plain(now, segment),
            Some(_) => self.poll_in_place(now, segment),
        }
    }

    /// The same without accurate ECN.
    #[inline(always)]
    fn send_plain(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        if self.state == State::Established && !self.recv.ack_due() && self.probes_to_acknowledge == 0 {
            match self.send.next_full(now) {
                NextFull::Unknown => {}
                NextFull::Waits => return InPlace::Nothing,
                NextFull::Goes { seq, push, last } => {
                    self.write_full(now, segment, seq, push);
                    return if last { InPlace::One(0) } else { InPlace::First(0) };
                }
            }
        }
        self.poll_in_place(now, segment)
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

    /// Writes a full segment of new data, without a FIN, CWR or the counts of accurate ECN.
    #[inline(always)]
    fn write_full(&mut self, now: Time, segment: &mut Segment, seq: u64, push: bool) {
        self.recv.fill(now, segment, seq, if push { Flags::ACK | Flags::PSH } else { Flags::ACK });
        segment.len = self.send.mss();
        segment.ecn = self.marks.codepoint(0);
        self.on_sent(now, segment.len);
    }
}
