//! What chance decides, drawn alike everywhere.

use rand::Rng;

/// Uniform over 0 to 1, without 1: one draw, of which the 53 bits count that a number has room for.
pub(crate) fn unit_interval(rng: &mut dyn Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}
