//! Rounding without a call.

/// The nearest whole number, as `f64::round`, which is a call into a library.
#[inline]
pub(super) fn nearest(number: f64) -> i64 {
    // With a half itself, the number below it would be rounded up.
    const BELOW_HALF: f64 = 0.5_f64.next_down();
    (number + BELOW_HALF.copysign(number)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_whole_number_is_that_of_the_library() {
        let largest_below_half = 0.499_999_999_999_999_94;
        for number in [0.0, 0.5, largest_below_half, 1.5, 2.5, 2.4, 1e9 + 0.5, 4_503_599_627_370_495.5, 1e17] {
            for number in [number, -number] {
                assert_eq!(nearest(number), number.round() as i64, "{number}");
            }
        }
    }
}
