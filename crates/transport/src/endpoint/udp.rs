//! Datagrams as one end of a flow.

use std::sync::Arc;

use units::{Bytes, Time};

use super::{Act, Answer, Endpoint, Input, Kind, Payload, SendPacket, Service, Transport, Wake};
use crate::tcp::{Counters, Info};
pub use crate::udp::UdpConfig;
use crate::udp::{Datagram, UdpSender};

impl Kind for UdpConfig {
    fn services(&self) -> &'static [Service] {
        &[Service::Datagrams]
    }

    fn build(&self, _default_packet: u32) -> Arc<dyn Transport> {
        Arc::new(self.clone())
    }
}

impl Transport for UdpConfig {
    fn answers(&self) -> bool {
        false
    }

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

    fn handle(&mut self, _now: Time, input: Input<'_>, blank: &mut Box<Payload>, send: &mut SendPacket<'_>) -> Answer {
        match input {
            Input::Packet(Payload::Udp(datagram)) => self.delivered += u64::from(datagram.len),
            Input::Packet(_) => unreachable!("a packet of another transport"),
            Input::Timeout | Input::Acted => {}
        }
        while let Some(datagram) = self.sender.poll_transmit() {
            **blank = Payload::Udp(datagram);
            send(blank, 0);
        }
        Answer { delivered: self.delivered, acknowledged: 0, window: None, wake: Wake::Unchanged }
    }

    fn write_datagram(&mut self, bytes: Bytes) -> Option<Datagram> {
        self.sender.send_now(bytes)
    }

    fn take_datagram(&mut self, datagram: &Datagram) -> Option<u64> {
        if !self.sender.is_idle() {
            return None;
        }
        self.delivered += u64::from(datagram.len);
        Some(self.delivered)
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
    use super::*;
    use crate::tcp::Segment;

    #[test]
    fn an_end_sends_what_was_written_and_counts_what_arrives() {
        let (mut server, mut user) = (UdpEnd::default(), UdpEnd::default());
        let mut sent = Vec::new();
        server.act(Time::ZERO, Act::Write(Bytes::new(172)));
        server.act(Time::ZERO, Act::Write(Bytes::new(20)));
        server.act(Time::ZERO, Act::Close);
        let mut blank = Box::new(Payload::Tcp(Segment::default()));
        let mut send = |payload: &mut Box<Payload>, copy| sent.push((payload.clone(), copy));
        server.handle(Time::ZERO, Input::Acted, &mut blank, &mut send);
        assert_eq!(
            sent.iter().map(|(payload, copy)| (payload.wire_bytes(), *copy)).collect::<Vec<_>>(),
            [(200, 0), (48, 0)]
        );
        let answers = sent
            .iter()
            .map(|(payload, _)| user.handle(Time::ZERO, Input::Packet(payload), &mut blank, &mut |_, _| panic!()));
        assert_eq!(answers.map(|answer| answer.delivered).collect::<Vec<_>>(), [172, 192]);
        assert!(server.has_finished() && !user.has_finished());
    }

    #[test]
    fn a_datagram_written_alone_is_the_one_that_a_write_sends() {
        let (mut alone, mut other, mut user) = (UdpEnd::default(), UdpEnd::default(), UdpEnd::default());
        for (bytes, delivered) in [(172, 172), (20, 192)] {
            let datagram = alone.write_datagram(Bytes::new(bytes)).unwrap();
            other.act(Time::ZERO, Act::Write(Bytes::new(bytes)));
            let mut send = |payload: &mut Box<Payload>, _| assert_eq!(**payload, Payload::Udp(datagram));
            other.handle(Time::ZERO, Input::Acted, &mut Box::new(Payload::Tcp(Segment::default())), &mut send);
            assert_eq!(user.take_datagram(&datagram), Some(delivered));
        }
        // One that waits goes first, and does so when something arrives.
        alone.act(Time::ZERO, Act::Write(Bytes::new(7)));
        assert_eq!(alone.write_datagram(Bytes::new(8)), None);
        assert_eq!(alone.take_datagram(&Datagram { number: 0, len: 1 }), None);
        assert_eq!((alone.delivered, alone.sender.poll_transmit()), (0, Some(Datagram { number: 2, len: 7 })));
    }
}
