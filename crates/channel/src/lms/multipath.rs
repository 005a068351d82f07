//! Fast variations: multipath around the moving user.

use std::array::from_fn;
use std::f64::consts::PI;
use std::sync::Arc;

use multiversion::multiversion;
use rand::Rng;

use super::fft::{Complexes, Factors, InverseFft, Pair, index_of, last_of_eight, last_of_four, parts};
use super::shared;
use crate::normal::Normals;

/// A stationary complex normal process with mean power 1 and Clarke's Doppler spectrum (Jakes 1974, section 1.1): its
/// correlation after a time t is `J0(2 pi f_d t)`.
///
/// Blocks of normal spectra with the powers of Clarke's bands are transformed, weighted with half a sine period and
/// added with half a block of overlap. The squares of the weights add up to 1, so every sample has exactly the normal
/// law and power 1, and the correlation after `lag` samples is that of the spectrum times `cos(pi lag / block)`: 0.9995
/// after 20 ms with the default sampling at 60 km/h. Beyond a block the process is independent, where Clarke's
/// correlation would still oscillate below 0.03.
pub(crate) struct Multipath {
    normals: Normals,
    tables: Arc<BandTables>,
    /// The second half of the block before, weighted.
    tail: Complexes,
}

/// The tables for a maximum Doppler shift, shared by all users at the same speed.
#[derive(Debug)]
pub(crate) struct BandTables {
    fft: InverseFft,
    /// Number of samples in a block.
    block: usize,
    /// Standard deviations of the parts of each amplitude: of the negative frequencies, and of the others, in order.
    below: Vec<f64>,
    above: Vec<f64>,
    /// By the indices of the samples.
    weights: Vec<f64>,
}

impl BandTables {
    /// `cycles` is the maximum Doppler shift in cycles per sample, below 1/2.
    pub(crate) fn new(cycles: f64) -> BandTables {
        let block = block_size(cycles);
        let weight = |n: usize| libm::sin(PI * (n as f64 + 0.5) / block as f64);
        let weights = (0..block).map(|index| weight(index_of(index))).collect();
        let (below, above) = clarke(cycles, block);
        BandTables { fft: InverseFft::new(block, above.len(), below.len()), block, below, above, weights }
    }

    /// What a user holds: half a block of complex numbers, and half of the one before.
    pub(crate) fn user_bytes(&self) -> u64 {
        (self.block * size_of::<[f64; 2]>()) as u64
    }

    fn draws(&self) -> usize {
        2 * (self.below.len() + self.above.len())
    }
}

impl Multipath {
    pub(crate) fn new(tables: Arc<BandTables>, rng: Box<dyn Rng + Send>) -> Multipath {
        let hop = tables.block / 2;
        let mut multipath = Multipath { normals: Normals::new(rng), tables, tail: Complexes::zeros(hop) };
        multipath.next_block(&mut Complexes::zeros(hop));
        multipath
    }

    /// The number of samples that [`Multipath::next_block`] returns.
    pub(crate) fn hop(&self) -> usize {
        self.tables.block / 2
    }

    /// Fills `out` with the next [`Multipath::hop`] samples, each at [`index_of`] its number.
    pub(crate) fn next_block(&mut self, out: &mut Complexes) {
        let Multipath { normals, tables, tail } = self;
        shared::with_spectra(|space| {
            space.0.resize(tables.block);
            space.1.resize(tables.block);
            draw_spectrum(tables, normals, &mut space.0);
            synthesize(tables, space, tail, out);
        });
    }

    /// As [`Multipath::next_block`] if neither this block nor the one after it is read: only the random draws are made.
    pub(crate) fn skip_block(&mut self) {
        self.normals.skip(self.tables.draws());
    }
}

fn draw_spectrum(tables: &BandTables, normals: &mut Normals, data: &mut Complexes) {
    let (below, above) = (tables.block - tables.below.len(), tables.above.len());
    let (re, im) = data.parts_mut(tables.block);
    for gap in tables.fft.gaps(above, tables.below.len()) {
        re[gap.clone()].fill(0.0);
        im[gap].fill(0.0);
    }
    amplitudes(&tables.below, normals, &mut re[below..], &mut im[below..]);
    amplitudes(&tables.above, normals, &mut re[..above], &mut im[..above]);
}

fn amplitudes(deviations: &[f64], normals: &mut Normals, re: &mut [f64], im: &mut [f64]) {
    let (mut index, amplitudes) = (0, deviations.len());
    let (re, im) = (&mut re[..amplitudes], &mut im[..amplitudes]);
    while index < amplitudes {
        let (draws, rest) = normals.run(2 * (amplitudes - index)).as_chunks::<2>();
        let last = rest.first().copied();
        let upto = index + draws.len();
        scale(&deviations[index..upto], draws, &mut re[index..upto], &mut im[index..upto]);
        index = upto;
        if let Some(draw) = last {
            // The run ends within a pair.
            (re[index], im[index]) = (deviations[index] * draw, deviations[index] * normals.draw());
            index += 1;
        }
    }
}

/// On processors with wider registers these are used, with the same rounding.
#[multiversion(targets("x86_64+avx2"))]
fn scale(deviations: &[f64], draws: &[[f64; 2]], re: &mut [f64], im: &mut [f64]) {
    let (draws, re, im) = (&draws[..deviations.len()], &mut re[..deviations.len()], &mut im[..deviations.len()]);
    for (index, deviation) in deviations.iter().enumerate() {
        (re[index], im[index]) = (deviation * draws[index][0], deviation * draws[index][1]);
    }
}

/// From a spectrum to the samples: transform, weights, overlap with the half before.
fn synthesize(tables: &BandTables, space: &mut (Complexes, Complexes), tail: &mut Complexes, out: &mut Complexes) {
    let (size, (data, scratch)) = (tables.block, space);
    transform(&tables.fft, data, scratch);
    let ((re, im), (rise, fall)) = (data.parts(size), tables.weights[..size].split_at(size / 2));
    let ((tail_re, tail_im), (out_re, out_im)) = (tail.parts_mut(size / 2), out.parts_mut(size / 2));
    add_halves(tables.fft.last(), re, im, rise, fall, tail_re, tail_im, out_re, out_im);
}

/// On processors with wider registers these are used, with the same rounding. Usual sizes are constants.
#[multiversion(targets("x86_64+avx2"))]
fn transform(fft: &InverseFft, data: &mut Complexes, scratch: &mut Complexes) {
    match fft.size() {
        2048 => fft.transform(2048, data, scratch),
        4096 => fft.transform(4096, data, scratch),
        size => fft.transform(size, data, scratch),
    }
}

/// The last pass, and overlap. On processors with wider registers these are used, with the same rounding. Usual sizes
/// are constants.
#[multiversion(targets("x86_64+avx2"))]
#[expect(clippy::too_many_arguments, reason = "as overlap")]
fn add_halves(
    last: Factors,
    re: &[f64],
    im: &[f64],
    rise: &[f64],
    fall: &[f64],
    tail_re: &mut [f64],
    tail_im: &mut [f64],
    out_re: &mut [f64],
    out_im: &mut [f64],
) {
    match re.len() {
        2048 => overlap(last_of_eight, 256, last, re, im, rise, fall, tail_re, tail_im, out_re, out_im),
        4096 => overlap(last_of_four, 1024, last, re, im, rise, fall, tail_re, tail_im, out_re, out_im),
        size if InverseFft::rows(size) == 8 => {
            overlap(last_of_eight, size / 8, last, re, im, rise, fall, tail_re, tail_im, out_re, out_im);
        }
        size => overlap(last_of_four, size / 4, last, re, im, rise, fall, tail_re, tail_im, out_re, out_im),
    }
}

/// The last pass, of which the first half is added to the second half of the block before. The arguments are separate
/// so that the compiler sees that they do not overlap.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "see above")]
fn overlap<const ROWS: usize, const PARTS: usize>(
    last: impl Fn(&Factors, [Pair; ROWS]) -> [(Pair, Pair); PARTS],
    n: usize,
    factors: Factors,
    re: &[f64],
    im: &[f64],
    rise: &[f64],
    fall: &[f64],
    tail_re: &mut [f64],
    tail_im: &mut [f64],
    out_re: &mut [f64],
    out_im: &mut [f64],
) {
    let (re, im) = (parts::<_, ROWS>(re, n), parts::<_, ROWS>(im, n));
    let (rise, fall) = (parts::<_, PARTS>(rise, n), parts::<_, PARTS>(fall, n));
    let (tail_re, tail_im) = (parts_mut::<PARTS>(tail_re, n), parts_mut::<PARTS>(tail_im, n));
    let (out_re, out_im) = (parts_mut::<PARTS>(out_re, n), parts_mut::<PARTS>(out_im, n));
    for q in 0..n {
        let mut rows = [(0.0, 0.0); ROWS];
        for row in 0..ROWS {
            rows[row] = (re[row][q], im[row][q]);
        }
        let made = last(&factors, rows);
        for part in 0..PARTS {
            let (first, second) = made[part];
            out_re[part][q] = tail_re[part][q] + rise[part][q] * first.0;
            out_im[part][q] = tail_im[part][q] + rise[part][q] * first.1;
            (tail_re[part][q], tail_im[part][q]) = (fall[part][q] * second.0, fall[part][q] * second.1);
        }
    }
}

#[inline(always)]
fn parts_mut<const PARTS: usize>(numbers: &mut [f64], n: usize) -> [&mut [f64]; PARTS] {
    let mut parts = numbers.chunks_exact_mut(n);
    from_fn(|_| &mut parts.next().expect("as many parts")[..n])
}

/// A power of two: 200 Doppler periods or more, but between 2048 and 2^18 samples.
fn block_size(cycles: f64) -> usize {
    ((200.0 / cycles).clamp(2048.0, 262_144.0) as usize).next_power_of_two()
}

/// For the frequencies of the transform from the lowest to -1 and from 0 to the highest, the standard deviations of
/// each part of their amplitudes: from the powers of the bands around them under Clarke's spectrum `1 / (pi sqrt(1 -
/// f^2))`, integrated exactly, so that the poles at its edges need no cut.
fn clarke(cycles: f64, block: usize) -> (Vec<f64>, Vec<f64>) {
    let scale = 1.0 / (cycles * block as f64);
    let below = |band: f64| libm::asin((band * scale).clamp(-1.0, 1.0)) / PI;
    let outermost = (cycles * block as f64).ceil() as i64;
    let deviation = |k: i64| {
        let power = below(k as f64 + 0.5) - below(k as f64 - 0.5);
        (power > 0.0).then(|| (power / 2.0).sqrt())
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
        let (mut all_re, mut all_im, hop) = (Vec::new(), Vec::new(), multipath.hop());
        let mut out = Complexes::zeros(hop);
        while all_re.len() < count {
            multipath.next_block(&mut out);
            let (re, im) = out.parts(hop);
            all_re.extend((0..hop).map(|n| re[index_of(n)]));
            all_im.extend((0..hop).map(|n| im[index_of(n)]));
        }
        Samples { re: all_re, im: all_im }
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
            let (below, above) = clarke(cycles, block_size(cycles));
            let sum: f64 = below.iter().chain(&above).map(|deviation| 2.0 * deviation * deviation).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{cycles}: {sum}");
        }
    }

    #[test]
    fn wide_registers_make_the_same_bits() {
        for cycles in [0.1223, 0.061, 0.03, 0.25] {
            let tables = BandTables::new(cycles);
            let mut normals = Normals::new(streams(5)("multipath"));
            let mut some = |size: usize| {
                let mut z = Complexes::zeros(size);
                let (re, im) = z.parts_mut(size);
                normals.fill(re);
                normals.fill(im);
                z
            };
            let (size, hop) = (tables.block, tables.block / 2);
            let (data, mut tail) = (some(size), some(hop));
            let (mut data_here, mut tail_here) = (data.clone(), tail.clone());
            let (mut out, mut out_here) = (some(hop), some(hop));
            synthesize(&tables, &mut (data, some(size)), &mut tail, &mut out);
            tables.fft.transform(size, &mut data_here, &mut some(size));
            let ((re, im), (rise, fall)) = (data_here.parts(size), tables.weights.split_at(hop));
            let ((tail_re, tail_im), (out_re, out_im)) = (tail_here.parts_mut(hop), out_here.parts_mut(hop));
            match InverseFft::rows(size) {
                8 => {
                    let n = size / 8;
                    overlap(last_of_eight, n, tables.fft.last(), re, im, rise, fall, tail_re, tail_im, out_re, out_im);
                }
                _ => {
                    let n = size / 4;
                    overlap(last_of_four, n, tables.fft.last(), re, im, rise, fall, tail_re, tail_im, out_re, out_im);
                }
            }
            assert!(out.bits() == out_here.bits() && tail.bits() == tail_here.bits(), "{cycles}");
        }
    }

    #[test]
    fn skipped_blocks_change_nothing() {
        let mut read = Multipath::new(Arc::new(BandTables::new(0.1223)), streams(3)("multipath"));
        let mut skipped = Multipath::new(Arc::new(BandTables::new(0.1223)), streams(3)("multipath"));
        let (mut a, mut b) = (Complexes::zeros(read.hop()), Complexes::zeros(read.hop()));
        for _ in 0..4 {
            read.next_block(&mut a);
        }
        skipped.skip_block();
        skipped.skip_block();
        skipped.next_block(&mut b);
        skipped.next_block(&mut b);
        assert_eq!(a, b);
    }
}
