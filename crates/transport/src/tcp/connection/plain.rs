//! The most frequent segments and their answers, by a short way (header prediction, as in kernels): data in order, or
//! behind those that arrived last, at an end with nothing to send, and the acknowledgment at an end that receives no
//! data.

use units::Time;

use super::super::info::{Arrival, InPlace, State};
use super::super::segment::{Flags, Segment};
use super::super::send::{Ack, Full, NextFull};
use super::Connection;
use super::prediction::Prediction;

impl Connection {
    /// Takes a segment of an open connection that is expected and carries only data or only an acknowledgment. Returns
    /// whether `segment` was one. The effect is that of the general way; tests whose result is known are left out.
    #[inline]
    pub(super) fn handle_plain(&mut self, now: Time, segment: &Segment) -> bool {
        self.predict();
        if self.expects(segment) {
            self.take_plain(now, segment)
        } else {
            self.expects_beyond(segment) && self.take_beyond(now, segment)
        }
    }

    /// Returns how a segment is to be answered.
    #[inline(always)]
    pub(crate) fn arrival(&self, segment: &Segment) -> Arrival {
        if !self.expects(segment) {
            Arrival::Other
        } else if segment.len > 0 && self.prediction == Prediction::Data {
            Arrival::Data
        } else {
            Arrival::Acknowledgment
        }
    }

    /// Takes [`Arrival::Data`], unless what it acknowledges is not plain. Returns whether it did.
    #[inline(always)]
    pub(super) fn take_at_rest(&mut self, now: Time, segment: &Segment) -> bool {
        debug_assert_eq!(self.prediction, Prediction::Data);
        let taken = self.send.handle_at_rest(now, &self.acknowledgment(segment));
        if taken {
            self.take(now, segment);
        }
        taken
    }

    /// Whether `segment` is one of those that are predicted beyond a hole.
    #[inline]
    pub(crate) fn expects_beyond(&self, segment: &Segment) -> bool {
        self.prediction == Prediction::Beyond && segment.is_plain() && self.recv.expects_beyond(segment)
    }

    /// Takes a segment that the end [`Connection::expects_beyond`], unless what it acknowledges is not plain. Returns
    /// whether it did.
    #[inline(always)]
    pub(super) fn take_beyond(&mut self, now: Time, segment: &Segment) -> bool {
        debug_assert_eq!(self.prediction, Prediction::Beyond);
        let taken = self.send.handle_at_rest(now, &self.acknowledgment(segment));
        if taken {
            self.recv.take_beyond(segment);
            self.counters.segments_received += 1;
        }
        taken
    }

    /// As [`Connection::acknowledge`], of data beyond a hole, without accurate ECN and where the application reads at
    /// once.
    #[inline(always)]
    pub(super) fn acknowledge_beyond_in_place(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        debug_assert!(self.send.is_at_rest());
        self.recv.fill_plain(now, segment, self.send.nxt(), Flags::ACK);
        if self.send.sack() {
            self.recv.write_sack(&mut segment.sack);
        }
        self.recv.on_acknowledged();
        self.counters.segments_sent += 1;
        InPlace::Acknowledged
    }

    /// Acknowledges data that an end with nothing to send has taken, now or later.
    #[inline(always)]
    pub(super) fn acknowledge_in_place(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        if !self.recv.ack_due() {
            return InPlace::Nothing;
        }
        self.recv.fill_plain(now, segment, self.send.nxt(), Flags::ACK);
        self.recv.on_plainly_acknowledged();
        self.counters.segments_sent += 1;
        InPlace::Acknowledged
    }

    /// Writes the next segment, if any may go now, in place of `segment`.
    #[inline(always)]
    pub(crate) fn send_in_place(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        match self.send_full(now) {
            NextFull::Unknown => self.poll_in_place(now, segment),
            NextFull::Waits => InPlace::Nothing,
            NextFull::Goes(full) => {
                segment.forget_syn();
                self.write_full(now, segment, full);
                if full.last { InPlace::One(0) } else { InPlace::First(0) }
            }
        }
    }

    /// Sends the next full segment of new data, if nothing but the windows decides that it goes now:
    /// [`Connection::write_full`] must write it.
    #[inline(always)]
    pub(crate) fn send_full(&mut self, now: Time) -> NextFull {
        if self.prediction != Prediction::Acknowledgments || self.recv.ack_due() {
            return NextFull::Unknown;
        }
        self.send.send_full(now)
    }

    /// Whether `segment` is one of those that are predicted in order.
    #[inline(always)]
    fn expects(&self, segment: &Segment) -> bool {
        debug_assert!(match self.prediction {
            Prediction::Unknown => true,
            Prediction::Beyond => self.expected() == Prediction::Beyond,
            Prediction::Data => self.expected() == Prediction::Data,
            // It may have come to rest meanwhile, which makes data the general way's.
            Prediction::Acknowledgments => self.expected() != Prediction::Unknown && self.send.is_plain(),
        });
        self.prediction >= Prediction::Data && segment.is_plain() && self.recv.expects(segment)
    }

    /// Finds out which segments are plain, if that is not known. Returns whether this call found it out.
    #[inline]
    pub(crate) fn predict(&mut self) -> bool {
        if self.prediction != Prediction::Unknown {
            return false;
        }
        self.prediction = self.expected();
        self.prediction != Prediction::Unknown
    }

    /// Returns which segments are plain at an end in this state.
    #[inline(never)]
    fn expected(&self) -> Prediction {
        let open = self.state == State::Established && !self.abandoned && self.probes_to_acknowledge == 0;
        if !open || self.goes_generally || self.marks.accurate.is_some() {
            Prediction::Unknown
        } else if !self.recv.lacks_nothing() {
            let beyond = self.recv.lacks_data() && self.send.is_at_rest();
            if beyond { Prediction::Beyond } else { Prediction::Unknown }
        } else if self.send.is_at_rest() {
            Prediction::Data
        } else if self.send.is_plain() {
            Prediction::Acknowledgments
        } else {
            Prediction::Unknown
        }
    }

    /// Takes a segment that the end expects, unless what it acknowledges is not plain. Returns whether it did.
    #[inline(always)]
    pub(crate) fn take_plain(&mut self, now: Time, segment: &Segment) -> bool {
        let ack = self.acknowledgment(segment);
        let taken = match self.prediction {
            Prediction::Acknowledgments => self.send.handle_plain(now, &ack, &mut self.counters),
            _ => self.send.handle_at_rest(now, &ack),
        };
        if taken {
            self.take(now, segment);
        }
        taken
    }

    /// Returns what an expected segment acknowledges.
    #[inline(always)]
    fn acknowledgment<'a>(&self, segment: &'a Segment) -> Ack<'a> {
        Ack {
            seq: segment.seq,
            ack: segment.ack,
            window: segment.window,
            sack: &segment.sack,
            echo: segment.timestamps.map(|stamps| stamps.1).filter(|_| self.timestamps),
            bare: segment.len == 0,
            ece: false,
            marks: None,
        }
    }

    /// Takes the rest of an expected segment.
    #[inline(always)]
    fn take(&mut self, now: Time, segment: &Segment) {
        self.recv.take(now, segment);
        self.counters.segments_received += 1;
    }

    /// Writes a full segment of new data, without a FIN, CWR or the counts of accurate ECN, in place of one without a
    /// SYN.
    #[inline(always)]
    pub(crate) fn write_full(&mut self, now: Time, segment: &mut Segment, Full { seq, push, .. }: Full) {
        self.recv.fill_plain(now, segment, seq, if push { Flags::ACK | Flags::PSH } else { Flags::ACK });
        segment.len = self.send.mss();
        segment.ecn = self.marks.codepoint(0);
        self.recv.on_plainly_acknowledged();
        self.recv.on_data_sent(now);
        self.counters.segments_sent += 1;
        self.counters.data_segments_sent += 1;
        self.counters.data_bytes_sent += u64::from(segment.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::TcpConfig;

    /// Data behind those that arrived beyond a hole are expected there; what fills the hole is not.
    #[test]
    fn data_beyond_a_hole_are_expected() {
        let now = Time::ZERO;
        let [mut end, _] = Connection::pair(TcpConfig::default().resolve(1500), now, [1, 2]);
        let data = |seq| Segment { seq, ack: 1, window: 1 << 16, len: 100, flags: Flags::ACK, ..Segment::default() };
        let mut take = |seq| {
            end.predict();
            let expected = (end.prediction, end.expects(&data(seq)) || end.expects_beyond(&data(seq)));
            end.handle_segment(now, &data(seq));
            while end.poll_transmit(now).is_some() {}
            expected
        };
        assert_eq!(take(1), (Prediction::Data, true));
        assert_eq!(take(301), (Prediction::Data, false));
        assert_eq!(take(401), (Prediction::Beyond, true));
        assert_eq!(take(501), (Prediction::Beyond, true));
        assert_eq!(take(801), (Prediction::Beyond, false), "another hole");
        assert_eq!(take(901), (Prediction::Beyond, true));
        assert_eq!(take(601), (Prediction::Beyond, false), "behind what is reported second");
        assert_eq!(take(101), (Prediction::Beyond, false), "in order");
        assert_eq!(take(201), (Prediction::Beyond, false));
        assert_eq!(take(701), (Prediction::Beyond, false));
        assert_eq!(take(1001), (Prediction::Data, true));
    }
}
