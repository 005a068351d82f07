//! First in, first out over all users.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Time};

use super::user_queues::{UserQueuesConfig, check_wait};
use super::{Kind, Parts, Scheduler, View};
use crate::buffer::{Backlog, Buffer, Limit, LinkFacts};
use crate::packet::{DropReason, PacketRef};
use crate::queue::Queue;

/// One queue for all users, first in first out; drops the packet that finds it full, and what its queue manager drops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DropTailConfig {
    /// Size of the queue: packets, bytes, time at the rate of the link, or bandwidth-delay products. The packet that is
    /// being sent does not count. In the published studies DT_H is "1 bdp/sqrt(n)" and DT_S "1 bdp/sqrt(n)/n".
    pub buffer: Buffer,
    /// The waiting time after which a packet is dropped; by default unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Duration>,
}

impl Default for DropTailConfig {
    fn default() -> DropTailConfig {
        DropTailConfig { buffer: Buffer::bdp(1.0), limit: None }
    }
}

impl Kind for DropTailConfig {
    fn user_queues(&self) -> Option<UserQueuesConfig> {
        None // users share one
    }

    fn check_options(&self, link: &LinkFacts) -> Result<(), FieldError> {
        check_wait(self.limit)?;
        self.buffer.resolve(link).map(drop)
    }

    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError> {
        self.check(parts.link)?;
        Ok(Box::new(DropTail::new((parts.queue)(self.buffer.resolve(parts.link)?).with_max_wait(self.limit))))
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
        self.queue.expire(now);
        self.queue.push(now, packet)
    }

    fn select(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef> {
        self.queue.expire(now);
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

    fn drain(&mut self, now: Time, lost: &mut Vec<PacketRef>) {
        self.queue.expire(now);
        lost.extend(self.queue.drain(now));
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn fifo_limit(&self) -> Option<Limit> {
        self.queue.unmanaged_limit()
    }

    fn marked(&self) -> u64 {
        self.queue.marked()
    }
}
