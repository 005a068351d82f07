//! The packets that wait for their first transmission.

use std::collections::VecDeque;

use units::Time;

use super::waits::Waits;
use crate::packet::{DropReason, Output, PacketRef};
use crate::scheduler::{Scheduler, View};

/// Packets in the scheduler: how many, and how long they wait.
pub(super) struct Queued {
    scheduler: Box<dyn Scheduler>,
    /// Whether the scheduler may drop packets that it took.
    pub(super) gives_up: bool,
    /// Whether the scheduler is told when nothing waits while the transmitter is free.
    pub(super) rests: bool,
    packets: usize,
    /// How long packets wait, if `LastHop::note_waits` was called.
    pub(super) waits: Option<Box<Waits>>,
}

impl Queued {
    pub(super) fn new(scheduler: Box<dyn Scheduler>) -> Queued {
        Queued { gives_up: scheduler.gives_up(), rests: scheduler.rests(), scheduler, packets: 0, waits: None }
    }

    pub(super) fn scheduler(&self) -> &dyn Scheduler {
        self.scheduler.as_ref()
    }

    #[inline]
    pub(super) fn packets(&self) -> usize {
        self.packets
    }

    /// Nothing is to be sent, and the transmitter has been free.
    pub(super) fn rest(&mut self) {
        self.scheduler.rest();
    }

    /// A packet arrives. [`Queued::collect_dropped`] is due.
    ///
    /// # Errors
    /// The packet is dropped at once.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        self.scheduler.enqueue(now, packet)?;
        self.packets += 1;
        if let Some(waits) = &mut self.waits {
            waits.on_arrival(now, &packet);
        }
        Ok(())
    }

    /// Takes the packet whose first transmission begins, if one may start.
    #[inline(always)]
    pub(super) fn select(
        &mut self,
        now: Time,
        view: &mut View<'_>,
        outputs: &mut VecDeque<Output>,
    ) -> Option<PacketRef> {
        let selected = self.scheduler.select(now, view);
        self.collect_dropped(outputs);
        if let Some(packet) = &selected {
            self.packets -= 1;
            if let Some(waits) = &mut self.waits {
                waits.on_start(now, packet);
            }
        }
        selected
    }

    /// Takes all packets but those whose time limit was over before, which are dropped.
    pub(super) fn drain(&mut self, now: Time, outputs: &mut VecDeque<Output>) -> Vec<PacketRef> {
        let mut waiting = Vec::new();
        self.scheduler.drain(now, &mut waiting);
        self.collect_dropped(outputs);
        self.packets -= waiting.len();
        debug_assert_eq!(self.packets, 0, "what waits was drained");
        waiting
    }

    /// Takes the packets that the scheduler dropped.
    #[inline]
    pub(super) fn collect_dropped(&mut self, outputs: &mut VecDeque<Output>) {
        while self.gives_up
            && let Some((packet, reason)) = self.scheduler.poll_dropped()
        {
            self.packets -= 1;
            outputs.push_back(Output::Dropped(packet, reason));
        }
    }
}
