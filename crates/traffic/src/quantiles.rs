//! Means and quantiles of many times.

use std::borrow::Cow;

use units::Duration;

/// A time in whole microseconds, at most an hour and a little.
pub(crate) fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_nanos() / 1_000).unwrap_or(u32::MAX)
}

/// A time as a whole number.
pub(crate) trait Span: Copy + Ord {
    const PER_SECOND: f64;

    fn count(self) -> u64;
}

/// In microseconds: see [`micros`].
impl Span for u32 {
    const PER_SECOND: f64 = 1e6;

    fn count(self) -> u64 {
        u64::from(self)
    }
}

/// In nanoseconds.
impl Span for Duration {
    const PER_SECOND: f64 = 1e9;

    fn count(self) -> u64 {
        self.as_nanos()
    }
}

/// Times in order.
pub(crate) struct Sorted<'a, T: Clone>(Cow<'a, [T]>);

impl<T: Span> Sorted<'_, T> {
    pub(crate) fn new<'a>(times: impl Into<Cow<'a, [T]>>) -> Sorted<'a, T>
    where
        T: 'a,
    {
        let mut times = times.into();
        if !times.is_sorted() {
            times.to_mut().sort_unstable();
        }
        Sorted(times)
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    pub(crate) fn mean_s(&self) -> Option<f64> {
        let sum: u64 = self.0.iter().map(|time| time.count()).sum();
        (!self.0.is_empty()).then(|| sum as f64 / T::PER_SECOND / self.0.len() as f64)
    }

    /// The smallest time that a share `share` of the times does not exceed.
    pub(crate) fn quantile_s(&self, share: f64) -> Option<f64> {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).map(|time| time.count() as f64 / T::PER_SECOND)
    }
}
