//! A link that only delays: packets leave by the instant at which they arrive, not by the order in which they entered.

use units::Time;

/// Packets in flight, by the instant at which they arrive; those of the same instant in the order in which they
/// entered.
#[derive(Debug)]
pub(super) struct Pipe {
    /// The packets from `first` on, each with its instant, around the end; the length is a power of two.
    ring: Vec<(Time, u32)>,
    first: usize,
    len: usize,
    /// The instants at which the first arrives, [`Time::MAX`] without one, and the last that was pushed.
    next: Time,
    last: Time,
}

impl Default for Pipe {
    fn default() -> Pipe {
        Pipe { ring: vec![(Time::MAX, 0); 16], first: 0, len: 0, next: Time::MAX, last: Time::ZERO }
    }
}

impl Pipe {
    /// Lets a packet arrive at `at`. A shorter path than that of the packets before lets it overtake them.
    #[inline(always)]
    pub(super) fn push(&mut self, at: Time, packet: u32) {
        if self.len == self.ring.len() {
            self.grow();
        }
        let mut index = self.len;
        if at < self.last {
            index = self.make_room(at);
        } else {
            self.last = at;
        }
        *self.slot(index) = (at, packet);
        self.len += 1;
        if index == 0 {
            self.next = at;
        }
    }

    /// Moves the packets that arrive after `at` one back; the index of the first of them.
    #[cold]
    fn make_room(&mut self, at: Time) -> usize {
        let mut index = self.len;
        while index > 0 && self.get(index - 1).0 > at {
            *self.slot(index) = self.get(index - 1);
            index -= 1;
        }
        index
    }

    /// The next packet that has arrived by `now`.
    #[inline]
    pub(super) fn pop_due(&mut self, now: Time) -> Option<u32> {
        if self.next > now || self.len == 0 {
            return None;
        }
        let (_, packet) = self.get(0);
        self.first += 1;
        self.len -= 1;
        self.next = if self.len > 0 { self.get(0).0 } else { Time::MAX };
        Some(packet)
    }

    /// The instant at which the next packet arrives; [`Time::MAX`] without one.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// The instant at which the packet arrives that has `before` packets before it; [`Time::MAX`] without one.
    #[inline]
    pub(super) fn arrival(&self, before: usize) -> Time {
        if before < self.len { self.get(before).0 } else { Time::MAX }
    }

    /// How many packets are in flight.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The packet with `index` packets before it.
    #[inline]
    fn get(&self, index: usize) -> (Time, u32) {
        self.ring[(self.first + index) & (self.ring.len() - 1)]
    }

    #[inline]
    fn slot(&mut self, index: usize) -> &mut (Time, u32) {
        let slot = (self.first + index) & (self.ring.len() - 1);
        &mut self.ring[slot]
    }

    #[cold]
    fn grow(&mut self) {
        let mut ring: Vec<_> = (0..self.len).map(|index| self.get(index)).collect();
        ring.resize(2 * self.len, (Time::MAX, 0));
        (self.ring, self.first) = (ring, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lets_packets_out_by_time_and_then_by_order_of_entry(arrivals in prop::collection::vec(0u64..50, 0..100)) {
            let mut pipe = Pipe::default();
            for (packet, &at) in arrivals.iter().enumerate() {
                pipe.push(Time::from_nanos(at), packet as u32);
            }
            let mut expected: Vec<(u64, u32)> = arrivals.iter().enumerate().map(|(p, &at)| (at, p as u32)).collect();
            expected.sort();
            for (at, packet) in expected {
                prop_assert_eq!(pipe.next(), Time::from_nanos(at));
                prop_assert_eq!(pipe.pop_due(Time::from_nanos(at)), Some(packet));
            }
            prop_assert_eq!(pipe.len(), 0);
        }
    }
}
