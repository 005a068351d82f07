//! A link that only delays: packets leave by the instant at which they arrive, not by the order in which they entered.

use units::{Ring, Time};

/// Packets in flight, by the instant at which they arrive; those of the same instant in the order in which they
/// entered.
#[derive(Debug)]
pub(super) struct Pipe {
    packets: Ring<(Time, u32)>,
    /// The instants at which the first arrives, [`Time::MAX`] without one, and the last that was pushed.
    next: Time,
    last: Time,
}

impl Default for Pipe {
    fn default() -> Pipe {
        Pipe { packets: Ring::default(), next: Time::MAX, last: Time::ZERO }
    }
}

impl Pipe {
    /// Lets a packet arrive at `at`. A shorter path than that of the packets before lets it overtake them. Returns
    /// whether it arrives before all others.
    #[inline(always)]
    pub(super) fn push(&mut self, at: Time, packet: u32) -> bool {
        if at < self.last {
            return self.overtake(at, packet);
        }
        self.last = at;
        let is_first = self.packets.is_empty();
        if is_first {
            self.next = at;
        }
        self.packets.push_back((at, packet));
        is_first
    }

    #[cold]
    fn overtake(&mut self, at: Time, packet: u32) -> bool {
        let before = self.packets.partition_point(|&(other, _)| other <= at);
        self.packets.insert(before, (at, packet));
        let is_first = at < self.next;
        self.next = self.next.min(at);
        is_first
    }

    /// The next packet that has arrived by `now`.
    #[inline]
    pub(super) fn pop_due(&mut self, now: Time) -> Option<u32> {
        if self.next > now {
            return None;
        }
        let (_, packet) = self.packets.take_first(); // there is one: it arrives at `next`
        self.next = self.arrival(0);
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
        self.packets.get(before).map_or(Time::MAX, |(at, _)| at)
    }

    /// How many packets are in flight.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lets_packets_out_by_time_and_then_by_order_of_entry(
            steps in prop::collection::vec((0u64..50, any::<bool>()), 0..200))
        {
            let (mut pipe, mut inside) = (Pipe::default(), Vec::new());
            for (packet, (at, out)) in (0u32..).zip(steps) {
                let before = pipe.next();
                if out {
                    let due = inside.iter().copied().min().filter(|&(first, _): &(u64, u32)| first <= at);
                    inside.retain(|&packet| Some(packet) != due);
                    prop_assert_eq!(pipe.pop_due(Time::from_nanos(at)), due.map(|(_, packet)| packet));
                } else {
                    inside.push((at, packet));
                    let is_first = pipe.push(Time::from_nanos(at), packet);
                    prop_assert_eq!(is_first, pipe.next() < before);
                }
                let first = inside.iter().copied().min().map_or(Time::MAX, |(at, _)| Time::from_nanos(at));
                prop_assert_eq!((pipe.next(), pipe.len()), (first, inside.len()));
            }
        }
    }
}
