//! The packets of a run: made once, referred to by number, counted to the last.

use transport::Segment;
use units::Time;

/// A packet between two ends of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) segment: Segment,
    pub(super) flow: u32,
    /// Which transmission of its data this is: 0 for the first.
    pub(super) copy: u32,
    pub(super) sent: Time,
}

/// All packets that are under way.
#[derive(Debug, Default)]
pub(super) struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
    created: u64,
}

impl Packets {
    /// Adds a packet and returns its number, which is reused after [`Packets::release`].
    #[inline]
    pub(super) fn add(&mut self, packet: Packet) -> u32 {
        self.created += 1;
        match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = packet;
                id
            }
            None => {
                self.slots.push(packet);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// A packet under way.
    #[inline]
    pub(super) fn get(&self, id: u32) -> &Packet {
        &self.slots[id as usize]
    }

    /// A packet is no longer under way: it has arrived or is lost.
    #[inline]
    pub(super) fn release(&mut self, id: u32) {
        self.free.push(id);
    }

    /// How many packets were ever added.
    pub(super) fn created(&self) -> u64 {
        self.created
    }

    /// How many are under way.
    pub(super) fn in_flight(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }
}
