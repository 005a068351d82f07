//! No packet is dropped before the queue is full; with a threshold, packets above it are marked.
//!
//! The threshold is that of Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1 (RFC 8257 section
//! 3.1): a packet that arrives at a queue of more than K (its present size, not an average) is marked.

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FieldError, Time};

use super::{Decision, Kind, QueueManager};
use crate::buffer::{Backlog, Buffer, Limit, LinkFacts};
use crate::packet::PacketRef;

/// Drops only packets that find the queue full; above a threshold it marks the packets whose transport understands
/// marks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DropTailConfig {
    /// A packet that arrives at a queue of more than this is marked, if it can be: packets, bytes, time at the rate of
    /// the link, or bandwidth-delay products. By default no packet is marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_above: Option<Buffer>,
}

impl DropTailConfig {
    /// The threshold above which packets are marked, if there is one.
    fn resolve(&self, link: &LinkFacts) -> Result<Option<Limit>, FieldError> {
        self.mark_above.map(|buffer| buffer.resolve_as("mark_above", link)).transpose()
    }
}

impl Kind for DropTailConfig {
    fn check(&self, link: &LinkFacts) -> Result<(), FieldError> {
        self.resolve(link).map(drop)
    }

    fn marks(&self) -> bool {
        self.mark_above.is_some()
    }

    fn build(&self, link: &LinkFacts, _rng: Box<dyn Rng + Send>) -> Option<Box<dyn QueueManager>> {
        let mark_above = self.resolve(link).expect("checked before");
        mark_above.map(|limit| Box::new(Threshold::new(limit)) as Box<dyn QueueManager>)
    }
}

/// See [`DropTailConfig`].
#[derive(Debug)]
pub struct Threshold {
    mark_above: Limit,
}

impl Threshold {
    /// Marks packets that arrive at a queue of more than `mark_above`.
    pub fn new(mark_above: Limit) -> Threshold {
        Threshold { mark_above }
    }
}

impl QueueManager for Threshold {
    fn on_arrival(&mut self, _now: Time, packet: &PacketRef, waiting: Backlog) -> Decision {
        let above = self.mark_above.measure(waiting) > self.mark_above.count();
        if above && packet.ecn.is_capable() { Decision::Mark } else { Decision::Pass }
    }
}
