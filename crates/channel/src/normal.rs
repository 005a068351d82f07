//! Standard normal numbers, many at once, with the same bits on every platform.
//!
//! Box and Muller's method has no branches, so several numbers are made at once, of generators side by side, in
//! registers as wide as the processor has them; and so many numbers always take as many random words. General purpose
//! libraries make one number at a time, by rejection, with the platform's logarithms.

use std::array::from_fn;

use multiversion::multiversion;
use rand::Rng;

use crate::elementary::{direction, ln};

/// Generators side by side. With eight the compiler keeps their states in single numbers.
pub(crate) const LANES: usize = 16;

pub(crate) type Lanes<T> = [T; LANES];

/// Generators of complex normal numbers.
pub(crate) struct Generators(Words);

/// Generators of random words: xoshiro128++ (Blackman and Vigna 2021) in each lane.
#[derive(Clone, Copy)]
struct Words([Lanes<u32>; 4]);

impl Generators {
    /// Their first states are taken from `rng`.
    pub(crate) fn new(mut rng: Box<dyn Rng + Send>) -> Generators {
        Generators(Words(from_fn(|_| from_fn(|_| rng.next_u32()))))
    }

    /// Makes complex normal numbers, the standard deviation of whose real and imaginary parts are given.
    pub(crate) fn make(&mut self, deviations: &[Lanes<f32>], re: &mut [Lanes<f32>], im: &mut [Lanes<f32>]) {
        make(&mut self.0, deviations, re, im);
    }

    /// Passes over the numbers that [`Generators::make`] would make for so many entries of `deviations`.
    pub(crate) fn skip(&mut self, deviations: usize) {
        skip(&mut self.0, 2 * deviations);
    }
}

impl Words {
    #[inline(always)]
    fn draw(&mut self, drawn: &mut Lanes<u32>) {
        let Words([a, b, c, d]) = self;
        for lane in 0..LANES {
            let (s0, s1) = (a[lane], b[lane]);
            let (s2, s3) = (c[lane] ^ s0, d[lane] ^ s1);
            drawn[lane] = s0.wrapping_add(d[lane]).rotate_left(7).wrapping_add(s0);
            (a[lane], b[lane], c[lane], d[lane]) = (s0 ^ s3, s1 ^ s2, s2 ^ s1 << 9, s3.rotate_left(11));
        }
    }
}

/// The magnitude of a complex number with standard normal parts: at most 6.7.
#[inline(always)]
fn radius(word: u32) -> f32 {
    // A signed integer is what processors convert several of at once. The half keeps the number above 0.
    let uniform = ((word >> 1) as i32 as f32 + 0.5) * (1.0 / (1u32 << 31) as f32);
    (-2.0 * ln(uniform)).sqrt()
}

/// On processors with wider registers these are used, with the same rounding.
#[multiversion(targets("x86_64+avx2"))]
fn make(words: &mut Words, deviations: &[Lanes<f32>], re: &mut [Lanes<f32>], im: &mut [Lanes<f32>]) {
    make_here(words, deviations, re, im);
}

/// In registers as wide as the caller is compiled for.
#[inline(always)]
fn make_here(words: &mut Words, deviations: &[Lanes<f32>], re: &mut [Lanes<f32>], im: &mut [Lanes<f32>]) {
    const AT_ONCE: usize = 8;
    let mut here = *words;
    let (mut radii, mut directions) = ([[0; LANES]; AT_ONCE], [[0; LANES]; AT_ONCE]);
    for ((deviations, re), im) in deviations.chunks(AT_ONCE).zip(re.chunks_mut(AT_ONCE)).zip(im.chunks_mut(AT_ONCE)) {
        let lanes = deviations.len();
        for (radii, directions) in radii[..lanes].iter_mut().zip(&mut directions[..lanes]) {
            here.draw(radii);
            here.draw(directions);
        }
        let (radii, directions) = (radii[..lanes].as_flattened(), directions[..lanes].as_flattened());
        box_muller(radii, directions, deviations.as_flattened(), re.as_flattened_mut(), im.as_flattened_mut());
    }
    *words = here;
}

/// Complex numbers whose parts are independent and normal, by Box and Muller (1958). Loops over all, so that the
/// compiler computes several at once; two, so that the coefficients of each stay in registers.
#[inline(always)]
fn box_muller(radii: &[u32], directions: &[u32], deviations: &[f32], re: &mut [f32], im: &mut [f32]) {
    let numbers = radii.len();
    let (directions, deviations) = (&directions[..numbers], &deviations[..numbers]);
    let (re, im) = (&mut re[..numbers], &mut im[..numbers]);
    for number in 0..numbers {
        re[number] = deviations[number] * radius(radii[number]);
    }
    for number in 0..numbers {
        let (radius, (cos, sin)) = (re[number], direction(directions[number]));
        (re[number], im[number]) = (radius * cos, radius * sin);
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn skip(words: &mut Words, times: usize) {
    let (mut here, mut drawn) = (*words, [0; LANES]);
    for _ in 0..times {
        here.draw(&mut drawn);
    }
    *words = here;
}

/// A stream of independent standard normal numbers, drawn ahead.
pub(crate) struct Normals {
    generators: Generators,
    ahead: [[Lanes<f32>; PAIRS]; 2],
    /// The index of the first number of `ahead` that is not used yet.
    next: usize,
}

/// Lanes of complex numbers that are drawn together.
const PAIRS: usize = 4;
const AHEAD: usize = 2 * PAIRS * LANES;

impl Normals {
    pub(crate) fn new(rng: Box<dyn Rng + Send>) -> Normals {
        Normals { generators: Generators::new(rng), ahead: [[[0.0; LANES]; PAIRS]; 2], next: AHEAD }
    }

    /// The next normal number.
    #[inline]
    pub(crate) fn draw(&mut self) -> f32 {
        self.run(1).1[0]
    }

    /// The next normal numbers, as many as there is room for.
    #[inline]
    pub(crate) fn fill(&mut self, mut unfilled: &mut [f32]) {
        while !unfilled.is_empty() {
            let (_, run) = self.run(unfilled.len());
            let (filled, rest) = unfilled.split_at_mut(run.len());
            filled.copy_from_slice(run);
            unfilled = rest;
        }
    }

    /// Some of the next numbers: at least one, at most `most`; and the index of the first, for [`Normals::kept`].
    #[inline]
    pub(crate) fn run(&mut self, most: usize) -> (usize, &mut [f32]) {
        if self.next == AHEAD {
            self.refill();
        }
        let start = self.next;
        self.next = AHEAD.min(start + most);
        (start, &mut self.ahead.as_flattened_mut().as_flattened_mut()[start..self.next])
    }

    /// What the caller wrote over the number `index` of the last run.
    #[inline]
    pub(crate) fn kept(&self, index: usize) -> f32 {
        self.ahead.as_flattened().as_flattened()[index]
    }

    #[cold]
    fn refill(&mut self) {
        let [re, im] = &mut self.ahead;
        self.generators.make(&[[1.0; LANES]; PAIRS], re, im);
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::{Xoshiro128PlusPlus, Xoshiro256PlusPlus};
    use units::chance::normal_cdf;

    fn generator(seed: u64) -> Box<dyn Rng + Send> {
        Box::new(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    #[test]
    fn follows_the_normal_law() {
        const N: usize = 1_000_000;
        let mut normals = Normals::new(generator(5));
        let mut sample: Vec<f64> = (0..N).map(|_| f64::from(normals.draw())).collect();
        let moment = |k: i32| sample.iter().map(|x| libm::pow(*x, f64::from(k))).sum::<f64>() / N as f64;
        // Variances of the moments: 1, 2, 15, 96 over N.
        for (k, expected, variance) in [(1, 0.0, 1.0_f64), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            assert!((moment(k) - expected).abs() < 4.0 * (variance / N as f64).sqrt(), "moment {k}: {}", moment(k));
        }
        for lag in [1, LANES, PAIRS * LANES, AHEAD] {
            let product = sample.iter().zip(&sample[lag..]).map(|(a, b)| a * b).sum::<f64>() / (N - lag) as f64;
            assert!(product.abs() < 4.0 / (N as f64).sqrt(), "correlation {product} after {lag}");
        }
        sample.sort_by(f64::total_cmp);
        let distance = (0..N).map(|i| (normal_cdf(sample[i]) - (i as f64 + 0.5) / N as f64).abs()).fold(0.0, f64::max);
        assert!(distance < 1.63 / (N as f64).sqrt(), "Kolmogorov-Smirnov distance {distance}");
        for edge in [3.0, 3.7, 4.3] {
            let tail = sample.iter().filter(|x| x.abs() > edge).count() as f64;
            let expected = 2.0 * normal_cdf(-edge) * N as f64;
            assert!((tail - expected).abs() < 4.0 * expected.sqrt(), "{tail} beyond {edge} against {expected}");
        }
    }

    #[test]
    fn a_lane_is_the_published_generator() {
        let mut words = Generators::new(generator(4)).0;
        let mut published: Lanes<Xoshiro128PlusPlus> = from_fn(|lane| {
            let state = words.0.map(|lanes| lanes[lane].to_le_bytes());
            Xoshiro128PlusPlus::from_seed(state.as_flattened().try_into().unwrap())
        });
        for _ in 0..1000 {
            let mut drawn = [0; LANES];
            words.draw(&mut drawn);
            assert_eq!(drawn, from_fn(|lane| published[lane].next_u32()));
        }
    }

    #[test]
    fn runs_of_any_length_are_the_same_stream() {
        let (mut single, mut runs) = (Normals::new(generator(9)), Normals::new(generator(9)));
        for most in (1..200).cycle().take(5000) {
            let (_, run) = runs.run(most);
            assert!((1..=most).contains(&run.len()));
            run.iter().for_each(|number| assert_eq!(number.to_bits(), single.draw().to_bits()));
        }
    }

    #[test]
    fn passing_over_numbers_takes_their_words() {
        let (mut made, mut skipped) = (Generators::new(generator(2)), Generators::new(generator(2)));
        let mut space = [[[0.0; LANES]; 9]; 2];
        let [re, im] = &mut space;
        made.make(&[[1.0; LANES]; 9], re, im);
        skipped.skip(9);
        assert_eq!(made.0.0, skipped.0.0);
    }

    #[test]
    fn wide_registers_make_the_same_bits() {
        const MANY: usize = 1000;
        let (mut wide, mut here) = (Generators::new(generator(3)).0, Generators::new(generator(3)).0);
        let deviations = vec![[0.7; LANES]; MANY];
        let mut numbers = [0; 4].map(|_| vec![[0.0; LANES]; MANY]);
        let [wide_re, wide_im, here_re, here_im] = &mut numbers;
        make(&mut wide, &deviations, wide_re, wide_im);
        make_here(&mut here, &deviations, here_re, here_im);
        let bits = |numbers: &[Lanes<f32>]| numbers.as_flattened().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(bits(wide_re) == bits(here_re) && bits(wide_im) == bits(here_im));
        assert_eq!(wide.0, here.0);
    }

    #[test]
    fn the_extreme_words_make_numbers() {
        assert!((6.6..6.7).contains(&radius(0)) && (0.0..1e-3).contains(&radius(u32::MAX)));
    }
}
