//! Means and quantiles of many times in microseconds.

use units::Duration;

/// A time in whole microseconds, at most an hour and a little.
pub(crate) fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_nanos() / 1_000).unwrap_or(u32::MAX)
}

/// Times in order.
pub(crate) struct Sorted(Vec<u32>);

impl Sorted {
    pub(crate) fn new(mut micros: Vec<u32>) -> Sorted {
        micros.sort_unstable();
        Sorted(micros)
    }

    pub(crate) fn mean_s(&self) -> Option<f64> {
        let sum: u64 = self.0.iter().map(|&micros| u64::from(micros)).sum();
        (!self.0.is_empty()).then(|| sum as f64 / 1e6 / self.0.len() as f64)
    }

    /// The smallest time that a share `share` of the times does not exceed.
    pub(crate) fn quantile_s(&self, share: f64) -> Option<f64> {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).map(|&micros| f64::from(micros) / 1e6)
    }
}
