//! Simulated time as the library wants it.

use std::time::{Duration as StdDuration, Instant};

use units::{Duration, Time};

/// Turns simulated time into instants and back.
///
/// The library takes `std::time::Instant`, which only the computer's clock makes. Each connection has an origin for
/// itself and adds simulated time to it. Nothing but differences of instants ever enters a decision, so what the clock
/// showed changes nothing; the origin lies so far ahead that no difference falls below the clock's own zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    origin: Instant,
}

/// A century.
const AHEAD: StdDuration = StdDuration::from_secs(100 * 365 * 86_400);

impl Clock {
    pub fn new() -> Clock {
        #[allow(clippy::disallowed_methods)] // the only way to an instant; see above
        Clock { origin: Instant::now() + AHEAD }
    }

    pub fn instant(&self, time: Time) -> Instant {
        self.origin + StdDuration::from_nanos(time.as_nanos())
    }

    /// The time of an instant; before the origin there is none.
    pub fn time(&self, instant: Instant) -> Time {
        Time::ZERO + ours(instant.saturating_duration_since(self.origin))
    }
}

pub(super) fn theirs(duration: Duration) -> StdDuration {
    StdDuration::from_nanos(duration.as_nanos())
}

pub(super) fn ours(duration: StdDuration) -> Duration {
    Duration::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
