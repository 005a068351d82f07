//! How much of the window is used (RFC 9002 section 7.8), by round trips as in Linux.

use units::Duration;

use crate::congestion::Window;

#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// Whether the window was full in this round trip, the most that was in flight, and where the round trip ends.
    full: bool,
    most: u32,
    until: u64,
    /// The smoothed round-trip time by which the library spaces packets, and what it was when this round trip began.
    pub srtt: Duration,
    spaced_by: Duration,
}

/// RFC 9002 section 6.2.2: the round-trip time before there is a sample.
const INITIAL_RTT: Duration = Duration::from_millis(333);

impl Usage {
    pub fn new() -> Usage {
        Usage { full: false, most: 0, until: 0, srtt: INITIAL_RTT, spaced_by: INITIAL_RTT }
    }

    /// Data wait, and the window is full with `in_flight`: the strongest of all signs in a round trip. The next packet
    /// will be `next`.
    pub fn fill(&mut self, in_flight: u32, next: u64) {
        self.begin_round(true, in_flight, next);
    }

    /// A packet went out, one past which is `next`; `arrived_to` is one past the newest that is known to have arrived.
    pub fn follow(&mut self, in_flight: u32, arrived_to: u64, next: u64) {
        if arrived_to >= self.until || !self.full && in_flight > self.most {
            self.begin_round(false, in_flight, next);
        }
    }

    fn begin_round(&mut self, full: bool, in_flight: u32, next: u64) {
        (self.full, self.most, self.until, self.spaced_by) = (full, in_flight, next, self.srtt);
    }

    /// Whether the window was full in this round trip.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Whether the window holds data back: it was full, or it is less than twice what is used in slow start, or where
    /// it is `spread` over the round trip and pacing holds data back.
    ///
    /// Packets that are spaced by a round-trip time longer than the `rtt` of now, as at the beginning, use as much less
    /// of the window: this is no want of data (RFC 9002 section 7.8).
    pub fn is_window_limited(&self, window: &Window, spread: bool, rtt: Duration) -> bool {
        let reachable = u128::from(window.size) * u128::from(rtt.min(self.spaced_by).as_nanos());
        let used = u128::from(self.most) * u128::from(self.spaced_by.as_nanos());
        self.full || (spread || window.in_slow_start()) && reachable < 2 * used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets leave in order, and each round trip ends with the arrival of all that were sent before it.
    #[test]
    fn a_window_holds_back_what_fills_it_or_half_of_it_in_slow_start() {
        let window = |size, threshold| {
            let mut window = Window::new(size, u32::MAX);
            window.threshold = threshold;
            window
        };
        let rtt = Duration::from_millis(100);
        let mut usage = Usage { srtt: rtt, ..Usage::new() };
        for in_flight in 1..=6 {
            usage.follow(in_flight, 0, in_flight.into());
        }
        let limits = |usage: &Usage, window, spread| usage.is_window_limited(&window, spread, rtt);
        assert!(limits(&usage, window(11, 100), false) && !limits(&usage, window(12, 100), false));
        assert!(limits(&usage, window(11, 5), true) && !limits(&usage, window(11, 5), false));
        assert!(!usage.is_full());
        usage.fill(6, 6);
        assert!(usage.is_full() && limits(&usage, window(100, 5), false));
        // The sign holds for the round trip.
        usage.follow(2, 5, 7);
        assert!(limits(&usage, window(100, 5), false));
        usage.follow(2, 6, 8);
        assert!(!limits(&usage, window(4, 100), false) && limits(&usage, window(3, 100), false));
    }

    /// Two of ten packets go in 60 ms where they are spaced over 333 ms.
    #[test]
    fn a_guess_of_the_round_trip_time_is_no_want_of_data() {
        let mut usage = Usage::new();
        usage.follow(1, 0, 1);
        usage.follow(2, 0, 2);
        let limits = |rtt| usage.is_window_limited(&Window::new(10, u32::MAX), false, Duration::from_millis(rtt));
        assert!(limits(60) && limits(133) && !limits(134) && !limits(500));
    }
}
