//! The HARQ processes of a scheme, by their number, which is used again.

use std::ops::{Index, IndexMut};

use super::HarqCounters;
use crate::packet::PacketRef;

/// What a scheme keeps of a packet at both ends, from its first transmission to its last feedback.
pub(super) trait Stored: Copy {
    /// The packet of the HARQ process, and its sequence number.
    fn packet(&self) -> (PacketRef, u64);

    /// Whether the receiver knows the packet's fate.
    fn is_decided(&self) -> bool;
}

/// See the module.
#[derive(Debug)]
pub(super) struct Store<P> {
    packets: Vec<P>,
    free: Vec<u32>,
}

impl<P: Stored> Store<P> {
    pub fn new() -> Store<P> {
        Store { packets: Vec::new(), free: Vec::new() }
    }

    /// The number of processes, those that are free included.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    #[inline(always)]
    pub fn insert(&mut self, packet: P) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.packets.push(packet);
            self.packets.len() as u32 - 1
        });
        self[index] = packet;
        index
    }

    /// The process may be used again: both ends have finished its packet, so that it is decided.
    #[inline]
    pub fn release(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Gives up all; those whose fate is not known are added to `lost`.
    pub fn reset(&mut self, lost: &mut Vec<(PacketRef, u64)>, counters: &mut HarqCounters) {
        let before = lost.len();
        lost.extend(self.packets.iter().filter(|packet| !packet.is_decided()).map(P::packet));
        counters.on_reset(lost.len() - before);
        self.packets.clear();
        self.free.clear();
    }
}

impl<P> Index<u32> for Store<P> {
    type Output = P;

    #[inline]
    fn index(&self, index: u32) -> &P {
        &self.packets[index as usize]
    }
}

impl<P> IndexMut<u32> for Store<P> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut P {
        &mut self.packets[index as usize]
    }
}
