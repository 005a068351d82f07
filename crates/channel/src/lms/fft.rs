//! The inverse discrete Fourier transform of a power-of-two length.
//!
//! Implemented here because the result must have the same bits on every machine: libraries take the twiddle factors
//! from the platform's sine, and sum in an order that depends on the processor. Here the order is the same everywhere,
//! products and sums are never fused, and four numbers are computed at once, in registers as wide as the caller is
//! compiled for.

use std::f64::consts::PI;
use std::ops::{Add, Mul, Sub};

/// `x[n] = sum over k of X[k] exp(2 pi i k n / N)`, without a factor, by Stockham's algorithm with radix 4: the inner
/// loops run over contiguous numbers, and no reordering is needed.
#[derive(Debug)]
pub(crate) struct InverseFft {
    size: usize,
    /// The factors of the first pass, whose groups are of one butterfly: a row for each part.
    first: [Vec<f64>; 6],
    /// For each further pass of radix 4, the factors of each group.
    passes: Vec<Vec<[f64; 6]>>,
}

/// Complex numbers, real and imaginary parts apart.
#[derive(Clone, Debug)]
pub(crate) struct Complexes {
    pub(crate) re: Vec<f64>,
    pub(crate) im: Vec<f64>,
}

impl Complexes {
    pub(crate) fn zeros(size: usize) -> Complexes {
        Complexes { re: vec![0.0; size], im: vec![0.0; size] }
    }
}

impl InverseFft {
    /// # Panics
    /// If `size` is not a power of two, or less than 16.
    pub(crate) fn new(size: usize) -> InverseFft {
        assert!(size.is_power_of_two() && size >= 4 * LANES);
        let first = std::array::from_fn(|part| (0..size / 4).map(|p| factors(p, size)[part]).collect());
        let mut passes = Vec::new();
        let mut length = size / 4;
        while length >= 4 {
            passes.push((0..length / 4).map(|p| factors(p, length)).collect());
            length /= 4;
        }
        InverseFft { size, first, passes }
    }

    /// Transforms `data`, with `scratch` of the same size, up to what [`halves`] does. If `band` is set, the
    /// second and the third quarter are taken as zero, whatever they hold.
    #[inline(always)]
    pub(crate) fn transform(&self, data: &mut Complexes, scratch: &mut Complexes, band: bool) {
        assert!(data.re.len() == self.size && scratch.re.len() == self.size);
        assert!(data.im.len() == self.size && scratch.im.len() == self.size);
        if band {
            first_pass::<true>(&self.first, data, &mut scratch.re, &mut scratch.im);
        } else {
            first_pass::<false>(&self.first, data, &mut scratch.re, &mut scratch.im);
        }
        std::mem::swap(data, scratch);
        let mut stride = 4;
        for pass in &self.passes {
            radix_4(pass, stride, data, scratch);
            std::mem::swap(data, scratch);
            stride *= 4;
        }
    }

    /// Whether the size is no power of four: a last pass of radix 2 is then left.
    pub(crate) fn leaves_halves(&self) -> bool {
        self.size.trailing_zeros() % 2 == 1
    }
}

/// A number of the first half of the result and the one half the size after it, from those left by
/// [`InverseFft::transform`].
#[inline(always)]
pub(crate) fn halves<const LEFT: bool>(a: f64, b: f64) -> (f64, f64) {
    if LEFT { (a + b, a - b) } else { (a, b) }
}

/// The factors w, w^2, w^3 of a group: real and imaginary parts.
fn factors(p: usize, length: usize) -> [f64; 6] {
    let mut all = [0.0; 6];
    for power in 1..=3 {
        let (sin, cos) = libm::sincos(2.0 * PI * (p * power) as f64 / length as f64);
        (all[2 * power - 2], all[2 * power - 1]) = (cos, sin);
    }
    all
}

/// One butterfly in each group; `yr` and `yi` are separate arguments so that the compiler sees that they do not
/// overlap.
#[inline(always)]
fn first_pass<const BAND: bool>(factors: &[Vec<f64>; 6], x: &Complexes, yr: &mut [f64], yi: &mut [f64]) {
    let (quarter, n) = (x.re.len() / 4, x.re.len() / 4 / LANES);
    let row = |part: usize| {
        let row = part * quarter..(part + 1) * quarter;
        (lanes(&x.re[row.clone()], n), lanes(&x.im[row], n))
    };
    let (a, b, c, d) = (row(0), row(1), row(2), row(3));
    let [w1r, w1i, w2r, w2i, w3r, w3i] = factors;
    let w = [lanes(w1r, n), lanes(w1i, n), lanes(w2r, n), lanes(w2i, n), lanes(w3r, n), lanes(w3i, n)];
    let at = |row: Chunks, p: usize| (Lanes(row.0[p]), Lanes(row.1[p]));
    let (yr, yi) = (groups(yr, n), groups(yi, n));
    const ZERO: Lanes = Lanes([0.0; LANES]);
    for p in 0..n {
        let (b, c) = if BAND { ((ZERO, ZERO), (ZERO, ZERO)) } else { (at(b, p), at(c, p)) };
        let w = [w[0][p], w[1][p], w[2][p], w[3][p], w[4][p], w[5][p]];
        let w = [Lanes(w[0]), Lanes(w[1]), Lanes(w[2]), Lanes(w[3]), Lanes(w[4]), Lanes(w[5])];
        let [(r0, i0), (r1, i1), (r2, i2), (r3, i3)] = butterfly(&w, at(a, p), b, c, at(d, p));
        transpose([r0, r1, r2, r3], &mut yr[p]);
        transpose([i0, i1, i2, i3], &mut yi[p]);
    }
}

/// The first `n` times [`LANES`] numbers.
#[inline(always)]
fn lanes(row: &[f64], n: usize) -> &[[f64; LANES]] {
    &row.as_chunks().0[..n]
}

/// The results of [`LANES`] groups of one butterfly each, `n` times.
#[inline(always)]
fn groups(y: &mut [f64], n: usize) -> &mut [[[f64; 4]; LANES]] {
    &mut y.as_chunks_mut::<4>().0.as_chunks_mut::<LANES>().0[..n]
}

/// Writes the rows of butterflies that were computed at once, one butterfly after the other.
#[inline(always)]
fn transpose([a, b, c, d]: [Lanes; 4], out: &mut [[f64; 4]; LANES]) {
    *out = [
        [a.0[0], b.0[0], c.0[0], d.0[0]],
        [a.0[1], b.0[1], c.0[1], d.0[1]],
        [a.0[2], b.0[2], c.0[2], d.0[2]],
        [a.0[3], b.0[3], c.0[3], d.0[3]],
    ];
}

/// Groups of `stride` butterflies each, at least four.
#[inline(always)]
fn radix_4(factors: &[[f64; 6]], stride: usize, x: &Complexes, y: &mut Complexes) {
    let (quarter, n) = (x.re.len() / 4, stride / LANES);
    let row = |part: usize| {
        let row = part * quarter..(part + 1) * quarter;
        let (re, im) = (x.re[row.clone()].as_chunks().0, x.im[row].as_chunks().0);
        re.chunks_exact(n).zip(im.chunks_exact(n))
    };
    let rows = row(0).zip(row(1)).zip(row(2).zip(row(3)));
    let (yr, yi) = (y.re.as_chunks_mut().0, y.im.as_chunks_mut().0);
    let out = yr.chunks_exact_mut(4 * n).zip(yi.chunks_exact_mut(4 * n));
    for ((w, ((a, b), (c, d))), (yr, yi)) in factors.iter().zip(rows).zip(out) {
        butterflies(w, [a, b, c, d], yr, yi);
    }
}

type Chunks<'a> = (&'a [[f64; LANES]], &'a [[f64; LANES]]);

/// The butterflies of a group: four rows in, four rows out.
#[inline(always)]
fn butterflies(w: &[f64; 6], [a, b, c, d]: [Chunks; 4], yr: &mut [[f64; LANES]], yi: &mut [[f64; LANES]]) {
    let n = a.0.len();
    let (y0r, yr) = yr.split_at_mut(n);
    let (y1r, yr) = yr.split_at_mut(n);
    let (y2r, y3r) = yr.split_at_mut(n);
    let (y0i, yi) = yi.split_at_mut(n);
    let (y1i, yi) = yi.split_at_mut(n);
    let (y2i, y3i) = yi.split_at_mut(n);
    let (a, b, c, d) = (same(a, n), same(b, n), same(c, n), same(d, n));
    let (y3r, y3i) = (&mut y3r[..n], &mut y3i[..n]);
    let w = w.map(|w| Lanes([w; LANES]));
    let lanes = |row: Chunks, q: usize| (Lanes(row.0[q]), Lanes(row.1[q]));
    for q in 0..n {
        let rows = butterfly(&w, lanes(a, q), lanes(b, q), lanes(c, q), lanes(d, q));
        (y0r[q], y0i[q]) = (rows[0].0.0, rows[0].1.0);
        (y1r[q], y1i[q]) = (rows[1].0.0, rows[1].1.0);
        (y2r[q], y2i[q]) = (rows[2].0.0, rows[2].1.0);
        (y3r[q], y3i[q]) = (rows[3].0.0, rows[3].1.0);
    }
}

/// Asserts for the compiler that the rows are equally long.
#[inline(always)]
fn same(row: Chunks, n: usize) -> Chunks {
    (&row.0[..n], &row.1[..n])
}

/// Real and imaginary parts.
type Pair<T> = (T, T);

#[inline(always)]
fn butterfly<T>(w: &[T; 6], a: Pair<T>, b: Pair<T>, c: Pair<T>, d: Pair<T>) -> [Pair<T>; 4]
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    let (sum_r, sum_i) = (a.0 + c.0, a.1 + c.1);
    let (gap_r, gap_i) = (a.0 - c.0, a.1 - c.1);
    let (cross_r, cross_i) = (b.0 + d.0, b.1 + d.1);
    // i (b - d)
    let (turned_r, turned_i) = (d.1 - b.1, b.0 - d.0);
    let times = |wr: T, wi: T, r: T, i: T| (wr * r - wi * i, wr * i + wi * r);
    [
        (sum_r + cross_r, sum_i + cross_i),
        times(w[0], w[1], gap_r + turned_r, gap_i + turned_i),
        times(w[2], w[3], sum_r - cross_r, sum_i - cross_i),
        times(w[4], w[5], gap_r - turned_r, gap_i - turned_i),
    ]
}

/// Numbers that are computed at once.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Lanes([f64; LANES]);

const LANES: usize = 4;

macro_rules! lane_by_lane {
    ($($operator:ident $method:ident),*) => {$(
        impl $operator for Lanes {
            type Output = Lanes;
            #[inline(always)]
            fn $method(self, other: Lanes) -> Lanes {
                Lanes(std::array::from_fn(|lane| self.0[lane].$method(other.0[lane])))
            }
        }
    )*};
}

lane_by_lane!(Add add, Sub sub, Mul mul);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::Normals;
    use crate::testing::streams;

    fn transformed(mut data: Complexes, band: bool) -> Complexes {
        let fft = InverseFft::new(data.re.len());
        let nothing = Complexes { re: vec![f64::NAN; fft.size], im: vec![f64::NAN; fft.size] };
        fft.transform(&mut data, &mut nothing.clone(), band);
        let halves = if fft.leaves_halves() { halves::<true> } else { halves::<false> };
        let mut result = nothing;
        let half = fft.size / 2;
        for n in 0..half {
            (result.re[n], result.re[n + half]) = halves(data.re[n], data.re[n + half]);
            (result.im[n], result.im[n + half]) = halves(data.im[n], data.im[n + half]);
        }
        result
    }

    #[test]
    fn a_band_s_transform_has_the_same_bits() {
        let mut normals = Normals::new(streams(2)("multipath"));
        for size in [16, 32, 2048, 4096] {
            let mut data = Complexes::zeros(size);
            for k in (0..size / 4).chain(3 * size / 4..size) {
                (data.re[k], data.im[k]) = (normals.draw(), normals.draw());
            }
            let whole = transformed(data.clone(), false);
            data.re[size / 4..3 * size / 4].fill(f64::NAN);
            data.im[size / 4..3 * size / 4].fill(f64::NAN);
            let band = transformed(data, true);
            let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert!(bits(&whole.re) == bits(&band.re) && bits(&whole.im) == bits(&band.im), "size {size}");
        }
    }

    #[test]
    fn agrees_with_the_definition() {
        let mut normals = Normals::new(streams(1)("multipath"));
        for size in [16, 32, 64, 128, 256] {
            let mut data = Complexes::zeros(size);
            data.re.iter_mut().chain(&mut data.im).for_each(|x| *x = normals.draw());
            let input = data.clone();
            let data = transformed(data, false);
            for n in 0..size {
                let (mut re, mut im) = (0.0, 0.0);
                for k in 0..size {
                    let (sin, cos) = libm::sincos(2.0 * PI * ((k * n) % size) as f64 / size as f64);
                    re += input.re[k] * cos - input.im[k] * sin;
                    im += input.re[k] * sin + input.im[k] * cos;
                }
                assert!((re - data.re[n]).abs() + (im - data.im[n]).abs() < 1e-11, "size {size}, {n}");
            }
        }
    }
}
