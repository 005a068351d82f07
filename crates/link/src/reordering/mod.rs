//! The reordering buffer of a user's terminal.
//!
//! Tauran, Lochin, Lacan, Arnal, Gineste, Clarac, Kuhn, "Making H-ARQ suitable for a mobile TCP receiver over LEO
//! satellite constellations", WiSATS 2017, section 4.1; Tauran's thesis, section 4.4.1 and figure 4.6. A packet that is
//! decoded in sequence is forwarded, together with the stored packets that follow it; another packet is stored. The
//! buffer is flushed to the transport layer, which then sees the gap and repairs it, by a packet that finds the buffer
//! full, and by a packet that could not be decoded.
//!
//! Which numbers are meant is not said: those of the link ([`Numbering::Link`]) or those of the flow
//! ([`Numbering::FlowBlind`]). Each order has a file of its own. In both:
//! * There is one buffer for each user, with its capacity counted over all of the user's flows.
//! * The packet that finds the buffer full leaves together with the stored ones, in sequence. So a capacity of 0 stores
//!   nothing.

mod counters;
mod exit;
mod flow_blind;
mod link;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use crate::packet::{FlowNumbers, Output, PacketRef};
pub use counters::ReorderingCounters;
use exit::Exit;
use flow_blind::FlowBlind;
use link::ByLink;

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
    /// decoded, so the flow waits for it until it is retransmitted or the next flush.
    FlowBlind,
}

/// The reordering buffers of all users.
#[derive(Debug)]
pub struct Reordering {
    order: Order,
    counters: ReorderingCounters,
}

/// The buffers, by the numbers that they order by.
#[derive(Debug)]
enum Order {
    /// There are no buffers.
    None,
    Link(ByLink),
    FlowBlind(FlowBlind),
}

impl Reordering {
    /// Empty buffers for `users` users.
    pub fn new(config: ReorderingConfig, users: usize) -> Reordering {
        let order = match config.numbering {
            _ if !config.enabled => Order::None,
            Numbering::Link => Order::Link(ByLink::new(config.capacity, users)),
            Numbering::FlowBlind => Order::FlowBlind(FlowBlind::new(config.capacity, users)),
        };
        Reordering { order, counters: ReorderingCounters::default() }
    }

    /// Whether packets are ordered by the numbers of their flows: [`Reordering::note_numbers`] is to be called for each
    /// packet.
    #[inline]
    pub fn wants_numbers(&self) -> bool {
        matches!(self.order, Order::FlowBlind(_))
    }

    /// The packet with this handle has these numbers of its flow, until the handle is used again. No flow waits for a
    /// packet without any. The first packet of a connection is where its numbers begin.
    pub fn note_numbers(&mut self, packet: &PacketRef, numbers: FlowNumbers) {
        if let Order::FlowBlind(buffers) = &mut self.order {
            buffers.note(packet, numbers);
        }
    }

    /// `packet`, the `sequence`-th of its flow, is decoded; packets that can be forwarded are added to `outputs`.
    #[inline(always)]
    pub fn handle_decoded(&mut self, now: Time, packet: &PacketRef, sequence: u64, outputs: &mut VecDeque<Output>) {
        let mut exit = Exit { now, counters: &mut self.counters, outputs };
        match &mut self.order {
            Order::None => exit.forward(packet),
            Order::Link(buffers) => buffers.handle_decoded(packet, sequence, &mut exit),
            Order::FlowBlind(buffers) => buffers.handle_decoded(packet, &mut exit),
        }
    }

    /// `packet`, the `sequence`-th of its flow, will never be decoded.
    pub fn handle_failed(&mut self, now: Time, packet: &PacketRef, sequence: u64, outputs: &mut VecDeque<Output>) {
        let mut exit = Exit { now, counters: &mut self.counters, outputs };
        match &mut self.order {
            Order::None => {}
            Order::Link(buffers) => buffers.handle_failed(packet, sequence, &mut exit),
            Order::FlowBlind(buffers) => buffers.handle_failed(packet.user, &mut exit),
        }
    }

    /// The next packet of each flow is the number in `next` (0 for flows beyond it): no earlier one will arrive. All
    /// stored packets are added to `outputs`.
    pub fn begin_at(&mut self, now: Time, next: &[u64], outputs: &mut VecDeque<Output>) {
        let mut exit = Exit { now, counters: &mut self.counters, outputs };
        match &mut self.order {
            Order::None => {}
            Order::Link(buffers) => buffers.begin_at(next, &mut exit),
            Order::FlowBlind(buffers) => buffers.flush_all(&mut exit),
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
}
