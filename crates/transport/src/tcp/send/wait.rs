//! For how long the application lets its data wait (RFC 5482), and since when they have.

use units::{Duration, Time};

#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// [`Duration::MAX`] if the application waits for ever.
    limit: Duration,
    /// When the oldest data went out, were held back, or the last progress was made; [`Time::MAX`] when nothing waits.
    since: Time,
    /// SND.UNA then.
    una: u64,
    /// When the application's patience ends; [`Time::MAX`] for never.
    ends_at: Time,
}

impl Wait {
    pub fn new() -> Wait {
        Wait { limit: Duration::MAX, since: Time::MAX, una: 1, ends_at: Time::MAX }
    }

    pub fn set_limit(&mut self, limit: Option<Duration>) {
        self.limit = limit.unwrap_or(Duration::MAX);
        self.ends_at = Time::MAX;
        self.begin(self.since);
    }

    #[inline]
    fn begin(&mut self, since: Time) {
        self.since = since;
        if self.limit != Duration::MAX {
            self.ends_at = since + self.limit;
        }
    }

    /// When the application's patience ends; [`Time::MAX`] for never.
    #[inline]
    pub fn ends_at(&self) -> Time {
        self.ends_at
    }

    pub fn start(&mut self, now: Time) {
        self.begin(now);
    }

    pub fn stop(&mut self) {
        self.begin(Time::MAX);
    }

    pub fn is_stopped(&self) -> bool {
        self.since == Time::MAX
    }

    /// If SND.UNA advanced the wait starts anew, as long as something is `outstanding`.
    #[inline]
    pub fn follow(&mut self, now: Time, una: u64, outstanding: bool) {
        if self.una != una {
            self.una = una;
            self.begin(if outstanding { now } else { Time::MAX });
        }
    }
}
