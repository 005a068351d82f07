//! The congestion window and slow start threshold of RFC 5681, as the loss-based controllers share them.

use units::FieldError;

use super::Start;

/// A congestion window in bytes that opens by slow start and closes on loss. How it grows in congestion avoidance is
/// the controller's own matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) segment: u64,
    pub(super) size: u64,
    pub(super) threshold: u64,
    /// Share of the data in flight that is kept on loss.
    beta: f64,
    /// RFC 3465 L, in bytes: what one acknowledgment may count for in slow start.
    limit: u64,
    /// L after a timeout is one segment (RFC 3465 section 2.3), until slow start ends.
    after_timeout: bool,
    /// The window before the recovery under way; 0 outside recovery.
    reduced_from: u64,
}

impl Window {
    pub(super) fn new(start: Start, beta: f64, abc: u32) -> Window {
        assert!(start.segment > 0, "a segment carries data");
        Window {
            segment: start.segment,
            size: start.window.max(start.segment),
            threshold: u64::MAX,
            beta,
            limit: start.segment.saturating_mul(u64::from(abc)),
            after_timeout: false,
            reduced_from: 0,
        }
    }

    /// RFC 5681 section 3.1: slow start while cwnd < ssthresh.
    pub(super) fn in_slow_start(&self) -> bool {
        self.size < self.threshold
    }

    /// RFC 5681 section 3.1, equation (2), with the limit L of RFC 3465 section 2.2. The window stops at the threshold,
    /// and the acknowledged bytes it had no use for are returned: they count for congestion avoidance.
    pub(super) fn slow_start(&mut self, acked: u64) -> u64 {
        let limit = if self.after_timeout { self.segment } else { self.limit };
        let growth = acked.min(limit).min(self.threshold - self.size);
        self.size = self.size.saturating_add(growth);
        if self.in_slow_start() {
            return 0;
        }
        self.after_timeout = false;
        acked - growth
    }

    /// Fast recovery begins. RFC 5681 section 3.2, steps 2 and 3; data sent by limited transmit, which exceed the
    /// window, do not count. The window is not inflated: the connection counts what is in flight. A window below the
    /// smallest threshold, two segments, stays: a loss must not open it.
    pub(super) fn reduce(&mut self, in_flight: u64) {
        self.reduced_from = self.size;
        self.after_timeout = false;
        self.threshold = self.threshold_after(in_flight.min(self.size));
        self.size = self.size.min(self.threshold);
    }

    /// The retransmission timer expired. RFC 5681 section 3.1: ssthresh follows equation (4) on the first expiry and is
    /// held on repeated ones, cwnd is one segment. When the timer ends a recovery, the data sent during it, beyond the
    /// window it began with, do not count, or a timeout would raise the threshold.
    pub(super) fn collapse(&mut self, in_flight: u64, first: bool) {
        if first {
            self.threshold = self.threshold_after(in_flight.min(self.size.max(self.reduced_from)));
        }
        self.size = self.segment;
        self.after_timeout = true;
        self.reduced_from = 0;
    }

    pub(super) fn recovered(&mut self) {
        self.reduced_from = 0;
    }

    /// RFC 5681 section 4.1: after an idle time the window is min(RW, cwnd). Returns whether it fell.
    pub(super) fn restart(&mut self, restart: u64) -> bool {
        let before = self.size;
        self.size = before.min(restart.max(self.segment));
        self.size < before
    }

    /// RFC 5681 section 3.1, equation (4), with a share of `beta` in the place of one half.
    fn threshold_after(&self, in_flight: u64) -> u64 {
        ((in_flight as f64 * self.beta) as u64).max(2 * self.segment)
    }
}

/// Refuses a share of the window that is not a reduction.
pub(super) fn check_beta(beta: f64) -> Result<(), FieldError> {
    if beta > 0.0 && beta < 1.0 {
        return Ok(());
    }
    Err(FieldError::new(
        "beta",
        format!("{beta} is the share of the window kept on loss: must be between 0 and 1, exclusive"),
    ))
}

/// Refuses an L of RFC 3465 under which slow start would stand still.
pub(super) fn check_abc(abc: u32) -> Result<(), FieldError> {
    const LARGEST: u32 = 1024;
    if (1..=LARGEST).contains(&abc) {
        return Ok(());
    }
    Err(FieldError::new("abc", format!("{abc} segments per acknowledgment: must be 1 to {LARGEST}")))
}
