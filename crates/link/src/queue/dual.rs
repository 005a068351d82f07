//! The second queue of a manager that keeps two.

use units::{Duration, Time};

use super::{Heads, Lane, Packets, Queue};
use crate::buffer::Backlog;
use crate::packet::{DropReason, PacketRef};

/// The packets of low latency.
#[derive(Default)]
pub(super) struct LowLatency {
    packets: Packets,
    bytes: u64,
}

impl LowLatency {
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn get(&self, place: usize) -> Option<&(PacketRef, Time)> {
        self.packets.get(place)
    }

    pub fn drain(&mut self) -> impl Iterator<Item = (PacketRef, Time)> {
        self.bytes = 0;
        self.packets.drain(..)
    }
}

impl Queue {
    fn heads(&self) -> Heads {
        let since = |packets: &Packets| packets.front().map(|&(_, since)| since);
        Heads {
            classic: since(&self.packets),
            low_latency: self.low_latency.as_ref().and_then(|low| since(&low.packets)),
        }
    }

    /// The lane whose first packet goes next; that of all packets where there is one queue.
    pub(super) fn first_lane(&self) -> Lane {
        let Some(manager) = self.manager.as_ref().filter(|_| self.low_latency.is_some()) else { return Lane::Classic };
        let heads = self.heads();
        match (heads.classic, heads.low_latency) {
            (Some(_), Some(_)) => manager.first(heads),
            _ => heads.older(),
        }
    }

    #[inline(never)]
    pub(super) fn dual_head(&self) -> Option<&(PacketRef, Time)> {
        match self.first_lane() {
            Lane::Classic => self.packets.front(),
            Lane::LowLatency => self.low_latency.as_ref()?.packets.front(),
        }
    }

    /// Tells the manager of two queues which packets were first until `now`.
    #[inline]
    pub(super) fn progress(&mut self, now: Time) {
        if self.low_latency.is_some() {
            let heads = self.heads();
            if let Some(manager) = &mut self.manager {
                manager.on_progress(now, heads);
            }
        }
    }

    /// The backlog of the packet's lane, which is that of all where there is one queue.
    #[inline]
    pub(super) fn beside(&self, packet: &PacketRef) -> Backlog {
        let Some(low) = &self.low_latency else { return self.backlog() };
        match self.lane_of(packet) {
            Lane::Classic => Backlog { packets: self.packets.len(), bytes: self.bytes - low.bytes },
            Lane::LowLatency => Backlog { packets: low.packets.len(), bytes: low.bytes },
        }
    }

    fn lane_of(&self, packet: &PacketRef) -> Lane {
        self.manager.as_ref().map_or(Lane::Classic, |manager| manager.lane(packet))
    }

    /// Puts a packet that was admitted behind the others of its lane.
    #[inline(never)]
    pub(super) fn add(&mut self, now: Time, packet: PacketRef) {
        let lane = self.lane_of(&packet);
        match &mut self.low_latency {
            Some(low) if lane == Lane::LowLatency => {
                low.bytes += u64::from(packet.size);
                low.packets.push_back((packet, now));
            }
            _ => self.packets.push_back((packet, now)),
        }
    }

    /// Takes the first packet of a lane out.
    pub(super) fn take(&mut self, lane: Lane) -> Option<(PacketRef, Time)> {
        let taken = match &mut self.low_latency {
            Some(low) if lane == Lane::LowLatency => {
                let taken = low.packets.pop_front()?;
                low.bytes -= u64::from(taken.0.size);
                taken
            }
            _ => self.packets.pop_front()?,
        };
        self.bytes -= u64::from(taken.0.size);
        Some(taken)
    }

    #[inline(never)]
    pub(super) fn pop_dual(&mut self, now: Time) -> Option<PacketRef> {
        self.progress(now);
        let (packet, since) = self.take(self.first_lane())?;
        self.pop_managed(now, packet, since)
    }

    /// As [`Queue::expire`], for the first packets of both queues in the order of their time limits.
    #[cold]
    pub(super) fn expire_dual(&mut self, now: Time, limit: Duration) -> bool {
        let mut last = None;
        loop {
            let heads = self.heads();
            let oldest = heads.classic.into_iter().chain(heads.low_latency).min();
            let Some(at) = oldest.map(|since| since + limit).filter(|&at| at < now) else { break };
            self.progress(at);
            let Some((packet, _)) = self.take(heads.older()) else { break };
            self.dropped.push_back((packet, DropReason::Timeout));
            last = Some(at);
        }
        if let Some(at) = last {
            self.note_emptied(at);
        }
        last.is_some()
    }
}
