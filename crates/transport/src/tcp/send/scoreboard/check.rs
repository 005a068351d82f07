//! The books of the scoreboard, added up anew.

use units::Time;

use super::slot::{LOST, RETRANSMITTED, SACKED};
use crate::tcp::send::scoreboard::{Counts, Order, Scoreboard};

impl Scoreboard {
    /// Recomputes every sum and mark from the slots; `guessed` if the sacked count is of duplicate acknowledgments.
    ///
    /// # Panics
    /// If one of them is wrong.
    pub fn check(&self, guessed: bool) {
        let count = |mark: u8| self.slots.iter().filter(|s| s.is(mark)).count() as u32;
        let expected = Counts {
            sacked: if guessed { self.counts.sacked } else { count(SACKED) },
            lost: count(LOST),
            retransmitted: count(RETRANSMITTED),
        };
        assert_eq!(self.counts, expected, "counts");
        assert_eq!(self.slots.front().map_or(self.una, |slot| slot.seq), self.una, "SND.UNA");
        let mut at = self.una;
        let mut above = 0;
        for (number, slot) in (self.first..).zip(self.slots.iter()) {
            assert_eq!(slot.seq, at, "slots follow one another");
            at = slot.end();
            assert!(slot.marks & (SACKED | LOST) != SACKED | LOST, "slot {number} is SACKed and lost");
            let waiting = slot.marks & (LOST | RETRANSMITTED) == LOST;
            let found = (self.cursor..self.lost_until).contains(&number);
            assert!(found || !waiting, "lost slot {number} would not be found");
            let retransmitted = slot.marks & (LOST | RETRANSMITTED) == LOST | RETRANSMITTED;
            assert!(
                self.order != Order::Retransmitted
                    || !retransmitted
                    || self.listed().is_some_and(|sending| sending.contains(number)),
                "retransmission {number} has no position"
            );
            above += u32::from(number >= self.frontier && slot.is(SACKED));
        }
        assert_eq!(at, self.nxt, "SND.NXT");
        assert_eq!(self.above, above, "SACKed from the frontier on");
        let Some(sending) = self.listed() else { return };
        let mut ordered = 0;
        let mut next = self.oldest_sent();
        let mut last = Time::ZERO;
        while let Some(number) = next {
            assert!(self.get(number).sent_at >= last, "slot {number} was sent before its predecessor");
            last = self.get(number).sent_at;
            ordered += 1;
            next = self.sent_after(number);
        }
        assert_eq!(ordered, sending.len(), "the order of sending");
    }
}
