//! One end of a flow whose protocol runs elsewhere: a real host, or another simulator.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use super::{Act, Answer, EndOptions, Endpoint, Input, Kind, Payload, SendPacket, Service, Transport, Wake};
use crate::external::ExternalPacket;

/// Both ends are outside: real hosts behind `transorbit emulate`, or another simulator. The run carries their IP
/// packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExternalConfig {}

impl Kind for ExternalConfig {
    fn services(&self) -> &'static [Service] {
        &[Service::Outside]
    }

    fn build(&self, _default_packet: u32) -> Arc<dyn Transport> {
        Arc::new(self.clone())
    }
}

impl Transport for ExternalConfig {
    fn unopened_end(&self) -> Box<dyn Endpoint> {
        Box::new(ExternalEnd::default())
    }

    fn open(&self, _now: Time, _options: [EndOptions; 2]) -> Option<[Box<dyn Endpoint>; 2]> {
        None
    }
}

/// See the module. It sends each packet of an [`Act::Offer`] as it is, and counts what arrives.
#[derive(Debug, Default)]
pub struct ExternalEnd {
    offered: Vec<ExternalPacket>,
    next: u64,
    /// Bytes of the packets that have arrived.
    delivered: u64,
}

impl Endpoint for ExternalEnd {
    fn act(&mut self, _now: Time, act: Act) {
        match act {
            Act::Offer { bytes, ticket, ecn } => {
                self.offered.push(ExternalPacket { number: self.next, bytes, ticket, ecn });
                self.next += 1;
            }
            // What else happens at its end is not known here.
            Act::Write(_) | Act::WriteStream { .. } | Act::WriteForEver | Act::Close | Act::Read(_) => {}
        }
    }

    fn handle(&mut self, _now: Time, input: Input<'_>, blank: &mut Payload, send: &mut SendPacket<'_>) -> Answer {
        match input {
            Input::Packet(Payload::External(packet)) => self.delivered += u64::from(packet.bytes),
            Input::Packet(_) => unreachable!("a packet of another transport"),
            Input::Timeout | Input::Acted => {}
        }
        for packet in self.offered.drain(..) {
            *blank = Payload::External(packet);
            send(blank, 0);
        }
        Answer { delivered: self.delivered, window: None, over: false, wake: Wake::Unchanged }
    }
}

#[cfg(test)]
mod tests {
    use units::Ecn;

    use super::*;
    use crate::udp::Datagram;

    #[test]
    fn offered_packets_are_numbered_and_keep_their_tickets() {
        let (mut server, mut user) = (ExternalEnd::default(), ExternalEnd::default());
        for (ticket, bytes) in [(7, 1500), (3, 40)] {
            server.act(Time::ZERO, Act::Offer { bytes, ticket, ecn: Ecn::Ect0 });
        }
        let mut sent = Vec::new();
        let mut blank = Payload::Udp(Datagram { number: 0, len: 0 });
        let mut send = |payload: &mut Payload, sent_before| sent.push((payload.clone(), sent_before));
        server.handle(Time::ZERO, Input::Acted, &mut blank, &mut send);
        let numbers: Vec<_> = sent
            .iter()
            .map(|(payload, sent_before)| (payload.sequence(), payload.outline().bytes, *sent_before))
            .collect();
        assert_eq!(numbers, [(0, 1500, 0), (1, 40, 0)]);
        sent[0].0.set_ecn(Ecn::Ce);
        let Payload::External(first) = sent[0].0 else { panic!("of an external end") };
        assert_eq!((first.ticket, first.ecn), (7, Ecn::Ce));
        let arrived = sent
            .iter()
            .map(|(payload, _)| user.handle(Time::ZERO, Input::Packet(payload), &mut blank, &mut |_, _| panic!()));
        assert_eq!(arrived.map(|answer| answer.delivered).collect::<Vec<_>>(), [1500, 1540]);
    }
}
