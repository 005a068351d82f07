//! The recent service of each user.

use units::{Duration, FieldError, Time};

/// Longer than the states of a shadowed channel, so that a user catches up after one.
pub(super) const DEFAULT_WINDOW: Duration = Duration::from_secs(1);

/// Refuses an average over no time.
pub(super) fn check_window(window: Duration) -> Result<(), FieldError> {
    if window.is_zero() { Err(FieldError::new("window", "must be more than 0 s")) } else { Ok(()) }
}

/// The bits sent to each user, smoothed: every window divides the past by e.
///
/// Kept multiplied by e^(t / window): so time changes neither a user's value nor the ratios, and only the served user's
/// value changes.
pub struct Served {
    window_s: f64,
    /// The instant at which the factor is 1.
    base: Time,
    sums: Vec<f64>,
}

impl Served {
    /// The initial state, as if each user had been sent one bit before the start.
    pub fn new(users: usize, window: Duration) -> Served {
        Served { window_s: window.as_secs_f64(), base: Time::ZERO, sums: vec![1.0; users] }
    }

    /// Resets the state, as if each user had been sent one bit before `now`.
    pub fn reset(&mut self, now: Time) {
        self.base = now;
        self.sums.fill(1.0);
    }

    /// The bits sent to `user`, smoothed, times a factor that is the same for all users.
    #[inline]
    pub fn of(&self, user: u32) -> f64 {
        self.sums[user as usize]
    }

    /// The bit rate of `user`, smoothed.
    pub fn bps(&self, now: Time, user: u32) -> f64 {
        self.of(user) / self.factor(now) / self.window_s
    }

    /// The factor at `now`.
    #[inline]
    pub fn factor(&self, now: Time) -> f64 {
        libm::exp(now.since(self.base).as_secs_f64() / self.window_s)
    }

    /// `bits` are sent to `user`. Returns whether the factor of all values has changed, so that values computed from
    /// them must be recomputed.
    #[inline]
    pub fn add(&mut self, now: Time, user: u32, bits: f64) -> bool {
        const MOST: f64 = 100.0;
        let windows = now.since(self.base).as_secs_f64() / self.window_s;
        let rebased = windows > MOST;
        if rebased {
            let factor = libm::exp(-windows);
            // Never zero: a quotient with it stays finite.
            self.sums.iter_mut().for_each(|sum| *sum = (*sum * factor).max(1e-100));
            self.base = now;
        }
        self.sums[user as usize] += bits * self.factor(now);
        rebased
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_served_fades_with_the_window() {
        let mut served = Served::new(3, Duration::from_secs(2));
        let at = |seconds: u64| Time::ZERO + Duration::from_secs(seconds);
        served.add(at(0), 0, 1e6);
        served.add(at(2), 1, 1e6);
        assert!((served.of(1) / served.of(0) - std::f64::consts::E).abs() < 1e-4);
        assert!((served.bps(at(2), 1) - 0.5e6).abs() < 1.0);
        // Far beyond the range of the factor: no overflow, and the past is forgotten.
        assert!(served.add(at(3000), 2, 1e6));
        assert_eq!(served.of(2), 1e6 + 1e-100);
        assert!(served.of(0) > 0.0 && served.of(0) < 1e-90);
    }

    #[test]
    fn a_constant_rate_is_found() {
        let mut served = Served::new(1, Duration::from_millis(500));
        let mut now = Time::ZERO;
        for _ in 0..1_000_000 {
            served.add(now, 0, 1000.0);
            now += Duration::from_millis(1);
        }
        assert!((served.bps(now, 0) / 1e6 - 1.0).abs() < 0.002, "{}", served.bps(now, 0));
    }
}
