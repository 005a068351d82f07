//! A reset that is to be sent (RFC 9293 section 3.5.2).

use units::Time;

use super::super::recv::Receiver;
use super::super::segment::{Flags, Segment};

/// Why, and with which offsets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reset {
    /// The application ends the connection.
    Abort,
    /// The answer to a segment that belongs to no connection: `seq` is the offset that the segment acknowledges; if it
    /// acknowledges none, `ack` is the offset after it.
    To { seq: u64, ack: Option<u64> },
}

impl Reset {
    /// The answer to a segment that belongs to no connection. A reset is not answered.
    #[cold]
    pub fn answer_to(segment: &Segment) -> Option<Reset> {
        match segment.flags {
            flags if flags.has(Flags::RST) => None,
            flags if flags.has(Flags::ACK) => Some(Reset::To { seq: segment.ack, ack: None }),
            _ => Some(Reset::To { seq: 0, ack: Some(segment.end()) }),
        }
    }

    /// The reset of an end whose next offset is `nxt`.
    pub fn segment(self, now: Time, nxt: u64, recv: &Receiver) -> Segment {
        let mut segment = Segment::default();
        match self {
            Reset::Abort => recv.fill(now, &mut segment, nxt, Flags::RST | Flags::ACK),
            Reset::To { seq, ack: None } => (segment.seq, segment.flags) = (seq, Flags::RST),
            Reset::To { seq, ack: Some(ack) } => {
                (segment.seq, segment.ack, segment.flags) = (seq, ack, Flags::RST | Flags::ACK);
            }
        }
        segment
    }
}
