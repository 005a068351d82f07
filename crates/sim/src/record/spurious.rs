//! Which retransmissions were not needed: known to an observer of the whole world, to no single machine in it.

use std::collections::VecDeque;

/// Counts the spurious retransmissions of one flow.
///
/// A retransmission is spurious if an earlier transmission of the same segment had been received, or is received later.
/// A segment that the receiver refuses is not received, but as good as lost.
/// Each transmission is followed until it has arrived or is lost, so the count is exact, and so is the memory: segments
/// of which no transmission is in flight are forgotten.
#[derive(Debug, Default)]
pub(crate) struct SpuriousCounter {
    /// By their sequences, in order: most are added at the end and removed at the front.
    followed: VecDeque<(u64, Transmissions)>,
    /// First transmissions that were lost and not yet retransmitted, in order.
    lost_originals: VecDeque<u64>,
    /// The sequence of the segment that arrived last, if it is followed, and how often its data were sent before: when
    /// it arrived, its receiver had not looked at it.
    arrived: Option<(u64, u32)>,
    count: u64,
}

/// The transmissions of a segment.
#[derive(Debug)]
struct Transmissions {
    /// How often the data were sent before the last transmission, and before the earliest that was received.
    last_sent: u32,
    earliest_received: Option<u32>,
    in_flight: u32,
    /// Retransmissions that were counted.
    counted: u32,
}

impl SpuriousCounter {
    /// The segment at `sequence` is retransmitted: its data were sent `sent_before` times before. `received`: whether
    /// the receiver has them.
    pub(crate) fn on_retransmission(&mut self, sequence: u64, sent_before: u32, received: bool) {
        let original_in_flight = !received && !self.take_lost_original(sequence) && sent_before == 1;
        let at = self.place(sequence).unwrap_or_else(|at| {
            let in_flight = u32::from(original_in_flight);
            let last_sent = sent_before - 1;
            let new = Transmissions { last_sent, in_flight, earliest_received: None, counted: 0 };
            self.followed.insert(at, (sequence, new));
            at
        });
        let (_, transmissions) = &mut self.followed[at];
        transmissions.last_sent = sent_before;
        transmissions.in_flight += 1;
        if received {
            transmissions.earliest_received.get_or_insert(sent_before - 1);
        }
        self.count += transmissions.newly_spurious();
    }

    /// Whether any segment is followed, of which [`SpuriousCounter::on_arrival`] is to be told.
    #[inline(always)]
    pub(crate) fn follows(&self) -> bool {
        !self.followed.is_empty()
    }

    /// The segment at `sequence` arrives, whose data were sent `sent_before` times before. `received`: whether the
    /// receiver has had the data at a sequence before, asked of the segment that arrived before this one.
    pub(crate) fn on_arrival(&mut self, sequence: u64, sent_before: u32, received: &dyn Fn(u64) -> bool) {
        self.look(received);
        if self.place(sequence).is_ok() {
            self.arrived = Some((sequence, sent_before));
        }
    }

    /// Looks whether the segment that arrived last was taken, of which `received` tells.
    pub(crate) fn look(&mut self, received: &dyn Fn(u64) -> bool) {
        let Some((sequence, sent_before)) = self.arrived.take() else { return };
        let Ok(at) = self.place(sequence) else { return };
        let (_, transmissions) = &mut self.followed[at];
        if received(sequence) {
            let earliest = transmissions.earliest_received.map_or(sent_before, |earliest| earliest.min(sent_before));
            transmissions.earliest_received = Some(earliest);
            self.count += transmissions.newly_spurious();
        }
        if transmissions.end_one() {
            self.followed.remove(at);
        }
    }

    /// The segment at `sequence` is lost, whose data were sent `sent_before` times before.
    pub(crate) fn on_loss(&mut self, sequence: u64, sent_before: u32) {
        if let Ok(at) = self.place(sequence) {
            if self.followed[at].1.end_one() {
                self.followed.remove(at);
            }
        } else if sent_before == 0
            && let Err(at) = self.lost_originals.binary_search(&sequence)
        {
            self.lost_originals.insert(at, sequence);
        }
    }

    /// Returns the place of a segment among those that are followed, or where it belongs.
    fn place(&self, sequence: u64) -> Result<usize, usize> {
        self.followed.binary_search_by_key(&sequence, |&(sequence, _)| sequence)
    }

    /// Whether the first transmission of a segment was lost, which is forgotten then.
    fn take_lost_original(&mut self, sequence: u64) -> bool {
        let found = self.lost_originals.binary_search(&sequence);
        found.is_ok_and(|at| self.lost_originals.remove(at).is_some())
    }

    /// The retransmissions so far that were spurious.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

impl Transmissions {
    /// One more transmission has arrived or is lost. Returns whether nothing is left to follow.
    fn end_one(&mut self) -> bool {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.in_flight == 0 && self.earliest_received.is_some()
    }

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

    fn arrive(counter: &mut SpuriousCounter, sequence: u64, sent_before: u32, taken: bool) {
        counter.on_arrival(sequence, sent_before, &|_| unreachable!("the one before was looked at"));
        counter.look(&|_| taken);
    }

    #[test]
    fn a_retransmission_of_a_lost_segment_is_needed() {
        let mut counter = SpuriousCounter::default();
        counter.on_loss(1, 0);
        counter.on_retransmission(1, 1, false);
        arrive(&mut counter, 1, 1, true);
        assert_eq!(counter.count(), 0);
        assert!(counter.followed.is_empty() && counter.lost_originals.is_empty());
    }

    #[test]
    fn a_retransmission_is_spurious_if_the_original_was_there_or_comes_later() {
        let mut counter = SpuriousCounter::default();
        counter.on_retransmission(1, 1, true); // was there: its acknowledgment was late
        assert_eq!(counter.count(), 1);
        arrive(&mut counter, 1, 1, true);
        assert!(counter.followed.is_empty());

        counter.on_retransmission(2, 1, false); // still in flight
        assert_eq!(counter.count(), 1);
        arrive(&mut counter, 2, 0, true);
        assert_eq!(counter.count(), 2);
        arrive(&mut counter, 2, 1, true);
        assert!(counter.followed.is_empty());
    }

    #[test]
    fn an_original_that_arrives_after_its_retransmissions_makes_all_of_them_spurious() {
        let mut counter = SpuriousCounter::default();
        counter.on_retransmission(1, 1, false);
        counter.on_retransmission(1, 2, false);
        arrive(&mut counter, 1, 1, true);
        assert_eq!(counter.count(), 1, "the second retransmission was not needed");
        arrive(&mut counter, 1, 0, true);
        assert_eq!(counter.count(), 2, "nor was the first");
        arrive(&mut counter, 1, 2, true);
        assert!(counter.followed.is_empty());
    }

    #[test]
    fn a_retransmission_of_a_segment_that_was_refused_is_needed() {
        let mut counter = SpuriousCounter::default();
        counter.on_retransmission(1, 1, false);
        arrive(&mut counter, 1, 0, false);
        arrive(&mut counter, 1, 1, true);
        assert_eq!(counter.count(), 0, "the original was refused");
        assert!(counter.followed.is_empty());

        counter.on_retransmission(2, 1, false);
        arrive(&mut counter, 2, 0, false);
        counter.on_loss(2, 1);
        counter.on_retransmission(2, 2, false);
        arrive(&mut counter, 2, 2, true);
        assert_eq!(counter.count(), 0, "the second came first");
        assert!(counter.followed.is_empty());

        counter.on_retransmission(3, 1, false);
        arrive(&mut counter, 3, 1, false);
        arrive(&mut counter, 3, 0, true);
        assert_eq!(counter.count(), 1, "the original came, after a retransmission that was refused");
    }

    #[test]
    fn a_segment_is_looked_at_before_the_next_event() {
        let mut counter = SpuriousCounter::default();
        counter.on_retransmission(1, 1, false);
        counter.on_arrival(1, 0, &|_| unreachable!("nothing has arrived before"));
        assert_eq!(counter.count(), 0, "its receiver may refuse it");
        counter.on_arrival(2, 0, &|sequence| sequence == 1);
        assert_eq!(counter.count(), 1);
        counter.on_retransmission(1, 2, true);
        assert_eq!(counter.count(), 2);
        counter.on_loss(1, 2);
        counter.on_arrival(1, 1, &|_| unreachable!("that of a segment that is not followed is not asked"));
        counter.look(&|_| true);
        assert!(counter.followed.is_empty());
    }

    #[test]
    fn lost_retransmissions_are_followed_until_one_arrives() {
        let mut counter = SpuriousCounter::default();
        counter.on_loss(1, 0);
        counter.on_retransmission(1, 1, false);
        counter.on_loss(1, 1);
        counter.on_retransmission(1, 2, false);
        arrive(&mut counter, 1, 2, true);
        assert_eq!(counter.count(), 0);
        assert!(counter.followed.is_empty());
    }
}
