//! Random draws with the same bits on every platform: the logarithms are libm's.

use rand::Rng;
use units::chance::{self, unit_interval};

#[inline]
fn uniform(rng: &mut dyn Rng) -> f64 {
    unit_interval(rng.next_u64())
}

/// Exponential with this mean.
pub(crate) fn exponential(rng: &mut dyn Rng, mean: f64) -> f64 {
    chance::exponential(uniform(rng)) * mean
}

/// Pareto: at least `least`, beyond x with probability (least/x)^shape.
pub(crate) fn pareto(rng: &mut dyn Rng, least: f64, shape: f64) -> f64 {
    least * libm::pow(1.0 - uniform(rng), -1.0 / shape)
}

/// The least value of a Pareto law with this mean (of a `shape` above 1).
pub(crate) fn pareto_least(mean: f64, shape: f64) -> f64 {
    mean * (shape - 1.0) / shape
}

/// Standard normal.
pub(crate) fn normal(rng: &mut dyn Rng) -> f64 {
    chance::normal(|| uniform(rng))
}

/// Weibull: beyond x with probability e^(−(x/scale)^shape).
pub(crate) fn weibull(rng: &mut dyn Rng, scale: f64, shape: f64) -> f64 {
    scale * libm::pow(exponential(rng, 1.0), 1.0 / shape)
}

/// Gamma with this shape, at least 1, and scale 1: Marsaglia and Tsang (2000).
pub(crate) fn gamma(rng: &mut dyn Rng, shape: f64) -> f64 {
    debug_assert!(shape >= 1.0);
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(rng);
        let root = 1.0 + c * x;
        let v = root * root * root;
        if root > 0.0 && -exponential(rng, 1.0) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}
