//! First in, first out, whoever the packets are for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use super::{Scheduler, View};
use crate::Backlog;
use crate::buffer::Buffer;
use crate::packet::{DropReason, PacketRef};
use crate::queue::Queue;

/// One queue for all users, first in first out; drops the packet that finds it full, and what its queue manager drops.
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
pub struct DropTail {
    queue: Queue,
}

impl DropTail {
    /// All packets in `queue`.
    pub fn new(queue: Queue) -> DropTail {
        DropTail { queue }
    }
}

impl Scheduler for DropTail {
    fn enqueue(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        self.queue.push(now, packet)
    }

    fn select(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef> {
        while view.may_start(self.queue.front()?.user) {
            let packet = self.queue.pop(now);
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn gives_up(&self) -> bool {
        self.queue.gives_up()
    }

    fn poll_dropped(&mut self) -> Option<(PacketRef, DropReason)> {
        self.queue.poll_dropped()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn marked(&self) -> u64 {
        self.queue.marked()
    }
}
