//! The inverse discrete Fourier transform of a power-of-two length.
//!
//! Implemented here because the result must have the same bits on every machine: libraries take the twiddle factors
//! from the platform's sine, and sum in an order that depends on the processor. Here the order is the same everywhere,
//! products and sums are never fused, and four numbers are computed at once, in registers as wide as the caller is
//! compiled for.

use std::f64::consts::PI;

/// `x[n] = sum over k of X[k] exp(2 pi i k n / N)`, without a factor, by Stockham's algorithm with radix 4: the inner
/// loops run over contiguous numbers.
///
/// The groups of the first two passes have one butterfly and four. Their loops run from group to group, and leave the
/// numbers that are at the same place of each group in a row of their own; then the rows are put in order.
#[derive(Debug)]
pub(crate) struct InverseFft {
    size: usize,
    /// The factors of the groups of the first two passes: a row for each part.
    by_group: [[Vec<f64>; 6]; 2],
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
    /// If `size` is not a power of two, or less than 64.
    pub(crate) fn new(size: usize) -> InverseFft {
        assert!(size.is_power_of_two() && size >= 16 * LANES);
        let parts = |length: usize| {
            std::array::from_fn(|part| (0..length / 4).map(|group| factors(group, length)[part]).collect())
        };
        let mut passes = Vec::new();
        let mut length = size / 16;
        while length >= 4 {
            passes.push((0..length / 4).map(|group| factors(group, length)).collect());
            length /= 4;
        }
        InverseFft { size, by_group: [parts(size), parts(size / 4)], passes }
    }

    /// Transforms `data`, with `scratch` of the same size, up to what [`halves`] does. If `band` is set, the
    /// second and the third quarter are taken as zero, whatever they hold.
    #[inline(always)]
    pub(crate) fn transform(&self, data: &mut Complexes, scratch: &mut Complexes, band: bool) {
        assert!(data.re.len() == self.size && scratch.re.len() == self.size);
        assert!(data.im.len() == self.size && scratch.im.len() == self.size);
        let [first, second] = &self.by_group;
        if band {
            across_groups::<true>(first, (&data.re, &data.im), scratch, 0, 1);
        } else {
            across_groups::<false>(first, (&data.re, &data.im), scratch, 0, 1);
        }
        let rows = scratch.re.chunks_exact(self.size / 4).zip(scratch.im.chunks_exact(self.size / 4));
        for (place, row) in rows.enumerate() {
            across_groups::<false>(second, row, data, place, 4);
        }
        in_order(&data.re, &mut scratch.re);
        in_order(&data.im, &mut scratch.im);
        std::mem::swap(data, scratch);
        let mut stride = 16;
        for pass in &self.passes {
            within_groups(pass, stride, data, scratch);
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

/// The butterflies at one place of all groups, from the quarters of a row to four rows of `y`: the one of this number,
/// and each so many after it. In a `BAND` the second and the third quarter are zero.
#[inline(always)]
fn across_groups<const BAND: bool>(
    factors: &[Vec<f64>; 6],
    (xr, xi): (&[f64], &[f64]),
    y: &mut Complexes,
    number: usize,
    apart: usize,
) {
    let groups = xr.len() / 4;
    let [w0, w1, w2, w3, w4, w5] = [0, 1, 2, 3, 4, 5].map(|part| &factors[part][..whole(groups)]);
    let (mut re, mut im) = (y.re.chunks_exact_mut(groups), y.im.chunks_exact_mut(groups));
    let (re, im) = (re.by_ref().skip(number).step_by(apart), im.by_ref().skip(number).step_by(apart));
    let mut rows = re.zip(im);
    let [r0, r1, r2, r3] = [0; 4].map(|_| rows.next().expect("four rows"));
    let w = |group: usize| [w0[group], w1[group], w2[group], w3[group], w4[group], w5[group]];
    butterflies::<BAND>(whole(groups), w, quarters(xr, xi), r0.0, r0.1, r1.0, r1.1, r2.0, r2.1, r3.0, r3.1);
}

/// The numbers of sixteen rows, those at one place of all rows one after the other.
#[inline(always)]
fn in_order(x: &[f64], y: &mut [f64]) {
    let n = x.len() / 16;
    let y = &mut y.as_chunks_mut::<16>().0[..n];
    for (part, rows) in x.chunks_exact(4 * n).enumerate() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|row| &rows[row * n..][..n]);
        for place in 0..n {
            y[place][4 * part] = a[place];
            y[place][4 * part + 1] = b[place];
            y[place][4 * part + 2] = c[place];
            y[place][4 * part + 3] = d[place];
        }
    }
}

/// Groups of `stride` butterflies each, one group after the other.
#[inline(always)]
fn within_groups(factors: &[[f64; 6]], stride: usize, x: &Complexes, y: &mut Complexes) {
    let rows = quarters(&x.re, &x.im).map(|(re, im)| re.chunks_exact(stride).zip(im.chunks_exact(stride)));
    let [a, b, c, d] = rows;
    let out = y.re.chunks_exact_mut(4 * stride).zip(y.im.chunks_exact_mut(4 * stride));
    for (((w, (a, b)), (c, d)), (re, im)) in factors.iter().zip(a.zip(b)).zip(c.zip(d)).zip(out) {
        let ((y0r, re), (y0i, im)) = (re.split_at_mut(stride), im.split_at_mut(stride));
        let ((y1r, re), (y1i, im)) = (re.split_at_mut(stride), im.split_at_mut(stride));
        let ((y2r, y3r), (y2i, y3i)) = (re.split_at_mut(stride), im.split_at_mut(stride));
        butterflies::<false>(whole(stride), |_| *w, [a, b, c, d], y0r, y0i, y1r, y1i, y2r, y2i, y3r, y3i);
    }
}

/// The real and the imaginary parts of a row of numbers.
type Row<'a> = (&'a [f64], &'a [f64]);

#[inline(always)]
fn quarters<'a>(re: &'a [f64], im: &'a [f64]) -> [Row<'a>; 4] {
    let n = re.len() / 4;
    [0, 1, 2, 3].map(|part| (&re[part * n..][..n], &im[part * n..][..n]))
}

/// A length as a multiple of [`LANES`], which it is: said to the compiler.
#[inline(always)]
fn whole(length: usize) -> usize {
    length / LANES * LANES
}

/// `n` butterflies in a loop, four rows in, four rows out. These are arguments of their own, so that the compiler sees
/// that they do not overlap and computes [`LANES`] butterflies at once.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "see above")]
fn butterflies<const BAND: bool>(
    n: usize,
    w: impl Fn(usize) -> [f64; 6],
    [a, b, c, d]: [Row; 4],
    y0r: &mut [f64],
    y0i: &mut [f64],
    y1r: &mut [f64],
    y1i: &mut [f64],
    y2r: &mut [f64],
    y2i: &mut [f64],
    y3r: &mut [f64],
    y3i: &mut [f64],
) {
    let [(ar, ai), (br, bi), (cr, ci), (dr, di)] = [a, b, c, d].map(|(re, im)| (&re[..n], &im[..n]));
    let (y0r, y0i, y1r, y1i) = (&mut y0r[..n], &mut y0i[..n], &mut y1r[..n], &mut y1i[..n]);
    let (y2r, y2i, y3r, y3i) = (&mut y2r[..n], &mut y2i[..n], &mut y3r[..n], &mut y3i[..n]);
    for q in 0..n {
        let (b, c) = if BAND { ((0.0, 0.0), (0.0, 0.0)) } else { ((br[q], bi[q]), (cr[q], ci[q])) };
        let rows = butterfly(&w(q), (ar[q], ai[q]), b, c, (dr[q], di[q]));
        (y0r[q], y0i[q]) = rows[0];
        (y1r[q], y1i[q]) = rows[1];
        (y2r[q], y2i[q]) = rows[2];
        (y3r[q], y3i[q]) = rows[3];
    }
}

/// A real and an imaginary part.
type Pair = (f64, f64);

#[inline(always)]
fn butterfly(w: &[f64; 6], a: Pair, b: Pair, c: Pair, d: Pair) -> [Pair; 4] {
    let (sum_r, sum_i) = (a.0 + c.0, a.1 + c.1);
    let (gap_r, gap_i) = (a.0 - c.0, a.1 - c.1);
    let (cross_r, cross_i) = (b.0 + d.0, b.1 + d.1);
    // i (b - d)
    let (turned_r, turned_i) = (d.1 - b.1, b.0 - d.0);
    let times = |wr: f64, wi: f64, r: f64, i: f64| (wr * r - wi * i, wr * i + wi * r);
    [
        (sum_r + cross_r, sum_i + cross_i),
        times(w[0], w[1], gap_r + turned_r, gap_i + turned_i),
        times(w[2], w[3], sum_r - cross_r, sum_i - cross_i),
        times(w[4], w[5], gap_r - turned_r, gap_i - turned_i),
    ]
}

/// Numbers that are computed at once in registers of 256 bits.
const LANES: usize = 4;

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
        for size in [64, 128, 2048, 4096] {
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
        for size in [64, 128, 256, 512] {
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
