//! One number that two runs share only if the same things happened at the same instants.

use std::fmt;

use units::Time;

/// A running 64-bit hash over the events of a run. Displayed as 16 hexadecimal digits.
///
/// It is for noticing a change, not for security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    state: u64,
    events: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Digest { state: 0x6a09_e667_f3bc_c908, events: 0 }
    }
}

impl Digest {
    /// Adds an event: its instant, its kind, the entity it belongs to, and a value that distinguishes it from events of
    /// the same kind.
    #[inline]
    pub fn event(&mut self, at: Time, kind: u8, entity: u32, value: u64) {
        self.events += 1;
        let what = u64::from(kind) << 32 | u64::from(entity);
        let mixed = (at.as_nanos() ^ value.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ what;
        self.state = (self.state.rotate_left(5) ^ mixed).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.state ^= self.state >> 32;
    }

    /// How many events were added.
    pub fn events(&self) -> u64 {
        self.events
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_an_event_and_their_order_count() {
        let of = |events: &[(u64, u8, u32, u64)]| {
            let mut digest = Digest::default();
            for &(at, kind, entity, value) in events {
                digest.event(Time::from_nanos(at), kind, entity, value);
            }
            digest.to_string()
        };
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
}
