//! A link that only delays: packets leave by the instant at which they arrive, not by the order in which they entered.

use std::collections::VecDeque;

use units::Time;

/// Packets under way, by the instant at which they arrive; those of the same instant in the order in which they entered.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    packets: VecDeque<(Time, u32)>,
}

impl Pipe {
    /// Lets a packet arrive at `at`. A shorter path than that of the packets before lets it overtake them.
    #[inline]
    pub(super) fn push(&mut self, at: Time, packet: u32) {
        match self.packets.back() {
            Some(&(last, _)) if last > at => {
                let place = self.packets.partition_point(|&(other, _)| other <= at);
                self.packets.insert(place, (at, packet));
            }
            _ => self.packets.push_back((at, packet)),
        }
    }

    /// The next packet that has arrived by `now`.
    #[inline]
    pub(super) fn pop_due(&mut self, now: Time) -> Option<u32> {
        match self.packets.front() {
            Some(&(at, packet)) if at <= now => {
                self.packets.pop_front();
                Some(packet)
            }
            _ => None,
        }
    }

    /// The instant at which the next packet arrives.
    #[inline]
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.packets.front().map(|&(at, _)| at)
    }

    /// How many packets are under way.
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
        fn lets_packets_out_by_time_and_then_by_order_of_entry(arrivals in prop::collection::vec(0u64..50, 0..100)) {
            let mut pipe = Pipe::default();
            for (packet, &at) in arrivals.iter().enumerate() {
                pipe.push(Time::from_nanos(at), packet as u32);
            }
            let mut expected: Vec<(u64, u32)> = arrivals.iter().enumerate().map(|(p, &at)| (at, p as u32)).collect();
            expected.sort();
            for (at, packet) in expected {
                prop_assert_eq!(pipe.poll_timeout(), Some(Time::from_nanos(at)));
                prop_assert_eq!(pipe.pop_due(Time::from_nanos(at)), Some(packet));
            }
            prop_assert_eq!(pipe.len(), 0);
        }
    }
}
