//! Draws from a terminal's random stream.

use rand::Rng;

/// Whole numbers below bounds, several of them from one draw of the generator.
///
/// A draw is read as a fraction in base 2^64; each number is its leading digit in the base of the bound, and the
/// remainder is used again (Brackett-Rozinsky and Lemire 2024, "Batched ranged random integer generation"). A draw
/// serves bounds of up to 40 bits together, so no value is more likely than another by more than 2^-24 of its
/// probability.
pub(super) struct Digits<'a> {
    rng: &'a mut dyn Rng,
    fraction: u64,
    bits_left: u32,
}

impl<'a> Digits<'a> {
    pub(super) fn new(rng: &'a mut dyn Rng) -> Digits<'a> {
        Digits { rng, fraction: 0, bits_left: 0 }
    }

    /// A number from 0 to `bound - 1`, uniform.
    #[inline]
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        self.find_below(bound, Some)
    }

    /// Draws numbers from 0 to `bound - 1` until `find` accepts one, and returns its answer.
    #[inline(always)]
    pub(super) fn find_below<T>(&mut self, bound: u32, find: impl Fn(u32) -> Option<T>) -> T {
        // In registers: the generator is called seldom.
        let Digits { rng, mut fraction, mut bits_left } = Digits { rng: &mut *self.rng, ..*self };
        let bits = u32::BITS - bound.leading_zeros();
        let found = loop {
            bits_left = bits_left.checked_sub(bits).unwrap_or_else(|| {
                fraction = rng.next_u64();
                40 - bits
            });
            let product = u128::from(fraction) * u128::from(bound);
            fraction = product as u64;
            if let Some(found) = find((product >> 64) as u32) {
                break found;
            }
        };
        (self.fraction, self.bits_left) = (fraction, bits_left);
        found
    }
}

/// A number from 0 to 1 (excluded), uniform.
#[inline]
pub(super) fn unit_interval(rng: &mut dyn Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A standard normal number (Box and Muller 1958), at most 8.6 in magnitude.
pub(super) fn normal(rng: &mut dyn Rng) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - unit_interval(rng))).sqrt();
    radius * libm::cos(2.0 * std::f64::consts::PI * unit_interval(rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn digits_are_uniform_and_independent() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut digits = Digits::new(&mut rng);
        const N: usize = 300_000;
        let mut counts = [[0u32; 7]; 5];
        for _ in 0..N {
            counts[digits.below(5) as usize][digits.below(7) as usize] += 1;
        }
        let expected = N as f64 / 35.0;
        let chi: f64 = counts.as_flattened().iter().map(|&n| square(f64::from(n) - expected) / expected).sum();
        assert!(chi < 34.0 + 4.0 * (2.0 * 34.0f64).sqrt(), "chi squared {chi} with 34 degrees of freedom");
        assert_eq!(digits.below(1), 0);
    }

    fn square(x: f64) -> f64 {
        x * x
    }

    #[test]
    fn normals_have_the_moments_of_the_normal_law() {
        const N: usize = 200_000;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let sample: Vec<f64> = (0..N).map(|_| normal(&mut rng)).collect();
        // Variances of the moments: 1, 2, 15, 96 over N.
        for (power, expected, variance) in [(1.0, 0.0, 1.0_f64), (2.0, 1.0, 2.0), (3.0, 0.0, 15.0), (4.0, 3.0, 96.0)] {
            let moment = sample.iter().map(|&x| libm::pow(x, power)).sum::<f64>() / N as f64;
            assert!((moment - expected).abs() < 4.0 * (variance / N as f64).sqrt(), "moment {power}: {moment}");
        }
    }
}
