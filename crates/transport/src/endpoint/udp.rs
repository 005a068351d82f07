//! Datagrams as one end of a flow.

use std::sync::Arc;

use units::Time;

use super::{Act, Answer, Endpoint, Input, Kind, Payload, Service, Transport, Wake};
use crate::tcp::{Counters, Info};
pub use crate::udp::UdpConfig;
use crate::udp::UdpSender;

impl Kind for UdpConfig {
    fn services(&self) -> &'static [Service] {
        &[Service::Datagrams]
    }

    fn build(&self, _default_packet: u32) -> Arc<dyn Transport> {
        Arc::new(self.clone())
    }
}

impl Transport for UdpConfig {
    fn end(&self, _entropy: u64, _holds_reads: bool) -> Box<dyn Endpoint> {
        Box::new(UdpEnd::default())
    }
}

/// One end of a flow of datagrams.
#[derive(Debug, Default)]
pub struct UdpEnd {
    sender: UdpSender,
    /// Payload bytes that have arrived.
    delivered: u64,
    finished: bool,
}

impl Endpoint for UdpEnd {
    fn act(&mut self, _now: Time, act: Act) {
        match act {
            Act::Write(bytes) => self.sender.write(bytes),
            Act::Close => self.finished = true,
            // Nothing is opened, everything that arrives is read, and a scenario refuses endless data.
            Act::Open
            | Act::Accept
            | Act::WriteForEver
            | Act::WriteStream { .. }
            | Act::Read(_)
            | Act::Offer { .. } => {}
        }
    }

    fn handle(&mut self, _now: Time, input: Input<'_>, send: &mut dyn FnMut(&Payload, u32)) -> Answer {
        match input {
            Input::Packet(Payload::Udp(datagram)) => self.delivered += u64::from(datagram.len),
            Input::Packet(_) => unreachable!("a packet of another transport"),
            Input::Timeout | Input::Acted => {}
        }
        while let Some(datagram) = self.sender.poll_transmit() {
            send(&Payload::Udp(datagram), 0);
        }
        Answer { delivered: self.delivered, acknowledged: 0, window: None, wake: Wake::Unchanged }
    }

    fn has_received(&self, _sequence: u64) -> bool {
        false // a number arrives once at most: nothing is sent again
    }

    fn is_open(&self) -> bool {
        false
    }

    fn has_been_closed(&self) -> bool {
        false
    }

    fn has_finished(&self) -> bool {
        self.finished
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn info(&self) -> Option<Info> {
        None
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;

    #[test]
    fn an_end_sends_what_was_written_and_counts_what_arrives() {
        let (mut server, mut user) = (UdpEnd::default(), UdpEnd::default());
        let mut sent = Vec::new();
        server.act(Time::ZERO, Act::Write(Bytes::new(172)));
        server.act(Time::ZERO, Act::Write(Bytes::new(20)));
        server.act(Time::ZERO, Act::Close);
        server.handle(Time::ZERO, Input::Acted, &mut |payload, copy| sent.push((payload.clone(), copy)));
        assert_eq!(
            sent.iter().map(|(payload, copy)| (payload.wire_bytes(), *copy)).collect::<Vec<_>>(),
            [(200, 0), (48, 0)]
        );
        let answers =
            sent.iter().map(|(payload, _)| user.handle(Time::ZERO, Input::Packet(payload), &mut |_, _| panic!()));
        assert_eq!(answers.map(|answer| answer.delivered).collect::<Vec<_>>(), [172, 192]);
        assert!(server.has_finished() && !user.has_finished());
    }
}
