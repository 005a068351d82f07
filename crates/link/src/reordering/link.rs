//! The reordering buffer that orders packets by the numbers of the link.
//!
//! Where the texts leave a choice:
//! * There is an expected number for each flow. The number of a packet that cannot be decoded is unknown, and so is its
//!   flow: it flushes the user's whole buffer.
//! * After a flush a flow expects the number after the highest forwarded, or after the undecodable one if that is
//!   higher. A packet below the expected number is late and forwarded at once, so no packet waits for one that cannot
//!   come.

use std::collections::VecDeque;

use super::exit::{Exit, Stored};
use crate::packet::PacketRef;

/// See the module.
#[derive(Debug)]
pub(super) struct ByLink {
    capacity: usize,
    flows: Vec<Flow>,
    users: Vec<Terminal>,
}

#[derive(Debug, Default)]
struct Flow {
    /// The number of the next packet to forward.
    expected: u64,
    /// Stored packets by their number: index i is number `expected + i`. Index 0 is always empty, the last never.
    stored: VecDeque<Option<Stored>>,
    known: bool,
}

#[derive(Debug, Default)]
struct Terminal {
    flows: Vec<u32>,
    stored: usize,
}

impl ByLink {
    pub fn new(capacity: u32, users: usize) -> ByLink {
        let users = std::iter::repeat_with(Terminal::default).take(users).collect();
        ByLink { capacity: capacity as usize, flows: Vec::new(), users }
    }

    #[inline(always)]
    pub fn handle_decoded(&mut self, packet: &PacketRef, sequence: u64, exit: &mut Exit) {
        let capacity = self.capacity;
        let flow = self.flow(packet);
        if sequence < flow.expected {
            exit.forward(packet);
            exit.counters.late_packets += 1;
        } else if sequence == flow.expected {
            exit.forward(packet);
            flow.expected += 1;
            if !flow.stored.is_empty() {
                flow.stored.pop_front();
                self.release_in_sequence(packet, exit);
            }
        } else {
            flow.store(sequence, exit.store(packet));
            let terminal = &mut self.users[packet.user as usize];
            let full = terminal.stored == capacity;
            terminal.stored += 1;
            if full {
                exit.counters.flushed_full += 1;
                self.flush(packet.user, exit);
            } else {
                exit.counters.held_packets += 1;
                exit.counters.stored_max = exit.counters.stored_max.max(terminal.stored);
            }
        }
    }

    /// `packet`, the `sequence`-th of its flow, will never be decoded.
    pub fn handle_failed(&mut self, packet: &PacketRef, sequence: u64, exit: &mut Exit) {
        self.flow(packet);
        if self.users[packet.user as usize].stored > 0 {
            exit.counters.flushed_failed += 1;
            self.flush(packet.user, exit);
        }
        let flow = self.flow(packet);
        flow.expected = flow.expected.max(sequence + 1);
    }

    /// The next packet of each flow is the number in `next`; forwards all stored packets.
    pub fn begin_at(&mut self, next: &[u64], exit: &mut Exit) {
        for user in 0..self.users.len() as u32 {
            self.flush(user, exit);
        }
        if self.flows.len() < next.len() {
            self.flows.resize_with(next.len(), Flow::default);
        }
        // Including flows without any packet so far.
        for (flow, &next) in self.flows.iter_mut().zip(next) {
            flow.expected = next;
        }
    }

    #[inline]
    fn flow(&mut self, packet: &PacketRef) -> &mut Flow {
        let index = packet.flow as usize;
        if self.flows.get(index).is_none_or(|flow| !flow.known) {
            self.meet(packet);
        }
        &mut self.flows[index]
    }

    /// The first packet of a flow.
    #[cold]
    fn meet(&mut self, packet: &PacketRef) {
        let index = packet.flow as usize;
        if index >= self.flows.len() {
            self.flows.resize_with(index + 1, Flow::default);
        }
        self.flows[index].known = true;
        self.users[packet.user as usize].flows.push(packet.flow);
    }

    /// Forwards the stored packets from the expected number on, up to the next gap.
    fn release_in_sequence(&mut self, packet: &PacketRef, exit: &mut Exit) {
        let flow = &mut self.flows[packet.flow as usize];
        let mut released = 0;
        while let Some(Some(stored)) = flow.stored.front().copied() {
            flow.stored.pop_front();
            flow.expected += 1;
            released += 1;
            exit.release(stored);
        }
        self.users[packet.user as usize].stored -= released;
    }

    /// Forwards all packets stored for a user, flow by flow, each in sequence.
    fn flush(&mut self, user: u32, exit: &mut Exit) {
        let terminal = &mut self.users[user as usize];
        terminal.stored = 0;
        for &index in &terminal.flows {
            let flow = &mut self.flows[index as usize];
            flow.expected += flow.stored.len() as u64;
            for stored in flow.stored.drain(..).flatten() {
                exit.release(stored);
            }
        }
    }
}

impl Flow {
    fn store(&mut self, sequence: u64, stored: Stored) {
        let index = (sequence - self.expected) as usize;
        if index >= self.stored.len() {
            self.stored.resize(index + 1, None);
        }
        let before = self.stored[index].replace(stored);
        assert!(before.is_none(), "packet {sequence} of a flow was decoded twice");
    }
}
