//! One end of a connection before it is opened.

use units::Time;

use super::{Act, Answer, Endpoint, Input, Payload, SendPacket, Wake};

/// See the module. It takes up no memory.
#[derive(Debug)]
pub(super) struct Unopened;

impl Endpoint for Unopened {
    fn act(&mut self, _now: Time, act: Act) {
        unreachable!("an application opens a connection before {act:?}");
    }

    fn handle(&mut self, _now: Time, input: Input<'_>, _: &mut Payload, _: &mut SendPacket<'_>) -> Answer {
        debug_assert!(matches!(input, Input::Acted), "both ends open at the same instant");
        Answer { delivered: 0, window: None, over: false, wake: Wake::Unchanged }
    }
}
