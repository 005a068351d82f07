//! Fast variations: waves scattered around the moving user.

use std::f64::consts::PI;
use std::sync::Arc;

use rand::Rng;

use super::fft::{Complexes, InverseFft};
use crate::normal::Normals;

/// A stationary complex normal process with mean power 1 and Clarke's Doppler spectrum (Jakes 1974, section 1.1): its
/// correlation after a time t is `J0(2 pi f_d t)`.
///
/// Blocks of normal spectra with the powers of Clarke's bands are transformed, weighted with half a sine period and added with
/// half a block of overlap. The squares of the weights add up to 1, so every sample has exactly the normal law and power 1,
/// and the correlation after `lag` samples is that of the spectrum times `cos(pi lag / block)`: 0.9995 after 20 ms with the
/// default sampling at 60 km/h. Beyond a block the process is independent, where Clarke's correlation would still ripple
/// below 0.03.
pub(crate) struct Multipath {
    normals: Normals,
    plan: Arc<Plan>,
    /// The second half of the block before, weighted.
    tail: Complexes,
}

/// What the multipath of users at the same speed has in common.
#[derive(Debug)]
pub(crate) struct Plan {
    fft: InverseFft,
    /// Number of samples in a block.
    block: usize,
    /// Index of a frequency and the standard deviation of each part of its amplitude.
    spectrum: Vec<(usize, f64)>,
    weights: Vec<f64>,
}

impl Plan {
    /// `cycles` is the maximum Doppler shift in cycles per sample, below 1/2.
    pub(crate) fn new(cycles: f64) -> Plan {
        let block = block_size(cycles);
        let weights = (0..block).map(|n| libm::sin(PI * (n as f64 + 0.5) / block as f64)).collect();
        Plan { fft: InverseFft::new(block), block, spectrum: clarke(cycles, block), weights }
    }
}

impl Multipath {
    pub(crate) fn new(plan: Arc<Plan>, rng: Box<dyn Rng + Send>) -> Multipath {
        let hop = plan.block / 2;
        let mut multipath = Multipath { normals: Normals::new(rng), plan, tail: Complexes::zeros(hop) };
        multipath.next_block(&mut Complexes::zeros(hop));
        multipath
    }

    /// How many samples [`Multipath::next_block`] gives.
    pub(crate) fn hop(&self) -> usize {
        self.plan.block / 2
    }

    /// Fills `out` with the next [`Multipath::hop`] samples.
    pub(crate) fn next_block(&mut self, out: &mut Complexes) {
        let plan = &*self.plan;
        // Held for the length of a block only: many users wait between their blocks.
        let (mut data, mut scratch) = (Complexes::zeros(plan.block), Complexes::zeros(plan.block));
        for &(index, deviation) in &plan.spectrum {
            data.re[index] = deviation * self.normals.draw();
            data.im[index] = deviation * self.normals.draw();
        }
        plan.fft.transform(&mut data, &mut scratch);
        let (rise, fall) = plan.weights.split_at(plan.block / 2);
        overlap(&mut out.re, &mut self.tail.re, &data.re, rise, fall);
        overlap(&mut out.im, &mut self.tail.im, &data.im, rise, fall);
    }

    /// As [`Multipath::next_block`] for a block, and the one after it, that nobody will read: takes the draws alone.
    pub(crate) fn skip_block(&mut self) {
        for _ in 0..2 * self.plan.spectrum.len() {
            self.normals.draw();
        }
    }
}

fn overlap(out: &mut [f64], tail: &mut [f64], block: &[f64], rise: &[f64], fall: &[f64]) {
    let (first, second) = block.split_at(tail.len());
    for n in 0..tail.len() {
        out[n] = tail[n] + rise[n] * first[n];
        tail[n] = fall[n] * second[n];
    }
}

/// A power of two: 200 Doppler periods or more, but between 2048 and 2^18 samples.
fn block_size(cycles: f64) -> usize {
    ((200.0 / cycles).clamp(2048.0, 262_144.0) as usize).next_power_of_two()
}

/// The bands around each frequency of the transform with their powers under Clarke's spectrum `1 / (pi sqrt(1 - f^2))`,
/// integrated exactly, so that the poles at its edges need no cut.
fn clarke(cycles: f64, block: usize) -> Vec<(usize, f64)> {
    let scale = 1.0 / (cycles * block as f64);
    let below = |band: f64| libm::asin((band * scale).clamp(-1.0, 1.0)) / PI;
    let outermost = (cycles * block as f64).ceil() as i64;
    (-outermost..=outermost)
        .map(|k| (k.rem_euclid(block as i64) as usize, below(k as f64 + 0.5) - below(k as f64 - 0.5)))
        .filter(|&(_, power)| power > 0.0)
        .map(|(index, power)| (index, (power / 2.0).sqrt()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::streams;

    fn samples(cycles: f64, count: usize) -> Complexes {
        let mut multipath = Multipath::new(Arc::new(Plan::new(cycles)), streams(3)("multipath"));
        let mut all = Complexes { re: Vec::new(), im: Vec::new() };
        let mut out = Complexes::zeros(multipath.hop());
        while all.re.len() < count {
            multipath.next_block(&mut out);
            all.re.extend_from_slice(&out.re);
            all.im.extend_from_slice(&out.im);
        }
        all
    }

    #[test]
    fn correlation_is_clarke_s() {
        for cycles in [0.1223, 0.25, 0.02] {
            let z = samples(cycles, 1_000_000);
            let n = z.re.len();
            let correlation = |lag: usize| {
                let (mut re, mut im) = (0.0, 0.0);
                for i in 0..n - lag {
                    re += z.re[i] * z.re[i + lag] + z.im[i] * z.im[i + lag];
                    im += z.re[i] * z.im[i + lag] - z.im[i] * z.re[i + lag];
                }
                (re / (n - lag) as f64, im / (n - lag) as f64)
            };
            for lag in [0, 1, 2, 3, 5, 8, 13, 20, 40] {
                let expected = libm::j0(2.0 * PI * cycles * lag as f64);
                let (re, im) = correlation(lag);
                assert!((re - expected).abs() < 0.015, "{cycles} lag {lag}: {re} against {expected}");
                assert!(im.abs() < 0.015, "{cycles} lag {lag}: imaginary {im}");
            }
        }
    }

    #[test]
    fn amplitudes_are_rayleigh() {
        let z = samples(0.1223, 2_000_000);
        let powers: Vec<f64> = z.re.iter().zip(&z.im).map(|(re, im)| re * re + im * im).collect();
        for level in [0.01, 0.1, 0.5, 1.0, 2.0, 4.0] {
            let share = powers.iter().filter(|&&power| power < level).count() as f64 / powers.len() as f64;
            let expected = -libm::expm1(-level);
            assert!((share - expected).abs() < 0.02 * expected.sqrt(), "below {level}: {share} against {expected}");
        }
    }

    #[test]
    fn no_block_border_is_special() {
        // Power and the correlation of neighbours, by position in the block: over many blocks, the same everywhere.
        let cycles = 0.1223;
        let hop = block_size(cycles) / 2;
        let z = samples(cycles, 2_000 * hop);
        let blocks = z.re.len() / hop - 1;
        let expected = libm::j0(2.0 * PI * cycles * 2.0);
        for position in [0, 1, hop / 4, hop / 2, hop - 2, hop - 1] {
            let (mut power, mut product) = (0.0, 0.0);
            for i in (0..blocks).map(|block| block * hop + position) {
                power += z.re[i] * z.re[i] + z.im[i] * z.im[i];
                product += z.re[i] * z.re[i + 2] + z.im[i] * z.im[i + 2];
            }
            let (power, product) = (power / blocks as f64, product / blocks as f64);
            assert!((power - 1.0).abs() < 0.1, "at {position}: power {power}");
            assert!((product - expected).abs() < 0.1, "at {position}: {product} against {expected}");
        }
    }

    #[test]
    fn the_powers_of_the_bands_add_up_to_one() {
        for cycles in [1e-4, 0.003, 0.1223, 0.25, 0.49] {
            let sum: f64 =
                clarke(cycles, block_size(cycles)).iter().map(|(_, deviation)| 2.0 * deviation * deviation).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{cycles}: {sum}");
        }
    }

    #[test]
    fn skipped_blocks_change_nothing() {
        let mut read = Multipath::new(Arc::new(Plan::new(0.1223)), streams(3)("multipath"));
        let mut skipped = Multipath::new(Arc::new(Plan::new(0.1223)), streams(3)("multipath"));
        let (mut a, mut b) = (Complexes::zeros(read.hop()), Complexes::zeros(read.hop()));
        for _ in 0..4 {
            read.next_block(&mut a);
        }
        skipped.skip_block();
        skipped.skip_block();
        skipped.next_block(&mut b);
        skipped.next_block(&mut b);
        assert_eq!(a.re, b.re);
    }
}
