//! The most frequent segments and their answers, by a short way (header prediction, as in kernels): data in order that
//! arrive at an end with nothing to send, and the acknowledgment that arrives at an end that receives no data.

use units::Time;

use super::super::info::{InPlace, State};
use super::super::segment::{Flags, Segment};
use super::super::send::{Ack, NextFull};
use super::Connection;

/// A segment as an end expects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Data in order, at an end with nothing to send.
    Data,
    /// An acknowledgment, or data at an end that has something to send.
    Acknowledgment,
    /// Any other.
    Other,
}

impl Connection {
    /// Takes a segment of an open connection that is expected and carries only data or only an acknowledgment. Returns
    /// whether `segment` was one. The effect is that of the general way; tests whose result is known are left out.
    #[inline]
    pub(super) fn handle_plain(&mut self, now: Time, segment: &Segment) -> bool {
        self.expects(segment) && self.take_plain(now, segment, false)
    }

    /// By which of the ways below a segment is to be answered.
    #[inline(always)]
    pub fn arrival(&self, segment: &Segment) -> Arrival {
        if !self.expects(segment) {
            Arrival::Other
        } else if segment.len > 0 && self.send.is_at_rest() && self.probes_to_acknowledge == 0 {
            Arrival::Data
        } else {
            Arrival::Acknowledgment
        }
    }

    /// Answers [`Arrival::Data`] in place of `segment`: the end acknowledges them now or later.
    #[inline(always)]
    pub fn answer_data(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        if !self.take_plain(now, segment, true) {
            return self.answer_other(now, segment);
        }
        if !self.recv.ack_due() {
            return InPlace::Nothing;
        }
        self.acknowledge(now, segment);
        InPlace::Acknowledged
    }

    /// Answers [`Arrival::Acknowledgment`] in place of `segment`.
    #[inline(always)]
    pub fn answer_ack(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        if self.take_plain(now, segment, false) {
            self.send_plain(now, segment)
        } else {
            self.answer_other(now, segment)
        }
    }

    /// Answers any segment in its place: [`Connection::handle_segment`], and the first [`Connection::poll_segment`]
    /// after it. [`Connection::send_in_place`] has what may follow.
    #[inline(never)]
    pub fn answer_other(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        self.handle_other(now, segment);
        self.poll_in_place(now, segment)
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

    /// Takes a segment that the end expects, unless what it acknowledges is not plain. `at_rest`: it is known that the
    /// end has nothing to send.
    #[inline(always)]
    fn take_plain(&mut self, now: Time, segment: &Segment, at_rest: bool) -> bool {
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
        let taken = match at_rest {
            true => self.send.handle_at_rest(now, &ack),
            false => self.send.handle_plain(now, &ack, &mut self.counters),
        };
        if !taken {
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
