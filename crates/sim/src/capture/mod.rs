//! Packet captures: what Wireshark would have seen at the sender, at the serving satellite and at the receiver.
//!
//! One pcapng file for each place, nanosecond timestamps of simulated time (which begins at 1970-01-01 00:00:00),
//! Ethernet, IPv4 and TCP headers as on the wire. Frames are cut after their headers (the length on the wire is noted),
//! because the payload is nothing but zeros; the checksums are those of the whole packet. Nothing is kept in memory but
//! the packets on the uplink that have not reached the satellite.

mod frame;

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration as StdDuration;

use engine::Streams;
use frame::{Frame, HeaderNumbers, Host};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};
use rand::Rng;
use units::Time;

use crate::packet::{Link, Packet, Payload, Way};

/// Captures of a run.
pub(crate) struct Capture {
    sender: PacketFile,
    /// The gateway's side of the satellites, if a flow has a proxy.
    gateway: Option<PacketFile>,
    satellite: PacketFile,
    receiver: PacketFile,
    flows: Vec<FlowHosts>,
    /// Packets on the uplink that have not reached the satellite yet, in the order in which they will.
    uplink: VecDeque<(Time, Frame)>,
    /// The first bytes of packets from outside that are in flight, by ticket.
    headers: BTreeMap<u32, Box<[u8]>>,
    /// The first error, after which nothing more is written.
    error: Option<io::Error>,
}

/// The hosts between which the packets of a flow go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowEnds {
    pub(crate) user: u32,
    /// The user sends the data.
    pub(crate) upload: bool,
    pub(crate) has_pep: bool,
}

/// The hosts of a flow, which turn its packets into frames.
struct FlowHosts {
    ends: FlowEnds,
    server: Host,
    user: Host,
    /// Numbers of the connection over the satellites, and of the one on the ground.
    satellite: HeaderNumbers,
    terrestrial: HeaderNumbers,
}

impl Capture {
    /// Creates the files in `directory`.
    ///
    /// # Errors
    /// A file cannot be created.
    pub(crate) fn create(directory: &Path, seed: u64, flows: impl Iterator<Item = FlowEnds>) -> io::Result<Capture> {
        let streams = Streams::new(seed);
        let hosts = |(flow, ends): (usize, FlowEnds)| {
            // Initial sequence numbers are drawn as real ones are (RFC 9293 section 3.4.1); no other draw is moved by
            // it.
            let mut rng = streams.stream("capture.isn", flow as u64);
            let mut numbers = || HeaderNumbers::new([rng.next_u32(), rng.next_u32()]);
            FlowHosts {
                ends,
                server: Host::server(flow as u32),
                user: Host::user(ends.user),
                satellite: numbers(),
                terrestrial: numbers(),
            }
        };
        let flows: Vec<FlowHosts> = flows.enumerate().map(hosts).collect();
        let file = |place: &str| PacketFile::create(directory, place);
        let gateway = flows.iter().any(|flow| flow.ends.has_pep).then(|| file("gateway")).transpose()?;
        Ok(Capture {
            sender: file("sender")?,
            gateway,
            satellite: file("satellite")?,
            receiver: file("receiver")?,
            flows,
            uplink: VecDeque::new(),
            headers: BTreeMap::new(),
            error: None,
        })
    }

    /// A packet from outside enters: these are its first bytes, from the IP header on.
    pub(crate) fn keep_header(&mut self, ticket: u32, header: &[u8]) {
        self.headers.insert(ticket, header[..header.len().min(Frame::MOST)].into());
    }

    /// A packet from outside has left.
    pub(crate) fn forget_header(&mut self, ticket: u32) {
        self.headers.remove(&ticket);
    }

    /// Captures a packet that leaves the end that made it.
    pub(crate) fn sent(&mut self, now: Time, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        let frame = flow.frame(packet, true, &self.headers);
        let written = match packet.link {
            Link::Terrestrial if flow.is_from_server(packet) => self.sender.write(now, &frame),
            Link::Terrestrial => Ok(()),
            Link::Downlink => self.near_end(packet.flow).write(now, &frame),
            Link::Uplink => self.receiver.write(now, &frame),
        };
        self.note(written);
    }

    /// A packet on the uplink will reach the satellite at `at`.
    pub(crate) fn uplink_at_satellite(&mut self, at: Time, packet: &Packet) {
        let frame = self.flows[packet.flow as usize].frame(packet, false, &self.headers);
        // Mostly the last: only a nearer satellite lets a packet overtake others.
        let place = self.uplink.iter().rposition(|&(before, _)| before <= at).map_or(0, |last| last + 1);
        self.uplink.insert(place, (at, frame));
    }

    /// A packet on the downlink reaches the serving satellite.
    pub(crate) fn downlink_at_satellite(&mut self, now: Time, packet: &Packet) {
        let frame = self.flows[packet.flow as usize].frame(packet, false, &self.headers);
        let written = self.write_uplink(now).and_then(|()| self.satellite.write(now, &frame));
        self.note(written);
    }

    /// A packet arrives at the other end.
    pub(crate) fn delivered(&mut self, now: Time, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        let frame = flow.frame(packet, false, &self.headers);
        let written = match packet.link {
            Link::Terrestrial if flow.is_from_server(packet) => Ok(()),
            Link::Terrestrial => self.sender.write(now, &frame),
            Link::Downlink => self.receiver.write(now, &frame),
            Link::Uplink => self.near_end(packet.flow).write(now, &frame),
        };
        self.note(written);
    }

    /// Completes the files as of `now`.
    ///
    /// # Errors
    /// The first error that any write met.
    pub(crate) fn finish(&mut self, now: Time) -> io::Result<()> {
        let result = self.write_uplink(now);
        self.note(result);
        if let Some(error) = &self.error {
            return Err(io::Error::new(error.kind(), error.to_string()));
        }
        let files = [&mut self.sender, &mut self.satellite, &mut self.receiver];
        files.into_iter().chain(&mut self.gateway).try_for_each(PacketFile::flush)
    }

    /// Returns the file of the sender over the satellites, which is at the gateway if there is a proxy.
    fn near_end(&mut self, flow: u32) -> &mut PacketFile {
        match &mut self.gateway {
            Some(gateway) if self.flows[flow as usize].ends.has_pep => gateway,
            _ => &mut self.sender,
        }
    }

    /// Writes the packets of the uplink that have reached the satellite by `now`.
    fn write_uplink(&mut self, now: Time) -> io::Result<()> {
        while let Some((at, frame)) = self.uplink.front().filter(|(at, _)| *at <= now) {
            self.satellite.write(*at, frame)?;
            self.uplink.pop_front();
        }
        Ok(())
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

impl FlowHosts {
    /// Whether a packet goes from the ground to the user, also where it is on the ground.
    fn is_from_server(&self, packet: &Packet) -> bool {
        match packet.link {
            Link::Downlink => true,
            Link::Uplink => false,
            Link::Terrestrial => (packet.way == Way::Forward) != self.ends.upload,
        }
    }

    /// The headers of a packet; `fresh`: it has just been made.
    fn frame(&mut self, packet: &Packet, fresh: bool, headers: &BTreeMap<u32, Box<[u8]>>) -> Frame {
        let (server, user) = (&self.server, &self.user);
        let (from, to) = if self.is_from_server(packet) { (server, user) } else { (user, server) };
        let segment = match &packet.payload {
            Payload::Tcp(segment) => segment,
            Payload::Udp(datagram) => return Frame::udp(from, to, packet.number, datagram),
            Payload::Quic(quic) => return Frame::quic(from, to, packet.number, quic),
            Payload::External(external) => {
                let kept = headers.get(&external.ticket).map_or(&[][..], |kept| kept);
                return Frame::external(from, to, packet.number, external, kept);
            }
        };
        let numbers = match packet.link {
            Link::Downlink | Link::Uplink => &mut self.satellite,
            Link::Terrestrial => &mut self.terrestrial,
        };
        if fresh {
            numbers.note(packet.way, segment);
        }
        Frame::tcp(from, to, packet.way, numbers, packet.number, segment)
    }
}

/// A pcapng file of one interface.
struct PacketFile {
    writer: PcapNgWriter<BufWriter<File>>,
    failed: bool,
}

impl PacketFile {
    /// Creates `packets-PLACE.pcapng`.
    fn create(directory: &Path, place: &str) -> io::Result<PacketFile> {
        let file = BufWriter::with_capacity(1 << 18, File::create(directory.join(format!("packets-{place}.pcapng")))?);
        let application = SectionHeaderOption::UserApplication(Cow::Borrowed("Transorbit"));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little, // the same bytes on every platform
            options: vec![application],
            ..SectionHeaderBlock::default()
        };
        let mut writer = PcapNgWriter::with_section_header(file, section).map_err(io::Error::other)?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: Frame::MOST as u32,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(place)),
                InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
            ],
        };
        writer.write_pcapng_block(interface).map_err(io::Error::other)?;
        Ok(PacketFile { writer, failed: false })
    }

    fn write(&mut self, at: Time, frame: &Frame) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: StdDuration::from_nanos(at.as_nanos()),
            original_len: frame.wire_bytes(),
            data: Cow::Borrowed(frame.bytes()),
            options: Vec::new(),
        };
        let result = self.writer.write_pcapng_block(block).map(drop).map_err(io::Error::other);
        self.failed = result.is_err();
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.get_mut().flush()
    }
}
