//! The packets of a run: made once, referred to by number, counted to the last.

use std::ops::{Deref, Range};

use link::FlowNumbers;
use traffic::End;
pub(crate) use transport::Payload;
use transport::{Datagram, Outline};
use units::{Ecn, Time};

/// A packet between the two endpoints of a connection. The fields of its head are read as if they were its own; links
/// read no others. What is read of most packets takes two lines of the cache: the head, and the payload's beginning.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Packet {
    head: Head,
    /// The payload mostly stays where it was written, because it is long.
    pub(crate) payload: Payload,
}

/// All of a packet but its payload.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head {
    pub(crate) sent: Time,
    pub(crate) flow: u32,
    /// The user of the flow.
    pub(crate) user: u32,
    /// The class of service of the flow on the last hop.
    pub(crate) class: u32,
    /// The connection that it belongs to.
    pub(crate) connection: u32,
    /// Packets made in the run before it: [`Packets::next_number`].
    pub(crate) number: u32,
    /// How often its data were sent before: 0 in the first transmission.
    pub(crate) sent_before: u32,
    /// Bytes of the whole IP packet.
    pub(crate) bytes: u32,
    /// The congestion mark with which it was sent, also after [`Payload::set_ecn`].
    pub(crate) ecn: Ecn,
    /// The value that stands for it in the digest: see [`digest_word`].
    pub(crate) word: u64,
    pub(crate) way: Way,
    pub(crate) link: Link,
    /// Whether it counts in the flow's own numbers: data in flight over the satellites.
    pub(crate) counts: bool,
}

/// The link between server or gateway and user that a packet crosses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Link {
    /// From the gateway over the satellites and the last hop to the user.
    #[default]
    Downlink,
    /// From the user over the return link and the satellites to the gateway.
    Uplink,
    /// Between a server and the gateway, either way.
    Terrestrial,
}

/// The number of kinds of links that packets cross.
pub(crate) const LINKS: usize = Link::Terrestrial as usize + 1;

/// A way within a flow: from the server to the user, or back. In an upload the user takes the server's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    #[default]
    Forward,
    Backward,
}

/// An endpoint: one of the two of a connection, by the way of the packets that it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndpointId {
    pub(crate) connection: u32,
    pub(crate) way: Way,
}

impl Link {
    /// The link of packets that go `way` in a flow over the satellites; `upload`: the user sends the data.
    pub(crate) fn over_satellites(way: Way, upload: bool) -> Link {
        if (way == Way::Backward) == upload { Link::Downlink } else { Link::Uplink }
    }
}

impl Way {
    /// The way of the packets that an end sends.
    pub(crate) fn of(end: End) -> Way {
        match end {
            End::Server => Way::Forward,
            End::User => Way::Backward,
        }
    }

    /// The end that sends packets this way.
    pub(crate) fn sender(self) -> End {
        match self {
            Way::Forward => End::Server,
            Way::Backward => End::User,
        }
    }

    /// The opposite way of the flow.
    pub(crate) fn back(self) -> Way {
        match self {
            Way::Forward => Way::Backward,
            Way::Backward => Way::Forward,
        }
    }
}

const _: () = assert!(size_of::<Head>() <= 56 && size_of::<Packet>() == 256);

impl Deref for Packet {
    type Target = Head;

    #[inline(always)]
    fn deref(&self) -> &Head {
        &self.head
    }
}

impl Packet {
    /// Returns the content of a slot before its first packet.
    fn none() -> Packet {
        Packet { head: Head::default(), payload: Packets::no_payload() }
    }

    /// The endpoint at which the packet arrives.
    #[inline(always)]
    pub(crate) fn receiver(&self) -> EndpointId {
        EndpointId { connection: self.connection, way: self.way.back() }
    }

    /// Returns the packet's numbers in its connection, for a reordering buffer that orders by them.
    pub(crate) fn numbers(&self) -> FlowNumbers {
        let Range { start: begin, end } = self.payload.span();
        FlowNumbers { connection: self.connection, begin, end }
    }

    /// Returns how many full packets of `payload_bytes` of data go before it in its flow: by the offset of its data, or
    /// by the data that it acknowledges if it has none. Data begin at 1, after the SYN.
    pub(crate) fn position(&self, payload_bytes: u32) -> u64 {
        match &self.payload {
            Payload::Tcp(segment) => {
                let bare = segment.len == 0 && self.way == Way::Backward;
                let offset = if bare { segment.seq.max(segment.ack) } else { segment.seq };
                offset.saturating_sub(1) / u64::from(payload_bytes)
            }
            other => other.span().start,
        }
    }
}

/// The value that stands for a packet in the digest: packets that go the same way differ in it.
#[inline]
pub(crate) fn digest_word(outline: &Outline, way: Way) -> u64 {
    match (outline.acknowledges, way) {
        (Some(ack), Way::Backward) => !ack,
        _ => outline.number,
    }
}

/// A slot in which a packet is made.
pub(crate) struct Slot<'a> {
    packet: &'a mut Packet,
    created: &'a mut u64,
}

impl<'a> Slot<'a> {
    /// The payload of the packet that is made, or of the one before it.
    #[inline(always)]
    pub(crate) fn payload(&mut self) -> &mut Payload {
        &mut self.packet.payload
    }

    /// Makes a packet of the payload. `write` writes its head, by the outline of its payload and the lower bits of its
    /// number.
    #[inline(always)]
    pub(crate) fn make(self, write: impl FnOnce(&mut Head, &Outline, u32)) -> (&'a Packet, Outline) {
        let outline = self.packet.payload.outline();
        write(&mut self.packet.head, &outline, *self.created as u32);
        *self.created += 1;
        (self.packet, outline)
    }
}

/// All packets that are in flight.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
    created: u64,
}

/// The most packets for which there is room from the start.
const ROOM: usize = 16_384;
const _: () = assert!(ROOM * size_of::<Packet>() <= 4 << 20);

impl Packets {
    /// No packets, with room for some of each of so many flows: a power of two, so that the list grows to one.
    pub(crate) fn with_room_for(flows: usize) -> Packets {
        Packets { slots: Vec::with_capacity(ROOM.min(8 * flows).next_power_of_two()), ..Packets::default() }
    }

    /// A slot for a packet that is to be written there, or released. Its number is reused after [`Packets::release`].
    #[inline(always)]
    pub(crate) fn reserve(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| self.grow())
    }

    /// A slot that was reserved, or of a packet that has arrived.
    #[inline(always)]
    pub(crate) fn slot(&mut self, id: u32) -> Slot<'_> {
        Slot { packet: &mut self.slots[id as usize], created: &mut self.created }
    }

    /// One more slot.
    #[cold]
    fn grow(&mut self) -> u32 {
        self.slots.push(Packet::none());
        self.slots.len() as u32 - 1
    }

    /// A packet in flight.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> &Packet {
        &self.slots[id as usize]
    }

    /// All packets in flight, in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        let mut is_free = vec![false; self.slots.len()];
        self.free.iter().for_each(|&id| is_free[id as usize] = true);
        self.slots.iter().zip(is_free).filter_map(|(packet, is_free)| (!is_free).then_some(packet))
    }

    /// A packet in flight, for what routers change in it.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.slots[id as usize]
    }

    /// Exchanges the payload in a slot for `other`.
    #[inline]
    pub(crate) fn exchange(&mut self, id: u32, other: &mut Payload) {
        std::mem::swap(&mut self.slots[id as usize].payload, other);
    }

    /// Returns the payload that stands in a slot where there is none yet.
    pub(crate) fn no_payload() -> Payload {
        Payload::Udp(Datagram { number: 0, len: 0 })
    }

    /// A packet is no longer in flight: it has arrived or is lost.
    #[inline]
    pub(crate) fn release(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Returns the number of packets ever made.
    pub(crate) fn created(&self) -> u64 {
        self.created
    }

    /// Returns the number of packets in flight.
    pub(crate) fn in_flight(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Segment;

    #[test]
    fn what_is_read_of_most_packets_lies_in_two_lines() {
        let packet = Packet { payload: Payload::Tcp(Segment::default()), ..Packet::none() };
        let Payload::Tcp(segment) = &packet.payload else { unreachable!("it was put there") };
        let begin = std::ptr::from_ref(&packet).addr();
        let read = [
            std::ptr::from_ref(&segment.timestamps).addr(),
            std::ptr::from_ref(&segment.flags).addr(),
            std::ptr::from_ref(&segment.accecn).addr(),
            std::ptr::from_ref(&segment.sack).addr(), // their number first
        ];
        assert!(read.iter().all(|at| at - begin < 128), "{read:?} from {begin}");
    }
}
