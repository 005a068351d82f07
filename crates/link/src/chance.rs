//! Random decisions, drawn in the same way everywhere.

use rand::Rng;

/// Uniform over 0 to 1, without 1: one draw, of which a number holds 53 bits.
pub(crate) fn unit_interval(rng: &mut dyn Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}
