//! One number that two runs share only if the same things happened at the same instants.

use std::fmt;

use units::Time;

/// A running 64-bit hash over events, in order. Displayed as 16 hexadecimal digits.
///
/// It is for noticing a change, not for security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0x6a09_e667_f3bc_c908)
    }
}

impl Digest {
    /// Adds an event: its instant, its kind, the entity it belongs to, and a value that distinguishes it from events of
    /// the same kind.
    #[inline(always)]
    pub fn event(&mut self, at: Time, kind: u8, entity: u32, value: u64) {
        let what = u64::from(kind) << 32 | u64::from(entity);
        let mixed = (at.as_nanos() ^ value.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ what;
        // The turn brings what the product has moved up down again.
        self.0 = (self.0.rotate_left(37) ^ mixed).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }

    /// The hash over these events and those of `other`, whatever their order among each other.
    pub fn beside(self, other: Digest) -> Digest {
        let mut both = self;
        both.event(Time::ZERO, 0, 0, other.0);
        both.0 ^= both.0 >> 32;
        both
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Events = [(u64, u8, u32, u64)];

    fn of(events: &Events) -> Digest {
        let mut digest = Digest::default();
        events.iter().for_each(|&(at, kind, entity, value)| digest.event(Time::from_nanos(at), kind, entity, value));
        digest
    }

    #[test]
    fn every_part_of_an_event_and_their_order_count() {
        let base = of(&[(1, 2, 3, 4), (5, 6, 7, 8)]);
        assert_eq!(base, of(&[(1, 2, 3, 4), (5, 6, 7, 8)]));
        for other in [
            [(9, 2, 3, 4), (5, 6, 7, 8)],
            [(1, 9, 3, 4), (5, 6, 7, 8)],
            [(1, 2, 9, 4), (5, 6, 7, 8)],
            [(1, 2, 3, 9), (5, 6, 7, 8)],
            [(5, 6, 7, 8), (1, 2, 3, 4)],
        ] {
            assert_ne!(base, of(&other));
        }
    }

    #[test]
    fn two_lists_of_events_count_each() {
        let (one, other) = (of(&[(1, 2, 3, 4)]), of(&[(5, 6, 7, 8)]));
        let changed = of(&[(5, 6, 7, 9)]);
        let all = [one.beside(other), other.beside(one), one.beside(changed), changed.beside(other), one, other];
        assert_eq!(std::collections::BTreeSet::from(all.map(|digest| digest.to_string())).len(), all.len());
    }

    /// Every bit of an event changes about half of the bits, a few events later.
    #[test]
    fn a_bit_changes_all_bits_in_the_end() {
        let later = |value: u64, at: u64| of(&[(at, 1, 2, value), (7, 1, 2, 5), (8, 1, 2, 6), (9, 1, 2, 7)]).0;
        let base = later(0x1234, 5);
        let changed = (0..64).flat_map(|bit| [later(0x1234 ^ 1 << bit, 5), later(0x1234, 5 ^ 1 << bit)]);
        for (bit, changed) in changed.enumerate() {
            let differ = (base ^ changed).count_ones();
            assert!((12..=52).contains(&differ), "number {bit}: {differ} bits differ");
        }
    }
}
