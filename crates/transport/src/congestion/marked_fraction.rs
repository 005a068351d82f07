//! The fraction of segments that arrive with a mark, and the windows of controllers that respond to it (RFC 8257).

use units::{Duration, FieldError, Time};

use super::{AckSample, Window};

/// The fraction of segments that arrived with a mark, averaged over round trips: alpha of RFC 8257 section 3.3.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fraction {
    /// alpha, 0 to 1. 1 before the first mark, so that the first response is half the window.
    pub alpha: f64,
    gain: f64,
    /// A mark was seen.
    seen: bool,
    delivered: u64,
    marked: u64,
    /// The offset whose acknowledgment ends the round trip, and when it began.
    end: Option<u64>,
    since: Time,
}

impl Fraction {
    /// `gain` is g: the weight of the newest round trip.
    pub fn new(gain: f64) -> Fraction {
        Fraction { alpha: 1.0, gain, seen: false, delivered: 0, marked: 0, end: None, since: Time::ZERO }
    }

    /// Counts a sample. At the end of a round trip, which lasts at least `least`, alpha moves:
    ///
    /// ```text
    /// alpha = (1 - g) alpha + g F,   F the fraction of the round trip      (RFC 8257 section 3.3 step 6)
    /// ```
    pub fn count(&mut self, sample: &AckSample, least: Duration) {
        self.delivered += u64::from(sample.delivered);
        self.marked += u64::from(sample.marked.min(sample.delivered));
        let first = sample.marked > 0 && !self.seen;
        self.seen |= first;
        let over = self.end.is_some_and(|end| sample.una > end) && sample.now.since(self.since) >= least;
        if !over && self.end.is_some() && !first {
            return;
        }
        if over && self.seen && self.delivered > 0 && !first {
            let fraction = self.marked as f64 / self.delivered as f64;
            self.alpha = ((1.0 - self.gain) * self.alpha + self.gain * fraction).clamp(0.0, 1.0);
        }
        (self.delivered, self.marked) = (0, 0);
        (self.end, self.since) = (Some(sample.nxt), sample.now);
    }
}

/// Refuses a gain that is not above 0 and at most 1.
pub(super) fn check_gain(gain: f64) -> Result<(), FieldError> {
    if gain > 0.0 && gain <= 1.0 {
        return Ok(());
    }
    Err(FieldError::new("gain", format!("{gain} is a weight: must be more than 0 and at most 1")))
}

/// Part of a segment that the window has, beyond the whole ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SegmentPart(f64);

impl SegmentPart {
    /// The window opens by `segments`.
    pub fn grow(&mut self, window: &mut Window, segments: f64) {
        self.0 += segments;
        let whole = self.0 as u32;
        self.0 -= f64::from(whole);
        window.grow(whole);
    }

    /// The window keeps this share, and at least two segments: RFC 8257 section 3.3 step 9. Slow start ends.
    pub fn keep(&mut self, window: &mut Window, share: f64) {
        let size = ((f64::from(window.size) + self.0) * share).max(2.0);
        window.size = window.size.min(size as u32);
        self.0 = (size - f64::from(window.size)).clamp(0.0, 1.0 - f64::EPSILON);
        window.end_slow_start();
    }

    /// The window was set anew.
    pub fn forget(&mut self) {
        self.0 = 0.0;
    }
}
