//! The inverse discrete Fourier transform of a power-of-two length.
//!
//! Implemented here because the result must have the same bits on every platform: libraries take the twiddle factors
//! from the platform's sine, and sum in an order that depends on the processor. Here the order is the same everywhere,
//! products and sums are never fused, and several numbers are computed at once, in registers as wide as the caller is
//! compiled for. Single precision leaves errors of a millionth of the mean amplitude.
//!
//! Functions take the size beside the numbers: callers hand in a constant where they can, so that the compiler knows
//! how far numbers are apart.

use std::f64::consts::PI;
use std::ops::Range;

/// `x[n] = sum over k of X[k] exp(2 pi i k n / N)`, without a factor, by Stockham's algorithm with radix 4: the inner
/// loops run over contiguous numbers.
///
/// A group of the first pass has one butterfly and a group of the second has four, so the loops of these passes run
/// over the groups. Later groups keep the order of butterflies that the second pass leaves. [`index_of`] returns the
/// place at which that order puts a number of the result.
#[derive(Debug)]
pub(crate) struct InverseFft {
    size: usize,
    /// The factors of the groups of the first two passes: a row for each part.
    by_group: [Vec<f32>; 2],
    /// For each pass of radix 4 between these and the last, the factors of each group.
    passes: Vec<Vec<Factors>>,
    /// The factors of the second group of the last pass of radix 4; not used where that pass has one group.
    last: Factors,
    band: Band,
}

/// The factors w, w^2, w^3 of a group: real and imaginary parts.
type Factors = [f32; 6];

/// Where the numbers of a spectrum are.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Band {
    /// How many numbers from index 0 on may differ from zero, at most a quarter of all; `None` if numbers outside these
    /// and `last` may too.
    first: Option<usize>,
    /// How many numbers up to the last index may differ from zero, at most a quarter of all.
    last: usize,
}

/// Complex numbers: the real parts, then the imaginary parts.
#[derive(Clone, Debug)]
pub(crate) struct Complexes(Vec<f32>);

impl Complexes {
    pub(crate) const NONE: Complexes = Complexes(Vec::new());

    pub(crate) fn zeros(size: usize) -> Complexes {
        Complexes(vec![0.0; 2 * size])
    }

    #[cfg(test)]
    pub(crate) fn bits(&self) -> Vec<u32> {
        self.0.iter().map(|part| part.to_bits()).collect()
    }

    pub(crate) fn resize(&mut self, size: usize) {
        self.0.resize(2 * size, 0.0);
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> [f32; 2] {
        [self.0[index], self.0[self.0.len() / 2 + index]]
    }

    /// All numbers, of which there are so many.
    #[inline(always)]
    pub(crate) fn parts(&self, size: usize) -> (&[f32], &[f32]) {
        assert!(self.0.len() == 2 * size);
        self.0.split_at(size)
    }

    #[inline(always)]
    pub(crate) fn parts_mut(&mut self, size: usize) -> (&mut [f32], &mut [f32]) {
        assert!(self.0.len() == 2 * size);
        self.0.split_at_mut(size)
    }
}

/// The index at which a number of the result stands: the number with its last two pairs of bits exchanged.
#[inline(always)]
pub(crate) fn index_of(number: usize) -> usize {
    number & !15 | number << 2 & 12 | number >> 2 & 3
}

impl InverseFft {
    /// The transform of a spectrum in which `above` numbers from the first on and `below` up to the last are not zero.
    ///
    /// # Panics
    /// If `size` is not a power of two, or less than 128.
    pub(crate) fn new(size: usize, above: usize, below: usize) -> InverseFft {
        assert!(size.is_power_of_two() && size >= 16 * AT_ONCE);
        let parts = |length: usize| {
            let groups: Vec<Factors> = (0..length / 4).map(|group| factors(group, length)).collect();
            (0..6).flat_map(|part| groups.iter().map(move |factors| factors[part])).collect()
        };
        let mut passes = Vec::new();
        let mut length = size / 16;
        while length > 8 {
            passes.push((0..length / 4).map(|group| factors(group, length)).collect());
            length /= 4;
        }
        let (rounded_up, quarter) = (|numbers: usize| numbers.next_multiple_of(AT_ONCE), size / 4);
        let inside = rounded_up(above).max(rounded_up(below)) <= quarter;
        let band = Band { first: inside.then(|| rounded_up(above)), last: rounded_up(below) };
        InverseFft { size, by_group: [parts(size), parts(size / 4)], passes, last: factors(1, 8), band }
    }

    /// The numbers of the spectrum that are read and must be zero.
    pub(crate) fn gaps(&self, above: usize, below: usize) -> [Range<usize>; 2] {
        match self.band.first {
            Some(first) => [above..first, self.size - self.band.last..self.size - below],
            None => [above..self.size - below, 0..0],
        }
    }

    /// Transforms `x` into `out`; `y` has the same size and any content.
    #[inline(always)]
    pub(crate) fn transform(&self, size: usize, x: &mut Complexes, y: &mut Complexes, out: &mut Complexes) {
        assert!(
            size == self.size && self.by_group[0].len() == 6 * (size / 4) && self.by_group[1].len() == 6 * (size / 16)
        );
        first_pass(&self.by_group[0], self.band, x.parts(size), y.parts_mut(size));
        second_pass(&self.by_group[1], y.parts(size), x.parts_mut(size));
        let ((xr, xi), (yr, yi)) = (x.parts(size), y.parts_mut(size));
        side_by_side(xr, yr);
        side_by_side(xi, yi);
        std::mem::swap(x, y);
        let mut stride = 16;
        for pass in &self.passes {
            within_groups(pass, stride, x.parts(size), y.parts_mut(size));
            std::mem::swap(x, y);
            stride *= 4;
        }
        let (re, im) = out.parts_mut(size);
        match size.trailing_zeros() % 2 {
            1 => last_of_eight(self.last, size / 8, x.parts(size), re, im),
            _ => last_of_four(size / 4, x.parts(size), re, im),
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

/// The factors of a group.
fn factors(p: usize, length: usize) -> Factors {
    let mut all_lanes = [0.0; 6];
    for power in 1..=3 {
        let (sin, cos) = libm::sincos(2.0 * PI * (p * power) as f64 / length as f64);
        (all_lanes[2 * power - 2], all_lanes[2 * power - 1]) = (cos as f32, sin as f32);
    }
    all_lanes
}

/// The factors of a group, taken out of rows.
#[inline(always)]
fn factors_of(rows: &[f32], group: usize) -> Factors {
    let n = rows.len() / 6;
    let part = |part: usize| rows[part * n + group];
    [part(0), part(1), part(2), part(3), part(4), part(5)]
}

/// The real and the imaginary parts of a row of numbers.
type Row<'a> = (&'a [f32], &'a [f32]);
type RowMut<'a> = (&'a mut [f32], &'a mut [f32]);

/// A real and an imaginary part.
type Pair = (f32, f32);

/// The first pass, from quarters to four rows.
#[inline(always)]
fn first_pass(factors: &[f32], band: Band, (xr, xi): Row, (yr, yi): RowMut) {
    let n = xr.len() / 4;
    let number = |part: usize, group: usize| (xr[part * n + group], xi[part * n + group]);
    let mut write = |group: usize, numbers: [Pair; 4]| {
        for (row, (re, im)) in numbers.into_iter().enumerate() {
            (yr[row * n + group], yi[row * n + group]) = (re, im);
        }
    };
    let Some(first) = band.first else {
        for group in 0..n {
            let [a, b, c, d] = [number(0, group), number(1, group), number(2, group), number(3, group)];
            write(group, butterfly(&factors_of(factors, group), a, b, c, d));
        }
        return;
    };
    let (end, begin, none) = (first.min(n), n - band.last.min(n), (0.0, 0.0));
    for group in 0..end.min(begin) {
        let (a, w) = (number(0, group), factors_of(factors, group));
        write(group, [a, times(&w, 0, a), times(&w, 1, a), times(&w, 2, a)]);
    }
    for group in begin..end {
        let w = factors_of(factors, group);
        write(group, butterfly(&w, number(0, group), none, none, number(3, group)));
    }
    for group in end..begin {
        write(group, [none; 4]);
    }
    for group in end.max(begin)..n {
        let ((re, im), w) = (number(3, group), factors_of(factors, group));
        write(group, [(re, im), times(&w, 0, (im, -re)), times(&w, 1, (-re, -im)), times(&w, 2, (-im, re))]);
    }
}

/// The second pass: from each of four rows to four numbers for each group, one after the other.
#[inline(always)]
fn second_pass(factors: &[f32], (xr, xi): Row, (yr, yi): RowMut) {
    let n = xr.len() / 16;
    for row in 0..4 {
        let (xr, xi) = (&xr[row * 4 * n..][..4 * n], &xi[row * 4 * n..][..4 * n]);
        let (yr, yi) = (&mut yr[row * 4 * n..][..4 * n], &mut yi[row * 4 * n..][..4 * n]);
        four_by_four(factors, (xr, xi), yr, yi);
    }
}

#[inline(always)]
fn four_by_four(factors: &[f32], (xr, xi): Row, yr: &mut [f32], yi: &mut [f32]) {
    let n = xr.len() / 4;
    let (yr, yi) = (&mut yr.as_chunks_mut::<4>().0[..n], &mut yi.as_chunks_mut::<4>().0[..n]);
    for group in 0..n {
        let number = |part: usize| (xr[part * n + group], xi[part * n + group]);
        let [a, b, c, d] = butterfly(&factors_of(factors, group), number(0), number(1), number(2), number(3));
        (yr[group], yi[group]) = ([a.0, b.0, c.0, d.0], [a.1, b.1, c.1, d.1]);
    }
}

/// From four rows of fours, the fours of the same index side by side.
#[inline(always)]
fn side_by_side(x: &[f32], y: &mut [f32]) {
    let (x, y) = (x.as_chunks::<4>().0, y.as_chunks_mut::<4>().0.as_chunks_mut::<4>().0);
    let n = y.len();
    let [a, b, c, d] = parts(x, n);
    for index in 0..n {
        let y = &mut y[index];
        y[0] = a[index];
        y[1] = b[index];
        y[2] = c[index];
        y[3] = d[index];
    }
}

/// Groups of `stride` butterflies each, one group after the other.
#[inline(always)]
fn within_groups(factors: &[Factors], stride: usize, (xr, xi): Row, (yr, yi): RowMut) {
    let ([ar, br, cr, dr], [ai, bi, ci, di]) = (parts(xr, xr.len() / 4), parts(xi, xi.len() / 4));
    let out = yr.chunks_exact_mut(4 * stride).zip(yi.chunks_exact_mut(4 * stride));
    for ((group, w), (re, im)) in factors.iter().enumerate().zip(out) {
        let of = |x| row_of(x, group, stride);
        let rows = [(of(ar), of(ai)), (of(br), of(bi)), (of(cr), of(ci)), (of(dr), of(di))];
        let ((y0r, re), (y0i, im)) = (re.split_at_mut(stride), im.split_at_mut(stride));
        let ((y1r, re), (y1i, im)) = (re.split_at_mut(stride), im.split_at_mut(stride));
        let ((y2r, y3r), (y2i, y3i)) = (re.split_at_mut(stride), im.split_at_mut(stride));
        butterflies(whole(stride), w, rows, y0r, y0i, y1r, y1i, y2r, y2i, y3r, y3i);
    }
}

/// Parts of this length.
#[inline(always)]
fn parts<T, const PARTS: usize>(numbers: &[T], length: usize) -> [&[T]; PARTS] {
    let mut part_slices: [&[T]; PARTS] = [&[]; PARTS];
    for part in 0..PARTS {
        part_slices[part] = &numbers[part * length..][..length];
    }
    part_slices
}

/// The row of a group.
#[inline(always)]
fn row_of(part: &[f32], group: usize, stride: usize) -> &[f32] {
    &part[group * stride..][..stride]
}

/// A length as a multiple of [`AT_ONCE`], which it is: said to the compiler.
#[inline(always)]
fn whole(length: usize) -> usize {
    length / AT_ONCE * AT_ONCE
}

/// `n` butterflies in a loop, four rows in, four rows out. These are arguments of their own, so that the compiler sees
/// that they do not overlap and computes [`AT_ONCE`] butterflies at once.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "see above")]
fn butterflies(
    n: usize,
    w: &Factors,
    [a, b, c, d]: [Row; 4],
    y0r: &mut [f32],
    y0i: &mut [f32],
    y1r: &mut [f32],
    y1i: &mut [f32],
    y2r: &mut [f32],
    y2i: &mut [f32],
    y3r: &mut [f32],
    y3i: &mut [f32],
) {
    let (ar, ai, br, bi) = (&a.0[..n], &a.1[..n], &b.0[..n], &b.1[..n]);
    let (cr, ci, dr, di) = (&c.0[..n], &c.1[..n], &d.0[..n], &d.1[..n]);
    let (y0r, y0i, y1r, y1i) = (&mut y0r[..n], &mut y0i[..n], &mut y1r[..n], &mut y1i[..n]);
    let (y2r, y2i, y3r, y3i) = (&mut y2r[..n], &mut y2i[..n], &mut y3r[..n], &mut y3i[..n]);
    for q in 0..n {
        let rows = butterfly(w, (ar[q], ai[q]), (br[q], bi[q]), (cr[q], ci[q]), (dr[q], di[q]));
        (y0r[q], y0i[q]) = rows[0];
        (y1r[q], y1i[q]) = rows[1];
        (y2r[q], y2i[q]) = rows[2];
        (y3r[q], y3i[q]) = rows[3];
    }
}

#[inline(always)]
fn butterfly(w: &Factors, a: Pair, b: Pair, c: Pair, d: Pair) -> [Pair; 4] {
    let [a, b, c, d] = first_butterfly(a, b, c, d);
    [a, times(w, 0, b), times(w, 1, c), times(w, 2, d)]
}

/// That of the first group of a pass, whose factors are 1.
#[inline(always)]
fn first_butterfly(a: Pair, b: Pair, c: Pair, d: Pair) -> [Pair; 4] {
    let (sum_r, sum_i) = (a.0 + c.0, a.1 + c.1);
    let (gap_r, gap_i) = (a.0 - c.0, a.1 - c.1);
    let (cross_r, cross_i) = (b.0 + d.0, b.1 + d.1);
    // i (b - d)
    let (turned_r, turned_i) = (d.1 - b.1, b.0 - d.0);
    [
        (sum_r + cross_r, sum_i + cross_i),
        (gap_r + turned_r, gap_i + turned_i),
        (sum_r - cross_r, sum_i - cross_i),
        (gap_r - turned_r, gap_i - turned_i),
    ]
}

#[inline(always)]
fn times(w: &Factors, factor: usize, (r, i): Pair) -> Pair {
    let (wr, wi) = (w[2 * factor], w[2 * factor + 1]);
    (wr * r - wi * i, wr * i + wi * r)
}

/// The last pass where the size is a power of four: one group, whose factors are 1.
#[inline(always)]
fn last_of_four(stride: usize, (xr, xi): Row, yr: &mut [f32], yi: &mut [f32]) {
    let (xr, xi) = (parts::<_, 4>(xr, stride), parts::<_, 4>(xi, stride));
    let (yr, yi) = (quarters_mut(yr, stride), quarters_mut(yi, stride));
    for q in 0..stride {
        let made =
            first_butterfly((xr[0][q], xi[0][q]), (xr[1][q], xi[1][q]), (xr[2][q], xi[2][q]), (xr[3][q], xi[3][q]));
        for part in 0..4 {
            (yr[part][q], yi[part][q]) = made[part];
        }
    }
}

/// Where it is not, the last two passes: of radix 4, two groups, and of radix 2.
#[inline(always)]
fn last_of_eight(last: Factors, stride: usize, (xr, xi): Row, yr: &mut [f32], yi: &mut [f32]) {
    let (xr, xi) = (parts::<_, 8>(xr, stride), parts::<_, 8>(xi, stride));
    let ((lower_re, upper_re), (lower_im, upper_im)) = (yr.split_at_mut(4 * stride), yi.split_at_mut(4 * stride));
    let (lower_re, lower_im) = (quarters_mut(lower_re, stride), quarters_mut(lower_im, stride));
    let (upper_re, upper_im) = (quarters_mut(upper_re, stride), quarters_mut(upper_im, stride));
    for q in 0..stride {
        let mut rows = [(0.0, 0.0); 8];
        for row in 0..8 {
            rows[row] = (xr[row][q], xi[row][q]);
        }
        let [a, b, c, d, e, f, g, h] = rows;
        let (even, odd) = (first_butterfly(a, c, e, g), butterfly(&last, b, d, f, h));
        for part in 0..4 {
            let ((ar, ai), (br, bi)) = (even[part], odd[part]);
            (lower_re[part][q], lower_im[part][q]) = (ar + br, ai + bi);
            (upper_re[part][q], upper_im[part][q]) = (ar - br, ai - bi);
        }
    }
}

#[inline(always)]
fn quarters_mut(numbers: &mut [f32], length: usize) -> [&mut [f32]; 4] {
    let (a, rest) = numbers.split_at_mut(length);
    let (b, rest) = rest.split_at_mut(length);
    let (c, d) = rest.split_at_mut(length);
    [a, b, c, &mut d[..length]]
}

/// Numbers that are computed at once in registers of 256 bits.
const AT_ONCE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::Normals;
    use crate::testing::streams;

    fn transformed(mut data: Complexes, size: usize, (above, below): (usize, usize)) -> Complexes {
        let fft = InverseFft::new(size, above, below);
        let (mut permuted, mut result) = (Complexes::zeros(size), Complexes::zeros(size));
        fft.transform(size, &mut data, &mut Complexes(vec![f32::NAN; 2 * size]), &mut permuted);
        for n in 0..size {
            (result.0[n], result.0[size + n]) = (permuted.0[index_of(n)], permuted.0[size + index_of(n)]);
        }
        result
    }

    #[test]
    fn a_band_s_transform_has_the_same_bits() {
        let mut normals = Normals::new(streams(2)("multipath"));
        for (size, above, below) in [(128, 32, 32), (256, 5, 63), (2048, 252, 251), (2048, 502, 501), (4096, 1024, 1)] {
            let fft = InverseFft::new(size, above, below);
            let (mut data, mut unread) = (Complexes::zeros(size), Complexes(vec![f32::NAN; 2 * size]));
            for k in (0..above).chain(size - below..size).flat_map(|k| [k, size + k]) {
                (data.0[k], unread.0[k]) = ([normals.draw(); 2]).into();
            }
            for k in fft.gaps(above, below).into_iter().flatten().flat_map(|k| [k, size + k]) {
                unread.0[k] = 0.0;
            }
            let whole = transformed(data, size, (size, 0));
            let band = transformed(unread, size, (above, below));
            assert!(whole.bits() == band.bits(), "size {size}");
        }
    }

    #[test]
    fn agrees_with_the_definition() {
        let mut normals = Normals::new(streams(1)("multipath"));
        for size in [128, 256, 512] {
            let mut data = Complexes::zeros(size);
            data.0.iter_mut().for_each(|x| *x = normals.draw());
            let result = transformed(data.clone(), size, (size / 2, size / 2));
            let ((input_re, input_im), (result_re, result_im)) = (data.parts(size), result.parts(size));
            for n in 0..size {
                let (mut re, mut im) = (0.0, 0.0);
                for k in 0..size {
                    let (sin, cos) = libm::sincos(2.0 * PI * ((k * n) % size) as f64 / size as f64);
                    let (x, y) = (f64::from(input_re[k]), f64::from(input_im[k]));
                    re += x * cos - y * sin;
                    im += x * sin + y * cos;
                }
                let error = (re - f64::from(result_re[n])).abs() + (im - f64::from(result_im[n])).abs();
                assert!(error < 2e-6 * (size as f64).sqrt(), "size {size}, {n}: {error}");
            }
        }
    }
}
