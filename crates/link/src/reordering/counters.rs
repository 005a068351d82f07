//! What reordering buffers count.

use units::Duration;

/// Counters of the reordering buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReorderingCounters {
    /// Packets that were stored because an earlier one was missing.
    pub held_packets: u64,
    /// The sum of the times for which packets were stored, of those that have left.
    pub wait: Duration,
    /// The number of stored packets that have left.
    pub released_packets: u64,
    /// Packets that arrived after the flow had stopped waiting for them.
    pub late_packets: u64,
    /// Flushes of a full buffer.
    pub flushed_full: u64,
    /// Flushes of a buffer with packets by a packet that could not be decoded.
    pub flushed_failed: u64,
    /// Packets stored now, over all users.
    pub stored: usize,
    /// The most packets stored for one user.
    pub stored_max: usize,
}
