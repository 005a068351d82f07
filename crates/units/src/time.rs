//! Instants and lengths of time, in whole nanoseconds.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant of a run: nanoseconds since its start, up to 584 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of time in nanoseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than any instant of a run.
    pub const MAX: Time = Time(u64::MAX);

    /// The instant `nanos` nanoseconds after the start.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// The instant `seconds` after the start, to the nearest nanosecond; 0 for negative or NaN.
    #[inline]
    pub fn from_secs_f64(seconds: f64) -> Time {
        Time(nanos(seconds))
    }

    /// Nanoseconds since the start.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        float(self.0) / 1e9
    }

    /// As `+`, where the sum is known to be no later than [`Time::MAX`]: with fewer instructions. Otherwise it is
    /// wrong, and a debug build panics.
    #[inline]
    pub const fn plus(self, duration: Duration) -> Time {
        Time(self.0 + duration.0)
    }

    /// As [`Time::since`], where `earlier` is known to be no later: with fewer instructions. Otherwise it is wrong, and
    /// a debug build panics.
    #[inline]
    pub const fn minus(self, earlier: Time) -> Duration {
        Duration(self.0 - earlier.0)
    }

    /// Time elapsed since `earlier`; zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// Zero.
    pub const ZERO: Duration = Duration(0);
    /// Longer than any run.
    pub const MAX: Duration = Duration(u64::MAX);

    /// `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Duration {
        Duration(nanos)
    }

    /// `micros` microseconds.
    #[inline]
    pub const fn from_micros(micros: u64) -> Duration {
        Duration(micros * 1_000)
    }

    /// `millis` milliseconds.
    #[inline]
    pub const fn from_millis(millis: u64) -> Duration {
        Duration(millis * 1_000_000)
    }

    /// `secs` seconds.
    #[inline]
    pub const fn from_secs(secs: u64) -> Duration {
        Duration(secs * 1_000_000_000)
    }

    /// `seconds` to the nearest nanosecond; zero for negative or NaN.
    #[inline]
    pub fn from_secs_f64(seconds: f64) -> Duration {
        Duration(nanos(seconds))
    }

    /// Whole nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.as_nanos_f64() / 1e9
    }

    /// As [`Duration::as_secs_f64`], of less than 292 years: a signed number is converted by one instruction.
    #[inline]
    pub fn as_short_secs_f64(self) -> f64 {
        debug_assert!(self.0 <= i64::MAX as u64, "{self} is not short");
        self.0 as i64 as f64 / 1e9
    }

    /// `amount` per second; 0 over no time.
    pub fn per_second(self, amount: f64) -> f64 {
        if self.is_zero() { 0.0 } else { amount / self.as_secs_f64() }
    }

    /// Nanoseconds as the nearest floating-point number.
    #[inline]
    pub fn as_nanos_f64(self) -> f64 {
        float(self.0)
    }

    /// As `+`, where the sum is known to be no longer than [`Duration::MAX`]: with fewer instructions. Otherwise it is
    /// wrong, and a debug build panics.
    #[inline]
    pub const fn plus(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }

    /// The difference, or zero if `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// Times `factor` (at least 0), to the nearest nanosecond.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Duration {
        Duration((self.0 as f64 * factor).round() as u64)
    }

    /// Whether the length is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// The nearest number; one that fits takes the shorter way of signed ones.
#[inline]
fn float(nanos: u64) -> f64 {
    nanos.min(i64::MAX as u64) as i64 as f64
}

#[inline]
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64 // `as` saturates: negative and NaN give 0
}

impl Add<Duration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, rhs: Duration) -> Time {
        Time(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, rhs: Duration) -> Time {
        Time(self.0.saturating_sub(rhs.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, rhs: Duration) -> Duration {
        Duration(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, rhs: u64) -> Duration {
        Duration(self.0.saturating_mul(rhs))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn div(self, rhs: u64) -> Duration {
        Duration(self.0 / rhs)
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(iter: I) -> Duration {
        iter.fold(Duration::ZERO, Add::add)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.as_secs_f64())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Time::ZERO.since(Time::from_nanos(5)), Duration::ZERO);
        assert_eq!(Time::MAX + Duration::from_secs(1), Time::MAX);
        assert_eq!(Time::ZERO - Duration::from_secs(1), Time::ZERO);
    }

    #[test]
    fn short_times_are_the_same_numbers() {
        let most = i64::MAX as u64;
        for nanos in (0..63).flat_map(|bit| [1 << bit, (1 << bit) - 1, most - (1 << bit) + 1, most >> bit]) {
            let time = Duration::from_nanos(nanos);
            assert_eq!(time.as_short_secs_f64().to_bits(), time.as_secs_f64().to_bits(), "{nanos}");
        }
    }

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Duration::from_secs_f64(0.1).as_nanos(), 100_000_000);
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Time::from_secs_f64(1e-9).as_nanos(), 1);
    }
}
