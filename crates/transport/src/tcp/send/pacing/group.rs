//! Groups of segments: as in Linux with segmentation offload, new data leave in pieces of several segments, which the
//! device cuts.
//!
//! A group holds what the pacing rate sends in a millisecond, at least two segments, and at most half of the window.
//! Its last segment has PSH. Rather than a single segment soon after others, a sender waits for the acknowledgment that
//! makes room for more. Where the peer's window has room for a part of a segment only, it goes behind a full one of the
//! same group.

/// The group in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::send) struct Group {
    /// Segments that may still join it.
    left: u32,
    /// Segments that it has.
    size: u32,
    /// Data wait for a larger group, because the congestion window makes the present one small.
    deferred: bool,
}

impl Group {
    /// Begins a group of at most `segments`.
    #[inline]
    pub fn open(&mut self, segments: u32) {
        (self.left, self.size) = (segments, 0);
    }

    /// A segment joins the group. Returns whether there is room for another.
    #[inline]
    pub fn join(&mut self) -> bool {
        self.size += 1;
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    /// Ends the group. Returns whether it has several segments.
    #[inline]
    pub fn end(&mut self) -> bool {
        let several = self.size > 1;
        self.close();
        several
    }

    /// Data wait for a larger group, because the congestion window makes the present one small.
    pub fn defer(&mut self) {
        self.deferred = true;
    }

    /// Whether the next segment begins another group.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.left == 0
    }

    /// Whether the group has a full segment, and another may join.
    #[inline]
    pub fn goes_on(&self) -> bool {
        self.size > 0 && self.left > 0
    }

    #[inline]
    pub fn close(&mut self) {
        (self.left, self.size) = (0, 0);
    }

    /// Whether the congestion window made data wait since the last call.
    #[inline]
    pub fn take_deferred(&mut self) -> bool {
        std::mem::take(&mut self.deferred)
    }
}
