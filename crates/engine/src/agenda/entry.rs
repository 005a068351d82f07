//! Entries of the agenda, in their order.

use std::cmp::Ordering;

use units::Time;

/// Ordered by time, then rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) at: Time,
    /// The machine's phase above its number.
    pub(super) rank: u64,
}

/// Before all entries, or beside the first machine's at the start.
pub(super) const FIRST: Entry = Entry { at: Time::ZERO, rank: 0 };
/// After all entries.
pub(super) const NEVER: Entry = Entry { at: Time::MAX, rank: u64::MAX };

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Entry) -> bool {
        self.key() < other.key()
    }

    #[inline]
    fn le(&self, other: &Entry) -> bool {
        self.key() <= other.key()
    }
}

impl Entry {
    pub(super) fn new(at: Time, phase: u8, machine: usize) -> Entry {
        Entry { at, rank: rank(phase) | machine as u64 }
    }

    /// One number in the order of entries: compared without a branch.
    #[inline]
    fn key(self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.rank)
    }

    #[inline]
    pub(super) fn machine(self) -> usize {
        self.rank as u32 as usize
    }
}

/// The upper half of an entry's rank.
pub(super) fn rank(phase: u8) -> u64 {
    u64::from(phase) << 32
}
