//! The reordering buffer that orders packets by the numbers of their flows.
//!
//! Tauran's thesis, section 4.4.1, to the letter: a packet that could not be decoded is dropped, "it is impossible to
//! know the sequence number", and the buffer is emptied. So a packet that fails while nothing is stored leaves its flow
//! waiting: what follows is stored until the transport sends the missing numbers again, another packet fails, or a
//! packet finds the buffer full. The same goes for a packet that never came to the link, such as one that a queue
//! dropped.
//!
//! Where the text leaves a choice:
//! * A connection's numbers begin with its first packet that comes to the satellite.
//! * After a flush a connection expects the number after the highest forwarded.
//! * A packet is late if its numbers begin below the expected one, and is forwarded at once; so is a copy of a packet
//!   that is stored, and a packet without numbers (a bare acknowledgment of TCP).
//! * A handover that loses what was started empties the buffer, and the lost numbers are still waited for.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::exit::{Exit, Stored};
use crate::packet::{FlowNumbers, PacketRef};

/// See the module.
#[derive(Debug)]
pub(super) struct FlowBlind {
    capacity: usize,
    /// The numbers that a packet has in its flow, by its handle, if it has some.
    numbers: Vec<Option<FlowNumbers>>,
    terminals: Vec<Terminal>,
}

#[derive(Debug, Default)]
struct Terminal {
    /// The number that each connection waits for.
    expected: BTreeMap<u32, u64>,
    /// Stored packets with the number after their last, by connection and first number.
    stored: BTreeMap<(u32, u64), (u64, Stored)>,
}

impl FlowBlind {
    pub fn new(capacity: u32, users: usize) -> FlowBlind {
        let terminals = std::iter::repeat_with(Terminal::default).take(users).collect();
        FlowBlind { capacity: capacity as usize, numbers: Vec::new(), terminals }
    }

    /// The packet with this handle has these numbers, perhaps none.
    pub fn note(&mut self, packet: &PacketRef, numbers: FlowNumbers) {
        let index = packet.id as usize;
        if index >= self.numbers.len() {
            self.numbers.resize(index + 1, None);
        }
        let FlowNumbers { connection, begin, end } = numbers;
        self.numbers[index] = (begin < end).then_some(numbers);
        if begin < end {
            self.terminals[packet.user as usize].expected.entry(connection).or_insert(begin);
        }
    }

    pub fn handle_decoded(&mut self, packet: &PacketRef, exit: &mut Exit) {
        let Some(numbers) = self.numbers.get(packet.id as usize).copied().flatten() else {
            return exit.forward(packet);
        };
        let FlowNumbers { connection, begin, end } = numbers;
        let terminal = &mut self.terminals[packet.user as usize];
        let expected = *terminal.expected.entry(connection).or_insert(begin);
        if begin <= expected {
            exit.forward(packet);
            exit.counters.late_packets += u64::from(begin < expected);
            if end > expected {
                terminal.release_in_sequence(connection, end, exit);
            }
        } else {
            let Entry::Vacant(entry) = terminal.stored.entry((connection, begin)) else {
                return exit.forward(packet); // a copy of what is stored
            };
            entry.insert((end, exit.store(packet)));
            if terminal.stored.len() > self.capacity {
                exit.counters.flushed_full += 1;
                terminal.flush(exit);
            } else {
                exit.counters.held_packets += 1;
                exit.counters.stored_max = exit.counters.stored_max.max(terminal.stored.len());
            }
        }
    }

    /// A packet of `user` will never be decoded.
    pub fn handle_failed(&mut self, user: u32, exit: &mut Exit) {
        let terminal = &mut self.terminals[user as usize];
        if !terminal.stored.is_empty() {
            exit.counters.flushed_failed += 1;
            terminal.flush(exit);
        }
    }

    /// Forwards all stored packets.
    pub fn flush_all(&mut self, exit: &mut Exit) {
        for terminal in &mut self.terminals {
            terminal.flush(exit);
        }
    }
}

impl Terminal {
    /// The connection now expects `next`, or what follows the stored packets that join it, which are forwarded.
    fn release_in_sequence(&mut self, connection: u32, mut next: u64, exit: &mut Exit) {
        while let Some((&key, _)) = self.stored.range((connection, 0)..=(connection, next)).next()
            && let Some((end, stored)) = self.stored.remove(&key)
        {
            next = next.max(end);
            exit.release(stored);
        }
        self.expected.insert(connection, next);
    }

    /// Forwards all stored packets, connection by connection, each in order.
    fn flush(&mut self, exit: &mut Exit) {
        while let Some(((connection, _), (end, stored))) = self.stored.pop_first() {
            let expected = self.expected.entry(connection).or_insert(end);
            *expected = end.max(*expected);
            exit.release(stored);
        }
    }
}
