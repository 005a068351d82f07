//! Packets that came in another order than they were sent, as an observer at either end counts them.

use transport::{Flags, Segment};

/// Counts duplicate acknowledgments and reordered packets of one flow.
#[derive(Debug)]
pub(crate) struct OrderCounter {
    /// The offset after the last byte sent.
    sent_end: u64,
    /// The largest end of the packets that have arrived.
    arrived_end: u64,
    /// The last acknowledgment that reached the sender, and the window in it; at first one that nothing acknowledges.
    last: (u64, u64),
    duplicate_acks: u64,
    reordered: u64,
}

impl Default for OrderCounter {
    fn default() -> OrderCounter {
        OrderCounter { sent_end: 0, arrived_end: 0, last: (u64::MAX, 0), duplicate_acks: 0, reordered: 0 }
    }
}

impl OrderCounter {
    /// The sender sends a segment.
    #[inline]
    pub(crate) fn on_sent(&mut self, segment: &Segment) {
        self.sent_end = self.sent_end.max(segment.end());
    }

    /// A packet arrives whose data end before `end`: offsets of TCP, otherwise numbers of packets. A first transmission
    /// is reordered if data that follow its own, or a copy of them, have arrived before it (RFC 4737 section 3.3).
    #[inline]
    pub(crate) fn on_arrival(&mut self, end: u64, sent_before: u32) {
        if end > self.arrived_end {
            self.arrived_end = end;
        } else if sent_before == 0 {
            self.reordered += 1;
        }
    }

    /// A segment arrives at the sender. It is a duplicate acknowledgment by RFC 5681 section 2: data are outstanding,
    /// it has none itself, SYN and FIN are off, and acknowledgment and window are those of the one before.
    #[inline]
    pub(crate) fn on_answer(&mut self, segment: &Segment) {
        let this = (segment.ack, segment.window); // also of a SYN-ACK or a FIN: the next one may repeat it
        if self.last == this && segment.len == 0 && self.sent_end > segment.ack && is_plain(segment) {
            self.duplicate_acks += 1;
        }
        self.last = this;
    }

    /// Duplicate acknowledgments that reached the sender.
    pub(crate) fn duplicate_acks(&self) -> u64 {
        self.duplicate_acks
    }

    /// First transmissions that arrived after later ones.
    pub(crate) fn reordered(&self) -> u64 {
        self.reordered
    }
}

/// Whether a segment acknowledges, and neither opens nor ends the connection.
fn is_plain(segment: &Segment) -> bool {
    segment.flags.of(Flags::ACK | Flags::SYN | Flags::FIN | Flags::RST) == Flags::ACK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u64) -> Segment {
        Segment { seq, len: 100, flags: Flags::ACK, ..Segment::default() }
    }

    fn answer(ack: u64, window: u64) -> Segment {
        Segment { ack, window, flags: Flags::ACK, ..Segment::default() }
    }

    #[test]
    fn a_repeated_acknowledgment_is_a_duplicate_while_data_are_outstanding() {
        let mut counter = OrderCounter::default();
        for seq in [1, 101, 201] {
            counter.on_sent(&data(seq));
        }
        for (ack, window) in [(1, 9), (101, 9), (101, 9), (101, 8), (101, 8), (301, 8), (301, 8)] {
            counter.on_answer(&answer(ack, window));
        }
        assert_eq!(counter.duplicate_acks(), 2, "the window changed once, and at the end nothing was outstanding");
        counter.on_sent(&data(301));
        counter.on_answer(&Segment { len: 1, ..answer(301, 8) });
        assert_eq!(counter.duplicate_acks(), 2, "it carried data");
    }

    #[test]
    fn a_first_acknowledgment_repeats_that_of_the_handshake() {
        for (window, duplicates) in [(9, 1), (8, 0)] {
            let mut counter = OrderCounter::default();
            counter.on_answer(&Segment { flags: Flags::SYN | Flags::ACK, ..answer(1, window) });
            counter.on_sent(&data(1));
            counter.on_sent(&data(101));
            counter.on_answer(&answer(1, 9));
            assert_eq!(counter.duplicate_acks(), duplicates, "{window}");
        }
    }

    #[test]
    fn a_first_transmission_behind_later_ones_is_reordered_and_a_retransmission_is_not() {
        let mut counter = OrderCounter::default();
        for (end, sent_before) in [(101, 0), (301, 0), (401, 0), (201, 1), (201, 0), (501, 0), (601, 1), (601, 0)] {
            counter.on_arrival(end, sent_before);
        }
        assert_eq!(counter.reordered(), 2, "one behind later data, and one behind its own copy");
    }
}
