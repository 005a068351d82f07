//! What the last hop counts beside its reliability scheme and its reordering buffers.

use units::Duration;

use crate::packet::{Dropped, Output};

#[derive(Default)]
pub(super) struct Counters {
    pub(super) offered_packets: u64,
    pub(super) offered_bytes: u64,
    pub(super) delivered_packets: u64,
    pub(super) delivered_bytes: u64,
    pub(super) dropped: Dropped,
    pub(super) handovers: u64,
    pub(super) queue_packets_max: usize,
    pub(super) coded_bits: u64,
    pub(super) busy: Duration,
    pub(super) stalled: Duration,
}

impl Counters {
    /// A packet has left.
    #[inline]
    pub(super) fn on_output(&mut self, output: &Output) {
        match output {
            Output::Delivered(packet) => {
                self.delivered_packets += 1;
                self.delivered_bytes += u64::from(packet.size);
            }
            Output::Dropped(_, reason) => self.dropped.count(*reason),
        }
    }
}
