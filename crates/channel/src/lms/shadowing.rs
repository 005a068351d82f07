//! Slow variations of the direct ray: the shadows of leaves and poles.

use rand::Rng;

use crate::normal::Normals;

/// A stationary normal process with mean 0, variance 1 and correlation `exp(-d / correlation length)`: a first-order
/// autoregression in distance (Gudmundson 1991).
pub(crate) struct Shadowing {
    normals: Normals,
    memory: f64,
    innovation: f64,
    value: f64,
}

impl Shadowing {
    /// Sampled each `step_m` metres.
    pub(crate) fn new(step_m: f64, correlation_m: f64, rng: Box<dyn Rng + Send>) -> Shadowing {
        let mut normals = Normals::new(rng);
        let value = normals.draw();
        let ratio = step_m / correlation_m;
        Shadowing { normals, memory: libm::exp(-ratio), innovation: (-libm::expm1(-2.0 * ratio)).sqrt(), value }
    }

    /// The present value; then it moves on by a step.
    #[inline]
    pub(crate) fn step(&mut self) -> f64 {
        let value = self.value;
        self.value = self.memory * value + self.innovation * self.normals.draw();
        value
    }

    /// Forgets the past: the next value is independent of those before.
    pub(crate) fn restart(&mut self) {
        self.value = self.normals.draw();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::streams;

    #[test]
    fn correlation_falls_to_one_over_e_at_the_correlation_distance() {
        const N: usize = 1_000_000;
        let mut shadowing = Shadowing::new(0.05, 1.5, streams(1)("shadowing"));
        let x: Vec<f64> = (0..N).map(|_| shadowing.step()).collect();
        let correlation = |lag: usize| x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum::<f64>() / (N - lag) as f64;
        // About N * 0.05 / 1.5 / 2 independent values.
        assert!((correlation(0) - 1.0).abs() < 0.03, "variance {}", correlation(0));
        for (lag, expected) in [(30, libm::exp(-1.0)), (60, libm::exp(-2.0)), (15, libm::exp(-0.5))] {
            assert!((correlation(lag) - expected).abs() < 0.03, "lag {lag}: {}", correlation(lag));
        }
    }
}
