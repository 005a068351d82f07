//! How packets leave a reordering buffer.

use std::collections::VecDeque;

use units::Time;

use super::counters::ReorderingCounters;
use crate::packet::{Output, PacketRef};

/// A packet in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub packet: PacketRef,
    pub since: Time,
}

/// Where packets go at an instant, and who counts them.
pub(super) struct Exit<'a> {
    pub now: Time,
    pub counters: &'a mut ReorderingCounters,
    pub outputs: &'a mut VecDeque<Output>,
}

impl Exit<'_> {
    /// A packet that was not stored leaves.
    #[inline]
    pub fn forward(&mut self, packet: &PacketRef) {
        self.outputs.push_back(Output::Delivered(*packet));
    }

    /// A packet is stored from now on.
    pub fn store(&mut self, packet: &PacketRef) -> Stored {
        self.counters.stored += 1;
        Stored { packet: *packet, since: self.now }
    }

    /// A stored packet leaves.
    pub fn release(&mut self, stored: Stored) {
        self.counters.stored -= 1;
        self.counters.released_packets += 1;
        self.counters.wait += self.now.since(stored.since);
        self.outputs.push_back(Output::Delivered(stored.packet));
    }
}
