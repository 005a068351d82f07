//! The largest of recent values, and numbers that differ between connections.

use units::chance::unit_interval;

/// The largest value of the last `N` rounds.
#[derive(Clone, Debug)]
pub(super) struct MaxFilter<const N: usize> {
    values: [f64; N],
    round: u64,
}

impl<const N: usize> MaxFilter<N> {
    pub(super) fn new() -> MaxFilter<N> {
        MaxFilter { values: [0.0; N], round: 0 }
    }

    /// A value of the round `round`, which is no earlier than any before.
    pub(super) fn update(&mut self, round: u64, value: f64) {
        self.advance(round);
        let slot = &mut self.values[(round % N as u64) as usize];
        *slot = slot.max(value);
    }

    /// Forgets what is older than `N` rounds at the round `round`.
    pub(super) fn advance(&mut self, round: u64) {
        for passed in (self.round + 1..=round).take(N) {
            self.values[(passed % N as u64) as usize] = 0.0;
        }
        if round > self.round + N as u64 {
            self.values = [0.0; N];
        }
        self.round = self.round.max(round);
    }

    pub(super) fn max(&self) -> f64 {
        self.values.iter().fold(0.0, |most, value| value.max(most))
    }
}

/// A number in 0..1, the `count`-th of a connection (the finalizer of SplitMix64: each bit depends on all).
pub(super) fn fraction(entropy: u64, count: u64) -> f64 {
    let mut x = entropy.wrapping_add(count.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    unit_interval(x ^ (x >> 31))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_filter_holds_the_largest_of_the_last_rounds(
            steps in prop::collection::vec((0..7u64, 0.0..100.0), 1..200),
        ) {
            let mut filter = MaxFilter::<5>::new();
            let (mut round, mut seen) = (0, Vec::new());
            for (step, value) in steps {
                round += step;
                seen.push((round, value));
                filter.update(round, value);
                let recent = seen.iter().filter(|(r, _)| r + 5 > round).map(|(_, v)| *v);
                prop_assert_eq!(filter.max(), recent.fold(0.0, f64::max));
            }
        }
    }

    #[test]
    fn fractions_are_spread_over_the_unit_interval() {
        let values: Vec<f64> = (0..1000).map(|count| fraction(7, count)).collect();
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = values.iter().sum::<f64>() / 1000.0;
        assert!((mean - 0.5).abs() < 0.03, "{mean}");
    }
}
