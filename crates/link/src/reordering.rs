//! The reordering buffer of a user's terminal.
//!
//! Tauran, Lochin, Lacan, Arnal, Gineste, Clarac, Kuhn, "Making H-ARQ suitable for a mobile TCP receiver over LEO
//! satellite constellations", WiSATS 2017, section 4.1; Tauran's thesis, section 4.4.1 and figure 4.6. A packet that is
//! decoded in sequence is forwarded, together with the stored packets that follow it; another packet is stored. The
//! buffer is flushed to the transport layer, which then sees the gap and repairs it, by a packet that finds the buffer
//! full, and by a packet that could not be decoded.
//!
//! Which numbers are meant is not said. Those of the link ([`Numbering::Link`]) are what this file orders by; those of
//! the flow ([`Numbering::FlowBlind`]) have a file of their own.
//!
//! Where the texts leave a choice, with the numbers of the link:
//! * There is one buffer for each user, with its capacity counted over all of the user's flows, and an expected number
//!   for each flow. The number of a packet that cannot be decoded is unknown, and so is its flow: it flushes the whole
//!   buffer.
//! * The packet that finds the buffer full leaves together with the stored ones, in sequence. So a capacity of 0 stores
//!   nothing.
//! * After a flush a flow expects the number after the highest forwarded, or after the undecodable one if that is
//!   higher. A packet below the expected number is late and forwarded at once, so no packet waits for one that cannot
//!   come.

mod counters;
mod flow_blind;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use crate::packet::{FlowNumbers, Output, PacketRef};
pub use counters::ReorderingCounters;
use counters::Stored;
use flow_blind::FlowBlind;

/// The reordering buffer of each user's terminal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReorderingConfig {
    /// Whether there is a buffer; without it packets are forwarded as they are decoded.
    pub enabled: bool,
    /// The most packets stored for one user.
    pub capacity: u32,
    /// By which numbers the buffer orders packets, and so whether it knows which packet could not be decoded.
    pub numbering: Numbering,
}

impl Default for ReorderingConfig {
    fn default() -> ReorderingConfig {
        ReorderingConfig { enabled: true, capacity: 125, numbering: Numbering::Link }
    }
}

impl ReorderingConfig {
    /// Whether the buffer orders packets by the numbers of their flows.
    pub(crate) fn is_flow_blind(&self) -> bool {
        self.enabled && self.numbering == Numbering::FlowBlind
    }
}

/// The numbers by which a reordering buffer orders packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// Those of the link, which its feedback names: a flow goes on with the number after a packet that could not be
    /// decoded.
    #[default]
    Link,
    /// The flow's own: of the bytes of TCP, of the packets of UDP and QUIC. Nothing tells which packet could not be
    /// decoded, so the flow waits for it until it is sent again or the next flush.
    FlowBlind,
}

/// The reordering buffers of all users.
#[derive(Debug)]
pub struct Reordering {
    config: ReorderingConfig,
    flows: Vec<Flow>,
    users: Vec<Terminal>,
    counters: ReorderingCounters,
    /// In place of `flows` and `users`.
    flow_blind: Option<Box<FlowBlind>>,
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

impl Reordering {
    /// Empty buffers for `users` users.
    pub fn new(config: ReorderingConfig, users: usize) -> Reordering {
        let flow_blind = config.is_flow_blind().then(|| Box::new(FlowBlind::new(config.capacity, users)));
        let users = std::iter::repeat_with(Terminal::default).take(users).collect();
        Reordering { config, flows: Vec::new(), users, counters: ReorderingCounters::default(), flow_blind }
    }

    /// Whether packets are ordered by the numbers of their flows: [`Reordering::note_numbers`] is to be called for each
    /// packet that has some.
    #[inline]
    pub fn wants_numbers(&self) -> bool {
        self.flow_blind.is_some()
    }

    /// The packet with this handle has these numbers of its flow, until the handle is used again; `None` for one
    /// without any, which no flow waits for. The first packet of a connection is where its numbers begin.
    pub fn note_numbers(&mut self, packet: &PacketRef, numbers: Option<FlowNumbers>) {
        if let Some(flow_blind) = &mut self.flow_blind {
            flow_blind.note(packet, numbers);
        }
    }

    /// `packet`, the `sequence`-th of its flow, is decoded; packets that can be forwarded are added to `outputs`.
    pub fn handle_decoded(&mut self, now: Time, packet: &PacketRef, sequence: u64, outputs: &mut VecDeque<Output>) {
        if !self.config.enabled {
            outputs.push_back(Output::Delivered(*packet));
            return;
        }
        if let Some(flow_blind) = &mut self.flow_blind {
            return flow_blind.handle_decoded(now, packet, &mut self.counters, outputs);
        }
        let capacity = self.config.capacity as usize;
        let flow = self.flow(packet);
        if sequence < flow.expected {
            outputs.push_back(Output::Delivered(*packet));
            self.counters.late_packets += 1;
        } else if sequence == flow.expected {
            outputs.push_back(Output::Delivered(*packet));
            flow.expected += 1;
            if !flow.stored.is_empty() {
                flow.stored.pop_front();
                self.release_in_sequence(now, packet, outputs);
            }
        } else {
            flow.store(sequence, Stored { packet: *packet, since: now });
            let terminal = &mut self.users[packet.user as usize];
            let full = terminal.stored == capacity;
            terminal.stored += 1;
            self.counters.stored += 1;
            if full {
                self.counters.flushed_full += 1;
                self.flush(now, packet.user, outputs);
            } else {
                self.counters.held_packets += 1;
                self.counters.stored_max = self.counters.stored_max.max(terminal.stored);
            }
        }
    }

    /// `packet`, the `sequence`-th of its flow, will never be decoded.
    pub fn handle_failed(&mut self, now: Time, packet: &PacketRef, sequence: u64, outputs: &mut VecDeque<Output>) {
        if !self.config.enabled {
            return;
        }
        if let Some(flow_blind) = &mut self.flow_blind {
            return flow_blind.handle_failed(now, packet.user, &mut self.counters, outputs);
        }
        self.flow(packet);
        if self.users[packet.user as usize].stored > 0 {
            self.counters.flushed_failed += 1;
            self.flush(now, packet.user, outputs);
        }
        let flow = self.flow(packet);
        flow.expected = flow.expected.max(sequence + 1);
    }

    /// The next packet of each flow is the number in `next` (0 for flows beyond it): no earlier one will arrive. All
    /// stored packets are added to `outputs`.
    pub fn begin_at(&mut self, now: Time, next: &[u64], outputs: &mut VecDeque<Output>) {
        if let Some(flow_blind) = &mut self.flow_blind {
            return flow_blind.flush_all(now, &mut self.counters, outputs);
        }
        for user in 0..self.users.len() as u32 {
            self.flush(now, user, outputs);
        }
        if self.flows.len() < next.len() {
            self.flows.resize_with(next.len(), Flow::default);
        }
        // Including flows without any packet so far.
        for (flow, &next) in self.flows.iter_mut().zip(next) {
            flow.expected = next;
        }
    }

    /// Packets stored now, over all users.
    pub fn stored(&self) -> usize {
        self.counters.stored
    }

    /// The counters.
    pub fn counters(&self) -> &ReorderingCounters {
        &self.counters
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
    fn release_in_sequence(&mut self, now: Time, packet: &PacketRef, outputs: &mut VecDeque<Output>) {
        let flow = &mut self.flows[packet.flow as usize];
        let mut released = 0;
        while let Some(Some(stored)) = flow.stored.front().copied() {
            flow.stored.pop_front();
            flow.expected += 1;
            released += 1;
            self.counters.on_released(now, stored);
            outputs.push_back(Output::Delivered(stored.packet));
        }
        self.users[packet.user as usize].stored -= released;
    }

    /// Forwards all packets stored for a user, flow by flow, each in sequence.
    fn flush(&mut self, now: Time, user: u32, outputs: &mut VecDeque<Output>) {
        let terminal = &mut self.users[user as usize];
        terminal.stored = 0;
        for &index in &terminal.flows {
            let flow = &mut self.flows[index as usize];
            flow.expected += flow.stored.len() as u64;
            for stored in flow.stored.drain(..).flatten() {
                self.counters.on_released(now, stored);
                outputs.push_back(Output::Delivered(stored.packet));
            }
        }
    }
}

impl Flow {
    fn store(&mut self, sequence: u64, stored: Stored) {
        let place = (sequence - self.expected) as usize;
        if place >= self.stored.len() {
            self.stored.resize(place + 1, None);
        }
        let before = self.stored[place].replace(stored);
        assert!(before.is_none(), "packet {sequence} of a flow was decoded twice");
    }
}
