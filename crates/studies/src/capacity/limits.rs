//! The most that the users' channels could carry, from the law of one.

use channel::TransmissionLaw;

/// The mutual information of a coded bit to a user at any instant, as an empirical distribution.
#[derive(Clone, Debug)]
pub(super) struct Information {
    /// Values from 0 to 1, the lowest first.
    sorted: Vec<f64>,
}

impl Information {
    /// Returns the information of the first transmission of each packet of `law`.
    ///
    /// # Panics
    /// If the law has no rows.
    pub(super) fn new(law: &TransmissionLaw) -> Information {
        let mut sorted: Vec<f64> = law.samples.chunks(law.transmissions).map(|row| f64::from(row[0])).collect();
        assert!(!sorted.is_empty(), "a law of no packets");
        sorted.sort_unstable_by(f64::total_cmp);
        Information { sorted }
    }

    /// The mean, over time as over users: equation 6.1 of Tauran's thesis for channels of the same law.
    pub(super) fn mean(&self) -> f64 {
        self.sorted.iter().sum::<f64>() / self.sorted.len() as f64
    }

    /// The expected maximum over `users` independent channels, equation 6.2: the integral of 1 - F^n from 0 to 1, F the
    /// distribution function.
    ///
    /// For a distribution of steps it is a sum: the i-th of m values is the highest with probability (i/m)^n -
    /// ((i-1)/m)^n.
    pub(super) fn best_of(&self, users: u32) -> f64 {
        let rows = self.sorted.len() as f64;
        let mut below = 0.0;
        let parts = self.sorted.iter().enumerate().map(|(i, value)| {
            let up_to = libm::pow((i + 1) as f64 / rows, f64::from(users));
            let share = up_to - below;
            below = up_to;
            share * value
        });
        parts.sum()
    }
}

/// Duplicate acknowledgments that make TCP take a packet for lost (RFC 5681 section 3.2).
const DUPLICATES: f64 = 3.0;

/// Users beyond whom a packet that is `late_s` late comes before the third packet after it, if all send in turn and a
/// packet takes `packet_s`: equations 6.8 and 6.9 of Tauran's thesis.
pub(super) fn spacing_users(late_s: f64, packet_s: f64) -> f64 {
    late_s / (DUPLICATES * packet_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(samples: Vec<f32>) -> Information {
        Information::new(&TransmissionLaw { transmissions: 1, samples })
    }

    #[test]
    fn the_best_of_uniform_channels() {
        // E[max of n] = n / (n + 1); the m values are the middles of m equal steps.
        const ROWS: u32 = 32_768;
        let uniform = law((0..ROWS).rev().map(|i| (i as f32 + 0.5) / ROWS as f32).collect());
        assert!((uniform.mean() - 0.5).abs() < 1e-6);
        for users in [1, 2, 5, 10, 50, 100, 1000] {
            let expected = f64::from(users) / f64::from(users + 1);
            let best = uniform.best_of(users);
            assert!((best - expected).abs() < 1e-4, "{users} users: {best} against {expected}");
        }
    }

    #[test]
    fn the_best_of_channels_that_are_good_or_bad() {
        // I is 1 with probability p, else 0: E[max of n] = 1 - (1 - p)^n.
        let coin = law([vec![1.0; 3], vec![0.0; 7]].concat());
        for users in [1, 2, 3, 20] {
            let expected = 1.0 - libm::pow(0.7, f64::from(users));
            assert!((coin.best_of(users) - expected).abs() < 1e-12);
        }
        assert!((coin.best_of(1) - coin.mean()).abs() < 1e-12);
    }

    #[test]
    fn only_first_transmissions_count() {
        let rows = Information::new(&TransmissionLaw { transmissions: 2, samples: vec![0.25, 1.0, 0.75, 1.0] });
        assert_eq!(rows.mean(), 0.5);
    }

    #[test]
    fn the_users_of_the_thesis() {
        // 16890 coded bits a packet at 50 Mbit/s; 19 users for a packet 20 ms late.
        let packet_s = 16_890.0 / 50e6;
        assert!((spacing_users(0.020, packet_s) - 19.7).abs() < 0.05);
    }
}
