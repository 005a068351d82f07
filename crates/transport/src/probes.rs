//! Probes: copies of data with low priority, marked in the header and acknowledged at once, that find out what a path
//! has room for without taking it from data. The sender sends them where it has nothing else to send; a congestion
//! controller says how many.

use units::{Duration, Time};

/// A controller's changes of the probes that are still to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeRequest {
    /// Probes that are due and were not sent are dropped.
    pub drop_due: bool,
    /// These take the place of those that are not due yet.
    pub spread: Option<Spread>,
    /// So many more probes are due now.
    pub add: u32,
}

/// Probes evenly spread over time, the first after one gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// The number of probes.
    pub count: u32,
    /// The time between two, above zero.
    pub gap: Duration,
}

/// The probes of a connection that are still to be sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probes {
    due: u32,
    spread: Spread,
    next: Time,
}

impl Probes {
    pub(crate) fn request(&mut self, now: Time, request: &ProbeRequest) {
        if request.drop_due {
            self.due = 0;
        }
        if let Some(spread) = request.spread {
            self.spread = spread;
            self.next = now + spread.gap;
        }
        self.due = self.due.saturating_add(request.add);
    }

    /// When the next becomes due; [`Time::MAX`] for never.
    #[inline]
    pub(crate) fn timer(&self) -> Time {
        if self.spread.count > 0 { self.next } else { Time::MAX }
    }

    #[inline]
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        while self.timer() <= now {
            self.spread.count -= 1;
            self.next += self.spread.gap;
            self.due = self.due.saturating_add(1);
        }
    }

    /// Whether one is to be sent now; each `true` is one.
    #[inline]
    pub(crate) fn take(&mut self) -> bool {
        let due = self.due > 0;
        self.due = self.due.saturating_sub(1);
        due
    }
}
