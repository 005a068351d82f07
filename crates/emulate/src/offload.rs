//! Offloads, which a device leaves to us (TUN with `IFF_VNET_HDR`): checksums that are not complete, and packets of one
//! connection read or written as one.
//!
//! Before each packet stands a header, `struct virtio_net_hdr` (Virtual I/O Device 1.2, section 5.1.6). A long packet
//! is split before the world sees it, as its sender would have without the offload; what leaves at one instant is
//! joined again. A checksum that is not complete stays so: the packet goes from kernel to kernel, and nothing of it
//! changes on the way.

use std::ops::Range;

/// Bytes of the header before each packet.
pub(crate) const HEADER: usize = 10;
/// The longest packet that a device takes.
const LONGEST: usize = 65_535;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
/// TCP uses ECN (RFC 3168): its mark "window reduced" belongs to the first segment only.
const GSO_ECN: u8 = 0x80;

const TCP: u8 = 6;
const UDP: u8 = 17;
const FIN_AND_PUSH: u8 = 0x09;
const PUSH: u8 = 0x08;
const ACK: u8 = 0x10;
const WINDOW_REDUCED: u8 = 0x80;

/// Where the checksum of a packet is to be completed: the start of what it covers, and its place from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksum {
    start: u16,
    offset: u16,
}

/// A packet's bytes, and what is left to do with its checksum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packet {
    pub bytes: Vec<u8>,
    pub checksum: Option<Checksum>,
}

/// The bytes read from a device: one packet, or several as one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    bytes: &'a [u8],
    checksum: Option<Checksum>,
    /// Length of the headers that each packet has, and bytes of each but the last; `None` for a single packet.
    split: Option<(Layout, usize)>,
}

/// Where what stands in a packet of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    ipv6: bool,
    protocol: u8,
    transport: usize,
    payload: usize,
}

impl<'a> Frame<'a> {
    /// Reads the header and what follows; `None` if they do not fit each other.
    pub fn read(frame: &'a [u8]) -> Option<Frame<'a>> {
        let (header, bytes) = frame.split_first_chunk::<HEADER>()?;
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let checksum = (header[0] & NEEDS_CHECKSUM != 0).then(|| Checksum { start: word(6), offset: word(8) });
        let protocol = match header[1] & !GSO_ECN {
            GSO_NONE => return Some(Frame { bytes, checksum, split: None }),
            GSO_TCP4 | GSO_TCP6 => TCP,
            GSO_UDP => UDP,
            _ => return None,
        };
        let layout = Layout::of(bytes, checksum?, protocol)?;
        let size = usize::from(word(4));
        (size > 0).then_some(Frame { bytes, checksum, split: Some((layout, size)) })
    }

    /// Returns the number of packets in the frame of the device.
    pub fn packets(&self) -> usize {
        self.split.map_or(1, |(layout, size)| (self.bytes.len() - layout.payload).div_ceil(size).max(1))
    }

    /// Writes the packet of this number into `packet`.
    pub fn write(&self, number: usize, packet: &mut Packet) {
        packet.checksum = self.checksum;
        packet.bytes.clear();
        let Some((layout, size)) = self.split else {
            packet.bytes.extend_from_slice(self.bytes);
            return;
        };
        let part = self.part(number, layout, size);
        let last = part.end == self.bytes.len();
        packet.bytes.extend_from_slice(&self.bytes[..layout.payload]);
        packet.bytes.extend_from_slice(&self.bytes[part]);
        if layout.protocol == TCP {
            let header = &mut packet.bytes[layout.transport..];
            let sequence = four(header, 4).wrapping_add((number * size) as u32);
            header[4..8].copy_from_slice(&sequence.to_be_bytes());
            let last_only = if last { 0 } else { FIN_AND_PUSH };
            let first_only = if number == 0 { 0 } else { WINDOW_REDUCED };
            header[13] &= !(last_only | first_only);
        }
        layout.set_lengths(&mut packet.bytes, number as u16);
    }

    fn part(&self, number: usize, layout: Layout, size: usize) -> Range<usize> {
        let start = layout.payload + number * size;
        start..(start + size).min(self.bytes.len())
    }
}

impl Layout {
    fn of(packet: &[u8], checksum: Checksum, protocol: u8) -> Option<Layout> {
        let transport = usize::from(checksum.start);
        let ipv6 = packet.first()? >> 4 == 6;
        let own = transport >= if ipv6 { 40 } else { 20 };
        let payload = match protocol {
            TCP => transport + usize::from(packet.get(transport + 12)? >> 4) * 4,
            _ => transport + 8,
        };
        (own && payload <= packet.len()).then_some(Layout { ipv6, protocol, transport, payload })
    }

    /// Sets what depends on the packet's length: those of IP and UDP, and the checksums. `number`: added to IPv4's
    /// identification.
    fn set_lengths(self, packet: &mut [u8], number: u16) {
        let packet_len = packet.len();
        let length = (packet_len - self.transport) as u16;
        let addresses = if self.ipv6 {
            packet[4..6].copy_from_slice(&((packet_len - 40) as u16).to_be_bytes());
            8..40
        } else {
            packet[2..4].copy_from_slice(&(packet_len as u16).to_be_bytes());
            let identification = two(packet, 4).wrapping_add(number);
            packet[4..6].copy_from_slice(&identification.to_be_bytes());
            packet[10..12].fill(0);
            let header = usize::from(packet[0] & 15) * 4;
            let sum = !fold(words(&packet[..header]));
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            12..20
        };
        let pseudo_header = fold(words(&packet[addresses]) + u32::from(self.protocol) + u32::from(length));
        let transport = &mut packet[self.transport..];
        if self.protocol == UDP {
            transport[4..6].copy_from_slice(&length.to_be_bytes());
        }
        let field = if self.protocol == TCP { 16 } else { 6 };
        transport[field..field + 2].copy_from_slice(&pseudo_header.to_be_bytes());
    }
}

/// Packets that leave to one device at one instant: those of one connection that follow each other are joined.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    /// The header of the device, and the packet.
    frame: Vec<u8>,
    open: Option<OpenFrame>,
    packets: u64,
}

/// A frame of a device to which more packets may be joined.
#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    layout: Layout,
    checksum: Checksum,
    /// Bytes of each packet but the last.
    size: usize,
    /// The next byte of TCP.
    next: u32,
}

impl Joined {
    /// Adds a packet. Returns false if it is to be written after what is there.
    pub fn push(&mut self, packet: &Packet) -> bool {
        if self.packets == 0 {
            self.begin(packet);
            return true;
        }
        let Some(open) = self.open.filter(|open| self.follows(open, packet)) else { return false };
        let bytes = &packet.bytes[open.layout.payload..];
        self.frame.extend_from_slice(bytes);
        let pushes = packet.bytes[open.layout.transport + 13] & PUSH;
        self.frame[HEADER + open.layout.transport + 13] |= pushes;
        let goes_on = bytes.len() == open.size && pushes == 0;
        self.open = goes_on.then(|| OpenFrame { next: open.next.wrapping_add(bytes.len() as u32), ..open });
        if self.packets == 1 {
            let kind = if open.layout.ipv6 { GSO_TCP6 } else { GSO_TCP4 };
            self.frame[1] = kind;
            self.frame[2..4].copy_from_slice(&(open.layout.payload as u16).to_ne_bytes());
            self.frame[4..6].copy_from_slice(&(open.size as u16).to_ne_bytes());
        }
        self.packets += 1;
        open.layout.set_lengths(&mut self.frame[HEADER..], 0);
        true
    }

    /// Returns the bytes to be written to a device, and the number of packets in them; empty without any.
    pub fn take(&mut self) -> (&[u8], u64) {
        (&self.frame, std::mem::take(&mut self.packets))
    }

    fn begin(&mut self, packet: &Packet) {
        self.packets = 1;
        self.frame.clear();
        self.frame.resize(HEADER, 0);
        self.frame.extend_from_slice(&packet.bytes);
        self.open = None;
        let Some(checksum) = packet.checksum else { return };
        self.frame[0] = NEEDS_CHECKSUM;
        self.frame[6..8].copy_from_slice(&checksum.start.to_ne_bytes());
        self.frame[8..10].copy_from_slice(&checksum.offset.to_ne_bytes());
        let bytes = &packet.bytes;
        let Some(layout) = Layout::of(bytes, checksum, TCP).filter(|layout| layout.carries_data(bytes)) else { return };
        let size = bytes.len() - layout.payload;
        let next = four(bytes, layout.transport + 4).wrapping_add(size as u32);
        self.open = Some(OpenFrame { layout, checksum, size, next });
    }

    /// Whether a packet continues an open frame: the next bytes, under the same headers.
    fn follows(&self, open: &OpenFrame, packet: &Packet) -> bool {
        let (first, bytes) = (&self.frame[HEADER..], &packet.bytes[..]);
        let Layout { ipv6, transport, payload, .. } = open.layout;
        let same = |range: Range<usize>| first[range.clone()] == bytes[range];
        packet.checksum == Some(open.checksum)
            && bytes.len() > payload
            && bytes.len() - payload <= open.size
            && first.len() + bytes.len() - payload <= LONGEST
            // All of IP but lengths, IPv4's identification and checksum.
            && if ipv6 { same(0..4) && same(6..transport) } else { same(0..2) && same(6..10) && same(12..transport) }
            && same(transport..transport + 4)
            && four(bytes, transport + 4) == open.next
            && same(transport + 8..transport + 13)
            && bytes[transport + 13] & !PUSH == ACK
            && same(transport + 14..transport + 16)
            && same(transport + 18..payload)
    }
}

impl Layout {
    /// Whether it is data of an open connection and nothing else, as only such packets are joined.
    fn carries_data(self, packet: &[u8]) -> bool {
        let protocol = if self.ipv6 { packet[6] } else { packet[9] };
        protocol == TCP && packet[self.transport + 13] == ACK && packet.len() > self.payload && self.transport >= 20
    }
}

fn two(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn four(bytes: &[u8], at: usize) -> u32 {
    u32::from(two(bytes, at)) << 16 | u32::from(two(bytes, at + 2))
}

/// The sum of an even number of bytes, as words (RFC 1071).
fn words(bytes: &[u8]) -> u32 {
    bytes.as_chunks::<2>().0.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum()
}

fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packet with its checksum completed, as a receiver without offload would want it.
    fn complete(packet: &Packet) -> Vec<u8> {
        let mut bytes = packet.bytes.clone();
        let Checksum { start, offset } = packet.checksum.expect("one is left to do");
        let mut covered = bytes[usize::from(start)..].to_vec();
        covered.resize(covered.len().next_multiple_of(2), 0);
        let field = usize::from(start + offset);
        bytes[field..field + 2].copy_from_slice(&(!fold(words(&covered))).to_be_bytes());
        bytes
    }

    /// The sum over a packet of TCP or UDP and its pseudo header is all ones if its checksum is right.
    fn is_right(bytes: &[u8]) -> bool {
        let ipv6 = bytes[0] >> 4 == 6;
        let (at, addresses, protocol) = if ipv6 { (40, 8..40, bytes[6]) } else { (20, 12..20, bytes[9]) };
        let mut covered = bytes[at..].to_vec();
        let pseudo_header = words(&bytes[addresses]) + u32::from(protocol) + covered.len() as u32;
        covered.resize(covered.len().next_multiple_of(2), 0);
        let ip = ipv6 || fold(words(&bytes[..20])) == 0xffff;
        ip && fold(words(&covered) + pseudo_header) == 0xffff
    }

    fn ip(ipv6: bool, protocol: u8, rest: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; if ipv6 { 40 } else { 20 }];
        if ipv6 {
            packet[0] = 0x60;
            (packet[6], packet[7], packet[23], packet[39]) = (protocol, 64, 1, 2);
        } else {
            (packet[0], packet[5], packet[6], packet[8], packet[9]) = (0x45, 7, 0x40, 64, protocol);
            packet[12..20].copy_from_slice(&[10, 66, 0, 1, 10, 66, 0, 2]);
        }
        packet.extend_from_slice(rest);
        packet
    }

    /// A frame of TCP as a device gives it: `bytes` of data from `sequence` on, in packets of `size`.
    fn tcp_frame(ipv6: bool, sequence: u32, bytes: usize, size: u16, flags: u8) -> Vec<u8> {
        let mut tcp = vec![0x1f, 0x90, 0, 80, 0, 0, 0, 0, 0, 0, 0, 9, 0x80, flags, 1, 0, 0, 0, 0, 0];
        tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
        tcp.extend_from_slice(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        tcp.extend((0..bytes).map(|byte| (byte % 251) as u8));
        frame(if ipv6 { GSO_TCP6 } else { GSO_TCP4 }, if ipv6 { 40 } else { 20 }, 16, size, &ip(ipv6, TCP, &tcp))
    }

    fn frame(kind: u8, start: u16, offset: u16, size: u16, packet: &[u8]) -> Vec<u8> {
        let mut frame = vec![NEEDS_CHECKSUM, kind, 0, 0];
        for word in [size, start, offset] {
            frame.extend_from_slice(&word.to_ne_bytes());
        }
        frame.extend_from_slice(packet);
        frame
    }

    fn split(frame: &[u8]) -> Vec<Packet> {
        let frame = Frame::read(frame).expect("a frame");
        let write = |number| {
            let mut packet = Packet::default();
            frame.write(number, &mut packet);
            packet
        };
        (0..frame.packets()).map(write).collect()
    }

    #[test]
    fn a_long_packet_is_split_as_its_sender_would_have() {
        for ipv6 in [false, true] {
            let (ip, headers) = if ipv6 { (40, 72) } else { (20, 52) };
            let packets = split(&tcp_frame(ipv6, u32::MAX - 999, 2500, 1000, ACK | FIN_AND_PUSH | WINDOW_REDUCED));
            let lengths: Vec<usize> = packets.iter().map(|packet| packet.bytes.len() - headers).collect();
            assert_eq!(lengths, [1000, 1000, 500]);
            let mut data = Vec::new();
            for (number, packet) in packets.iter().enumerate() {
                let bytes = complete(packet);
                assert!(is_right(&bytes), "ipv6 {ipv6}, packet {number}");
                assert_eq!(four(&bytes, ip + 4), (u32::MAX - 999).wrapping_add(1000 * number as u32));
                let flags = [ACK | WINDOW_REDUCED, ACK, ACK | FIN_AND_PUSH][number];
                assert_eq!(bytes[ip + 13], flags);
                assert!(ipv6 || two(&bytes, 4) == 7 + number as u16, "the identification counts");
                data.extend_from_slice(&bytes[headers..]);
            }
            assert!(data.iter().enumerate().all(|(place, &byte)| byte == (place % 251) as u8));
        }
    }

    #[test]
    fn datagrams_read_as_one_have_lengths_of_their_own() {
        let mut udp = vec![0, 53, 0, 99, 0, 0, 0, 0];
        udp.extend_from_slice(&[7; 250]);
        let packets = split(&frame(GSO_UDP, 20, 6, 100, &ip(false, UDP, &udp)));
        let lengths: Vec<u16> = packets.iter().map(|packet| two(&packet.bytes, 24)).collect();
        assert_eq!(lengths, [108, 108, 58]);
        assert!(packets.iter().all(|packet| is_right(&complete(packet))));
    }

    #[test]
    fn what_follows_is_joined_and_split_again_gives_the_same_packets() {
        for ipv6 in [false, true] {
            let packets = split(&tcp_frame(ipv6, 5, 3700, 1000, ACK | PUSH));
            let mut joined = Joined::default();
            assert!(packets.iter().all(|packet| joined.push(packet)));
            assert!(!joined.push(&packets[0]), "it is closed by the push");
            let (frame, count) = joined.take();
            assert_eq!(count, 4);
            assert_eq!(split(frame), packets);
        }
    }

    #[test]
    fn what_does_not_follow_is_not_joined() {
        let packets = split(&tcp_frame(true, 5, 3000, 1000, ACK));
        let refuses = |change: &dyn Fn(&mut Packet)| {
            let mut joined = Joined::default();
            let mut second = packets[1].clone();
            change(&mut second);
            joined.push(&packets[0]) && !joined.push(&second)
        };
        assert!(!refuses(&|_| ()));
        assert!(refuses(&|packet| *packet = packets[2].clone()), "a gap");
        assert!(refuses(&|packet| packet.checksum = None));
        assert!(refuses(&|packet| packet.bytes[1] |= 0x30), "a mark");
        assert!(refuses(&|packet| packet.bytes[40] ^= 1), "another port");
        assert!(refuses(&|packet| packet.bytes[53] |= 1), "the end");
        assert!(refuses(&|packet| packet.bytes[65] ^= 1), "another time stamp");
        assert!(refuses(&|packet| packet.bytes.push(0)), "longer");
        assert!(refuses(&|packet| packet.bytes.truncate(72)), "without data");
    }

    #[test]
    fn a_packet_without_work_left_stays_as_it_is() {
        let mut bytes = vec![0; HEADER];
        bytes.extend_from_slice(&ip(false, 1, &[8, 0, 1, 2]));
        let packets = split(&bytes);
        assert_eq!((packets.len(), &packets[0].bytes[..], packets[0].checksum), (1, &bytes[HEADER..], None));
        let mut joined = Joined::default();
        assert!(joined.push(&packets[0]) && !joined.push(&packets[0]));
        assert_eq!(joined.take(), (&bytes[..], 1));
        assert_eq!(joined.take().1, 0);
    }

    #[test]
    fn a_header_that_does_not_fit_is_refused() {
        let whole = tcp_frame(false, 1, 100, 50, ACK);
        assert!(Frame::read(&whole).is_some());
        assert!(Frame::read(&whole[..HEADER + 30]).is_none(), "cut");
        assert!(Frame::read(&tcp_frame(false, 1, 100, 0, ACK)).is_none(), "packets of nothing");
        let mut unknown = whole;
        unknown[1] = 3;
        assert!(Frame::read(&unknown).is_none());
        assert!(Frame::read(&[0; 9]).is_none());
    }
}
