//! The times of a script's events, and their tolerances.

use units::{Duration, Time};

use super::stop::{Stop, fail};
use crate::script::When;

/// The times of a script.
pub(super) struct Clock {
    /// The present instant.
    pub now: Time,
    /// The absolute tolerance of an event's time …
    pub tolerance: Duration,
    /// … and the relative one, in percent of the time since the event before; the larger one applies.
    pub percent: f64,
    /// The time of the event before, as in the script.
    script: Time,
    /// Whether the event before was an inbound packet.
    inbound: bool,
}

/// The time at which an event is expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeRange {
    /// The earliest, or only, time; `None` for any time.
    pub start: Option<Time>,
    end: Time,
    tolerance: Duration,
}

/// How long an outbound packet is awaited beyond its time, so that a late one is reported as such.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an outbound packet without a time is awaited.
const ANY: Duration = Duration::from_secs(600);

impl Default for Clock {
    fn default() -> Clock {
        Clock {
            now: Time::ZERO,
            tolerance: Duration::from_micros(4000),
            percent: 12.5,
            script: Time::ZERO,
            inbound: false,
        }
    }
}

impl Clock {
    /// The expected time of an event. Relative times count from the actual end of the event before, except between
    /// inbound packets: there they count from its time in the script, so that lateness does not add up.
    pub fn range(&self, when: When, inbound: bool) -> Result<TimeRange, Stop> {
        let base = if inbound && self.inbound { self.script } else { self.now };
        let (start, end) = match when {
            When::At(at) => (Time::ZERO + at, Time::ZERO + at),
            When::AtRange(start, end) => (Time::ZERO + start, Time::ZERO + end),
            When::After(after) => (base + after, base + after),
            When::AfterRange(start, end) => (base + start, base + end),
            When::Any => return Ok(TimeRange { start: None, end: self.now + ANY, tolerance: Duration::ZERO }),
        };
        if matches!(when, When::At(_) | When::AtRange(..)) && start < self.script {
            return fail(format!("expected a time not before that of the event before, {}", seconds(self.script)));
        }
        Ok(TimeRange { start: Some(start), end, tolerance: self.allowance(start) })
    }

    /// The expected time of the return of a blocking call that begins at `start`.
    pub fn end_of_call(&self, start: Time, when: When, until: Duration) -> TimeRange {
        let base = match when {
            When::After(after) => start - after,
            _ => Time::ZERO,
        };
        let end = base + until;
        TimeRange {
            start: Some(end),
            end,
            tolerance: self.tolerance.max(end.since(start).mul_f64(self.percent / 100.0)),
        }
    }

    fn allowance(&self, start: Time) -> Duration {
        self.tolerance.max(start.since(self.script).mul_f64(self.percent / 100.0))
    }

    /// Ends an event.
    pub fn done(&mut self, script: Time, inbound: bool) {
        self.script = script;
        self.inbound = inbound;
    }
}

impl TimeRange {
    /// The instant until which the event is awaited.
    pub fn deadline(&self) -> Time {
        self.end + self.tolerance + PATIENCE
    }

    /// The last instant at which the event is in time.
    pub fn latest(&self) -> Time {
        self.end + self.tolerance
    }

    /// Checks that the event `what` happened in time.
    pub fn check(&self, what: &str, at: Time) -> Result<(), Stop> {
        let Some(start) = self.start else { return Ok(()) };
        if at + self.tolerance >= start && at <= self.latest() {
            return Ok(());
        }
        let expected =
            if start == self.end { seconds(start) } else { format!("{} to {}", seconds(start), seconds(self.end)) };
        fail(format!(
            "expected {what} at {expected}, it came at {} (tolerance {})",
            seconds(at),
            seconds(Time::ZERO + self.tolerance)
        ))
    }

    /// The expected time as text.
    pub fn text(&self) -> String {
        match self.start {
            None => "any time".into(),
            Some(start) if start == self.end => seconds(start),
            Some(start) => format!("{} to {}", seconds(start), seconds(self.end)),
        }
    }
}

/// An instant in the format of scripts.
pub(super) fn seconds(at: Time) -> String {
    format!("{:.6} s", at.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn inbound_packets_in_a_row_do_not_drift() {
        let mut clock = Clock { now: Time::ZERO + ms(105), ..Clock::default() };
        clock.done(Time::ZERO + ms(100), true);
        let start = |inbound| clock.range(When::After(ms(10)), inbound).ok().and_then(|range| range.start);
        assert_eq!(start(true), Some(Time::ZERO + ms(110)));
        assert_eq!(start(false), Some(Time::ZERO + ms(115)));
        assert!(clock.range(When::At(ms(99)), true).is_err(), "time goes back");
    }

    #[test]
    fn the_tolerance_grows_with_the_time_since_the_event_before() {
        let clock = Clock::default();
        let range = clock.range(When::AfterRange(ms(800), ms(900)), false).ok().expect("a range");
        assert!(range.check("x", Time::ZERO + ms(700)).is_ok());
        assert!(range.check("x", Time::ZERO + ms(699)).is_err());
        assert!(range.check("x", Time::ZERO + ms(1000)).is_ok());
        assert!(range.check("x", Time::ZERO + ms(1001)).is_err());
        let range = clock.range(When::After(ms(1)), false).ok().expect("a range");
        assert!(range.check("x", Time::ZERO + ms(5)).is_ok());
        assert!(range.check("x", Time::ZERO + ms(6)).is_err());
    }
}
