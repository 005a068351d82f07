//! A few ranges of offsets, in order.

use crate::tcp::SackBlocks;

/// Up to as many ranges as blocks can bring, in ascending order.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::send) struct NewRanges {
    ranges: [(u64, u64); NewRanges::MAX],
    len: usize,
}

impl NewRanges {
    /// Four blocks, and one piece more for each of the four known before that lies within one of them.
    const MAX: usize = 2 * SackBlocks::MAX;

    pub fn insert(&mut self, range: (u64, u64)) {
        let mut at = self.len;
        while at > 0 && self.ranges[at - 1].0 > range.0 {
            self.ranges[at] = self.ranges[at - 1];
            at -= 1;
        }
        self.ranges[at] = range;
        self.len += 1;
    }

    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.ranges[..self.len]
    }
}
