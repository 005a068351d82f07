//! The packets of a run from their making to their end, each change told to the recorder.

use super::departure::Departures;
use crate::packet::{EndpointId, Packet, Packets, Payload};
use crate::record::drops::Loss;
use crate::record::recorder::Recorder;
use units::{Ecn, Time};

/// The packets under way and the record of the run.
pub(super) struct Ledger {
    pub(super) packets: Packets,
    pub(super) recorder: Recorder,
    /// What became of packets from outside.
    pub(super) departures: Departures,
}

impl Ledger {
    pub(super) fn new(recorder: Recorder) -> Ledger {
        Ledger { packets: Packets::default(), recorder, departures: Departures::default() }
    }

    /// A packet is sent; `received`: whether its receiver has its data already, asked of retransmissions only.
    #[inline(always)]
    pub(super) fn send(&mut self, packet: Packet<&mut Box<Payload>>, received: impl FnOnce(&Payload) -> bool) -> u32 {
        let (now, (id, packet)) = (packet.sent, self.packets.add(packet));
        self.recorder.sent(now, packet, received);
        id
    }

    /// A packet arrives at the other end of its connection: the endpoint there, and when it was sent. What it carries
    /// is exchanged for `payload`.
    #[inline]
    pub(super) fn deliver(&mut self, now: Time, id: u32, payload: &mut Box<Payload>) -> (EndpointId, Time) {
        let packet = self.packets.get(id);
        let endpoint = EndpointId { connection: packet.connection, way: packet.way.back() };
        self.recorder.delivered(now, packet);
        let sent = packet.sent;
        self.packets.take_payload(id, payload);
        self.packets.release(id);
        (endpoint, sent)
    }

    /// A packet arrives whose payload is read already.
    #[inline]
    pub(super) fn deliver_read(&mut self, now: Time, id: u32) {
        self.recorder.delivered(now, self.packets.get(id));
        self.packets.release(id);
    }

    /// A packet is lost.
    #[inline(never)]
    pub(super) fn lose(&mut self, now: Time, id: u32, loss: Loss) {
        let packet = self.packets.get(id);
        let word = match loss {
            Loss::LastHop(_) => u64::from(id),
            _ => packet.word,
        };
        self.recorder.dropped(now, packet, word, loss);
        self.departures.lost(now, packet, loss);
        self.packets.release(id);
    }

    /// A packet leaves the last hop with a congestion mark, which it may have had before.
    pub(super) fn mark(&mut self, now: Time, id: u32) {
        let packet = self.packets.get_mut(id);
        if packet.payload.ecn() != Ecn::Ce {
            packet.payload.set_ecn(Ecn::Ce);
            self.recorder.marked(now, packet);
        }
    }
}
