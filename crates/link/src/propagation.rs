//! The propagation delay between the satellite and its users.

use std::sync::Arc;

use units::{Duration, Time};

/// The one-way delay between the serving satellite and the users: constant, or following the satellite and its
/// handovers.
///
/// What is simplified, and who could notice: a burst has the delay of the instant when its first bit leaves. While it
/// is sent a satellite moves by a few metres at most, a few nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Propagation(Course);

#[derive(Clone, Debug, PartialEq)]
enum Course {
    Fixed(Duration),
    Over(Track),
}

/// Points between which the delay is linear.
#[derive(Clone, Debug)]
struct Track {
    points: Arc<[(Time, Duration)]>,
    /// The last point at or before the last requested instant; the first point if there is none.
    at: usize,
}

impl Propagation {
    /// A constant delay.
    pub const fn fixed(delay: Duration) -> Propagation {
        Propagation(Course::Fixed(delay))
    }

    /// Linear between `points`; at a jump there are two points at one instant, of which the second holds from there on.
    /// Before the first and after the last point their delays hold.
    ///
    /// # Panics
    /// If there is no point, or one is before that which it follows.
    pub fn over(points: Vec<(Time, Duration)>) -> Propagation {
        assert!(!points.is_empty(), "a delay over time has at least one point");
        assert!(points.is_sorted_by_key(|&(at, _)| at), "the points of a delay are in the order of time");
        Propagation(Course::Over(Track { points: points.into(), at: 0 }))
    }

    /// The delay of a burst that leaves at `now`. Fast if `now` mostly increases.
    #[inline]
    pub fn delay(&mut self, now: Time) -> Duration {
        match &mut self.0 {
            Course::Fixed(delay) => *delay,
            Course::Over(track) => track.delay(now),
        }
    }

    /// The delay from the satellite to the users, if it is constant.
    pub fn constant(&self) -> Option<Duration> {
        match &self.0 {
            Course::Fixed(delay) => Some(*delay),
            Course::Over(_) => None,
        }
    }

    /// The mean from the first point to the last.
    pub fn mean(&self) -> Duration {
        match &self.0 {
            Course::Fixed(delay) => *delay,
            Course::Over(track) => track.mean(),
        }
    }

    /// The least delay.
    pub fn least(&self) -> Duration {
        match &self.0 {
            Course::Fixed(delay) => *delay,
            Course::Over(track) => track.points.iter().map(|&(_, delay)| delay).min().expect("at least one point"),
        }
    }
}

impl Track {
    #[inline(never)]
    fn delay(&mut self, now: Time) -> Duration {
        while self.points.get(self.at + 1).is_some_and(|&(at, _)| at <= now) {
            self.at += 1;
        }
        while self.at > 0 && self.points[self.at].0 > now {
            self.at -= 1;
        }
        let (from, delay) = self.points[self.at];
        match self.points.get(self.at + 1) {
            Some(&(to, end)) if now > from => {
                let share = now.since(from).as_nanos() as f64 / to.since(from).as_nanos() as f64;
                let change = (end.as_nanos() as f64 - delay.as_nanos() as f64) * share;
                Duration::from_nanos(delay.as_nanos().saturating_add_signed(change.round() as i64))
            }
            _ => delay,
        }
    }

    /// The integral of the delay, divided by the time; with a single instant its last delay.
    fn mean(&self) -> Duration {
        let (first, last) = (self.points[0], self.points[self.points.len() - 1]);
        let span = last.0.since(first.0).as_secs_f64();
        if span == 0.0 {
            return last.1;
        }
        let areas = self.points.windows(2).map(|pair| {
            let delay = (pair[0].1.as_secs_f64() + pair[1].1.as_secs_f64()) / 2.0;
            pair[1].0.since(pair[0].0).as_secs_f64() * delay
        });
        Duration::from_secs_f64(areas.sum::<f64>() / span)
    }
}

/// The cursor is no part of the value.
impl PartialEq for Track {
    fn eq(&self, other: &Track) -> bool {
        self.points == other.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    #[test]
    fn linear_between_points_and_jumps_where_there_are_two() {
        let points = vec![(at(10), ms(20)), (at(20), ms(10)), (at(20), ms(30)), (at(40), ms(32))];
        let mut propagation = Propagation::over(points);
        let expected = [(0, 20), (10, 20), (15, 15), (19, 11), (20, 30), (30, 31), (40, 32), (1000, 32)];
        for (now, delay) in expected.into_iter().chain(expected.into_iter().rev()) {
            assert_eq!(propagation.delay(at(now)), ms(delay), "at {now} ms");
        }
        // A mean of 15 ms over 10 ms, and of 31 ms over 20 ms.
        assert_eq!(propagation.mean(), Duration::from_secs_f64((10.0 * 0.015 + 20.0 * 0.031) / 30.0));
        assert_eq!(propagation.least(), ms(10));
        assert_eq!(propagation.constant(), None);
    }

    #[test]
    fn a_fixed_delay_is_that_at_all_times() {
        let mut propagation = Propagation::fixed(ms(7));
        assert_eq!((propagation.delay(at(0)), propagation.delay(Time::MAX)), (ms(7), ms(7)));
        assert_eq!((propagation.mean(), propagation.least(), propagation.constant()), (ms(7), ms(7), Some(ms(7))));
        assert_eq!(Propagation::over(vec![(at(5), ms(3)), (at(5), ms(4))]).mean(), ms(4));
    }
}
