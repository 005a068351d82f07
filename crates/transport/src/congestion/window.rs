//! The congestion window and slow start threshold, in segments as Linux and ns-2 count them.

/// The window of a sender: its controller's, and moved by loss recovery during a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window, at least one segment.
    pub size: u32,
    /// Slow start threshold; [`Window::NO_THRESHOLD`] while there is none.
    pub threshold: u32,
    /// New data wait whatever the size, for a controller that sends in bursts; retransmissions do not.
    pub holds: bool,
    /// Segments acknowledged in congestion avoidance that have not yet opened the window.
    counted: u32,
    /// Segments acknowledged that have not yet opened the window by the rules of Linux 2.6.22.
    acked: u32,
    /// RFC 3465 L: the segments that one acknowledgment may count for in slow start.
    limit: u32,
    /// L is one segment (RFC 3465 section 2.3) until the slow start after a timeout ends.
    after_timeout: bool,
    /// Congestion avoidance counts acknowledgments, not what they acknowledge.
    by_acknowledgment: bool,
    /// Slow start and congestion avoidance are those of Linux 2.6.22, which ns-2 has.
    of_linux_2_6_22: bool,
}

impl Window {
    /// The threshold before the first reduction.
    pub const NO_THRESHOLD: u32 = u32::MAX;

    /// A window at the start of a connection; `limit` is L of RFC 3465, or [`u32::MAX`] to count all that is
    /// acknowledged.
    pub fn new(size: u32, limit: u32) -> Window {
        Window {
            size: size.max(1),
            threshold: Window::NO_THRESHOLD,
            holds: false,
            counted: 0,
            acked: 0,
            limit,
            after_timeout: false,
            by_acknowledgment: false,
            of_linux_2_6_22: false,
        }
    }

    /// Congestion avoidance counts acknowledgments (RFC 5681 equation (3)).
    #[must_use]
    pub fn by_acknowledgment(self, by_acknowledgment: bool) -> Window {
        Window { by_acknowledgment, ..self }
    }

    /// Chooses the rules of Linux 2.6.22, or those of RFC 5681.
    #[must_use]
    pub fn of_linux_2_6_22(self, of_linux_2_6_22: bool) -> Window {
        Window { of_linux_2_6_22, ..self }
    }

    /// Whether the rules are those of Linux 2.6.22.
    #[inline]
    pub fn is_of_linux_2_6_22(&self) -> bool {
        self.of_linux_2_6_22
    }

    /// Counts what is acknowledged for [`Window::open_of_linux_2_6_22`]. The sender calls it, in a recovery too: in
    /// Linux 2.6.22 that opens the window after it.
    #[inline]
    pub fn count_for_linux_2_6_22(&mut self, acked: u32) {
        self.acked = self.acked.saturating_add(acked);
    }

    /// Slow start of Linux 2.6.22, which goes on at the threshold: one segment for an acknowledgment. Returns
    /// whether it was slow start.
    #[inline]
    pub fn slow_start_of_linux_2_6_22(&mut self) -> bool {
        let slow = self.size <= self.threshold;
        if slow {
            self.acked = 0;
            self.grow(1);
        }
        slow
    }

    /// Congestion avoidance of Linux 2.6.22: a segment for a window of what was counted, at most one for an
    /// acknowledgment.
    #[inline]
    pub fn open_of_linux_2_6_22(&mut self) {
        if self.acked >= self.size {
            self.acked -= self.size;
            self.grow(1);
        }
    }

    /// Whether it is in slow start: while cwnd < ssthresh (RFC 5681, section 3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.size < self.threshold
    }

    /// RFC 5681 section 3.1, equation (2), with the limit L of RFC 3465 section 2.2. The window stops at the
    /// threshold, and the acknowledged segments it had no use for are returned: they count for congestion avoidance.
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let growth = self.countable(acked).min(self.threshold - self.size);
        self.size += growth;
        if self.in_slow_start() {
            return 0;
        }
        self.after_timeout = false;
        acked - growth
    }

    /// Returns how many of the acknowledged segments slow start may count: at most L of RFC 3465.
    #[inline]
    pub fn countable(&self, acked: u32) -> u32 {
        let limit = if self.after_timeout && self.limit != u32::MAX { 1 } else { self.limit };
        acked.min(limit)
    }

    /// Slow start ends here: congestion avoidance goes on from the present window.
    pub fn end_slow_start(&mut self) {
        self.threshold = self.size.max(2);
        self.after_timeout = false;
    }

    /// Additive increase: one segment more for each `per` acknowledged (RFC 5681 section 3.1 and RFC 3465 section 2.1
    /// for `per` the window).
    #[inline]
    pub fn add_one_per(&mut self, per: u32, acked: u32) {
        let acked = if self.by_acknowledgment { acked.min(1) } else { acked };
        // What was counted towards a window that has become smaller opens it by one segment only.
        if self.counted >= per {
            self.counted = 0;
            self.grow(1);
        }
        self.counted = self.counted.saturating_add(acked);
        if self.counted >= per {
            self.grow(self.counted / per);
            self.counted %= per;
        }
    }

    /// Opens the window after an acknowledgment as RFC 5681 does, for controllers that fall back to it.
    pub fn grow_as_reno(&mut self, acked: u32) {
        if self.is_of_linux_2_6_22() {
            if !self.slow_start_of_linux_2_6_22() {
                self.open_of_linux_2_6_22();
            }
            return;
        }
        let left = if self.in_slow_start() { self.slow_start(acked) } else { acked };
        if left > 0 {
            self.add_one_per(self.size, left);
        }
    }

    /// Opens the window by `segments`, which the controller has counted itself.
    #[inline]
    pub fn grow(&mut self, segments: u32) {
        self.size = self.size.saturating_add(segments);
    }

    /// Forgets what was counted towards the next segment.
    pub fn restart_count(&mut self) {
        (self.counted, self.acked) = (0, 0);
    }

    /// The retransmission timer expired and the window became `size`.
    pub(crate) fn collapse(&mut self, size: u32) {
        self.size = size.max(1);
        (self.counted, self.acked) = (0, 0);
        self.after_timeout = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments counted for the rules of Linux 2.6.22 open no window by another rule.
    #[test]
    fn two_rules_count_apart() {
        let mut window = Window::new(10, u32::MAX).of_linux_2_6_22(true);
        for _ in 0..9 {
            window.count_for_linux_2_6_22(1);
            window.add_one_per(10, 1);
        }
        assert_eq!(window.size, 10);
        window.count_for_linux_2_6_22(1);
        window.open_of_linux_2_6_22();
        assert_eq!(window.size, 11);
        window.add_one_per(10, 1);
        assert_eq!(window.size, 12);
    }
}
