//! RACK (RFC 8985 section 6): what was sent a reordering window before something that has arrived is lost.

use units::{Duration, Time};

use crate::tcp::send::scoreboard::slot::{Slot, is_after};

/// The state of RFC 8985 section 5.2.
#[derive(Debug, Default)]
pub(in crate::tcp::send) struct Rack {
    /// The position in the order of sending of the segment sent last of those delivered, and its round-trip time. The
    /// position, not the instant: several segments are sent in one.
    newest: Option<u32>,
    rtt: Duration,
    /// Whether the segment delivered last may reveal new losses.
    advanced: bool,
    /// Reordering window in quarters of the shortest round-trip time.
    steps: u32,
    /// Recoveries for which they persist.
    persist: u32,
    /// A duplicate was reported in this round trip.
    dsack_seen: bool,
    /// Segments delivered when the window grew last.
    grown_at: u64,
    /// The newest segment that the acknowledgment at hand covers: its position in the order of sending, and the
    /// segments delivered when it was sent.
    prior: Option<(u32, u32)>,
}

/// Recoveries without a duplicate after which the reordering window starts over (RFC 8985 section 6.2).
const PERSIST: u32 = 16;

impl Rack {
    pub fn new() -> Rack {
        Rack { steps: 1, ..Rack::default() }
    }

    /// A segment was delivered (RFC 8985 section 6.2 steps 1 and 2). A retransmission that was answered faster than any
    /// round trip is left out: its original arrived.
    #[inline]
    pub fn on_delivered(&mut self, now: Time, slot: &Slot, min_rtt: Duration) {
        let rtt = now.since(slot.sent_at);
        if slot.was_retransmitted() && rtt < min_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if self.newest.is_none_or(|newest| is_after(slot.order, newest)) {
            self.newest = Some(slot.order);
        }
    }

    /// A segment was delivered; its transmission may be ambiguous.
    #[inline]
    pub fn note_prior(&mut self, slot: &Slot) {
        if self.prior.is_none_or(|(newest, _)| !is_after(newest, slot.order)) {
            self.prior = Some((slot.order, slot.then));
        }
    }

    /// The present acknowledgment was processed.
    #[inline]
    pub fn forget_prior(&mut self) {
        self.prior = None;
    }

    /// Whether something was delivered since the last look; to be taken once for each.
    pub fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Losses are to be looked for again: an undo took them back.
    pub fn look_again(&mut self) {
        self.advanced = true;
    }

    /// Whether `slot` was sent before the newest segment delivered.
    #[inline]
    pub fn overtook(&self, slot: &Slot) -> bool {
        self.newest.is_some_and(|newest| is_after(newest, slot.order))
    }

    /// Returns the time after its sending at which a segment that was overtaken is lost, without the reordering window.
    #[inline]
    pub fn rtt(&self) -> Duration {
        self.rtt
    }

    /// The reordering window beyond which a gap counts as a loss, while reordering is to be tolerated (RFC 8985 section
    /// 6.2 step 4).
    pub fn window(&self, min_rtt: Duration, srtt: Duration) -> Duration {
        (min_rtt / 4 * u64::from(self.steps)).min(srtt)
    }

    /// A duplicate was reported that is no answer to a tail loss probe.
    pub fn on_duplicate(&mut self) {
        self.dsack_seen = true;
    }

    /// An acknowledgment reported deliveries, `delivered` in all: the window grows at most once for each round trip
    /// with a duplicate.
    #[inline]
    pub fn adapt(&mut self, delivered: u64) {
        let Some((_, then)) = self.prior else { return };
        let prior = delivered - u64::from((delivered as u32).wrapping_sub(then));
        if prior < self.grown_at {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.steps = (self.steps + 1).min(255);
            self.dsack_seen = false;
            self.grown_at = delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// A recovery ended without an undo.
    pub fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A recovery was undone by duplicates: the window persists longer.
    pub fn on_undone(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }
}
