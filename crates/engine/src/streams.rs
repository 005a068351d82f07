//! Keyed random streams: each purpose of each entity draws from a stream of its own.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of one stream.
pub type Generator = Xoshiro256PlusPlus;

/// Makes the random streams of a run from its seed.
///
/// A stream is a function of (seed, purpose, entity) alone: adding a flow, or switching a loss process off, moves no
/// draw of another stream.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    /// The hash of the seed and of what the names of all these purposes begin with.
    key: u64,
}

impl Streams {
    /// The streams of a run with this root seed.
    pub fn new(mut seed: u64) -> Streams {
        Streams { key: split_mix(&mut seed) }
    }

    /// The streams of the purposes whose names begin with `part`: that of "states" within "channel." is that of
    /// "channel.states".
    pub fn within(self, part: &str) -> Streams {
        let hash = |key: u64, byte: u8| split_mix(&mut (key ^ u64::from(byte)));
        Streams { key: part.bytes().fold(self.key, hash) }
    }

    /// The stream of one purpose ("channel.multipath") for one entity (a user, a flow).
    pub fn stream(&self, purpose: &str, entity: u64) -> Generator {
        let mut end = self.within(purpose).key ^ 0x100;
        let mut state = split_mix(&mut end) ^ entity;
        split_mix(&mut state);
        let mut seed = [0; 32];
        for chunk in seed.chunks_exact_mut(8) {
            chunk.copy_from_slice(&split_mix(&mut state).to_le_bytes());
        }
        Generator::from_seed(seed)
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): advances `state` and returns a mixed word.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    fn first(seed: u64, purpose: &str, entity: u64) -> u64 {
        Streams::new(seed).stream(purpose, entity).random()
    }

    #[test]
    fn a_stream_depends_on_seed_purpose_and_entity_only() {
        let base = first(1, "loss", 0);
        assert_eq!(base, first(1, "loss", 0));
        for other in [first(2, "loss", 0), first(1, "loss", 1), first(1, "jitter", 0), first(1, "los", u64::from(b's'))]
        {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn draws_do_not_change_between_versions() {
        // A change here changes every result, so it needs a major version.
        let within: u64 = Streams::new(7).within("channel.").stream("states", 3).random();
        assert_eq!(
            [first(1, "loss", 0), first(7, "channel.states", 3), within],
            [16_609_028_393_519_166_015, 8_562_404_487_818_922_207, 8_562_404_487_818_922_207]
        );
    }

    #[test]
    fn neighbouring_streams_are_not_correlated() {
        let draws = |entity| {
            let mut stream = Streams::new(1).stream("loss", entity);
            (0..4000).map(|_| stream.random::<f64>() - 0.5).collect::<Vec<_>>()
        };
        let (a, b) = (draws(0), draws(1));
        let correlation: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum::<f64>() / 4000.0 * 12.0;
        assert!(correlation.abs() < 4.0 / 4000f64.sqrt(), "correlation {correlation}");
    }
}
