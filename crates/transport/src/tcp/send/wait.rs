//! For how long the application lets its data wait (RFC 5482), and since when they have.

use units::{Duration, Time};

#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    limit: Option<Duration>,
    /// When the oldest data went out, were held back, or the last progress was made; [`Time::MAX`] when nothing waits.
    since: Time,
    /// SND.UNA then.
    una: u64,
}

impl Wait {
    pub fn new() -> Wait {
        Wait { limit: None, since: Time::MAX, una: 1 }
    }

    pub fn set_limit(&mut self, limit: Option<Duration>) {
        self.limit = limit;
    }

    /// When the application's patience ends; [`Time::MAX`] for never.
    #[inline]
    pub fn ends_at(&self) -> Time {
        self.limit.map_or(Time::MAX, |limit| self.since + limit)
    }

    pub fn start(&mut self, now: Time) {
        self.since = now;
    }

    pub fn stop(&mut self) {
        self.since = Time::MAX;
    }

    pub fn is_stopped(&self) -> bool {
        self.since == Time::MAX
    }

    /// If SND.UNA advanced the wait starts anew, as long as something is `outstanding`.
    #[inline]
    pub fn follow(&mut self, now: Time, una: u64, outstanding: bool) {
        if self.una != una {
            self.una = una;
            self.since = if outstanding { now } else { Time::MAX };
        }
    }
}
