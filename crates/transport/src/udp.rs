//! The user datagram protocol (RFC 768): what is written goes out at once, and nobody hears whether it arrived.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, IPV4_UDP_HEADER_BYTES, Time};

use crate::endpoint::{Act, Answer, Endpoint, Input, Payload, Wake};
use crate::tcp::{Counters, Info};

/// UDP: each write of the application is one datagram, sent at once and never again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UdpConfig {}

/// A datagram without its payload's bytes, which no model looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Datagrams that the sender sent before it: what an application like RTP would number.
    pub number: u64,
    /// Bytes of payload.
    pub len: u32,
}

impl Datagram {
    /// Bytes of the whole IP packet.
    #[inline]
    pub fn wire_bytes(&self) -> u32 {
        IPV4_UDP_HEADER_BYTES + self.len
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
            Act::Open | Act::Accept | Act::WriteForEver | Act::Read(_) => {}
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

/// The sending half.
#[derive(Debug, Default)]
pub struct UdpSender {
    written: VecDeque<u32>,
    next: u64,
}

impl UdpSender {
    /// Hands over a datagram.
    ///
    /// # Panics
    /// If it is longer than an IP packet can be.
    pub fn write(&mut self, payload: Bytes) {
        let len = u32::try_from(payload.get()).ok().filter(|len| len + IPV4_UDP_HEADER_BYTES <= u32::from(u16::MAX));
        self.written.push_back(len.expect("no longer than a packet"));
    }

    /// The next datagram to be sent.
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Datagram> {
        let len = self.written.pop_front()?;
        self.next += 1;
        Some(Datagram { number: self.next - 1, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_write_is_a_datagram_with_a_number_of_its_own() {
        let mut sender = UdpSender::default();
        sender.write(Bytes::new(172));
        sender.write(Bytes::new(0));
        let sent: Vec<_> = std::iter::from_fn(|| sender.poll_transmit()).collect();
        assert_eq!(sent, [Datagram { number: 0, len: 172 }, Datagram { number: 1, len: 0 }]);
        assert_eq!(sent[0].wire_bytes(), 200);
    }

    #[test]
    fn an_end_sends_what_was_written_and_counts_what_arrives() {
        let (mut server, mut user) = (UdpEnd::default(), UdpEnd::default());
        let mut sent = Vec::new();
        server.act(Time::ZERO, Act::Write(Bytes::new(172)));
        server.act(Time::ZERO, Act::Write(Bytes::new(20)));
        server.act(Time::ZERO, Act::Close);
        server.handle(Time::ZERO, Input::Acted, &mut |payload, copy| sent.push((*payload, copy)));
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
