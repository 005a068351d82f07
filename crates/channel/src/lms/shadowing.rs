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
    /// How often the process has moved since its start.
    steps: u64,
}

impl Shadowing {
    /// Sampled each `step_m` metres.
    pub(crate) fn new(step_m: f64, correlation_m: f64, rng: Box<dyn Rng + Send>) -> Shadowing {
        let mut normals = Normals::new(rng);
        let value = normals.draw();
        let ratio = step_m / correlation_m;
        Shadowing {
            normals,
            memory: libm::exp(-ratio),
            innovation: (-libm::expm1(-2.0 * ratio)).sqrt(),
            value,
            steps: 0,
        }
    }

    /// The value after `index` steps from the start. Calls never go back.
    pub(crate) fn at(&mut self, index: u64) -> f64 {
        debug_assert!(self.steps <= index, "asked for step {index} after step {}", self.steps);
        let mut draws = [0.0; 32];
        while self.steps < index {
            let draws = &mut draws[..(index - self.steps).min(32) as usize];
            self.normals.fill(draws);
            self.value = draws.iter().fold(self.value, |value, draw| self.memory * value + self.innovation * draw);
            self.steps += draws.len() as u64;
        }
        self.value
    }

    /// The present value; then it moves on by a step.
    #[inline]
    pub(crate) fn step(&mut self) -> f64 {
        let value = self.value;
        self.value = self.memory * value + self.innovation * self.normals.draw();
        self.steps += 1;
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
    fn values_do_not_depend_on_the_places_asked() {
        let mut steps = Shadowing::new(0.05, 1.5, streams(2)("shadowing"));
        let mut some = Shadowing::new(0.05, 1.5, streams(2)("shadowing"));
        for index in 0..5_000 {
            let value = steps.step();
            if index % 61 < 2 {
                assert_eq!((some.at(index), some.at(index)), (value, value));
            }
        }
    }

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
