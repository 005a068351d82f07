//! A value that changes with time in steps: a bit rate, a share of losses.

use crate::{BitRate, Duration, Time};

/// A value over time: constant from each instant to the next, and after the last one for ever. Before the first instant
/// its value holds too.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime<T> {
    /// From when, and the value.
    steps: Vec<(Time, T)>,
}

/// A bit rate over time, in bits per second. Zero is possible.
pub type RateOverTime = OverTime<u64>;

impl<T: Copy + PartialEq> OverTime<T> {
    /// Returns the steps (instant, value), in the order of time; `None` without any.
    pub fn new(mut steps: Vec<(Time, T)>) -> Option<OverTime<T>> {
        debug_assert!(steps.is_sorted_by_key(|step| step.0));
        steps.dedup_by(|after, before| after.1 == before.1);
        steps.first_mut()?.0 = Time::ZERO;
        Some(OverTime { steps })
    }

    /// The instants from which a value holds, with that value.
    pub fn steps(&self) -> &[(Time, T)] {
        &self.steps
    }

    /// The value at `now`.
    pub fn at(&self, now: Time) -> T {
        self.steps[self.step(now)].1
    }

    /// The number of the step that holds at `now`.
    fn step(&self, now: Time) -> usize {
        self.steps.partition_point(|step| step.0 <= now).saturating_sub(1)
    }
}

/// A packet that would be sent later than this is never sent.
const NEVER: Duration = Duration::from_secs(1_000_000_000);
const NANOS: u128 = 1_000_000_000;

impl RateOverTime {
    /// The time to send `bits` from `start` on, rounded up to a whole nanosecond; a thousand million seconds if the
    /// rate stays at zero.
    pub fn tx_time(&self, start: Time, bits: u64) -> Duration {
        // In bits times nanoseconds per second, so that nothing is rounded on the way.
        let mut left = u128::from(bits) * NANOS;
        let mut from = start;
        for step in self.step(start).. {
            let rate = u128::from(self.steps[step].1);
            let until = self.steps.get(step + 1).map(|next| next.0);
            let takes = if rate > 0 { left.div_ceil(rate) } else { u128::MAX };
            match until.map(|until| until.since(from)) {
                Some(lasts) if takes > u128::from(lasts.as_nanos()) => {
                    left -= rate * u128::from(lasts.as_nanos());
                    from += lasts;
                }
                _ if takes < u128::from(NEVER.as_nanos()) => {
                    return from.since(start) + Duration::from_nanos(takes as u64);
                }
                _ => return NEVER,
            }
        }
        unreachable!("the last rate holds for ever")
    }

    /// The bits that are sent from one instant to another.
    pub fn bits(&self, from: Time, until: Time) -> f64 {
        let (mut bits, mut at) = (0.0, from);
        for step in self.step(from)..self.steps.len() {
            let end = self.steps.get(step + 1).map_or(until, |next| next.0.min(until));
            bits += end.since(at).as_secs_f64() * self.steps[step].1 as f64;
            at = at.max(end);
        }
        bits
    }

    /// The mean from the start of a run for `duration`, at least 1 bit/s.
    pub fn mean(&self, duration: Duration) -> BitRate {
        let bits = self.bits(Time::ZERO, Time::ZERO + duration);
        BitRate::from_bps(((bits / duration.as_secs_f64().max(1e-9)).round() as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn what_is_sent_takes_the_rates_of_its_time() {
        // 8 Mbit/s for 10 ms, nothing for 5 ms, then 4 Mbit/s.
        let rates = RateOverTime::new(vec![(at(0), 8_000_000), (at(10), 0), (at(15), 4_000_000)]).unwrap();
        let takes = |start, bytes: u64| rates.tx_time(at(start), bytes * 8);
        assert_eq!(takes(0, 1000), Duration::from_millis(1));
        assert_eq!(takes(9, 1000), Duration::from_millis(1));
        assert_eq!(takes(9, 2000), Duration::from_millis(1 + 5 + 2), "half before the gap, half after it");
        assert_eq!(takes(12, 500), Duration::from_millis(3 + 1));
        assert_eq!(takes(100, 1), Duration::from_micros(2));
        assert_eq!((rates.at(at(9)), rates.at(at(10)), rates.at(at(99))), (8_000_000, 0, 4_000_000));
        assert_eq!(rates.bits(at(9), at(16)), 8_000.0 + 4_000.0);
        assert_eq!(rates.mean(Duration::from_millis(20)).as_bps(), 5_000_000);
    }

    #[test]
    fn without_a_rate_nothing_is_ever_sent() {
        let rates = RateOverTime::new(vec![(at(0), 1_000), (at(10), 0)]).unwrap();
        assert_eq!(rates.tx_time(at(20), 8), NEVER);
        assert_eq!(RateOverTime::new(Vec::new()), None);
    }
}
