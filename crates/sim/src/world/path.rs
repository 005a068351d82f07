//! The long way between the source and the last satellite, as a delay for each packet.

use engine::Generator;
use orbit::{DelayTrace, Jitter};
use rand::RngExt;
use units::{Duration, Time};

/// One-way delays between the source and the last satellite, the same in both directions.
pub(super) struct LongPath {
    trace: DelayTrace,
    /// The trace reaches to the user: the last link is then the last hop's to delay.
    includes_last_link: bool,
    jitter: Option<(Jitter, Generator)>,
    /// One value for ever, for the common case.
    constant: Option<Duration>,
    /// What to know before trusting the delays.
    pub(super) warning: Option<String>,
}

impl LongPath {
    pub(super) fn new(trace: DelayTrace, jitter: Option<(Jitter, Generator)>) -> LongPath {
        let includes_last_link = !trace.legs().is_empty();
        let first = trace.points().next().and_then(|(_, delay)| delay);
        let constant = first.filter(|_| !includes_last_link && trace.points().count() == 1);
        LongPath { trace, includes_last_link, jitter, constant, warning: None }
    }

    /// The delay of a packet that enters at `now`; `None` without a route.
    #[inline]
    pub(super) fn delay(&self, now: Time) -> Option<Duration> {
        if self.constant.is_some() {
            return self.constant;
        }
        let total = self.trace.delay(now)?;
        let last_link = if self.includes_last_link { self.trace.last_link_delay(now)? } else { Duration::ZERO };
        Some(total.saturating_sub(last_link))
    }

    /// As [`LongPath::delay`] for a packet towards the user, with the jitter drawn for it.
    #[inline]
    pub(super) fn forward_delay(&mut self, now: Time) -> Option<Duration> {
        let delay = self.delay(now);
        let Some((jitter, rng)) = &mut self.jitter else { return delay };
        let extra = if rng.random_bool(jitter.probability.get()) { jitter.extra } else { Duration::ZERO };
        delay.map(|delay| delay + extra)
    }

    /// The mean delay while there is a route; zero if there never is one.
    pub(super) fn mean(&self, duration: Duration) -> Duration {
        const SAMPLES: u64 = 1000;
        let instants = (0..SAMPLES).map(|i| Time::ZERO + Duration::from_nanos(duration.as_nanos() / SAMPLES * i));
        let delays: Vec<Duration> = instants.filter_map(|now| self.delay(now)).collect();
        delays.iter().copied().sum::<Duration>() / (delays.len() as u64).max(1)
    }

    /// The delays over time, the last link included where the path knows one.
    pub(super) fn trace(&self) -> &DelayTrace {
        &self.trace
    }
}
