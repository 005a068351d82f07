//! The inverse discrete Fourier transform of a power-of-two length.
//!
//! Written out because its result must have the same bits on every machine: libraries take the twiddle factors from the
//! platform's sine and pick instructions by processor.

use std::f64::consts::PI;

/// `x[n] = sum over k of X[k] exp(2 pi i k n / N)`, without a factor, by Stockham's algorithm with radix 4: the inner loops
/// run over contiguous numbers, and no reordering is needed.
#[derive(Debug)]
pub(crate) struct InverseFft {
    size: usize,
    /// For each pass of radix 4, the factors w, w^2, w^3 of each group: real and imaginary parts.
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
    /// If `size` is not a power of two.
    pub(crate) fn new(size: usize) -> InverseFft {
        assert!(size.is_power_of_two());
        let mut passes = Vec::new();
        let mut length = size;
        while length >= 4 {
            passes.push((0..length / 4).map(|p| factors(p, length)).collect());
            length /= 4;
        }
        InverseFft { size, passes }
    }

    /// Transforms `data`, with `scratch` of the same size.
    pub(crate) fn transform(&self, data: &mut Complexes, scratch: &mut Complexes) {
        assert!(data.re.len() == self.size && scratch.re.len() == self.size);
        let mut stride = 1;
        for pass in &self.passes {
            radix_4(pass, stride, data, scratch);
            std::mem::swap(data, scratch);
            stride *= 4;
        }
        if stride < self.size {
            radix_2(stride, data, scratch);
            std::mem::swap(data, scratch);
        }
    }
}

fn factors(p: usize, length: usize) -> [f64; 6] {
    let mut all = [0.0; 6];
    for power in 1..=3 {
        let (sin, cos) = libm::sincos(2.0 * PI * (p * power) as f64 / length as f64);
        (all[2 * power - 2], all[2 * power - 1]) = (cos, sin);
    }
    all
}

fn radix_4(factors: &[[f64; 6]], stride: usize, x: &Complexes, y: &mut Complexes) {
    let quarter = factors.len() * stride;
    for (p, w) in factors.iter().enumerate() {
        let at = p * stride;
        let row = |part: usize| {
            let from = part * quarter + at;
            (&x.re[from..from + stride], &x.im[from..from + stride])
        };
        let rows = [row(0), row(1), row(2), row(3)];
        butterflies(w, rows, &mut y.re[4 * at..4 * (at + stride)], &mut y.im[4 * at..4 * (at + stride)]);
    }
}

/// The butterflies of a group: four rows in, four rows out.
#[inline]
fn butterflies(w: &[f64; 6], [a, b, c, d]: [(&[f64], &[f64]); 4], yr: &mut [f64], yi: &mut [f64]) {
    let n = a.0.len();
    let (y0r, yr) = yr.split_at_mut(n);
    let (y1r, yr) = yr.split_at_mut(n);
    let (y2r, y3r) = yr.split_at_mut(n);
    let (y0i, yi) = yi.split_at_mut(n);
    let (y1i, yi) = yi.split_at_mut(n);
    let (y2i, y3i) = yi.split_at_mut(n);
    let (a, b, c, d) = (same(a, n), same(b, n), same(c, n), same(d, n));
    let (y3r, y3i) = (&mut y3r[..n], &mut y3i[..n]);
    for q in 0..n {
        let (sum_r, sum_i) = (a.0[q] + c.0[q], a.1[q] + c.1[q]);
        let (gap_r, gap_i) = (a.0[q] - c.0[q], a.1[q] - c.1[q]);
        let (cross_r, cross_i) = (b.0[q] + d.0[q], b.1[q] + d.1[q]);
        // i (b - d)
        let (turned_r, turned_i) = (d.1[q] - b.1[q], b.0[q] - d.0[q]);
        (y0r[q], y0i[q]) = (sum_r + cross_r, sum_i + cross_i);
        (y1r[q], y1i[q]) = times(w[0], w[1], gap_r + turned_r, gap_i + turned_i);
        (y2r[q], y2i[q]) = times(w[2], w[3], sum_r - cross_r, sum_i - cross_i);
        (y3r[q], y3i[q]) = times(w[4], w[5], gap_r - turned_r, gap_i - turned_i);
    }
}

/// Tells the compiler that the rows are equally long.
#[inline]
fn same<'a>(row: (&'a [f64], &'a [f64]), n: usize) -> (&'a [f64], &'a [f64]) {
    (&row.0[..n], &row.1[..n])
}

#[inline]
fn times(wr: f64, wi: f64, r: f64, i: f64) -> (f64, f64) {
    (wr * r - wi * i, wr * i + wi * r)
}

fn radix_2(stride: usize, x: &Complexes, y: &mut Complexes) {
    for q in 0..stride {
        (y.re[q], y.re[q + stride]) = (x.re[q] + x.re[q + stride], x.re[q] - x.re[q + stride]);
        (y.im[q], y.im[q + stride]) = (x.im[q] + x.im[q + stride], x.im[q] - x.im[q + stride]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::Normals;
    use crate::testing::streams;

    #[test]
    fn agrees_with_the_definition() {
        let mut normals = Normals::new(streams(1)("multipath"));
        for size in [1, 2, 4, 8, 16, 32, 128, 256] {
            let mut data = Complexes::zeros(size);
            data.re.iter_mut().chain(&mut data.im).for_each(|x| *x = normals.draw());
            let input = data.clone();
            InverseFft::new(size).transform(&mut data, &mut Complexes::zeros(size));
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
