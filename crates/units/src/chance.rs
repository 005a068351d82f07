//! The laws of random numbers that several stages draw from, with the same bits on every platform and with every
//! version of a library: logarithms and the like are libm's.
//!
//! They take what a stage's random stream gives, and know no generator.

/// Uniform from 0 to 1 (excluded): the upper 53 bits of a random word, as many as a number holds.
#[inline]
pub fn unit_interval(word: u64) -> f64 {
    // As a signed number, which processors convert in one instruction.
    (word >> 11) as i64 as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Exponential with mean 1, of a draw `u` from the unit interval.
#[inline]
pub fn exponential(u: f64) -> f64 {
    -libm::log1p(-u)
}

/// Standard normal, by Box and Muller (1958), of two draws from the unit interval; at most 8.6 in magnitude. The second
/// value of the pair is not used, so that a draw has no memory.
pub fn normal(mut uniform: impl FnMut() -> f64) -> f64 {
    let radius = (2.0 * exponential(uniform())).sqrt();
    radius * libm::cos(std::f64::consts::TAU * uniform())
}

/// The standard normal distribution function.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of SplitMix64 (Steele, Lea and Flood 2014).
    fn words() -> impl FnMut() -> u64 {
        let mut state = 5u64;
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
    }

    #[test]
    fn a_word_is_a_multiple_of_the_last_bit_below_one() {
        assert_eq!(unit_interval(0), 0.0);
        assert_eq!(unit_interval(u64::MAX), 1.0 - f64::EPSILON / 2.0);
        assert_eq!(unit_interval(1 << 63), 0.5);
        for word in std::iter::repeat_with(words()).take(1000) {
            let exact = (word >> 11) as f64 / (1u64 << 53) as f64;
            assert_eq!(unit_interval(word).to_bits(), exact.to_bits());
        }
    }

    #[test]
    fn normals_have_the_moments_of_the_normal_law() {
        const N: usize = 200_000;
        let mut word = words();
        let mut sample: Vec<f64> = (0..N).map(|_| normal(|| unit_interval(word()))).collect();
        // Variances of the moments: 1, 2, 15, 96 over N.
        for (power, expected, variance) in [(1.0, 0.0, 1.0_f64), (2.0, 1.0, 2.0), (3.0, 0.0, 15.0), (4.0, 3.0, 96.0)] {
            let moment = sample.iter().map(|&x| libm::pow(x, power)).sum::<f64>() / N as f64;
            assert!((moment - expected).abs() < 4.0 * (variance / N as f64).sqrt(), "moment {power}: {moment}");
        }
        sample.sort_by(f64::total_cmp);
        let distance = |i: usize| (normal_cdf(sample[i]) - (i as f64 + 0.5) / N as f64).abs();
        let distance = (0..N).map(distance).fold(0.0, f64::max);
        assert!(distance < 1.63 / (N as f64).sqrt(), "Kolmogorov-Smirnov distance {distance}");
    }
}
