//! How long packets wait for the transmitter, for callers that ask.

use std::collections::{BTreeMap, VecDeque};

use units::{Duration, Time};

use crate::packet::PacketRef;

/// See `LastHop::note_waits`.
#[derive(Default)]
pub(super) struct Waits {
    /// When the packets that wait came, by their handle.
    came: BTreeMap<u32, Time>,
    /// Packets whose first transmission has started, and how long they waited.
    started: VecDeque<(PacketRef, Duration)>,
}

impl Waits {
    pub fn on_arrival(&mut self, now: Time, packet: &PacketRef) {
        self.came.insert(packet.id, now);
    }

    /// The next packet whose first transmission has started, and how long it had waited.
    pub fn poll(&mut self) -> Option<(PacketRef, Duration)> {
        self.started.pop_front()
    }

    /// Its first transmission begins.
    pub fn on_start(&mut self, now: Time, packet: &PacketRef) {
        if let Some(came) = self.came.remove(&packet.id) {
            self.started.push_back((*packet, now.since(came)));
        }
    }
}
