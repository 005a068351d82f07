//! The receive half's part of header prediction: the next segment in order, and one that lengthens what has arrived
//! beyond a hole.

use units::{Ecn, Time};

use super::{Due, NO_FIN, Receiver};
use crate::tcp::segment::{Segment, is_before};

impl Receiver {
    /// Whether nothing is missing, and the application reads at once.
    #[inline]
    pub(in crate::tcp) fn lacks_nothing(&self) -> bool {
        let nothing_beyond = self.beyond.as_ref().is_none_or(|beyond| beyond.is_empty() && !beyond.has_duplicate());
        nothing_beyond && self.fin == NO_FIN && self.read.is_none()
    }

    /// Whether data are missing before what has arrived, no FIN among it, and the application reads at once.
    #[inline]
    pub(in crate::tcp) fn lacks_data(&self) -> bool {
        !self.is_gapless() && self.fin == NO_FIN && self.read.is_none()
    }

    /// Whether a segment with no flags but ACK and PSH is the next one, where it [`Receiver::lacks_nothing`]: its
    /// timestamp is no older than the last, and its data lie unmarked in the window.
    #[inline(always)]
    pub(in crate::tcp) fn expects(&self, segment: &Segment) -> bool {
        debug_assert!(self.lacks_nothing());
        segment.seq == self.next
            && self.is_new_and_unmarked(segment)
            && u64::from(segment.len) <= self.buffer & self.scale
    }

    /// Whether the data of a segment with no flags but ACK and PSH only lengthen the last range beyond a hole, which is
    /// the one reported first, where it [`Receiver::lacks_data`]; otherwise as [`Receiver::expects`].
    #[inline(always)]
    pub(in crate::tcp) fn expects_beyond(&self, segment: &Segment) -> bool {
        debug_assert!(self.lacks_data());
        segment.len > 0
            && self.beyond.as_ref().is_some_and(|beyond| beyond.ends_at(segment.seq))
            && self.is_new_and_unmarked(segment)
            && segment.seq + u64::from(segment.len) <= self.next + (self.buffer & self.scale)
    }

    #[inline(always)]
    fn is_new_and_unmarked(&self, segment: &Segment) -> bool {
        let in_order = match (segment.timestamps, self.ts_recent) {
            (Some((value, _)), Some((recent, _))) => !is_before(value, recent),
            _ => true,
        };
        in_order && !(self.ecn && segment.ecn == Ecn::Ce)
    }

    /// Takes a segment that [`Receiver::expects`], as [`Receiver::accepts`] and [`Receiver::handle_data`] do.
    #[inline(always)]
    pub(in crate::tcp) fn take(&mut self, now: Time, segment: &Segment) {
        if let (Some((value, _)), Some(recent)) = (segment.timestamps, &mut self.ts_recent)
            && segment.seq <= self.acked
        {
            *recent = (value, now);
        }
        if segment.len > 0 {
            self.full = self.full.max(segment.len);
            if self.quick_acks > 0 {
                self.note_arrival(now, segment);
            }
            self.next += u64::from(segment.len);
            self.acknowledge_in_order(now);
        }
    }

    /// Takes a segment that it [`Receiver::expects_beyond`], as [`Receiver::accepts`] and [`Receiver::handle_data`] do.
    #[inline(always)]
    pub(in crate::tcp) fn take_beyond(&mut self, segment: &Segment) {
        debug_assert!(segment.seq > self.acked, "its timestamp is not the one to echo");
        self.full = self.full.max(segment.len);
        if let Some(beyond) = &mut self.beyond {
            beyond.lengthen(u64::from(segment.len));
        }
        self.due = Due::Alone;
    }
}
