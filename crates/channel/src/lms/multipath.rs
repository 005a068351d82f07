//! Fast variations: multipath around the moving user.

use std::f64::consts::{FRAC_PI_2, PI};
use std::sync::Arc;

use multiversion::multiversion;
use rand::Rng;

use super::fft::{Complexes, InverseFft, index_of};
use super::shared;
use crate::normal::{Generators, LANES, Lanes};

/// A stationary complex normal process with mean power 1 and Clarke's Doppler spectrum (Jakes 1974, section 1.1): its
/// correlation after a time t is `J0(2 pi f_d t)`.
///
/// Blocks of normal spectra with the powers of Clarke's bands are transformed. Neighbours overlap by an eighth of a
/// block, in which the one falls with a quarter of a cosine period and the next one rises with a quarter of a sine
/// period. The squares of these weights add up to 1, so every sample has exactly the normal law and power 1. The
/// correlation after `lag` samples is that of the spectrum, but in an overlap that times `cos(pi lag / (2 overlap))`:
/// 0.992 after 20 ms with the default sampling at 60 km/h. A block is periodic, so its ends are correlated, by less
/// than 0.05; beyond a block the process is independent, where Clarke's correlation would still oscillate below 0.03.
/// Blocks of fewer than 200 Doppler periods, with more than 1,300 samples each, come with larger deviations.
pub(crate) struct Multipath {
    generators: Generators,
    tables: Arc<BandTables>,
    /// The block, of which the last part is not weighted yet.
    block: Complexes,
}

/// The tables for a maximum Doppler shift, shared by all users at the same speed.
#[derive(Debug)]
pub(crate) struct BandTables {
    fft: InverseFft,
    /// Number of samples in a block.
    block: usize,
    /// Standard deviations of the parts of each amplitude: of the frequencies from 0 on, and of the negative ones up to
    /// the last; 0 fills the lanes.
    above: Vec<Lanes<f32>>,
    below: Vec<Lanes<f32>>,
    /// By the indices of the samples of an overlap.
    rise: Vec<f32>,
    fall: Vec<f32>,
}

impl BandTables {
    /// `cycles` is the maximum Doppler shift in cycles per sample, below 1/2.
    pub(crate) fn new(cycles: f64) -> BandTables {
        let block = block_size(cycles);
        let overlap = block / 8;
        let angle = |index: usize| FRAC_PI_2 * (index_of(index) as f64 + 0.5) / overlap as f64;
        let weights = |of: fn(f64) -> f64| (0..overlap).map(|index| of(angle(index)) as f32).collect();
        let (mut below, mut above) = clarke(cycles, block);
        above.resize(above.len().next_multiple_of(LANES), 0.0);
        below.splice(0..0, vec![0.0; below.len().next_multiple_of(LANES) - below.len()]);
        BandTables {
            fft: InverseFft::new(block, above.len(), below.len()),
            block,
            above: above.as_chunks().0.to_vec(),
            below: below.as_chunks().0.to_vec(),
            rise: weights(libm::sin),
            fall: weights(libm::cos),
        }
    }

    /// What a user holds: a block of complex numbers.
    pub(crate) fn user_bytes(&self) -> u64 {
        (self.block * size_of::<[f32; 2]>()) as u64
    }
}

impl Multipath {
    /// Begins with a block.
    pub(crate) fn new(tables: Arc<BandTables>, rng: Box<dyn Rng + Send>) -> Multipath {
        let (mut generators, mut block) = (Generators::new(rng), Complexes::zeros(tables.block));
        shared::with_space(|[spectrum, space, _]| synthesize(&tables, &mut generators, spectrum, space, &mut block));
        Multipath { generators, tables, block }
    }

    /// The number of samples of a block that are read: the others are in the overlap with the next one.
    pub(crate) fn stride(&self) -> usize {
        self.tables.block - self.tables.rise.len()
    }

    /// Makes the next block.
    pub(crate) fn next_block(&mut self) {
        let (stride, size) = (self.stride(), self.tables.block);
        let Multipath { generators, tables, block } = self;
        shared::with_space(|[spectrum, space, end]| {
            end.resize(size - stride);
            let ((end_re, end_im), (re, im)) = (end.parts_mut(size - stride), block.parts(size));
            end_re.copy_from_slice(&re[stride..]);
            end_im.copy_from_slice(&im[stride..]);
            synthesize(tables, generators, spectrum, space, block);
            let (re, im) = block.parts_mut(size);
            add(tables, end_re, re);
            add(tables, end_im, im);
        });
    }

    /// As [`Multipath::next_block`] if neither this block nor the one after it is read: only the random draws are made.
    pub(crate) fn skip_block(&mut self) {
        self.generators.skip(self.tables.above.len() + self.tables.below.len());
    }

    /// A sample of the block.
    #[inline(always)]
    pub(crate) fn sample(&self, number: usize) -> [f32; 2] {
        self.block.get(index_of(number))
    }
}

/// From a random spectrum to the samples of a block.
fn synthesize(
    tables: &BandTables,
    generators: &mut Generators,
    spectrum: &mut Complexes,
    space: &mut Complexes,
    block: &mut Complexes,
) {
    spectrum.resize(tables.block);
    space.resize(tables.block);
    draw_spectrum(tables, generators, spectrum);
    transform(&tables.fft, spectrum, space, block);
}

fn draw_spectrum(tables: &BandTables, generators: &mut Generators, spectrum: &mut Complexes) {
    let (re, im) = spectrum.parts_mut(tables.block);
    let (above, below) = (tables.above.len() * LANES, tables.below.len() * LANES);
    for gap in tables.fft.gaps(above, below) {
        re[gap.clone()].fill(0.0);
        im[gap].fill(0.0);
    }
    let (re, im) = (re.as_chunks_mut().0, im.as_chunks_mut().0);
    generators.make(&tables.above, re, im);
    let first = re.len() - tables.below.len();
    generators.make(&tables.below, &mut re[first..], &mut im[first..]);
}

/// On processors with wider registers these are used, with the same rounding. Usual sizes are constants.
#[multiversion(targets("x86_64+avx2"))]
fn transform(fft: &InverseFft, spectrum: &mut Complexes, space: &mut Complexes, block: &mut Complexes) {
    match fft.size() {
        2048 => fft.transform(2048, spectrum, space, block),
        4096 => fft.transform(4096, spectrum, space, block),
        size => fft.transform(size, spectrum, space, block),
    }
}

/// Lets the first samples of a block rise, and adds the falling end of the one before.
fn add(tables: &BandTables, end: &[f32], block: &mut [f32]) {
    for (((sample, end), rise), fall) in block.iter_mut().zip(end).zip(&tables.rise).zip(&tables.fall) {
        *sample = *sample * rise + end * fall;
    }
}

/// A power of two: 200 Doppler periods or more, but between 2048 and 2^18 samples.
fn block_size(cycles: f64) -> usize {
    ((200.0 / cycles).clamp(2048.0, 262_144.0) as usize).next_power_of_two()
}

/// For the frequencies of the transform from the lowest to -1 and from 0 to the highest, the standard deviations of
/// each part of their amplitudes: from the powers of the bands around them under Clarke's spectrum `1 / (pi sqrt(1 -
/// f^2))`, integrated exactly, so that the poles at its edges need no cut.
fn clarke(cycles: f64, block: usize) -> (Vec<f32>, Vec<f32>) {
    let scale = 1.0 / (cycles * block as f64);
    let below = |band: f64| libm::asin((band * scale).clamp(-1.0, 1.0)) / PI;
    let outermost = (cycles * block as f64).ceil() as i64;
    let deviation = |k: i64| {
        let power = below(k as f64 + 0.5) - below(k as f64 - 0.5);
        (power > 0.0).then(|| (power / 2.0).sqrt() as f32)
    };
    ((-outermost..0).filter_map(deviation).collect(), (0..=outermost).filter_map(deviation).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::streams;

    struct Samples {
        re: Vec<f64>,
        im: Vec<f64>,
    }

    fn samples(cycles: f64, count: usize) -> Samples {
        let mut multipath = Multipath::new(Arc::new(BandTables::new(cycles)), streams(3)("multipath"));
        let mut all = Samples { re: Vec::new(), im: Vec::new() };
        while all.re.len() < count {
            for [re, im] in (0..multipath.stride()).map(|number| multipath.sample(number)) {
                all.re.push(re.into());
                all.im.push(im.into());
            }
            multipath.next_block();
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
        // Power and correlation of neighbours by position in the block: over many blocks the same everywhere.
        let cycles = 0.1223;
        let tables = BandTables::new(cycles);
        let (stride, overlap) = (tables.block - tables.rise.len(), tables.rise.len());
        let z = samples(cycles, 2_000 * stride);
        let blocks = z.re.len() / stride - 1;
        let expected = libm::j0(2.0 * PI * cycles * 2.0);
        for position in [0, 1, overlap / 2, overlap - 2, overlap, stride / 2, stride - 2, stride - 1] {
            let (mut power, mut product) = (0.0, 0.0);
            for i in (0..blocks).map(|block| block * stride + position) {
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
            let (below, above) = clarke(cycles, block_size(cycles));
            let power = |deviation: &f32| 2.0 * f64::from(*deviation) * f64::from(*deviation);
            let sum: f64 = below.iter().chain(&above).map(power).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{cycles}: {sum}");
        }
    }

    #[test]
    fn wide_registers_make_the_same_bits() {
        for cycles in [0.1223, 0.061, 0.03, 0.25] {
            let tables = BandTables::new(cycles);
            let mut spectrum = Complexes::zeros(tables.block);
            draw_spectrum(&tables, &mut Generators::new(streams(5)("multipath")), &mut spectrum);
            let mut spectrum_here = spectrum.clone();
            let [mut block, mut block_here, mut space] = [0; 3].map(|_| Complexes::zeros(tables.block));
            transform(&tables.fft, &mut spectrum, &mut space, &mut block);
            tables.fft.transform(tables.block, &mut spectrum_here, &mut space, &mut block_here);
            assert!(block.bits() == block_here.bits(), "{cycles}");
        }
    }

    #[test]
    fn skipped_blocks_change_nothing() {
        let mut read = Multipath::new(Arc::new(BandTables::new(0.1223)), streams(3)("multipath"));
        let mut skipped = Multipath::new(Arc::new(BandTables::new(0.1223)), streams(3)("multipath"));
        (0..4).for_each(|_| read.next_block());
        (0..2).for_each(|_| skipped.skip_block());
        (0..2).for_each(|_| skipped.next_block());
        assert!((0..read.stride()).all(|number| read.sample(number) == skipped.sample(number)));
    }
}
