//! What is offered to a world from outside, and what became of it.

use std::collections::VecDeque;

use traffic::End;
use transport::{ExternalPacket, Payload};
use units::{Ecn, Time};

use crate::packet::{Packet, Way};
use crate::record::drops::Loss;

/// A packet that enters the world at an external end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer<'a> {
    /// The flow, by its number in the run.
    pub flow: u32,
    /// The end that it enters at.
    pub from: End,
    /// Bytes of the whole IP packet.
    pub bytes: u32,
    /// The congestion mark of its IP header.
    pub ecn: Ecn,
    /// The class of service on the last hop, by its place in `last_hop.classes`; `None` for that of the flow.
    pub class: Option<u32>,
    /// What its owner knows it by. A ticket may be used again once it has departed.
    pub ticket: u32,
    /// Its first bytes, from the IP header on, for packet captures; may be empty.
    pub header: &'a [u8],
}

/// What became of a packet that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When, in simulated time.
    pub at: Time,
    /// The flow.
    pub flow: u32,
    /// The end that it entered at.
    pub from: End,
    /// What it was offered with.
    pub ticket: u32,
    /// Whether it arrived or is lost.
    pub fate: Fate,
}

/// How a packet left the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives at the other end with this congestion mark.
    Delivered(Ecn),
    /// It is lost, by the reason's name in the summary.
    Lost(&'static str),
}

/// Why a packet cannot enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// The run has no such flow.
    #[error("flow {flow}: the run has {flows} flows")]
    NoFlow {
        /// The flow of the offer.
        flow: u32,
        /// The flows of the run.
        flows: usize,
    },
    /// The ends of the flow are inside.
    #[error("flow {0}: its transport is not \"external\"")]
    NotExternal(u32),
    /// The last hop has no such class.
    #[error("class {class}: last_hop.classes has {classes}")]
    NoClass {
        /// The class of the offer.
        class: u32,
        /// The classes of the last hop.
        classes: usize,
    },
    /// The last hop cannot carry the packet.
    #[error("a packet of {bytes} B: 20 to {most} B are possible on this last hop")]
    Bytes {
        /// Of the packet.
        bytes: u32,
        /// Of the longest that fits.
        most: u32,
    },
}

/// Departures that nobody has asked for yet, in their order.
#[derive(Debug, Default)]
pub(super) struct Departures(VecDeque<Departure>);

impl Departures {
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Departure> {
        self.0.pop_front()
    }

    /// An external packet is lost.
    pub(super) fn lost(&mut self, at: Time, packet: &Packet, loss: Loss) {
        if let Payload::External(external) = &packet.payload {
            let from = packet.way.sender();
            self.0.push_back(Departure {
                at,
                flow: packet.flow,
                from,
                ticket: external.ticket,
                fate: Fate::Lost(loss.name()),
            });
        }
    }

    /// An external packet arrives at the end `to`.
    pub(super) fn delivered(&mut self, at: Time, flow: u32, to: Way, external: &ExternalPacket) {
        let fate = Fate::Delivered(external.ecn);
        self.0.push_back(Departure { at, flow, from: to.back().sender(), ticket: external.ticket, fate });
    }
}
