//! The frames of a datagram, read from its bytes (RFC 9000 sections 17 and 19): possible as nothing is encrypted.

use super::handshake::TAG;

/// A visitor of the frames of a datagram.
pub(super) trait Visitor {
    /// Data of a stream, `len` bytes from `offset` on.
    fn stream(&mut self, id: u64, offset: u64, len: u64);

    /// A stream ends at `offset`.
    fn fin(&mut self, _id: u64, _offset: u64) {}

    /// A datagram (RFC 9221).
    fn datagram(&mut self);

    /// An acknowledgment.
    fn acknowledgment(&mut self, _acknowledgment: Acknowledgment) {}

    /// An acknowledgment with the count of marked packets.
    fn marks(&mut self, _marked: u64) {}

    /// A packet, whose frames follow.
    fn packet(&mut self, _packet: Packet) {}

    /// A frame of any kind, and what follows its kind.
    fn frame(&mut self, _kind: u64, _body: &[u8]) {}
}

/// What an acknowledgment says of the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgment {
    /// The largest number of a packet that the acknowledgment names.
    pub largest: u64,
    /// Its delay, in the unit of the transport parameter `ack_delay_exponent`.
    pub delay: u64,
}

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketKind {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
    OneRtt,
}

impl PacketKind {
    fn of(first: u8) -> PacketKind {
        match (first & 0x80, first >> 4 & 3) {
            (0, _) => PacketKind::OneRtt,
            (_, 0) => PacketKind::Initial,
            (_, 1) => PacketKind::ZeroRtt,
            (_, 2) => PacketKind::Handshake,
            _ => PacketKind::Retry,
        }
    }

    /// Returns the name that qlog has.
    pub fn name(self) -> &'static str {
        match self {
            PacketKind::Initial => "initial",
            PacketKind::ZeroRtt => "0RTT",
            PacketKind::Handshake => "handshake",
            PacketKind::Retry => "retry",
            PacketKind::OneRtt => "1RTT",
        }
    }

    /// The space of the packet's numbers (RFC 9000 section 12.3).
    pub fn space(self) -> usize {
        match self {
            PacketKind::Initial | PacketKind::Retry => 0,
            PacketKind::Handshake => 1,
            PacketKind::ZeroRtt | PacketKind::OneRtt => 2,
        }
    }
}

/// The header of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub kind: PacketKind,
    /// The low bytes of its number, and how many they are.
    number: [u64; 2],
    /// Bytes of all of it.
    pub bytes: usize,
}

impl Packet {
    fn new(first: u8, number: &[u8], bytes: usize) -> Packet {
        let value = number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        Packet { kind: PacketKind::of(first), number: [value, number.len() as u64], bytes }
    }

    /// A packet of so many bytes with a number of one byte.
    #[cfg(test)]
    pub fn numbered(kind: PacketKind, number: u64, bytes: usize) -> Packet {
        Packet { kind, number: [number & 0xff, 1], bytes }
    }

    /// Returns the full packet number where `expected` comes next (RFC 9000 section A.3).
    pub fn full_number(&self, expected: u64) -> u64 {
        let [low, len] = self.number;
        let window = 1 << (8 * len);
        let candidate = expected & !(window - 1) | low;
        if candidate + window / 2 <= expected {
            candidate + window
        } else if candidate > expected + window / 2 && candidate >= window {
            candidate - window
        } else {
            candidate
        }
    }
}

/// Bytes of each connection identifier.
pub(super) const CID_LEN: usize = 8;

/// Whether a UDP payload holds a packet of 1-RTT alone (RFC 9000 section 17.3).
pub(super) fn is_of_one_rtt(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| PacketKind::of(*first) == PacketKind::OneRtt)
}

/// Reads a UDP payload, which may hold several packets (RFC 9000 section 12.2).
pub(super) fn read(mut bytes: &[u8], visitor: &mut impl Visitor) {
    while let Some((header, payload, rest)) = packet(bytes) {
        visitor.packet(header);
        frames(payload, visitor);
        bytes = rest;
    }
}

/// The first packet's header and frames, and what follows it.
fn packet(bytes: &[u8]) -> Option<(Packet, &[u8], &[u8])> {
    let first = *bytes.first()?;
    let number = usize::from(first & 3) + 1;
    if first & 0x80 == 0 {
        let payload = bytes.get(1 + CID_LEN + number..bytes.len().checked_sub(TAG)?)?;
        let header = Packet::new(first, &bytes[1 + CID_LEN..][..number], bytes.len());
        return Some((header, payload, &[]));
    }
    let mut reader = Reader(bytes.get(5..)?);
    for _ in 0..2 {
        let len = usize::from(reader.byte()?);
        reader.skip(len)?;
    }
    if (first >> 4) & 3 == 0 {
        let token = reader.varint()?;
        reader.skip(token as usize)?;
    }
    let length = reader.varint()? as usize;
    let payload = reader.0.get(number..length.checked_sub(TAG)?)?;
    let later_packets = reader.0.get(length..)?;
    Some((Packet::new(first, &reader.0[..number], bytes.len() - later_packets.len()), payload, later_packets))
}

pub(super) struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    /// Returns the next variable-length integer (RFC 9000 section 16).
    pub fn varint(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let len = 1 << (first >> 6);
        let (number, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        let head = u64::from(first & 0x3f);
        Some(number[1..].iter().fold(head, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn varints(&mut self, count: usize) -> Option<()> {
        for _ in 0..count {
            self.varint()?;
        }
        Some(())
    }
}

/// `None` ends at a frame that is not whole, or of a kind that our connections do not send.
fn frames(payload: &[u8], visitor: &mut impl Visitor) -> Option<()> {
    let mut reader = Reader(payload);
    while !reader.0.is_empty() {
        let kind = reader.varint()?;
        let body = reader.0;
        match kind {
            0x00 | 0x01 | 0x1e | 0x1f => {}
            kind @ (0x02 | 0x03) => {
                visitor.acknowledgment(Acknowledgment { largest: reader.varint()?, delay: reader.varint()? });
                let ranges = reader.varint()? as usize;
                reader.varints(1 + 2 * ranges)?;
                if kind == 0x03 {
                    reader.varints(2)?;
                    visitor.marks(reader.varint()?);
                }
            }
            kind @ (0x04 | 0x05 | 0x11 | 0x15) => reader.varints(if kind == 0x04 { 3 } else { 2 })?,
            0x06 => {
                reader.varint()?;
                let len = reader.varint()?;
                reader.skip(len as usize)?;
            }
            0x07 => {
                let len = reader.varint()?;
                reader.skip(len as usize)?;
            }
            kind @ 0x08..=0x0f => {
                let id = reader.varint()?;
                let offset = if kind & 4 != 0 { reader.varint()? } else { 0 };
                let len = if kind & 2 != 0 { reader.varint()? } else { reader.0.len() as u64 };
                reader.skip(len as usize)?;
                visitor.stream(id, offset, len);
                if kind & 1 != 0 {
                    visitor.fin(id, offset + len);
                }
            }
            0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => reader.varints(1)?,
            0x18 => {
                reader.varints(2)?;
                let len = usize::from(reader.byte()?);
                reader.skip(len + 16)?;
            }
            0x1a | 0x1b => reader.skip(8)?,
            kind @ (0x1c | 0x1d) => {
                reader.varints(if kind == 0x1c { 2 } else { 1 })?;
                let len = reader.varint()?;
                reader.skip(len as usize)?;
            }
            0x30 => {
                reader.0 = &[];
                visitor.datagram();
            }
            0x31 => {
                let len = reader.varint()?;
                reader.skip(len as usize)?;
                visitor.datagram();
            }
            0xaf => reader.varints(4)?,
            _ => return None,
        }
        visitor.frame(kind, &body[..body.len() - reader.0.len()]);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Seen {
        streams: Vec<(u64, u64, u64)>,
        datagrams: u32,
        marked: Option<u64>,
    }

    impl Visitor for Seen {
        fn stream(&mut self, id: u64, offset: u64, len: u64) {
            self.streams.push((id, offset, len));
        }

        fn datagram(&mut self) {
            self.datagrams += 1;
        }

        fn marks(&mut self, marked: u64) {
            self.marked = Some(marked);
        }
    }

    /// A short header with a packet number of two bytes around `frames`.
    fn short(frames: &[u8]) -> Vec<u8> {
        let header = [&[0x41][..], &[7; CID_LEN], &[0, 9]].concat();
        [&header[..], frames, &[0; TAG]].concat()
    }

    fn seen(bytes: &[u8]) -> Seen {
        let mut seen = Seen::default();
        read(bytes, &mut seen);
        seen
    }

    #[test]
    fn frames_are_read_one_after_the_other() {
        // ACK_ECN with one range more, CE 5; STREAM 4 at 0x1234 of 3 bytes; DATAGRAM of 2; STREAM 8 to the end.
        let ack = [0x03, 0x40, 0x80, 0x0a, 0x01, 0x02, 0x00, 0x01, 0x03, 0x00, 0x05];
        let streams = [&[0x0e, 0x04, 0x52, 0x34, 0x03, 1, 2, 3][..], &[0x31, 0x02, 0, 0], &[0x08, 0x08, 1, 1]];
        let bytes = short(&[&ack[..], &streams.concat()].concat());
        assert_eq!(seen(&bytes), Seen { streams: vec![(4, 0x1234, 3), (8, 0, 2)], datagrams: 1, marked: Some(5) });
    }

    #[test]
    fn a_datagram_may_hold_several_packets_and_end_anywhere() {
        let stream = [0x0a, 0x00, 0x02, 0, 0];
        let body = [&[0, 1][..], &stream, &[0; TAG]].concat();
        let long = [&[0xc1, 0, 0, 0, 1, 1, 7, 1, 7, 0][..], &[0x40, body.len() as u8], &body].concat();
        let both = [&long[..], &short(&stream)].concat();
        assert_eq!(seen(&both).streams, [(0, 0, 2), (0, 0, 2)]);
        (0..both.len()).for_each(|len| drop(seen(&both[..len])));
    }
}
