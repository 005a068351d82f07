//! When an end is woken: what it tells its caller of its timer.

use units::Time;

/// When an endpoint is to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// As was said before. A timer may be due later than that, or never: see [`super::Endpoint::postpone`].
    Unchanged,
    /// At this instant, whatever was said before.
    At(Time),
}

/// The wake-up that was last reported to the caller. It is reported again only if it is to be earlier: timers mostly
/// move to a later time.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedWake(Time);

impl ReportedWake {
    pub(super) const NEVER: ReportedWake = ReportedWake(Time::MAX);

    /// The caller's timer has expired: none is armed any more.
    #[inline]
    pub(super) fn expire(&mut self) {
        self.0 = Time::MAX;
    }

    /// Whether the caller asks by itself before `at`, or then.
    #[inline]
    pub(super) fn covers(&self, at: Time) -> bool {
        self.0 <= at
    }

    /// Returns what to report of a timer that is due at `at`, [`Time::MAX`] for never.
    #[inline]
    pub(super) fn report(&mut self, at: Time) -> Wake {
        if self.covers(at) {
            return Wake::Unchanged;
        }
        self.0 = at;
        Wake::At(at)
    }

    /// As [`super::Endpoint::postpone`], with a timer that is due at `at`.
    pub(super) fn postpone(&mut self, now: Time, at: Time) -> Option<Time> {
        (at > now).then(|| {
            self.0 = at;
            at
        })
    }
}
