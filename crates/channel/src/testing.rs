//! Random streams for tests.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A generator for each purpose, keyed by `seed`: the same purpose gives the same stream again.
pub(crate) fn streams(seed: u64) -> impl FnMut(&'static str) -> Box<dyn Rng + Send> {
    move |purpose| {
        // FNV-1a
        let key = purpose
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Box::new(Xoshiro256PlusPlus::seed_from_u64(key))
    }
}
