//! What tells that a reduction was for nothing, so that it is taken back.

use units::Time;

use super::timestamp::timestamp;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// SND.UNA when the reduction began; `None` when it cannot be undone.
    marker: Option<u64>,
    /// Retransmissions that no duplicate was reported of; `None` before the first.
    retransmissions: Option<u32>,
    /// Timestamp of the first retransmission; 0 if there was none.
    stamp: u32,
}

impl Undo {
    /// From here on, SND.UNA, the reduction can be undone; so many retransmissions are in flight.
    pub fn mark(&mut self, una: u64, retransmitted: u32) {
        self.marker = Some(una);
        self.retransmissions = (retransmitted > 0).then_some(retransmitted);
    }

    pub fn unmark(&mut self) {
        self.marker = None;
    }

    /// It was taken back, or is over.
    pub fn end(&mut self) {
        (self.marker, self.retransmissions) = (None, None);
    }

    #[inline]
    pub fn marker(&self) -> Option<u64> {
        self.marker
    }

    #[inline]
    pub fn stamp(&self) -> u32 {
        self.stamp
    }

    #[inline]
    pub fn forget_stamp(&mut self) {
        self.stamp = 0;
    }

    /// Whether every retransmission was reported as a duplicate (RFC 3708).
    pub fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.retransmissions == Some(0)
    }

    pub fn on_retransmission(&mut self, now: Time) {
        if self.stamp == 0 {
            self.stamp = timestamp(now);
        }
        self.retransmissions = Some(self.retransmissions.unwrap_or(0) + 1);
    }

    /// Duplicates of `segments` that end at `end` were reported.
    pub fn on_duplicates(&mut self, end: u64, segments: u32) {
        let open = self.retransmissions.filter(|&open| open > 0);
        if let (Some(open), Some(marker)) = (open, self.marker)
            && end > marker
        {
            self.retransmissions = Some(open.saturating_sub(segments));
        }
    }
}
