//! The signs that a reduction was for nothing, so that it is undone.

use units::Time;

use crate::tcp::send::timestamp::timestamp;

/// The reduction that may be undone: kept from the first reduction or retransmission on.
#[derive(Debug, Default)]
pub(in crate::tcp::send) struct Undo(Option<Box<Reduction>>);

#[derive(Debug, Default)]
struct Reduction {
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
        let reduction = self.0.get_or_insert_default();
        reduction.marker = Some(una);
        reduction.retransmissions = (retransmitted > 0).then_some(retransmitted);
    }

    pub fn unmark(&mut self) {
        if let Some(reduction) = &mut self.0 {
            reduction.marker = None;
        }
    }

    /// The reduction was undone, or is over.
    pub fn end(&mut self) {
        if let Some(reduction) = &mut self.0 {
            (reduction.marker, reduction.retransmissions) = (None, None);
        }
    }

    #[inline]
    pub fn marker(&self) -> Option<u64> {
        self.0.as_ref()?.marker
    }

    #[inline]
    pub fn stamp(&self) -> u32 {
        self.0.as_ref().map_or(0, |reduction| reduction.stamp)
    }

    #[inline]
    pub fn forget_stamp(&mut self) {
        if let Some(reduction) = &mut self.0 {
            reduction.stamp = 0;
        }
    }

    /// Whether every retransmission was reported as a duplicate (RFC 3708).
    pub fn all_were_duplicates(&self) -> bool {
        self.0.as_ref().is_some_and(|reduction| reduction.marker.is_some() && reduction.retransmissions == Some(0))
    }

    pub fn on_retransmission(&mut self, now: Time) {
        let reduction = self.0.get_or_insert_default();
        if reduction.stamp == 0 {
            reduction.stamp = timestamp(now);
        }
        reduction.retransmissions = Some(reduction.retransmissions.unwrap_or(0) + 1);
    }

    /// Duplicates of `segments` that end at `end` were reported.
    pub fn on_duplicates(&mut self, end: u64, segments: u32) {
        let Some(reduction) = &mut self.0 else { return };
        let open = reduction.retransmissions.filter(|&open| open > 0);
        if let (Some(open), Some(marker)) = (open, reduction.marker)
            && end > marker
        {
            reduction.retransmissions = Some(open.saturating_sub(segments));
        }
    }
}
