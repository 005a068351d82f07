//! Headers as on the wire: Ethernet, IPv4 (RFC 791, RFC 3168), TCP (RFC 9293) and its options.

use etherparse::checksum::Sum16BitWords;
use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpFragOffset, IpNumber, Ipv4Header, Ipv4Options, Ipv6Header, TcpHeader,
    TcpOptionElement, UdpHeader,
};
use transport::{Datagram, ExternalPacket, FastOpenOption, Flags, QuicPacket, Segment};
use units::Ecn;

use crate::packet::Way;

/// The headers of a captured packet, and how long it was on the wire.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    bytes: [u8; Frame::MOST],
    len: u8,
    wire_bytes: u32,
}

/// One end of a connection on the network.
pub(super) struct Host {
    address: [u8; 4],
    port: u16,
}

/// The numbers of a connection that its packets do not carry: where its 32-bit sequence numbers begin, and how its
/// windows are scaled. The first of each pair belongs to the sender of the data.
pub(super) struct HeaderNumbers {
    initial: [u32; 2],
    /// The window scale that each end's SYN offered, once it was sent.
    offered: [Option<Option<u8>>; 2],
}

/// The discard protocol (RFC 863): the bytes mean nothing, and no tool takes them for something.
const DISCARD: u16 = 9;
/// Where the ephemeral ports begin (RFC 6335 section 6).
const EPHEMERAL: u32 = 49_152;

impl Host {
    /// The server of a flow: an address of its own in 10.0.0.0/9.
    pub(super) fn server(flow: u32) -> Host {
        let address = 10 << 24 | (flow + 1);
        Host { address: address.to_be_bytes(), port: (EPHEMERAL + flow % (65_536 - EPHEMERAL)) as u16 }
    }

    /// A user: an address of its own in 10.128.0.0/9.
    pub(super) fn user(user: u32) -> Host {
        let address = 10 << 24 | 128 << 16 | (user + 1);
        Host { address: address.to_be_bytes(), port: DISCARD }
    }

    /// A locally administered address made of the IP address.
    fn hardware(&self) -> [u8; 6] {
        let [a, b, c, d] = self.address;
        [0x02, 0, a, b, c, d]
    }
}

impl HeaderNumbers {
    pub(super) fn new(initial: [u32; 2]) -> HeaderNumbers {
        HeaderNumbers { initial, offered: [None; 2] }
    }

    /// Remembers what a SYN says, for the segments after it.
    pub(super) fn note(&mut self, way: Way, segment: &Segment) {
        if let Some(syn) = segment.syn {
            self.offered[way as usize] = Some(syn.window_scale);
        }
    }

    /// Returns the bits by which the windows of an end are scaled: 0 in a SYN, and if either end did not offer it.
    fn shift(&self, way: Way, segment: &Segment) -> u8 {
        match (self.offered[way as usize], self.offered[way.back() as usize]) {
            (Some(Some(ours)), Some(Some(_))) if segment.syn.is_none() => ours,
            _ => 0,
        }
    }
}

impl Frame {
    /// The most header bytes of a frame; packets from outside may be those of IPv6.
    pub(super) const MOST: usize = Ethernet2Header::LEN + Ipv6Header::LEN + TcpHeader::MAX_LEN;

    /// The headers of a segment.
    pub(super) fn tcp(
        from: &Host,
        to: &Host,
        way: Way,
        numbers: &HeaderNumbers,
        number: u32,
        segment: &Segment,
    ) -> Frame {
        let tcp = tcp_header(from, to, way, numbers, segment);
        let ip = ipv4_header(from, to, number, IpNumber::TCP, segment.ecn, segment.wire_bytes());
        debug_assert_eq!(
            (Ipv4Header::MIN_LEN + tcp.header_len()) as u32,
            segment.header_bytes(),
            "the size that the simulation counts: {segment:?}"
        );
        let mut tcp = tcp.to_bytes();
        // Where the header words lie: data offset, reserved bits, flags at 12; checksum at 16.
        if segment.flags.has(Flags::DUMMY) {
            tcp[12] |= (Flags::DUMMY.bits() >> 8) as u8;
        }
        let checksum = tcp_checksum(from, to, &tcp, segment.len);
        tcp[16..18].copy_from_slice(&checksum.to_be_bytes());

        Frame::new(from, to, &ip, &tcp, segment.len)
    }

    /// The headers of a datagram.
    pub(super) fn udp(from: &Host, to: &Host, number: u32, datagram: &Datagram) -> Frame {
        let ip = ipv4_header(from, to, number, IpNumber::UDP, Ecn::NotEct, datagram.wire_bytes());
        let length = (UdpHeader::LEN as u32 + datagram.len) as u16;
        let mut udp = UdpHeader { source_port: from.port, destination_port: to.port, length, checksum: 0 };
        // RFC 768; zeros of payload add nothing. A sum of zero is sent as ones: zero says that there is none.
        let sum = pseudo_header(from, to, IpNumber::UDP, length).add_slice(&udp.to_bytes());
        udp.checksum = sum.to_ones_complement_with_no_zero().to_be();
        Frame::new(from, to, &ip, &udp.to_bytes(), datagram.len)
    }

    /// The headers of a packet of QUIC, and as much of its bytes as fits beside them.
    pub(super) fn quic(from: &Host, to: &Host, number: u32, packet: &QuicPacket) -> Frame {
        let ip = ipv4_header(from, to, number, IpNumber::UDP, packet.ecn, packet.wire_bytes());
        let length = (UdpHeader::LEN + packet.bytes.len()) as u16;
        let mut udp = UdpHeader { source_port: from.port, destination_port: to.port, length, checksum: 0 };
        let sum = pseudo_header(from, to, IpNumber::UDP, length).add_slice(&udp.to_bytes()).add_slice(&packet.bytes);
        udp.checksum = sum.to_ones_complement_with_no_zero().to_be();
        let first_bytes = packet.bytes.len().min(TcpHeader::MAX_LEN - UdpHeader::LEN);
        let (first_bytes, cut) = packet.bytes.split_at(first_bytes);
        Frame::new(from, to, &ip, &[&udp.to_bytes(), first_bytes].concat(), cut.len() as u32)
    }

    /// The headers of a packet from outside: its first bytes as they came, or those of a datagram of its size.
    pub(super) fn external(from: &Host, to: &Host, number: u32, packet: &ExternalPacket, kept: &[u8]) -> Frame {
        let ether_type = match kept.first().map(|first| first >> 4) {
            Some(4) => EtherType::IPV4,
            Some(6) => EtherType::IPV6,
            _ => {
                let len = packet.bytes.saturating_sub(units::IPV4_UDP_HEADER_BYTES);
                return Frame::udp(from, to, number, &Datagram { number: packet.number, len });
            }
        };
        let ethernet = Ethernet2Header { source: from.hardware(), destination: to.hardware(), ether_type };
        let mut frame =
            Frame { bytes: [0; Frame::MOST], len: 0, wire_bytes: Ethernet2Header::LEN as u32 + packet.bytes };
        let kept = &kept[..kept.len().min(Frame::MOST - Ethernet2Header::LEN)];
        frame.bytes[..Ethernet2Header::LEN].copy_from_slice(&ethernet.to_bytes());
        frame.bytes[Ethernet2Header::LEN..Ethernet2Header::LEN + kept.len()].copy_from_slice(kept);
        frame.len = (Ethernet2Header::LEN + kept.len()) as u8;
        frame
    }

    fn new(from: &Host, to: &Host, ip: &Ipv4Header, transport: &[u8], payload: u32) -> Frame {
        let ethernet =
            Ethernet2Header { source: from.hardware(), destination: to.hardware(), ether_type: EtherType::IPV4 };
        let mut frame = Frame { bytes: [0; Frame::MOST], len: 0, wire_bytes: 0 };
        for part in [&ethernet.to_bytes()[..], &ip.to_bytes()[..], transport] {
            let start = usize::from(frame.len);
            frame.bytes[start..start + part.len()].copy_from_slice(part);
            frame.len += part.len() as u8;
        }
        frame.wire_bytes = u32::from(frame.len) + payload;
        frame
    }

    /// The headers.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Bytes on the wire, without preamble and frame check sequence.
    pub(super) fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }
}

fn tcp_header(from: &Host, to: &Host, way: Way, numbers: &HeaderNumbers, segment: &Segment) -> TcpHeader {
    let (ours, theirs) = (numbers.initial[way as usize], numbers.initial[way.back() as usize]);
    let has = |flag| segment.flags.has(flag);
    // Offsets in the byte stream, cut to 32 bits (RFC 9293 section 3.4).
    let mut header = TcpHeader::new(from.port, to.port, ours.wrapping_add(segment.seq as u32), 0);
    (header.fin, header.syn, header.rst) = (has(Flags::FIN), has(Flags::SYN), has(Flags::RST));
    (header.psh, header.ack) = (has(Flags::PSH), has(Flags::ACK));
    (header.ece, header.cwr) = (has(Flags::ECE), has(Flags::CWR));
    header.ns = has(Flags::AE); // the bit of RFC 3540, which RFC 9768 took over
    if header.ack {
        header.acknowledgment_number = theirs.wrapping_add(segment.ack as u32);
    }
    let window = segment.window >> numbers.shift(way, segment);
    header.window_size = u16::try_from(window).unwrap_or(u16::MAX);
    let (options, count) = options(segment, theirs);
    header.set_options(&options[..count]).expect("no more options than fit a header");
    if let Some(option) = &segment.accecn {
        let fields = option.fields().as_flattened();
        let mut all = header.options.as_slice().to_vec();
        all.resize(all.len() + option.padded_bytes() as usize - 2 - fields.len(), NOOP);
        all.extend([option.kind(), 2 + fields.len() as u8]);
        all.extend(fields);
        header.set_options_raw(&all).expect("no more options than fit a header");
    }
    if let Some(option) = segment.syn.and_then(|syn| syn.fast_open) {
        let mut all = header.options.as_slice().to_vec();
        let end = all.len() + option.padded_bytes() as usize;
        all.extend(fast_open(option));
        all.resize(end, NOOP);
        header.set_options_raw(&all).expect("no more options than fit a header");
    }
    header
}

/// RFC 7413 section 4.1.1, or RFC 6994 with the number of Fast Open.
fn fast_open(option: FastOpenOption) -> Vec<u8> {
    let kind: &[u8] = if option.experimental { &[254, 0, 0xf9, 0x89] } else { &[34, 0] };
    let mut bytes = kind.to_vec();
    if let Some(cookie) = option.cookie {
        bytes.extend(cookie.name.to_be_bytes().into_iter().cycle().take(usize::from(cookie.bytes)));
    }
    bytes[1] = bytes.len() as u8;
    bytes
}

/// The option that pads (RFC 9293 section 3.1).
const NOOP: u8 = 1;

/// The options as Linux pads them, each at a multiple of four bytes.
fn options(segment: &Segment, theirs: u32) -> ([TcpOptionElement; MOST_OPTIONS], usize) {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp, WindowScale,
    };
    let mut options = [const { Noop }; MOST_OPTIONS];
    let mut count = 0;
    let mut add = |option| {
        options[count] = option;
        count += 1;
    };
    let permitted = segment.syn.is_some_and(|syn| syn.sack_permitted);
    if let Some(syn) = segment.syn {
        add(MaximumSegmentSize(syn.mss));
    }
    if permitted {
        // Takes the place of the padding before the timestamps.
        if segment.timestamps.is_none() {
            add(Noop);
            add(Noop);
        }
        add(SelectiveAcknowledgementPermitted);
    } else if segment.timestamps.is_some() {
        add(Noop);
        add(Noop);
    }
    if let Some((value, echo)) = segment.timestamps {
        add(Timestamp(value, echo));
    }
    if let Some(scale) = segment.syn.and_then(|syn| syn.window_scale) {
        add(Noop);
        add(WindowScale(scale));
    }
    if let [first, more @ ..] = segment.sack.as_slice() {
        let edge = |offset: u64| theirs.wrapping_add(offset as u32);
        let block = |&(start, end): &(u64, u64)| (edge(start), edge(end));
        add(Noop);
        add(Noop);
        add(SelectiveAcknowledgement(block(first), std::array::from_fn(|i| more.get(i).map(block))));
    }
    (options, count)
}

/// With their padding: of a SYN, or of an acknowledgment with timestamps and blocks.
const MOST_OPTIONS: usize = 6;

fn ipv4_header(from: &Host, to: &Host, number: u32, protocol: IpNumber, ecn: Ecn, wire_bytes: u32) -> Ipv4Header {
    let total = wire_bytes.min(u32::from(u16::MAX)) as u16;
    let mut header = Ipv4Header {
        dscp: IpDscp::ZERO,
        ecn: match ecn {
            Ecn::NotEct => IpEcn::NotEct,
            Ecn::Ect0 => IpEcn::Ect0,
            Ecn::Ect1 => IpEcn::Ect1,
            Ecn::Ce => IpEcn::CongestionExperienced,
        },
        total_len: total,
        // The identification is the same at every place, so that a packet can be found again.
        identification: number as u16,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: IpFragOffset::ZERO,
        time_to_live: 64,
        protocol,
        header_checksum: 0,
        source: from.address,
        destination: to.address,
        options: Ipv4Options::new(),
    };
    header.header_checksum = header.calc_header_checksum();
    header
}

/// RFC 9293 section 3.1 over the pseudo header, the header and `payload` zeros, which add nothing but their number.
fn tcp_checksum(from: &Host, to: &Host, header: &[u8], payload: u32) -> u16 {
    let length = header.len() as u32 + payload;
    pseudo_header(from, to, IpNumber::TCP, length as u16).add_slice(header).ones_complement().to_be()
}

fn pseudo_header(from: &Host, to: &Host, protocol: IpNumber, length: u16) -> Sum16BitWords {
    let sum = Sum16BitWords::new().add_4bytes(from.address).add_4bytes(to.address);
    sum.add_2bytes([0, protocol.0]).add_2bytes(length.to_be_bytes())
}
