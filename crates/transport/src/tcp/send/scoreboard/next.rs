//! The slot that is lost next, and that which is retransmitted next (RFC 6675 section 4).

use super::slot::{LOST, RETRANSMITTED, SACKED};
use super::{Order, Scoreboard};

impl Scoreboard {
    /// RFC 6675 IsLost, by count: the lowest slot not looked at yet that has `dupthresh` SACKed segments above it, or
    /// with `forward` the highest SACKed segment so many above it.
    ///
    /// A deliberate deviation: the RFC counts discontiguous sequences, or more than `dupthresh - 1` full segments'
    /// bytes; this, as Linux, segments. They differ for small segments in a row, which no bulk transfer sends.
    #[inline]
    pub fn next_counted_lost(&mut self, dupthresh: u32, forward: bool) -> Option<u64> {
        while self.above > 0 {
            let number = self.frontier.max(self.first);
            let slot = self.get(number);
            let (sacked, lost) = (slot.is(SACKED), slot.is(LOST));
            let distance = if forward { (self.high_sacked - 1 - number) as u32 } else { self.above };
            if !sacked && distance < dupthresh {
                return None;
            }
            self.frontier = number + 1;
            self.above -= u32::from(sacked);
            if !sacked && !lost {
                return Some(number);
            }
        }
        None
    }

    /// With forward acknowledgment: the oldest retransmission that is lost again since data sent after it have arrived.
    pub fn next_overtaken(&mut self) -> Option<u64> {
        debug_assert!(self.order == Order::Retransmitted, "the order is that of retransmissions");
        if self.counts.retransmitted == 0 || self.high_sacked <= self.first {
            return None;
        }
        let high = self.high_sacked as u32;
        let mut next = self.oldest_sent();
        while let Some(number) = next {
            next = self.sent_after(number);
            let slot = self.get(number);
            if high.wrapping_sub(slot.then) as i32 <= 0 {
                break;
            }
            match slot.marks & (LOST | RETRANSMITTED) {
                LOST => self.leave_order(number), // lost again, and not retransmitted yet
                marks if marks == LOST | RETRANSMITTED => return Some(number),
                _ => {} // not taken for lost: it may be later
            }
        }
        None
    }

    /// The lowest slot that is lost and not in flight again.
    #[inline]
    pub fn next_lost(&mut self) -> Option<u64> {
        if self.counts.lost == 0 {
            return None;
        }
        self.cursor = self.cursor.max(self.first);
        while self.cursor < self.lost_until {
            if self.get(self.cursor).marks & (SACKED | LOST | RETRANSMITTED) == LOST {
                return Some(self.cursor);
            }
            self.cursor += 1;
        }
        None
    }

    /// RFC 6675 NextSeg rule 3: the lowest slot below the highest SACKed one that is neither SACKed nor retransmitted.
    pub fn next_speculative(&mut self) -> Option<u64> {
        self.speculative = self.speculative.max(self.first);
        while self.speculative < self.high_sacked {
            if !self.get(self.speculative).is(SACKED | RETRANSMITTED | LOST) {
                return Some(self.speculative);
            }
            self.speculative += 1;
        }
        None
    }

    /// RFC 6675 NextSeg rule 4: the highest slot that is not SACKed.
    pub fn last_unsacked(&self) -> Option<u64> {
        let index = self.slots.iter().rposition(|slot| !slot.is(SACKED))?;
        Some(self.first + index as u64)
    }
}
