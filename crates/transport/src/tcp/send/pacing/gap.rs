//! The gap between two segments or groups.

use units::{BitRate, Time};

/// When the next segment may go.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::send) struct Pacing {
    pub next: Time,
    /// Bytes sent since the last gap.
    burst: u64,
    /// Something waits for that instant.
    pub wake: bool,
    /// Segments may have to be spaced: by the profile, or by the controller.
    pub on: bool,
}

/// Below this rate single segments are spaced, above it at least two go at once, as in Linux.
pub(in crate::tcp::send) const SINGLE: BitRate = BitRate::from_bps(1_200_000);

impl Pacing {
    pub fn new(on: bool) -> Pacing {
        Pacing { on, ..Pacing::default() }
    }

    #[inline]
    pub fn holds(&self, now: Time) -> bool {
        self.next > now
    }

    /// When to be woken.
    #[inline]
    pub fn wake_at(&self) -> Time {
        if self.wake { self.next } else { Time::MAX }
    }

    /// `bytes` went out. What a millisecond holds goes at once, and then comes a gap that makes up for it.
    pub fn on_sent(&mut self, now: Time, bytes: u64, mss: u64, rate: BitRate, single: bool) {
        self.wake = false;
        self.burst += bytes;
        let least = if single || rate < SINGLE { 1 } else { 2 * mss };
        let quantum = if single { 1 } else { (rate.as_bps() / 8 / 1000).max(least) };
        if self.burst + mss > quantum {
            self.next = now + BitRate::from_bps(rate.as_bps().max(1)).tx_time(self.burst * 8);
            self.burst = 0;
        }
    }

    /// `bytes` of a group went out, the `last` of it: a gap follows that makes up for the group. A group that goes late
    /// shortens it by as much, to half.
    pub fn on_group(&mut self, now: Time, bytes: u64, rate: BitRate, last: bool) {
        self.wake = false;
        self.burst += bytes;
        if last {
            let gap = BitRate::from_bps(rate.as_bps().max(1)).tx_time(self.burst * 8);
            let late = now.since(self.next).min(gap / 2);
            self.next = now.max(self.next) + gap.saturating_sub(late);
            self.burst = 0;
        }
    }
}
