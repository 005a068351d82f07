//! What the last hop counts beside its reliability scheme and its reordering buffers.

use units::Duration;

use crate::packet::{DropReason, Output};

#[derive(Default)]
pub(super) struct Counters {
    pub(super) offered_packets: u64,
    pub(super) offered_bytes: u64,
    pub(super) delivered_packets: u64,
    pub(super) delivered_bytes: u64,
    pub(super) dropped_overflow: u64,
    pub(super) dropped_early: u64,
    pub(super) dropped_timeout: u64,
    pub(super) dropped_harq: u64,
    pub(super) dropped_handover: u64,
    pub(super) handovers: u64,
    pub(super) queue_packets_max: usize,
    pub(super) coded_bits: u64,
    pub(super) busy: Duration,
    pub(super) stalled: Duration,
}

impl Counters {
    /// A packet has left.
    pub(super) fn on_output(&mut self, output: &Output) {
        match output {
            Output::Delivered(packet) => {
                self.delivered_packets += 1;
                self.delivered_bytes += u64::from(packet.size);
            }
            Output::Dropped(_, DropReason::Overflow) => self.dropped_overflow += 1,
            Output::Dropped(_, DropReason::Early) => self.dropped_early += 1,
            Output::Dropped(_, DropReason::Timeout) => self.dropped_timeout += 1,
            Output::Dropped(_, DropReason::Harq) => self.dropped_harq += 1,
            Output::Dropped(_, DropReason::Handover) => self.dropped_handover += 1,
        }
    }
}
