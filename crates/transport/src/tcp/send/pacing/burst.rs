//! Segments sent since the sender last had nothing to send, or no room for it.

use units::Time;

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::send) struct Burst {
    /// Segments of new data sent in it.
    pub sent: u32,
    /// A tail loss probe is among them.
    pub probing: bool,
    /// When a segment was last sent, in any burst.
    pub last_sent: Option<Time>,
}
