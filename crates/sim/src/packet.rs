//! The packets of a run: made once, referred to by number, counted to the last.

use traffic::End;
use transport::{Datagram, Flags, Segment};
use units::{Ecn, Time};

/// A packet between two ends of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) payload: Payload,
    pub(crate) flow: u32,
    /// Packets made in the run before it; the lower bits only.
    pub(crate) number: u32,
    /// The connection that it belongs to, and which way it goes.
    pub(crate) leg: Leg,
    pub(crate) way: Way,
    pub(crate) direction: Direction,
    /// Which transmission of its data this is: 0 for the first.
    pub(crate) copy: u32,
    pub(crate) sent: Time,
}

/// What a packet carries, by the transport that made it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload {
    Tcp(Segment),
    Udp(Datagram),
}

/// The connections that carry a flow: one over the satellites, and with a proxy one more on the ground before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    Satellite,
    Terrestrial,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the ground to the user, over the last hop.
    Down,
    /// From the user to the ground, over the return link.
    Up,
}

/// A way within a flow: from the source of the data to their receiver, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Forward,
    Backward,
}

impl Direction {
    /// Where packets go that go this way in a flow whose data go up or not.
    pub(crate) fn of(way: Way, upward: bool) -> Direction {
        if (way == Way::Backward) == upward { Direction::Down } else { Direction::Up }
    }
}

impl Way {
    /// The way of what an end sends.
    pub(crate) fn of(end: End) -> Way {
        match end {
            End::Server => Way::Forward,
            End::User => Way::Backward,
        }
    }

    /// The end that what goes this way arrives at.
    pub(crate) fn receiver(self) -> End {
        match self {
            Way::Forward => End::User,
            Way::Backward => End::Server,
        }
    }

    /// The other way.
    pub(crate) fn back(self) -> Way {
        match self {
            Way::Forward => Way::Backward,
            Way::Backward => Way::Forward,
        }
    }
}

impl Payload {
    /// Bytes of the whole IP packet.
    #[inline]
    pub(crate) fn wire_bytes(&self) -> u32 {
        match self {
            Payload::Tcp(segment) => segment.wire_bytes(),
            Payload::Udp(datagram) => datagram.wire_bytes(),
        }
    }

    /// Whether it carries data of the application.
    #[inline]
    pub(crate) fn has_data(&self) -> bool {
        match self {
            Payload::Tcp(segment) => segment.len > 0 && !segment.flags.has(Flags::DUMMY),
            Payload::Udp(_) => true,
        }
    }

    /// Where its data stand in the stream, or which datagram it is.
    #[inline]
    pub(crate) fn sequence(&self) -> u64 {
        match self {
            Payload::Tcp(segment) => segment.seq,
            Payload::Udp(datagram) => datagram.number,
        }
    }

    /// What tells it from its neighbours that go the same way.
    #[inline]
    pub(crate) fn digest_word(&self, way: Way) -> u64 {
        match (self, way) {
            (Payload::Tcp(segment), Way::Forward) => segment.seq,
            (Payload::Tcp(segment), Way::Backward) => !segment.ack,
            (Payload::Udp(datagram), _) => datagram.number,
        }
    }

    /// The congestion mark of its IP header.
    #[inline]
    pub(crate) fn ecn(&self) -> Ecn {
        match self {
            Payload::Tcp(segment) => segment.ecn,
            Payload::Udp(_) => Ecn::NotEct,
        }
    }

    /// Sets the congestion mark of its IP header.
    #[inline]
    pub(crate) fn set_ecn(&mut self, ecn: Ecn) {
        match self {
            Payload::Tcp(segment) => segment.ecn = ecn,
            Payload::Udp(_) => unreachable!("a datagram cannot be marked"),
        }
    }
}

/// All packets that are under way.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
    created: u64,
}

impl Packets {
    /// How many packets were made before the next one; the lower bits only.
    #[inline]
    pub(crate) fn next_number(&self) -> u32 {
        self.created as u32
    }

    /// Adds a packet and returns its number, which is reused after [`Packets::release`].
    #[inline]
    pub(crate) fn add(&mut self, packet: Packet) -> u32 {
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
    pub(crate) fn get(&self, id: u32) -> &Packet {
        &self.slots[id as usize]
    }

    /// A packet under way, for what routers change in it.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.slots[id as usize]
    }

    /// A packet is no longer under way: it has arrived or is lost.
    #[inline]
    pub(crate) fn release(&mut self, id: u32) {
        self.free.push(id);
    }

    /// How many packets were ever added.
    pub(crate) fn created(&self) -> u64 {
        self.created
    }

    /// How many are under way.
    pub(crate) fn in_flight(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }
}
