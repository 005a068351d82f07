//! The packets of a run until their end, each change told to the recorder. `written.rs` makes them.

use super::departure::Departures;
use crate::packet::{EndpointId, Packet, Packets};
use crate::record::drops::Loss;
use crate::record::recorder::Recorder;
use units::{Ecn, Time};

/// The packets in flight and the record of the run.
pub(super) struct Ledger {
    pub(super) packets: Packets,
    pub(super) recorder: Recorder,
    /// What became of packets from outside.
    pub(super) departures: Departures,
}

impl Ledger {
    /// Without packets, for a run of so many flows.
    pub(super) fn new(flows: usize, recorder: Recorder) -> Ledger {
        Ledger { packets: Packets::with_room_for(flows), recorder, departures: Departures::default() }
    }

    /// A packet arrives at the other end of its connection. Returns the endpoint there; `received` tells of a packet
    /// and a sequence whether that has had the data there before.
    #[inline(always)]
    pub(super) fn deliver(&mut self, now: Time, id: u32, received: impl Fn(&Packet, u64) -> bool) -> EndpointId {
        let packet = self.packets.get(id);
        self.recorder.delivered(now, packet, received);
        packet.receiver()
    }

    /// A packet is lost.
    #[inline(never)]
    pub(super) fn lose(&mut self, now: Time, id: u32, loss: Loss) {
        let packet = self.packets.get(id);
        self.recorder.dropped(now, packet, loss);
        self.departures.lost(now, packet, loss);
        self.packets.release(id);
    }

    /// The run ends: tells the recorder of what is in flight.
    pub(super) fn tell_in_flight(&mut self) {
        for packet in self.packets.iter() {
            self.recorder.in_flight(packet);
        }
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
