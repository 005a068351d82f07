//! Resets (RFC 9293 section 3.5.2).

use units::Time;

use super::super::segment::{Flags, Segment};
use super::{Connection, Reset, Transmit};

impl Connection {
    /// Answers a segment that belongs to no connection by a reset (RFC 9293 section 3.5.2). A reset is not answered.
    #[cold]
    pub(super) fn refuse(&mut self, segment: &Segment) {
        let flags = segment.flags;
        self.reset_due = match () {
            () if flags.has(Flags::RST) => None,
            () if flags.has(Flags::ACK) => Some(Reset::To { seq: segment.ack, ack: None }),
            () => Some(Reset::To { seq: 0, ack: Some(segment.end()) }),
        };
    }

    pub(super) fn poll_reset(&mut self, now: Time) -> Option<Transmit> {
        let segment = match self.reset_due.take()? {
            Reset::Abort => self.segment(now, self.send.nxt(), Flags::RST | Flags::ACK),
            Reset::To { seq, ack: None } => Segment { seq, flags: Flags::RST, ..Segment::default() },
            Reset::To { seq, ack: Some(ack) } => {
                Segment { seq, ack, flags: Flags::RST | Flags::ACK, ..Segment::default() }
            }
        };
        self.counters.segments_sent += 1;
        Some(Transmit { segment, transmission: 0 })
    }
}
