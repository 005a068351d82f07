//! Spacing of segments in time, and how many go at once.

pub(super) mod burst;
pub(super) mod gap;
pub(super) mod group;

use units::{BitRate, Duration, Time};

use self::gap::SINGLE;
use super::Sender;
use crate::congestion::Window;
use crate::state::CongestionState;

/// The bytes of the largest group.
const LARGEST: u64 = 65_536 - 321;
/// Nothing waits for a larger group if nothing was sent for so long.
const RECENT: Duration = Duration::from_millis(1);
/// As in Linux the first segments of a connection go at once.
const UNPACED: u64 = 10;

impl Sender {
    /// Whether segments are spaced now.
    #[inline(always)]
    pub(super) fn is_paced(&self) -> bool {
        self.pacing.on && (self.settings.pacing || self.is_spreading() || self.cwnd.control.pacing_rate().is_some())
    }

    /// Whether the initial window is being spread over the first round trip.
    #[inline]
    fn is_spreading(&self) -> bool {
        self.settings.initial_spreading && self.board.una() == 1
    }

    /// The rate that the controller sets; otherwise, as Linux, twice the window per round trip while it is far below
    /// the threshold, then 1.2 times.
    pub(super) fn pacing_rate(&self) -> BitRate {
        self.cwnd.control.pacing_rate().unwrap_or_else(|| self.rate_of_window(*self.cwnd.window()))
    }

    /// The rate that Linux sets of a window.
    #[inline]
    fn rate_of_window(&self, window: Window) -> BitRate {
        let srtt = self.rtt.srtt().max(Duration::from_micros(1));
        let percent = match () {
            () if self.is_spreading() => 100,
            () if window.size < window.threshold / 2 => 200,
            () => 120,
        };
        let bytes = u64::from(window.size.max(self.board.out())) * self.agreed.mss;
        let bits = bytes * 8 * percent / 100;
        let bps = match bits.checked_mul(1_000_000_000) {
            Some(scaled) => scaled / srtt.as_nanos(),
            None => (u128::from(bits) * 1_000_000_000 / u128::from(srtt.as_nanos())).min(u128::from(u64::MAX)) as u64,
        };
        BitRate::from_bps(bps.max(1))
    }

    /// A segment of `bytes` went out.
    #[inline(always)]
    pub(super) fn pace(&mut self, now: Time, bytes: u64) {
        if self.is_paced() {
            self.space(now, bytes);
        }
    }

    /// As [`Sender::pace`], at a sender that is paced.
    #[inline(never)]
    fn space(&mut self, now: Time, bytes: u64) {
        if self.is_spreading() || self.board.sent_total() > UNPACED {
            let rate = self.pacing_rate();
            // RFC 9331 section 4.3: bursts of a scalable sender would fill a queue that is to stay empty.
            let grouped = self.settings.offload_divisor > 0;
            let single = self.is_spreading() || self.cwnd.ecn.scalable && !grouped;
            if grouped && !single {
                let last = self.group.is_closed();
                return self.pacing.on_group(now, bytes, rate, last);
            }
            self.pacing.on_sent(now, bytes, self.agreed.mss, rate, single);
        }
    }
}

impl Sender {
    /// Begins a group where `waiting` bytes wait and the peer takes `usable`. Whether one goes now.
    pub(super) fn open_group(&mut self, now: Time, waiting: u64, usable: u64) -> bool {
        let window = *self.cwnd.window();
        let room = window.size.saturating_sub(self.board.in_flight()).max(1);
        let mut largest = None;
        if waiting > self.agreed.mss
            && let Some(by_window) = self.defers(now, waiting, usable, window, room, &mut largest)
        {
            if by_window {
                self.group.defer();
            }
            return false;
        }
        let half = room.min((window.size / 2).max(1));
        // Two go in any case, unless segments are spaced.
        let small = half <= 2 && !(self.is_paced() && half > 1);
        let left = if small { half } else { half.min(largest.unwrap_or_else(|| self.largest_group(window))) };
        self.group.open(left);
        true
    }

    /// A segment of new data joins; after it `waiting` bytes wait and the peer takes `usable`. Whether it is the last
    /// of several.
    #[inline(always)]
    pub(super) fn join_group(&mut self, len: u64, waiting: u64, usable: u64) -> bool {
        let mss = self.agreed.mss;
        let room = self.group.join();
        let next = waiting.min(mss);
        let fin = || self.byte_stream.wants_fin() && next == waiting && usable > next;
        let another = match () {
            () if !room || len < mss || next == 0 => false,
            () if usable >= next => next == mss || fin() || !self.byte_stream.holds_small(&self.board),
            () => usable > 0 && !self.byte_stream.small_is_out(&self.board),
        };
        !another && self.group.end()
    }

    /// Segments that go at once.
    fn largest_group(&self, window: Window) -> u32 {
        if self.is_spreading() {
            return 1;
        }
        let rate = self.cwnd.control.pacing_rate().unwrap_or_else(|| self.rate_of_window(window));
        let mut bytes = (rate.as_bps() / 8) >> 10;
        // The nearer the peer, the larger.
        let halvings = (self.rtt.min().as_nanos() / 1000) >> 9;
        if halvings < 32 {
            bytes += LARGEST >> halvings;
        }
        let least = if rate < SINGLE { self.least_group() } else { 2 };
        ((bytes.min(LARGEST) / self.agreed.mss) as u32).max(least)
    }

    /// Segments that go at once where the rate is lowest.
    fn least_group(&self) -> u32 {
        if self.cwnd.control.pacing_rate().is_some() { 1 } else { 2 }
    }

    /// Whether what may go waits for more: others went just now, it is a small part of the window, and the next
    /// acknowledgment is near. If it does: whether because the congestion window makes it small. `largest` becomes
    /// [`Sender::largest_group`] if that is asked.
    fn defers(
        &self,
        now: Time,
        waiting: u64,
        usable: u64,
        window: Window,
        room: u32,
        largest: &mut Option<u32>,
    ) -> Option<bool> {
        if matches!(self.cwnd.state(), CongestionState::Recovery | CongestionState::Loss)
            || self.burst.last_sent.is_none_or(|last| now.since(last) > RECENT)
        {
            return None;
        }
        let mss = self.agreed.mss;
        let (allowed, all) = (u64::from(room) * mss, u64::from(window.size) * mss);
        let limit = allowed.min(usable);
        let whole = all.min(self.peer.usable(self.board.una()));
        // `limit` is at least `whole` over the divisor, rounded down.
        if (limit + 1) * u64::from(self.settings.offload_divisor) > whole {
            return None;
        }
        let front = self.board.front()?;
        let srtt = self.rtt.srtt();
        let next_ack = (front.sent_at + srtt).since(now);
        let fills = |segments: u32| limit >= u64::from(segments) * mss;
        if next_ack > RECENT.min(srtt / 2)
            || fills(self.least_group()) && fills(*largest.insert(self.largest_group(window)))
        {
            return None;
        }
        let piece = waiting.min(LARGEST);
        let by_window = allowed < usable && allowed <= piece;
        let defers = by_window || allowed >= usable && usable <= piece || !self.byte_stream.wants_fin();
        defers.then_some(by_window)
    }
}
