//! The sender's estimates of the users' channels.
//!
//! Terminals report their channel: the mutual information of a coded bit. A report is used until the next one arrives.
//! Reports cost no capacity and are never lost.

use std::collections::VecDeque;

use channel::{Channel, qpsk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Time};

/// The estimates of the users' channels, for schedulers and reliability schemes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EstimateConfig {
    /// Time between two reports of a terminal; with "0 s" the estimate is always the present channel.
    pub interval: Duration,
    /// The age of a report when the sender receives it. At most 1000 intervals, which count as 100 us each if they are
    /// shorter.
    pub age: Duration,
}

impl Default for EstimateConfig {
    fn default() -> EstimateConfig {
        EstimateConfig { interval: Duration::from_millis(10), age: Duration::ZERO }
    }
}

/// The least time between two reports of a user where `age` is not zero.
const LEAST_INTERVAL: Duration = Duration::from_micros(100);

/// The most reports of a user in flight to the sender.
const MOST_COMING: u64 = 1000;

impl EstimateConfig {
    /// Checks that the reports in flight are not too many.
    pub(crate) fn check(&self) -> Result<(), FieldError> {
        let most = self.spacing() * MOST_COMING;
        if self.age <= most {
            return Ok(());
        }
        let allowed = format!("at most {MOST_COMING} reports of a user in flight allowed");
        let reason = format!("{} given, {allowed}: {most} with an interval of {}", self.age, self.interval);
        Err(FieldError::new("age", reason))
    }

    /// The time between two reports with an age.
    fn spacing(&self) -> Duration {
        self.interval.max(LEAST_INTERVAL)
    }
}

/// The reports of all users.
///
/// Without an age a report is made when it is first needed within its interval, so users without requests cost nothing.
/// With an age, all users report at every multiple of the interval, and each report waits until it has its age.
pub struct Estimates {
    config: EstimateConfig,
    /// Increased whenever a report may have arrived.
    epoch: u64,
    /// When the next report may arrive; only without an age.
    until: Time,
    /// For each user: the last report that the sender has, and its epoch.
    reports: Vec<(u64, f64)>,
    /// Reports in flight, with the time when they were made, of all users one after the other.
    coming: VecDeque<(Time, Vec<f64>)>,
    /// When all users report their channel next; only with an age.
    next: Time,
}

impl Estimates {
    /// The estimates of `users` users without reports: until the first report arrives, each channel counts as clear.
    pub fn new(config: &EstimateConfig, users: usize) -> Estimates {
        let reports = vec![(0, 1.0); users];
        let until = Time::ZERO;
        Estimates { config: config.clone(), epoch: 0, until, reports, coming: VecDeque::new(), next: Time::ZERO }
    }

    /// Advances to `now`; the channels must not have been read at a later instant.
    #[inline]
    pub fn advance(&mut self, now: Time, channels: &mut [Box<dyn Channel>]) {
        if !self.config.age.is_zero() {
            self.collect(now, channels);
        } else if now >= self.until {
            self.epoch += 1;
            let interval = self.config.interval.as_nanos().max(1);
            self.until = Time::from_nanos((now.as_nanos() / interval + 1) * interval);
        }
    }

    /// A new sender without reports takes over at `from`, not before the instant of the last [`Estimates::advance`]:
    /// each channel counts as clear until its next report.
    pub fn forget(&mut self, from: Time) {
        self.epoch += 1;
        if self.config.age.is_zero() {
            return; // reports are made when needed
        }
        self.coming.clear();
        self.reports.fill((self.epoch, 1.0));
        let interval = self.config.spacing().as_nanos();
        self.next = self.next.max(Time::from_nanos(from.as_nanos().div_ceil(interval) * interval));
    }

    /// Changes whenever a report may have arrived: values that depend on the estimates must be recomputed then.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The mutual information of a coded bit to `user`, 0 to 1, as the sender estimates it.
    #[inline(always)]
    pub fn information(&mut self, now: Time, user: u32, channels: &mut [Box<dyn Channel>]) -> f64 {
        let (epoch, information) = &mut self.reports[user as usize];
        if *epoch != self.epoch && self.config.age.is_zero() {
            *epoch = self.epoch;
            *information = qpsk::mutual_information(channels[user as usize].estimated_snr(now));
        }
        *information
    }

    /// Makes the reports that are due, and delivers those that have their age.
    fn collect(&mut self, now: Time, channels: &mut [Box<dyn Channel>]) {
        let interval = self.config.spacing();
        while self.next <= now {
            let at = self.next;
            // A report that a later one replaces before this call is not made.
            if at + interval + self.config.age > now {
                let report = |channel: &mut Box<dyn Channel>| qpsk::mutual_information(channel.estimated_snr(at));
                self.coming.push_back((at, channels.iter_mut().map(report).collect()));
            }
            self.next = at + interval;
        }
        while self.coming.front().is_some_and(|&(at, _)| at + self.config.age <= now) {
            let (_, reports) = self.coming.pop_front().expect("just seen");
            self.epoch += 1;
            for (known, information) in self.reports.iter_mut().zip(reports) {
                *known = (self.epoch, information);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Db;

    /// A channel whose Es/N0 in decibels is the time in milliseconds minus ten.
    struct Clock;

    impl Channel for Clock {
        fn burst_snr(&mut self, now: Time) -> Db {
            self.estimated_snr(now)
        }
        fn attenuation(&mut self, _now: Time) -> Option<Db> {
            None
        }
        fn estimated_snr(&mut self, now: Time) -> Db {
            Db::new(now.as_secs_f64() * 1e3 - 10.0)
        }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn seen(interval: u64, age: u64, times: &[u64]) -> Vec<f64> {
        let config = EstimateConfig { interval: Duration::from_millis(interval), age: Duration::from_millis(age) };
        let mut channels: Vec<Box<dyn Channel>> = vec![Box::new(Clock)];
        let mut estimates = Estimates::new(&config, 1);
        let information = times.iter().map(|&millis| {
            estimates.advance(at(millis), &mut channels);
            estimates.information(at(millis), 0, &mut channels)
        });
        information.collect()
    }

    fn of(millis: u64) -> f64 {
        qpsk::mutual_information(Db::new(millis as f64 - 10.0))
    }

    #[test]
    fn a_report_holds_for_its_interval() {
        assert_eq!(seen(5, 0, &[0, 4, 5, 7, 12]), [of(0), of(0), of(5), of(5), of(12)]);
        assert_eq!(seen(0, 0, &[0, 1, 3]), [of(0), of(1), of(3)]);
    }

    #[test]
    fn another_sender_knows_nothing_until_it_has_a_report() {
        let mut channels: Vec<Box<dyn Channel>> = vec![Box::new(Clock)];
        let mut of_at = |age: u64, forgotten: u64, from: u64, times: &[u64]| {
            let config = EstimateConfig { interval: Duration::from_millis(5), age: Duration::from_millis(age) };
            let mut estimates = Estimates::new(&config, 1);
            estimates.advance(at(forgotten), &mut channels);
            estimates.information(at(forgotten), 0, &mut channels);
            let epoch = estimates.epoch();
            estimates.forget(at(from));
            assert!(estimates.epoch() > epoch);
            let known = times.iter().map(|&millis| {
                estimates.advance(at(millis), &mut channels);
                estimates.information(at(millis), 0, &mut channels)
            });
            known.collect::<Vec<_>>()
        };
        // The next report is made at 20 ms and arrives 7 ms later; those of 0, 5 and 10 ms went to the old sender.
        assert_eq!(of_at(7, 12, 16, &[13, 17, 26, 27]), [1.0, 1.0, 1.0, of(20)]);
        // Without an age there is a report at once.
        assert_eq!(of_at(0, 12, 16, &[13, 16]), [of(13), of(16)]);
    }

    #[test]
    fn an_old_report_shows_the_channel_as_it_was() {
        // Reports at 0, 5, 10 … arrive 7 ms later; before the first the channel counts as clear.
        assert_eq!(seen(5, 7, &[0, 6, 7, 11, 12, 16, 17]), [1.0, 1.0, of(0), of(0), of(5), of(5), of(10)]);
        // Also after a long time without a request.
        assert_eq!(seen(5, 7, &[0, 16]), [1.0, of(5)]);
    }
}
