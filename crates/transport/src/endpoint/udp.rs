//! Datagrams as one end of a flow.

use std::sync::Arc;

use units::Time;

use super::{
    Act, Answer, EndOptions, Endpoint, Input, Kind, Payload, Prompt, Reply, SendPacket, Service, Transport, Wake,
};
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

    fn unopened_end(&self) -> Box<dyn Endpoint> {
        Box::new(UdpEnd::default())
    }

    fn open(&self, _now: Time, _options: [EndOptions; 2]) -> Option<[Box<dyn Endpoint>; 2]> {
        None
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
            // Everything that arrives is read, and a scenario refuses endless data.
            Act::WriteForEver | Act::WriteStream { .. } | Act::Read(_) | Act::Offer { .. } => {}
        }
    }

    fn handle(&mut self, _now: Time, input: Input<'_>, blank: &mut Payload, send: &mut SendPacket<'_>) -> Answer {
        match input {
            Input::Packet(Payload::Udp(datagram)) => self.delivered += u64::from(datagram.len),
            Input::Packet(_) => unreachable!("a packet of another transport"),
            Input::Timeout | Input::Acted => {}
        }
        while let Some(datagram) = self.sender.poll_transmit() {
            *blank = Payload::Udp(datagram);
            send(blank, 0);
        }
        Answer { delivered: self.delivered, window: None, over: false, wake: Wake::Unchanged }
    }

    #[inline]
    fn answer(&mut self, _now: Time, prompt: Prompt, payload: &mut Payload) -> Reply {
        if !self.sender.is_idle() {
            return Reply::Refused;
        }
        match (prompt, &*payload) {
            (Prompt::Write(bytes), _) => {
                let datagram = self.sender.send_now(bytes);
                match payload {
                    Payload::Udp(before) => *before = datagram,
                    _ => replace(payload, datagram),
                }
                Reply::Sent { delivered: self.delivered }
            }
            (Prompt::Packet, Payload::Udp(datagram)) => {
                self.delivered += u64::from(datagram.len);
                Reply::Quiet { delivered: self.delivered }
            }
            _ => Reply::Refused,
        }
    }

    fn has_finished(&self) -> bool {
        self.finished
    }
}

/// Writes a datagram where a packet of another transport was.
#[cold]
fn replace(payload: &mut Payload, datagram: Datagram) {
    *payload = Payload::Udp(datagram);
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::tcp::Segment;

    #[test]
    fn an_end_sends_what_was_written_and_counts_what_arrives() {
        let (mut server, mut user) = (UdpEnd::default(), UdpEnd::default());
        let mut sent = Vec::new();
        server.act(Time::ZERO, Act::Write(Bytes::new(172)));
        server.act(Time::ZERO, Act::Write(Bytes::new(20)));
        server.act(Time::ZERO, Act::Close);
        let mut blank = Payload::Tcp(Segment::default());
        let mut send = |payload: &mut Payload, sent_before| sent.push((payload.clone(), sent_before));
        server.handle(Time::ZERO, Input::Acted, &mut blank, &mut send);
        assert_eq!(
            sent.iter().map(|(payload, sent_before)| (payload.outline().bytes, *sent_before)).collect::<Vec<_>>(),
            [(200, 0), (48, 0)]
        );
        let answers = sent
            .iter()
            .map(|(payload, _)| user.handle(Time::ZERO, Input::Packet(payload), &mut blank, &mut |_, _| panic!()));
        assert_eq!(answers.map(|answer| answer.delivered).collect::<Vec<_>>(), [172, 192]);
        assert!(server.has_finished() && !user.has_finished());
    }

    #[test]
    fn an_answer_in_place_is_that_of_the_general_way() {
        let (mut alone, mut other) = (UdpEnd::default(), UdpEnd::default());
        let (mut user, mut reader) = (UdpEnd::default(), UdpEnd::default());
        let mut blank = Payload::Tcp(Segment::default());
        for bytes in [172, 20] {
            let mut payload = Payload::Tcp(Segment::default());
            let written = alone.answer(Time::ZERO, Prompt::Write(Bytes::new(bytes)), &mut payload);
            other.act(Time::ZERO, Act::Write(Bytes::new(bytes)));
            let answer = other.handle(Time::ZERO, Input::Acted, &mut blank, &mut |sent, _| assert_eq!(*sent, payload));
            assert_eq!((written, answer.wake), (Reply::Sent { delivered: answer.delivered }, Wake::Unchanged));
            let answer = reader.handle(Time::ZERO, Input::Packet(&payload), &mut blank, &mut |_, _| panic!());
            let read = user.answer(Time::ZERO, Prompt::Packet, &mut payload);
            assert_eq!((read, answer.wake), (Reply::Quiet { delivered: answer.delivered }, Wake::Unchanged));
        }
        // A datagram that waits goes first, and does so when something arrives.
        alone.act(Time::ZERO, Act::Write(Bytes::new(7)));
        let waits = Payload::Udp(Datagram { number: 0, len: 1 });
        for prompt in [Prompt::Write(Bytes::new(8)), Prompt::Packet] {
            let mut payload = waits.clone();
            assert_eq!(alone.answer(Time::ZERO, prompt, &mut payload), Reply::Refused);
            assert_eq!((alone.delivered, payload), (0, waits.clone()));
        }
        assert_eq!(alone.sender.poll_transmit(), Some(Datagram { number: 2, len: 7 }));
    }
}
