//! The lower and the higher of two numbers in one instruction: `f64::min` and `f64::max` also look for NaN.

/// The lower of two numbers; the first if either is NaN.
#[inline(always)]
pub fn lower(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

/// The higher of two numbers; the first if either is NaN.
#[inline(always)]
pub fn higher(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}
