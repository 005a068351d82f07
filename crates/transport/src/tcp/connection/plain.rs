//! The segments that almost all are: the one that comes in order to an end with nothing to send, and the acknowledgment
//! of one that receives nothing (header prediction, as kernels have it).

use units::Time;

use super::super::info::State;
use super::super::segment::Segment;
use super::super::send::Ack;
use super::Connection;

impl Connection {
    /// Takes a segment of an open connection that is the one expected and says nothing else. Whether it was one: what
    /// is done with it is what is done with any other, less the questions whose answer is known.
    #[inline]
    pub(super) fn handle_plain(&mut self, now: Time, segment: &Segment) -> bool {
        if self.state != State::Established
            || self.abandoned
            || !segment.is_plain()
            || self.accurate.is_some()
            || !self.recv.expects(segment)
        {
            return false;
        }
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
        true
    }
}
