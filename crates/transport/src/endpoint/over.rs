//! One end of a connection that is over.

use units::Time;

use super::{Act, Answer, Endpoint, Input, Payload, SendPacket};
use crate::quic::Lifetime;
use crate::tcp::Counters;

/// See the module. It keeps what is asked of an end after a run.
#[derive(Debug)]
pub(super) struct Over {
    pub(super) counters: Counters,
    /// The data at sequences before this have arrived, and no others.
    pub(super) received: u64,
    pub(super) opened: bool,
    pub(super) closed: bool,
    pub(super) finished: bool,
    pub(super) lifetime: Option<Box<Lifetime>>,
}

impl Endpoint for Over {
    fn act(&mut self, _now: Time, act: Act) {
        unreachable!("an application that does nothing more does {act:?}");
    }

    fn handle(&mut self, _now: Time, input: Input<'_>, _: &mut Payload, _: &mut SendPacket<'_>) -> Answer {
        unreachable!("a connection that is over gets {input:?}");
    }

    /// Whatever this end was to be woken for, it is not due any more.
    fn postpone(&mut self, _now: Time) -> Option<Time> {
        Some(Time::MAX)
    }

    fn acknowledged_bytes(&self) -> u64 {
        self.counters.bytes_acked
    }

    fn has_received(&self, sequence: u64) -> bool {
        sequence < self.received
    }

    fn is_open(&self) -> bool {
        self.opened
    }

    fn has_been_closed(&self) -> bool {
        self.closed
    }

    fn has_finished(&self) -> bool {
        self.finished
    }

    fn lifetime(&self) -> Option<&Lifetime> {
        self.lifetime.as_deref()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
