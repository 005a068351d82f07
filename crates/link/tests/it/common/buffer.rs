//! Reordering buffers that say what they forward.

use std::collections::VecDeque;

use link::reordering::Reordering;
use link::{Output, PacketRef, ReorderingConfig};

use super::ms;

pub const NOTHING: [u32; 0] = [];

/// The handles of a flow's packets, whose remainder by this is what the link calls the packet's number.
pub const HANDLES: u32 = 10_000;

/// The buffers of three users.
pub struct Buffer {
    pub machine: Reordering,
    outputs: VecDeque<Output>,
}

impl Buffer {
    pub fn new(config: ReorderingConfig) -> Buffer {
        Buffer { machine: Reordering::new(config, 3), outputs: VecDeque::new() }
    }

    /// The handles of the packets that are forwarded because this one is decoded.
    pub fn decoded(&mut self, at_ms: u64, packet: PacketRef) -> Vec<u32> {
        let sequence = u64::from(packet.id % HANDLES);
        self.machine.handle_decoded(ms(at_ms), &packet, sequence, &mut self.outputs);
        self.forwarded()
    }

    /// Those that are forwarded because this one never will be.
    pub fn failed(&mut self, at_ms: u64, packet: PacketRef) -> Vec<u32> {
        let sequence = u64::from(packet.id % HANDLES);
        self.machine.handle_failed(ms(at_ms), &packet, sequence, &mut self.outputs);
        self.forwarded()
    }

    /// Those that are forwarded because each flow goes on with its number in `next`.
    pub fn begun_at(&mut self, at_ms: u64, next: &[u64]) -> Vec<u32> {
        self.machine.begin_at(ms(at_ms), next, &mut self.outputs);
        self.forwarded()
    }

    fn forwarded(&mut self) -> Vec<u32> {
        let id = |output| match output {
            Output::Delivered(packet) => packet.id,
            Output::Dropped(..) => panic!("a reordering buffer drops nothing"),
        };
        self.outputs.drain(..).map(id).collect()
    }
}
