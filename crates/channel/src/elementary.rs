//! Elementary functions in single precision with the same bits on every platform.
//!
//! They are sums and products without branches, so that several numbers are computed at once. Coefficients are those of
//! the Taylor series; the errors are a few units in the last place of a number.

use std::f32::consts::{FRAC_PI_4, LN_2};
use std::f64::consts::FRAC_PI_2;

/// The natural logarithm of a positive number; of 0 it is -88.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    // The square root of 1/2: the mantissa is between this and twice this.
    const LEAST: u32 = 0x3f35_04f3;
    let bits = x.to_bits();
    let exponent = bits.wrapping_sub(LEAST) as i32 >> 23;
    let mantissa = f32::from_bits(bits.wrapping_sub((exponent << 23) as u32));
    // ln m = 2 artanh((m - 1) / (m + 1))
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = 2.0 + square * (2.0 / 3.0 + square * (2.0 / 5.0 + square * (2.0 / 7.0 + square * (2.0 / 9.0))));
    exponent as f32 * LN_2 + s * series
}

/// 2 to the power of a number, which counts as 126 where its magnitude is larger.
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    // 3 * 2^22: of a sum with it, the lowest bits are the nearest whole number.
    const WHOLE: f32 = 12_582_912.0;
    let x = x.clamp(-126.0, 126.0);
    let sum = x + WHOLE;
    let y = (x - (sum - WHOLE)) * LN_2;
    let series = 1.0 + y * (0.5 + y * (1.0 / 6.0 + y * (1.0 / 24.0 + y * (1.0 / 120.0 + y * (1.0 / 720.0)))));
    f32::from_bits((1.0 + y * series).to_bits().wrapping_add(sum.to_bits() << 23))
}

/// Cosine and sine of an angle that is uniform over the circle if the word is uniform.
#[inline(always)]
pub(crate) fn direction(word: u32) -> (f32, f32) {
    // The lower bits are an angle between -pi/4 and pi/4; of the upper ones, one exchanges cosine and sine, which
    // reflects the angle at pi/4, and one turns it by pi.
    let angle = ((word << 2) as i32) as f32 * (FRAC_PI_4 / (1u32 << 31) as f32);
    let square = angle * angle;
    let sin = angle * (1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0))));
    let cos = 1.0 - square * (0.5 - square * (1.0 / 24.0 - square * (1.0 / 720.0 - square * (1.0 / 40_320.0))));
    let (x, y) = if word & 1 << 30 == 0 { (cos, sin) } else { (sin, cos) };
    let turned = |part: f32| f32::from_bits(part.to_bits() ^ word & 1 << 31);
    (turned(x), turned(y))
}

/// 1/3!, 1/5! … and 1/2!, 1/4! …
const SINE: [f64; 7] = inverse_factorials(3);
const COSINE: [f64; 8] = inverse_factorials(2);

const fn inverse_factorials<const COUNT: usize>(first: u64) -> [f64; COUNT] {
    let (mut inverses, mut factorial, mut number, mut index) = ([0.0; COUNT], 1, 1, 0);
    while index < COUNT {
        while number < first + 2 * index as u64 {
            number += 1;
            factorial *= number;
        }
        inverses[index] = 1.0 / factorial as f64;
        index += 1;
    }
    inverses
}

/// `c0 - x (c1 - x (c2 - …`
#[inline(always)]
fn alternating<const COUNT: usize>(x: f64, coefficients: [f64; COUNT]) -> f64 {
    coefficients.into_iter().rev().fold(0.0, |rest, coefficient| coefficient - x * rest)
}

/// Sine and cosine after so many turns, at least 0 and below 2^49: rounded from double precision.
#[inline(always)]
pub(crate) fn sine_and_cosine_after(turns: f64) -> (f32, f32) {
    debug_assert!((0.0..(1_u64 << 49) as f64).contains(&turns), "{turns} turns");
    // A sum with 3 * 2^51 is rounded to a whole number, which its lowest bits hold.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let quarters = 4.0 * turns;
    let sum = quarters + WHOLE;
    let angle = (quarters - (sum - WHOLE)) * FRAC_PI_2;
    let square = angle * angle;
    let sin = angle - angle * square * alternating(square, SINE);
    let cos = 1.0 - square * alternating(square, COSINE);
    // A quarter turn exchanges the two, and one of them changes its sign.
    let (x, y) = if sum.to_bits() & 1 == 0 { (sin, cos) } else { (cos, sin) };
    let signed = |part: f64, quarter: u64| f32::from_bits((part as f32).to_bits() ^ (quarter as u32 & 2) << 30);
    (signed(x, sum.to_bits()), signed(y, sum.to_bits().wrapping_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn turns_are_those_of_the_library() {
        for step in 0..1_000_000 {
            for whole in [0.0, 1.0, 123_456.0] {
                let turns = whole + f64::from(step) * 1e-6;
                let (sin, cos) = libm::sincos(2.0 * PI * (turns - whole));
                // The library's argument is rounded, and near 0 that error is larger than the result's.
                let (found_sin, found_cos) = sine_and_cosine_after(turns);
                for (found, expected) in [(found_sin, sin), (found_cos, cos)] {
                    let close = found == expected as f32 || (f64::from(found) - expected).abs() < 1e-15;
                    assert!(close, "after {turns}: {found}, {expected}");
                }
            }
        }
    }

    #[test]
    fn logarithms_are_those_of_the_library() {
        for exponent in -120..120 {
            for step in 0..1000 {
                let x = (1.0 + step as f32 / 1000.0) * libm::exp2f(exponent as f32);
                let (found, expected) = (f64::from(ln(x)), libm::log(f64::from(x)));
                assert!((found - expected).abs() <= 1.5e-7 * expected.abs().max(0.5), "ln {x}: {found}, {expected}");
            }
        }
        assert_eq!(ln(1.0), 0.0);
        assert!((-89.0..-87.0).contains(&ln(0.0)), "{}", ln(0.0));
    }

    #[test]
    fn powers_are_those_of_the_library() {
        for step in -125_000..125_000 {
            let x = step as f32 / 1000.0;
            let (found, expected) = (f64::from(exp2(x)), libm::exp2(f64::from(x)));
            assert!((found / expected - 1.0).abs() < 3e-7, "2^{x}: {found}, {expected}");
        }
        assert_eq!([exp2(-300.0), exp2(300.0), exp2(3.0)], [exp2(-126.0), exp2(126.0), 8.0]);
    }

    #[test]
    fn directions_cover_the_circle_evenly() {
        const WORDS: u32 = 1 << 16;
        let mut angles = Vec::new();
        for word in 0..WORDS {
            let (cos, sin) = direction(word << 16 | 0x8000);
            assert!((cos * cos + sin * sin - 1.0).abs() < 1e-6, "{word}: {cos}, {sin}");
            angles.push(libm::atan2(f64::from(sin), f64::from(cos)));
        }
        angles.sort_by(f64::total_cmp);
        for (index, angle) in angles.iter().enumerate() {
            let expected = PI * ((2 * index + 1) as f64 / f64::from(WORDS) - 1.0);
            assert!((angle - expected).abs() < 1e-6, "{index}: {angle}, {expected}");
        }
    }
}
