//! What the last hop counts beside its transmitter, its reliability scheme and its reordering buffers.

use crate::buffer::Backlog;
use crate::packet::{Dropped, Output, PacketRef};

/// Counters that change together do not stand side by side: the compiler would add them in one register, which takes
/// three times the instructions.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) offered_packets: u64,
    pub(super) delivered_packets: u64,
    pub(super) offered_bytes: u64,
    pub(super) delivered_bytes: u64,
    pub(super) dropped: Dropped,
    pub(super) handovers: u64,
    pub(super) queue_packets_max: usize,
}

impl Counters {
    /// So many packets wait, one of which has come now.
    #[inline]
    pub(super) fn on_queued(&mut self, waiting: usize) {
        self.queue_packets_max = self.queue_packets_max.max(waiting);
    }

    #[inline]
    pub(super) fn on_delivered(&mut self, packet: &PacketRef) {
        self.delivered_packets += 1;
        self.delivered_bytes += u64::from(packet.size);
    }

    /// What the reliability scheme has not counted, if so many packets have `started` and not arrived: packets started,
    /// and those of them that have arrived. As long as no burst is simulated no packet leaves but these.
    pub(super) fn uncounted(&self, started: usize) -> (u64, Backlog) {
        let Counters { delivered_packets, delivered_bytes, .. } = *self;
        let arrived = Backlog { packets: delivered_packets as usize, bytes: delivered_bytes };
        (delivered_packets + started as u64, arrived)
    }

    /// A packet has left.
    #[inline]
    pub(super) fn on_output(&mut self, output: &Output) {
        match output {
            Output::Delivered(packet) => self.on_delivered(packet),
            Output::Dropped(_, reason) => self.dropped.count(*reason),
        }
    }
}
