//! Sources and destinations of packets: IP headers, and the flow of each user's address.

use core::net::IpAddr;
use std::collections::BTreeMap;

use units::Ecn;

/// The fields of an IP header that the emulation reads (RFC 791, RFC 8200).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// From whom.
    pub source: IpAddr,
    /// For whom.
    pub destination: IpAddr,
    /// Differentiated services code point (RFC 2474).
    pub dscp: u8,
    /// Congestion mark (RFC 3168).
    pub ecn: Ecn,
}

const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

impl IpHeader {
    /// The header at the start of a packet; `None` if it is none.
    pub fn read(packet: &[u8]) -> Option<IpHeader> {
        let (class, source, destination) = match (packet.first()? >> 4, packet.len()) {
            (4, 20..) => (packet[1], address::<4>(packet, 12).into(), address::<4>(packet, 16).into()),
            (6, 40..) => {
                let class = packet[0] << 4 | packet[1] >> 4;
                (class, address::<16>(packet, 8).into(), address::<16>(packet, 24).into())
            }
            _ => return None,
        };
        Some(IpHeader { source, destination, dscp: class >> 2, ecn: ECN[usize::from(class & 3)] })
    }

    /// Sets the mark "congestion experienced" in a packet's header; the checksum of IPv4 follows (RFC 1624).
    pub fn mark(packet: &mut [u8]) {
        if packet[0] >> 4 == 6 {
            packet[1] |= 0x30;
            return;
        }
        let word = |bytes: &[u8]| u32::from(u16::from_be_bytes([bytes[0], bytes[1]]));
        let before = word(&packet[..2]);
        packet[1] |= 3;
        let complement = |word: u32| !word & 0xffff;
        let mut sum = complement(word(&packet[10..12])) + complement(before) + word(&packet[..2]);
        while sum >> 16 > 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}

fn address<const N: usize>(packet: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| packet[at + i])
}

/// The flow of each user's address, and the class of service of each code point.
#[derive(Clone, Debug)]
pub struct Addresses {
    flows: BTreeMap<IpAddr, u32>,
    classes: [Option<u32>; 64],
}

impl Addresses {
    /// `flows`: the flow of each address; `classes`: code points and the class of the last hop that each belongs to.
    ///
    /// # Panics
    /// If a code point is more than 63.
    pub fn new(flows: impl IntoIterator<Item = (IpAddr, u32)>, classes: &[(u8, u32)]) -> Addresses {
        let mut table = [None; 64];
        for &(dscp, class) in classes {
            table[usize::from(dscp)] = Some(class);
        }
        Addresses { flows: flows.into_iter().collect(), classes: table }
    }

    /// The flow of a user's address.
    pub fn flow(&self, user: IpAddr) -> Option<u32> {
        self.flows.get(&user).copied()
    }

    /// The class of service of a code point, if it has one.
    pub fn class(&self, dscp: u8) -> Option<u32> {
        self.classes[usize::from(dscp)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 header with a right checksum.
    fn ipv4(class: u8) -> Vec<u8> {
        let mut packet = vec![0x45, class, 0, 20, 0, 1, 0, 0, 64, 17, 0, 0, 10, 66, 0, 1, 10, 66, 0, 2];
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    fn checksum(packet: &[u8]) -> u16 {
        let mut sum: u32 = packet.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        while sum >> 16 > 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn an_ipv4_header_is_read_and_marked_with_a_right_checksum() {
        for class in 0..=u8::MAX {
            let mut packet = ipv4(class);
            let header = IpHeader::read(&packet).expect("a header");
            assert_eq!((header.dscp, header.ecn), (class >> 2, ECN[usize::from(class & 3)]));
            assert_eq!((header.source, header.destination), ([10, 66, 0, 1].into(), [10, 66, 0, 2].into()));
            IpHeader::mark(&mut packet);
            assert_eq!(IpHeader::read(&packet).expect("a header").ecn, Ecn::Ce);
            assert_eq!(checksum(&packet), 0, "class {class}");
        }
    }

    #[test]
    fn an_ipv6_header_is_read_and_marked() {
        let mut packet = vec![0; 40];
        packet[0] = 0x6b;
        packet[1] = 0x90;
        (packet[23], packet[39]) = (1, 2);
        let header = IpHeader::read(&packet).expect("a header");
        assert_eq!((header.dscp, header.ecn), (0b10_1110, Ecn::Ect1));
        assert_eq!(
            (header.source, header.destination),
            (IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 2]))
        );
        IpHeader::mark(&mut packet);
        let marked = IpHeader::read(&packet).expect("a header");
        assert_eq!((marked.dscp, marked.ecn), (0b10_1110, Ecn::Ce));
    }

    #[test]
    fn what_is_no_packet_has_no_header() {
        for packet in [&[][..], &[0x45; 19], &[0x60; 39], &[0x25; 40]] {
            assert_eq!(IpHeader::read(packet), None);
        }
    }
}
