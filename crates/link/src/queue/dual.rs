//! The two queues of a manager that keeps packets apart.

use std::collections::VecDeque;

use units::Time;

use crate::packet::PacketRef;

/// Packets with the time of their arrival.
pub(super) type Packets = VecDeque<(PacketRef, Time)>;

/// The two queues of a manager that keeps packets apart (RFC 9332 section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The Classic queue, "C".
    Classic,
    /// The low-latency queue, "L".
    LowLatency,
}

/// When the first packets of two queues arrived; `None` where nothing waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    /// The arrival of the first packet in the Classic queue.
    pub classic: Option<Time>,
    /// The arrival of the first packet in the low-latency queue.
    pub low_latency: Option<Time>,
}

impl Heads {
    /// The lane whose first packet came first; the low-latency one if they came together or nothing waits.
    pub fn older(self) -> Lane {
        match (self.classic, self.low_latency) {
            (Some(classic), Some(low)) if classic < low => Lane::Classic,
            (Some(_), None) => Lane::Classic,
            _ => Lane::LowLatency,
        }
    }
}

/// The packets of low latency.
#[derive(Default)]
pub(super) struct LowLatency {
    packets: Packets,
    bytes: u64,
}

impl LowLatency {
    pub fn push(&mut self, now: Time, packet: PacketRef) {
        self.bytes += u64::from(packet.size);
        self.packets.push_back((packet, now));
    }

    pub fn pop(&mut self) -> Option<(PacketRef, Time)> {
        let dequeued = self.packets.pop_front()?;
        self.bytes -= u64::from(dequeued.0.size);
        Some(dequeued)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn get(&self, index: usize) -> Option<&(PacketRef, Time)> {
        self.packets.get(index)
    }

    pub fn drain(&mut self) -> impl Iterator<Item = (PacketRef, Time)> {
        self.bytes = 0;
        self.packets.drain(..)
    }
}
