//! The points of a trace, and the delays between two of them.

use units::{Duration, Time};

use crate::path::rounding::nearest;

/// The delay from an instant on. Of two points at one instant, the first ends the interval before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DelayPoint {
    pub at: Time,
    /// `None`: from here to the next point there is no route.
    pub delay: Option<Duration>,
    /// Propagation delay from the serving satellite to the user; `None` for paths without satellites.
    pub last_link: Option<Duration>,
}

/// The delays of a trace from a point to the next, linear in between: for callers that ask for many instants near each
/// other, so that the points are looked up once.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    from: Time,
    until: Time,
    /// The whole length in nanoseconds.
    length: f64,
    delay: Option<Line>,
    last_link: Option<Line>,
}

/// A delay at the begin, and by how many nanoseconds it changes up to the end.
#[derive(Clone, Copy, Debug)]
struct Line {
    begin: Duration,
    change: f64,
}

impl Stretch {
    /// From a point to the next, or for ever. Where there is no value at the next point, that of the first holds.
    pub(super) fn new(point: &DelayPoint, next: Option<&DelayPoint>) -> Stretch {
        let line = |of: fn(&DelayPoint) -> Option<Duration>| {
            let begin = of(point)?;
            let end = next.and_then(of).unwrap_or(begin);
            Some(Line { begin, change: end.as_nanos_f64() - begin.as_nanos_f64() })
        };
        Stretch {
            from: point.at,
            until: next.map_or(Time::MAX, |next| next.at),
            length: next.map_or(1.0, |next| next.at.since(point.at).as_nanos_f64()),
            delay: line(|point| point.delay),
            last_link: line(|point| point.last_link),
        }
    }

    /// Whether `now` lies in this stretch.
    #[inline]
    pub fn holds(&self, now: Time) -> bool {
        self.from <= now && now < self.until
    }

    /// The delay at `now`, and its part from the serving satellite to the user where the path has one; `None` during an
    /// outage. `now` is before the end; before the begin the values there hold.
    #[inline]
    pub fn delays(&self, now: Time) -> Option<(Duration, Option<Duration>)> {
        debug_assert!(now < self.until || self.until == Time::MAX, "{now} is not before {}", self.until);
        let share = now.since(self.from).as_nanos_f64() / self.length;
        let at = |line: Line| {
            // The sum lies between two delays, each far below 2^53 ns.
            debug_assert!(line.change.abs() < 9e15 && (0.0..=1.0).contains(&share) || line.change == 0.0);
            Duration::from_nanos(line.begin.as_nanos().wrapping_add_signed(nearest(line.change * share)))
        };
        Some((at(self.delay?), self.last_link.map(at)))
    }

    /// The delay of the last link: the second of [`Stretch::delays`], also where there is no first.
    pub(super) fn last_link_delay(&self, now: Time) -> Option<Duration> {
        Stretch { delay: self.last_link, ..*self }.delays(now).map(|(delay, _)| delay)
    }
}
