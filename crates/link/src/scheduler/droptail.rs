//! First in, first out; a packet that finds no room is dropped.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use super::{Backlog, Scheduler, View};
use crate::buffer::{Buffer, Limit};
use crate::packet::{DropReason, PacketRef};

/// One queue for all users, first in first out; drops the packet that finds it full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DropTailConfig {
    /// Size of the queue: packets, bytes, time at the rate of the link, or bandwidth-delay products. The packet that is
    /// being sent does not count.
    pub buffer: Buffer,
}

impl Default for DropTailConfig {
    fn default() -> DropTailConfig {
        DropTailConfig { buffer: Buffer::Bdp(1.0) }
    }
}

/// See [`DropTailConfig`].
#[derive(Debug)]
pub struct DropTail {
    queue: VecDeque<PacketRef>,
    bytes: u64,
    limit: Limit,
}

impl DropTail {
    /// An empty queue.
    pub fn new(limit: Limit) -> DropTail {
        DropTail { queue: VecDeque::new(), bytes: 0, limit }
    }
}

impl Scheduler for DropTail {
    fn enqueue(&mut self, _now: Time, packet: PacketRef) -> Result<(), DropReason> {
        if !self.limit.admits(self.backlog(), packet.size) {
            return Err(DropReason::Overflow);
        }
        self.bytes += u64::from(packet.size);
        self.queue.push_back(packet);
        Ok(())
    }

    fn select(&mut self, _now: Time, view: &mut View<'_>) -> Option<PacketRef> {
        if !view.may_start(self.queue.front()?.user) {
            return None;
        }
        let packet = self.queue.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len(), bytes: self.bytes }
    }
}
