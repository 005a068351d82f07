//! Classes of service: each with queues and a scheduler of its own, served in strict order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use super::{Scheduler, SchedulerConfig, View};
use crate::buffer::Backlog;
use crate::packet::{DropReason, PacketRef};
use crate::queue::QueueConfig;

/// A class of service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassConfig {
    /// The name by which flows refer to it.
    pub name: String,
    /// The choice of the user within the class.
    #[serde(default)]
    pub scheduler: SchedulerConfig,
    /// The choice of packets of the class that are marked or dropped before a queue is full.
    #[serde(default)]
    pub queue: QueueConfig,
}

/// Schedulers in strict priority: one is used only if those before it have nothing to send.
pub struct Classes {
    classes: Vec<Box<dyn Scheduler>>,
}

impl Classes {
    /// One scheduler for each class, the first with the highest priority.
    pub fn new(classes: Vec<Box<dyn Scheduler>>) -> Classes {
        Classes { classes }
    }
}

impl Scheduler for Classes {
    fn enqueue(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        self.classes[packet.class as usize].enqueue(now, packet)
    }

    fn select(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef> {
        self.classes.iter_mut().find_map(|class| class.select(now, view))
    }

    fn rests(&self) -> bool {
        self.classes.iter().any(|class| class.rests())
    }

    fn rest(&mut self) {
        self.classes.iter_mut().for_each(|class| class.rest());
    }

    fn gives_up(&self) -> bool {
        self.classes.iter().any(|class| class.gives_up())
    }

    fn poll_dropped(&mut self) -> Option<(PacketRef, DropReason)> {
        self.classes.iter_mut().find_map(|class| class.poll_dropped())
    }

    fn drain(&mut self, now: Time, lost: &mut Vec<PacketRef>) {
        self.classes.iter_mut().for_each(|class| class.drain(now, lost));
    }

    fn backlog(&self) -> Backlog {
        self.classes.iter().map(|class| class.backlog()).fold(Backlog::default(), |sum, class| Backlog {
            packets: sum.packets + class.packets,
            bytes: sum.bytes + class.bytes,
        })
    }

    fn marked(&self) -> u64 {
        self.classes.iter().map(|class| class.marked()).sum()
    }

    fn overruled(&self) -> u64 {
        self.classes.iter().map(|class| class.overruled()).sum()
    }
}
