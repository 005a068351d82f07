//! Which retransmissions were not needed: known to an observer of the whole world, to no single machine in it.

use std::collections::{BTreeMap, BTreeSet};

/// Counts the spurious retransmissions of one flow.
///
/// A retransmission is spurious if an earlier copy of the same segment had been received, or is received later. The
/// fate of every copy is followed until it has arrived or is lost, so the count is exact, and so is the memory:
/// segments whose copies are all accounted for are forgotten.
#[derive(Debug, Default)]
pub(crate) struct SpuriousCounter {
    followed: BTreeMap<u64, Copies>,
    /// First transmissions that were lost and not yet retransmitted.
    lost_originals: BTreeSet<u64>,
    count: u64,
}

#[derive(Debug)]
struct Copies {
    last_sent: u32,
    in_flight: u32,
    earliest_received: Option<u32>,
    counted: u32,
}

impl SpuriousCounter {
    /// Copy number `copy` (from 1) of the segment at `sequence` is sent; `received`: whether the receiver has its data.
    pub(crate) fn on_retransmission(&mut self, sequence: u64, copy: u32, received: bool) {
        let original_in_flight = !received && !self.lost_originals.remove(&sequence);
        let copies = self.followed.entry(sequence).or_insert(Copies {
            last_sent: copy - 1,
            in_flight: u32::from(original_in_flight),
            earliest_received: None,
            counted: 0,
        });
        copies.last_sent = copy;
        copies.in_flight += 1;
        if received {
            copies.earliest_received.get_or_insert(copy - 1);
        }
        self.count += copies.newly_spurious();
    }

    /// Copy number `copy` of the segment at `sequence` has arrived.
    pub(crate) fn on_arrival(&mut self, sequence: u64, copy: u32) {
        if self.followed.is_empty() {
            return;
        }
        let Some(copies) = self.followed.get_mut(&sequence) else { return };
        copies.earliest_received = Some(copies.earliest_received.map_or(copy, |earliest| earliest.min(copy)));
        self.count += copies.newly_spurious();
        self.settle(sequence);
    }

    /// Copy number `copy` of the segment at `sequence` is lost.
    pub(crate) fn on_loss(&mut self, sequence: u64, copy: u32) {
        if self.followed.contains_key(&sequence) {
            self.settle(sequence);
        } else if copy == 0 {
            self.lost_originals.insert(sequence);
        }
    }

    /// The retransmissions so far that were spurious.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// One more copy is accounted for.
    fn settle(&mut self, sequence: u64) {
        let copies = self.followed.get_mut(&sequence).expect("only followed segments are settled");
        copies.in_flight = copies.in_flight.saturating_sub(1);
        if copies.in_flight == 0 && copies.earliest_received.is_some() {
            self.followed.remove(&sequence);
        }
    }
}

impl Copies {
    fn newly_spurious(&mut self) -> u64 {
        let Some(earliest) = self.earliest_received else { return 0 };
        let spurious = self.last_sent - earliest.min(self.last_sent);
        let new = spurious.saturating_sub(self.counted);
        self.counted = self.counted.max(spurious);
        u64::from(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retransmission_of_a_lost_segment_is_needed() {
        let mut counter = SpuriousCounter::default();
        counter.on_loss(1, 0);
        counter.on_retransmission(1, 1, false);
        counter.on_arrival(1, 1);
        assert_eq!(counter.count(), 0);
        assert!(counter.followed.is_empty() && counter.lost_originals.is_empty());
    }

    #[test]
    fn a_retransmission_is_spurious_if_the_original_was_there_or_comes_later() {
        let mut counter = SpuriousCounter::default();
        counter.on_retransmission(1, 1, true); // was there: its acknowledgment was late
        assert_eq!(counter.count(), 1);
        counter.on_arrival(1, 1);
        assert!(counter.followed.is_empty());

        counter.on_retransmission(2, 1, false); // still in flight
        assert_eq!(counter.count(), 1);
        counter.on_arrival(2, 0);
        assert_eq!(counter.count(), 2);
        counter.on_arrival(2, 1);
        assert!(counter.followed.is_empty());
    }

    #[test]
    fn an_original_that_arrives_after_its_copies_makes_all_of_them_spurious() {
        let mut counter = SpuriousCounter::default();
        counter.on_retransmission(1, 1, false);
        counter.on_retransmission(1, 2, false);
        counter.on_arrival(1, 1);
        assert_eq!(counter.count(), 1, "copy 2 was not needed");
        counter.on_arrival(1, 0);
        assert_eq!(counter.count(), 2, "nor was copy 1");
        counter.on_arrival(1, 2);
        assert!(counter.followed.is_empty());
    }

    #[test]
    fn lost_copies_are_followed_until_one_arrives() {
        let mut counter = SpuriousCounter::default();
        counter.on_loss(1, 0);
        counter.on_retransmission(1, 1, false);
        counter.on_loss(1, 1);
        counter.on_retransmission(1, 2, false);
        counter.on_arrival(1, 2);
        assert_eq!(counter.count(), 0);
        assert!(counter.followed.is_empty());
    }
}
