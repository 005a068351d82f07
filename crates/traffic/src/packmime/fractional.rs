//! Long memory: Gaussian sequences whose correlation falls like a power of the lag.
//!
//! Fractional noise (1 − B)^d f = e (Granger and Joyeux 1980, Hosking 1981) is f_t = Σ ψ_j e_(t−j) with ψ_j = Γ(j +
//! d)/(Γ(d) Γ(j + 1)). These weights are the moments of a beta law, ψ_j = ∫ x^j dμ(x) with μ = Beta(d, 1 − d), so f is
//! a mixture of first-order autoregressions y_x(t) = x y_x(t − 1) + e_t that share their noise. A few dozen of them,
//! evenly spaced in the logit of x, replace the integral: a value costs that many multiplications, whatever the memory.
//! Simplified: the integral is a sum, and memory ends after 10^13 values. Who could notice: nobody; correlations are
//! within 10^−4 of the theory up to a lag of 10^5.

use std::f64::consts::PI;

use rand::Rng;

use crate::random::normal;

/// Logits of the smallest and the largest x, and the step between.
const LOGITS: (f64, f64) = (-9.0, 30.0);
const STEP: f64 = 0.75;

/// Fractional noise with innovations of variance 1, in its stationary state from the first value.
struct FractionalNoise {
    modes: Vec<Autoregression>,
    /// The rest of ψ_0 = 1 beyond the modes: the part of the innovation without memory.
    instant: f64,
}

/// One of the autoregressions whose sum is fractional noise.
struct Autoregression {
    x: f64,
    /// 1 − x, which a float near 1 cannot represent exactly.
    decay: f64,
    weight: f64,
    y: f64,
}

impl FractionalNoise {
    fn new(d: f64, rng: &mut dyn Rng) -> FractionalNoise {
        let count = ((LOGITS.1 - LOGITS.0) / STEP) as u32 + 1;
        let mut modes: Vec<Autoregression> =
            (0..count).map(|i| Autoregression::new(d, LOGITS.0 + STEP * f64::from(i))).collect();
        let instant = 1.0 - modes.iter().map(|mode| mode.weight).sum::<f64>();
        start(&mut modes, rng);
        FractionalNoise { modes, instant }
    }

    fn draw(&mut self, rng: &mut dyn Rng) -> f64 {
        let innovation = normal(rng);
        let mut sum = self.instant * innovation;
        for mode in &mut self.modes {
            mode.y = mode.x * mode.y + innovation;
            sum += mode.weight * mode.y;
        }
        sum
    }
}

impl Autoregression {
    /// The mode at logit `u`; the density of μ there is sin(πd)/π · x^d (1 − x)^(1−d).
    fn new(d: f64, u: f64) -> Autoregression {
        let (x, decay) = (logistic(u), logistic(-u));
        let weight = STEP * libm::sin(PI * d) / PI * libm::pow(x, d) * libm::pow(decay, 1.0 - d);
        Autoregression { x, decay, weight, y: 0.0 }
    }

    /// The stationary covariance of y with that of another mode, 1/(1 − x x').
    fn covariance(&self, other: &Autoregression) -> f64 {
        1.0 / (self.decay + other.decay - self.decay * other.decay)
    }
}

/// Draws the stationary state by the Cholesky decomposition of its correlations. Modes with x near 0 are nearly equal,
/// so pivots at rounding errors count as zero.
fn start(modes: &mut [Autoregression], rng: &mut dyn Rng) {
    let n = modes.len();
    let deviations: Vec<f64> = modes.iter().map(|mode| libm::sqrt(mode.covariance(mode))).collect();
    let mut factor = vec![vec![0.0; n]; n];
    let draws: Vec<f64> = (0..n).map(|_| normal(rng)).collect();
    for i in 0..n {
        for j in 0..=i {
            let correlation = modes[i].covariance(&modes[j]) / (deviations[i] * deviations[j]);
            let rest = correlation - (0..j).map(|k| factor[i][k] * factor[j][k]).sum::<f64>();
            factor[i][j] = match (i == j, factor[j][j]) {
                (true, _) if rest > 1e-12 => libm::sqrt(rest),
                (false, pivot) if pivot > 0.0 => rest / pivot,
                _ => 0.0,
            };
        }
        modes[i].y = deviations[i] * (0..=i).map(|k| factor[i][k] * draws[k]).sum::<f64>();
    }
}

/// A fractional sum-difference sequence of variance 1: sums of two neighbours of fractional noise, plus white noise
/// (Anderson, Cleveland and Xi, *Performance Evaluation* 107, 2017, on the model that PackMime uses).
pub(super) struct SumDifference {
    noise: FractionalNoise,
    before: f64,
    /// Factors of the sum and of the white noise.
    sum: f64,
    white: f64,
    rng: Box<dyn Rng + Send>,
}

impl SumDifference {
    /// Returns a sequence with memory parameter `d` (0 to 1/2) and this share of white noise in the variance.
    pub(super) fn new(d: f64, white_share: f64, mut rng: Box<dyn Rng + Send>) -> SumDifference {
        let mut noise = FractionalNoise::new(d, &mut *rng);
        let before = noise.draw(&mut *rng);
        let variance = noise_variance(d) * (2.0 + 2.0 * d / (1.0 - d));
        let sum = libm::sqrt((1.0 - white_share) / variance);
        SumDifference { noise, before, sum, white: libm::sqrt(white_share), rng }
    }

    /// The next value; its marginal law is standard normal.
    pub(super) fn draw(&mut self) -> f64 {
        let noise = self.noise.draw(&mut *self.rng);
        let sum = noise + std::mem::replace(&mut self.before, noise);
        self.sum * sum + self.white * normal(&mut *self.rng)
    }
}

/// The variance of fractional noise, Γ(1 − 2d)/Γ(1 − d)².
fn noise_variance(d: f64) -> f64 {
    let gamma = libm::tgamma(1.0 - d);
    libm::tgamma(1.0 - 2.0 * d) / (gamma * gamma)
}

/// The inverse logit.
pub(super) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// The theoretical correlations, for tests.
#[cfg(test)]
pub(super) mod theory {
    /// Autocorrelation of fractional noise, Π (k − 1 + d)/(k − d) (Hosking 1981).
    pub(in crate::packmime) fn noise_correlation(d: f64, lag: u64) -> f64 {
        (1..=lag).map(|k| (k as f64 - 1.0 + d) / (k as f64 - d)).product()
    }

    /// Autocorrelation of the sum-difference sequence.
    pub(in crate::packmime) fn correlation(d: f64, white_share: f64, lag: u64) -> f64 {
        let noise = |lag| noise_correlation(d, lag);
        let sums = (2.0 * noise(lag) + noise(lag - 1) + noise(lag + 1)) / (2.0 + 2.0 * noise(1));
        (1.0 - white_share) * sums
    }
}

#[cfg(test)]
mod tests {
    use super::theory::{correlation, noise_correlation};
    use super::*;
    use crate::tests::streams;

    fn noise(d: f64, seed: u64) -> FractionalNoise {
        FractionalNoise::new(d, &mut *streams(seed)("noise"))
    }

    #[test]
    fn the_mixture_has_the_weights_and_the_correlations_of_fractional_noise() {
        for d in [0.1, 0.31, 0.33, 0.45] {
            let noise = noise(d, 1);
            let mut expected = 1.0;
            for lag in 1..=100_000u64 {
                expected *= (lag as f64 - 1.0 + d) / lag as f64;
                if lag <= 10 || lag.is_power_of_two() {
                    let weight: f64 = noise.modes.iter().map(|m| m.weight * libm::pow(m.x, lag as f64)).sum();
                    assert!((weight / expected - 1.0).abs() < 1e-4, "d {d}, ψ at {lag}: {weight} for {expected}");
                }
            }
            let covariance = |lag: f64| -> f64 {
                let of = |m: &Autoregression| -> f64 { noise.modes.iter().map(|n| n.weight * m.covariance(n)).sum() };
                let modes = noise.modes.iter().map(|m| m.weight * libm::pow(m.x, lag) * (of(m) + noise.instant));
                modes.sum::<f64>() + if lag == 0.0 { noise.instant } else { 0.0 }
            };
            let variance = covariance(0.0);
            // The share of variance beyond the largest x is e^(−30 (1 − 2d)): 5 % at 0.45, which no law here uses.
            let tolerance = if d < 0.4 { 1e-4 } else { 0.06 };
            assert!((variance / noise_variance(d) - 1.0).abs() < tolerance, "d {d}: variance {variance}");
            for lag in [1, 2, 5, 10, 100, 1_000, 10_000, 100_000] {
                let (found, expected) = (covariance(lag as f64) / noise_variance(d), noise_correlation(d, lag));
                assert!((found - expected).abs() < tolerance, "d {d}, lag {lag}: {found} for {expected}");
            }
        }
    }

    #[test]
    fn a_sequence_is_stationary_from_its_first_value() {
        // Over many sequences: variances and covariances of the first values, and the covariance of the first with a
        // far one.
        let (n, d) = (4_000, 0.33);
        let lags = [0usize, 1, 2, 10, 300];
        let mut products = [[0.0; 5]; 5];
        for seed in 0..n {
            let mut sequence = SumDifference::new(d, 0.2, streams(seed)("noise"));
            let values: Vec<f64> = (0..=300).map(|_| sequence.draw()).collect();
            for (i, &a) in lags.iter().enumerate() {
                for (j, &b) in lags.iter().enumerate() {
                    products[i][j] += values[a] * values[b] / n as f64;
                }
            }
        }
        for (i, &a) in lags.iter().enumerate() {
            for (j, &b) in lags.iter().enumerate() {
                let expected = if a == b { 1.0 } else { correlation(d, 0.2, a.abs_diff(b) as u64) };
                // The variance of a product of standard normals is 1 + ρ².
                let error = libm::sqrt((1.0 + expected * expected) / n as f64);
                assert!((products[i][j] - expected).abs() < 4.0 * error, "{a}, {b}: {} for {expected}", products[i][j]);
            }
        }
    }

    #[test]
    fn long_sequences_have_the_correlations_of_the_theory() {
        // The mean is known (0), so the estimates are unbiased; their spread over sequences gives their error.
        let (sequences, n) = (64u64, 10_000);
        for (d, white_share) in [(0.33, 0.58), (0.31, 0.0)] {
            let all: Vec<Vec<f64>> = (0..sequences)
                .map(|seed| {
                    let mut sequence = SumDifference::new(d, white_share, streams(seed)("noise"));
                    (0..n).map(|_| sequence.draw()).collect()
                })
                .collect();
            for lag in [1usize, 2, 3, 10, 50, 200, 1_000, 5_000] {
                let of = |values: &Vec<f64>| -> f64 {
                    values.iter().zip(&values[lag..]).map(|(a, b)| a * b).sum::<f64>() / (n - lag) as f64
                };
                let found: Vec<f64> = all.iter().map(of).collect();
                let mean = found.iter().sum::<f64>() / sequences as f64;
                let spread = found.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (sequences - 1) as f64;
                let (expected, error) =
                    (correlation(d, white_share, lag as u64), libm::sqrt(spread / sequences as f64));
                assert!((mean - expected).abs() < 4.0 * error, "d {d}, lag {lag}: {mean} ± {error} for {expected}");
                assert!(error < 0.02, "d {d}, lag {lag}: an error of {error} tells nothing");
            }
        }
    }
}
