//! Spacing of segments in time.

use units::{BitRate, Duration, Time};

use super::Sender;

/// When the next segment may go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacing {
    next: Time,
    /// Bytes sent since the last gap.
    burst: u64,
    /// Something waits for that instant.
    pub wake: bool,
    /// Segments may have to be spaced: by the profile, or by the controller.
    on: bool,
}

/// Below this rate single segments are spaced, above it at least two go at once, as in Linux.
const SINGLE: BitRate = BitRate::from_bps(1_200_000);

/// As in Linux the first segments of a connection go at once.
const UNPACED: u64 = 10;

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
    fn on_sent(&mut self, now: Time, bytes: u64, mss: u64, rate: BitRate, single: bool) {
        self.wake = false;
        self.burst += bytes;
        let least = if single || rate < SINGLE { 1 } else { 2 * mss };
        let quantum = if single { 1 } else { (rate.as_bps() / 8 / 1000).max(least) };
        if self.burst + mss > quantum {
            self.next = now + BitRate::from_bps(rate.as_bps().max(1)).tx_time(self.burst * 8);
            self.burst = 0;
        }
    }
}

impl Sender {
    /// Whether segments are spaced now.
    #[inline]
    pub(super) fn is_paced(&self) -> bool {
        self.pacing.on && (self.settings.pacing || self.is_spreading() || self.control.pacing_rate().is_some())
    }

    /// Whether the initial window is being spread over the first round trip.
    #[inline]
    fn is_spreading(&self) -> bool {
        self.settings.initial_spreading && self.board.una() == 1
    }

    /// The rate that the controller sets; otherwise, as Linux, twice the window per round trip while it is far below the
    /// threshold, then 1.2 times.
    pub(super) fn pacing_rate(&self) -> BitRate {
        if let Some(rate) = self.control.pacing_rate() {
            return rate;
        }
        let srtt = self.rtt.srtt().max(Duration::from_micros(1));
        let percent = match () {
            () if self.is_spreading() => 100,
            () if self.control.window().size < self.control.window().threshold / 2 => 200,
            () => 120,
        };
        let bytes = u64::from(self.control.window().size.max(self.board.out())) * self.agreed.mss;
        let bps = u128::from(bytes * 8 * percent / 100) * 1_000_000_000 / u128::from(srtt.as_nanos());
        BitRate::from_bps(bps.clamp(1, u128::from(u64::MAX)) as u64)
    }

    /// A segment of `bytes` went out.
    #[inline]
    pub(super) fn pace(&mut self, now: Time, bytes: u64) {
        if self.is_paced() && (self.is_spreading() || self.board.sent_total() > UNPACED) {
            let rate = self.pacing_rate();
            let single = self.is_spreading();
            self.pacing.on_sent(now, bytes, self.agreed.mss, rate, single);
        }
    }
}
