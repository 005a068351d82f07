//! Reassembly: data that have arrived out of order, and the SACK and D-SACK blocks that report it (RFC 2018, RFC 2883).

use std::collections::VecDeque;

use super::segment::SackBlocks;

/// Data that have arrived beyond the next offset expected, and the blocks that report them.
#[derive(Debug)]
pub(super) struct Reassembly {
    /// Sorted, disjoint, not touching, all beyond the next offset expected.
    ranges: VecDeque<(u64, u64)>,
    /// The ranges that changed last, newest first (RFC 2018 section 4).
    recent: SackBlocks,
    dsack: bool,
    blocks: usize,
    /// The duplicate to report with the next acknowledgment.
    duplicate: Option<(u64, u64)>,
}

impl Reassembly {
    /// Nothing yet. At most `blocks` are reported at once, duplicates if `dsack`.
    pub(super) fn new(dsack: bool, blocks: usize) -> Reassembly {
        Reassembly { ranges: VecDeque::new(), recent: SackBlocks::default(), dsack, blocks, duplicate: None }
    }

    /// Whether nothing is missing before what has arrived.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether the byte at `seq` has arrived.
    pub(super) fn has(&self, seq: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.0 <= seq);
        after > 0 && seq < self.ranges[after - 1].1
    }

    /// Data arrived out of order.
    pub(super) fn add(&mut self, start: u64, end: u64) {
        self.note_overlap(start, end);
        let merged = self.insert(start, end);
        self.report(merged);
    }

    /// Whether the last range ends at `seq`, and is that which changed last.
    #[inline(always)]
    pub(super) fn ends_at(&self, seq: u64) -> bool {
        let ends = |range: Option<&(u64, u64)>| range.is_some_and(|range| range.1 == seq);
        ends(self.ranges.back()) && ends(self.recent.as_slice().first())
    }

    /// Data of so many bytes arrived just behind the last range, which changed last: as [`Reassembly::add`].
    #[inline(always)]
    pub(super) fn lengthen(&mut self, bytes: u64) {
        if let Some(last) = self.ranges.back_mut() {
            last.1 += bytes;
            self.recent.replace_first(*last);
        }
    }

    /// The next offset expected moved up to or into the first ranges: they are in order now. The offset behind them.
    pub(super) fn absorb(&mut self, mut next: u64) -> u64 {
        if let Some(&(start, _)) = self.ranges.front().filter(|range| range.0 < next) {
            self.note_duplicate(start, next); // these data had come before, beyond the hole
        }
        while let Some(&(_, end)) = self.ranges.front().filter(|range| range.0 <= next) {
            next = next.max(end);
            self.ranges.pop_front();
        }
        self.recent = self.recent.as_slice().iter().copied().filter(|block| block.0 > next).collect();
        next
    }

    /// The next acknowledgment reports that `start..end` came again, if the peer takes such reports.
    pub(super) fn note_duplicate(&mut self, start: u64, end: u64) {
        if self.dsack && start < end {
            self.duplicate = Some((start, end));
        }
    }

    /// Whether the next acknowledgment reports a duplicate.
    #[inline]
    pub(super) fn has_duplicate(&self) -> bool {
        self.duplicate.is_some()
    }

    /// An acknowledgment has reported the duplicate.
    #[inline(always)]
    pub(super) fn on_acknowledged(&mut self) {
        self.duplicate = None;
    }

    /// The SACK option of an acknowledgment with or without timestamps, written in place of none: a duplicate first
    /// (RFC 2883 section 4).
    #[inline(always)]
    pub(super) fn write_sack(&self, sack: &mut SackBlocks, timestamps: bool) {
        let room = if timestamps { self.blocks.min(SackBlocks::MAX - 1) } else { self.blocks };
        if let Some((start, end)) = self.duplicate {
            sack.push(start, end);
        }
        self.recent.as_slice().iter().take(room - sack.len()).for_each(|&(start, end)| sack.push(start, end));
    }

    /// Notes the part of `start..end` that has arrived before, out of order.
    fn note_overlap(&mut self, start: u64, end: u64) {
        if !self.dsack {
            return;
        }
        let from = self.ranges.partition_point(|range| range.1 <= start);
        let until = self.ranges.partition_point(|range| range.0 < end);
        if from < until {
            self.note_duplicate(start.max(self.ranges[from].0), end.min(self.ranges[until - 1].1));
        }
    }

    /// Adds `start..end` to the ranges; the range that it is now part of.
    fn insert(&mut self, start: u64, end: u64) -> (u64, u64) {
        // The common cases first: the newest segment lengthens or follows the last range.
        match self.ranges.back_mut() {
            Some(last) if last.0 <= start && start <= last.1 => {
                last.1 = last.1.max(end);
                return *last;
            }
            Some(last) if start <= last.1 => {}
            _ => {
                self.ranges.push_back((start, end));
                return (start, end);
            }
        }
        let from = self.ranges.partition_point(|range| range.1 < start);
        let until = self.ranges.partition_point(|range| range.0 <= end);
        if from == until {
            self.ranges.insert(from, (start, end));
            return (start, end);
        }
        let merged = (start.min(self.ranges[from].0), end.max(self.ranges[until - 1].1));
        self.ranges[from] = merged;
        self.ranges.drain(from + 1..until);
        merged
    }

    /// Puts `newest` first in the SACK list and drops what it has swallowed.
    fn report(&mut self, newest: (u64, u64)) {
        let others = self.recent.as_slice().iter().copied();
        let kept = others.filter(|block| block.1 < newest.0 || block.0 > newest.1).take(SackBlocks::MAX - 1);
        self.recent = std::iter::once(newest).chain(kept).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Data behind the range that changed last are added as any are, if that is the last.
        #[test]
        fn data_behind_the_last_range_are_added_as_any(
            data in prop::collection::vec((0u64..30, 1u64..6, any::<bool>()), 1..40), dsack in any::<bool>())
        {
            let (mut shortly, mut generally) = (Reassembly::new(dsack, 4), Reassembly::new(dsack, 4));
            for (start, bytes, behind) in data {
                let last = generally.ranges.back().map(|range| range.1);
                let start = last.filter(|_| behind).unwrap_or(10 + start);
                generally.add(start, start + bytes);
                if shortly.ends_at(start) {
                    shortly.lengthen(bytes);
                } else {
                    shortly.add(start, start + bytes);
                }
                prop_assert_eq!(format!("{shortly:?}"), format!("{generally:?}"));
            }
        }
    }
}
