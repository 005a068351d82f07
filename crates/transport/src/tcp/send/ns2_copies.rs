//! What loss recovery by ns-2's rules remembers.

use std::collections::BTreeMap;

use units::Time;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ns2 {
    /// In a reduction: what may be on its way whatever the window says.
    pub ceiling: u32,
    /// Number after the highest slot that a block told of since the last recovery.
    pub forward: u64,
    /// Of the slots on their way again: which retransmission it was.
    pub copies: BTreeMap<u64, u64>,
    /// Retransmissions sent, and the number after the last one that was answered.
    pub sent: u64,
    pub answered: u64,
    /// The segment that is timed: the offset after it, and when it was sent.
    pub timed: Option<(u64, Time)>,
}

impl Ns2 {
    pub fn forget(&mut self) {
        (self.forward, self.answered, self.ceiling) = (0, 0, 0);
        self.copies.clear();
    }
}
