//! Draws from a terminal's random stream.

use rand::Rng;

/// Whole numbers below bounds, several of them from one draw of the generator.
///
/// A draw is read as a fraction in base 2^64; each number is its leading digit in the base of the bound, and the
/// remainder is used again (Brackett-Rozinsky and Lemire 2024, "Batched ranged random integer generation"). A draw
/// serves bounds of up to 40 bits together, so no value is more likely than another by more than 2^-24 of its
/// probability.
pub(super) struct Digits<'a, R: ?Sized> {
    rng: &'a mut R,
    fraction: u64,
    /// Bits of the last draw that are not used yet; below zero only within [`Digits::reserve`].
    bits_left: i32,
}

/// Bits of a random word that a draw uses.
const BITS_OF_A_DRAW: i32 = 40;

/// Bits of the random word that a number below a bound uses.
#[inline]
pub(super) fn bits_of(bound: u32) -> u32 {
    u32::BITS - bound.leading_zeros()
}

impl<'a, R: Rng + ?Sized> Digits<'a, R> {
    pub(super) fn new(rng: &'a mut R) -> Digits<'a, R> {
        Digits { rng, fraction: 0, bits_left: 0 }
    }

    /// A number from 0 to `bound - 1`, uniform.
    #[inline]
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        self.find_below(bound, Some)
    }

    /// Draws numbers from 0 to `bound - 1` until `find` accepts one, and returns its answer.
    #[inline]
    pub(super) fn find_below<T>(&mut self, bound: u32, mut find: impl FnMut(u32) -> Option<T>) -> T {
        loop {
            self.reserve(bits_of(bound));
            if let Some(found) = find(self.next(u64::from(bound)) as u32) {
                return found;
            }
        }
    }

    /// A number below each of two bounds, whose product has at most so many bits.
    #[inline(always)]
    pub(super) fn both_below(&mut self, first: u64, second: u64, bits: u32) -> (u64, u64) {
        self.reserve(bits);
        (self.next(first), self.next(second))
    }

    /// Makes sure that the fraction has so many bits left.
    #[inline(always)]
    fn reserve(&mut self, bits: u32) {
        self.bits_left -= bits as i32;
        if self.bits_left < 0 {
            self.fraction = self.rng.next_u64();
            self.bits_left = BITS_OF_A_DRAW - bits as i32;
        }
    }

    /// The next digit of the fraction in the base of the bound.
    #[inline(always)]
    fn next(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.fraction) * u128::from(bound);
        self.fraction = product as u64;
        (product >> 64) as u64
    }
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
}
