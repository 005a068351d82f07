//! One end of a connection before it is opened.

use units::Time;

use super::{Act, Answer, Endpoint, Input, Payload, SendPacket, Wake};
use crate::tcp::{Counters, Info};

/// See the module. It takes up no memory.
#[derive(Debug)]
pub struct AtRest;

impl Endpoint for AtRest {
    fn act(&mut self, _now: Time, act: Act) {
        unreachable!("an application opens a connection before {act:?}");
    }

    fn handle(&mut self, _now: Time, _: Input<'_>, _: &mut Payload, _: &mut SendPacket<'_>) -> Answer {
        Answer { delivered: 0, acknowledged: 0, window: None, wake: Wake::Unchanged }
    }

    fn has_received(&self, _sequence: u64) -> bool {
        false
    }

    fn is_open(&self) -> bool {
        false
    }

    fn has_been_closed(&self) -> bool {
        false
    }

    fn has_finished(&self) -> bool {
        false
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn info(&self) -> Option<Info> {
        None
    }
}
