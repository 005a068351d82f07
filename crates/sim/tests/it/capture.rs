//! The packets that a run writes, read back: headers, checksums, sequence numbers, and what the summary says of them.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::util::{LABORATORY, LEO, run, scenario};
use etherparse::checksum::Sum16BitWords;
use etherparse::{IpEcn, IpNumber, TcpOptionElement, TcpSlice};
use pcap_file::pcapng::{Block, PcapNgReader};
use sim::{Simulation, Summary};
use units::Time;

/// A packet of a capture.
struct Captured {
    at_ns: u128,
    wire_bytes: u32,
    bytes: Vec<u8>,
}

/// What the tests look at.
struct Header {
    source: [u8; 4],
    destination: [u8; 4],
    ecn: IpEcn,
    identification: u16,
    payload: u32,
    tcp: TcpSlice<'static>,
}

impl Captured {
    /// Takes the frame apart and verifies both checksums and all lengths.
    fn header(&self) -> Header {
        let bytes: &'static [u8] = Vec::leak(self.bytes.clone()); // a test, and shorter than a struct that owns both
        // Frames are cut after the headers, which a parser of whole frames does not forgive: one layer after the other.
        let (ip, rest) = etherparse::Ipv4Header::from_slice(&bytes[14..]).expect("an IPv4 header");
        assert_eq!(bytes[12..14], [0x08, 0x00], "the type is IPv4");
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        assert_eq!((ip.protocol, ip.dont_fragment, ip.header_len()), (IpNumber::TCP, true, 20));
        assert_eq!(self.wire_bytes, u32::from(ip.total_len) + 14);
        let tcp = TcpSlice::from_slice(rest).expect("a TCP header");
        assert_eq!(tcp.header_len(), rest.len(), "nothing but headers is captured");
        let payload = u32::from(ip.total_len) - 20 - tcp.header_len() as u32;
        // All words with the checksum itself add up to all ones; the payload is zeros.
        let length = (tcp.header_len() as u32 + payload) as u16;
        let sum = Sum16BitWords::new().add_4bytes(ip.source).add_4bytes(ip.destination);
        let sum = sum.add_2bytes([0, 6]).add_2bytes(length.to_be_bytes()).add_slice(rest).ones_complement();
        assert_eq!(sum, 0, "the TCP checksum");
        Header {
            source: ip.source,
            destination: ip.destination,
            ecn: ip.ecn,
            identification: ip.identification,
            payload,
            tcp,
        }
    }
}

impl Header {
    fn is_from_server(&self) -> bool {
        self.source[1] < 128
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("capture-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a scenario in `pieces` and gives its summary and the folder with its packets.
fn captured(name: &str, base: &str, edits: &[&str], pieces: u64) -> (Summary, PathBuf) {
    let folder = folder(name);
    let scenario = scenario(base, edits).assign("record.packets=pcapng").unwrap();
    let mut simulation = Simulation::new(&scenario, None).unwrap();
    assert!(simulation.wants_packets());
    simulation.record_packets(&folder).unwrap();
    for piece in 1..=pieces {
        simulation.advance(Time::ZERO + simulation.duration() * piece / pieces).unwrap();
    }
    (simulation.finish(false).unwrap().summary, folder)
}

fn read(folder: &Path, place: &str) -> Vec<Captured> {
    let file = File::open(folder.join(format!("packets-{place}.pcapng"))).unwrap();
    let mut reader = PcapNgReader::new(file).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap().0 {
            packets.push(Captured {
                at_ns: packet.timestamp.as_nanos(),
                wire_bytes: packet.original_len,
                bytes: packet.data.to_vec(),
            });
        }
    }
    assert!(packets.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns), "{place}: in the order of time");
    packets
}

const LOSSY: [&str; 3] = ["channel={kind=\"bernoulli\", loss=\"1 %\"}", "duration=5 s", "flows.0.count=2"];

#[test]
fn every_packet_is_at_its_places_with_correct_headers() {
    let (summary, folder) = captured("places", LABORATORY, &LOSSY, 1);
    let [sender, satellite, receiver] = ["sender", "satellite", "receiver"].map(|place| read(&folder, place));
    let headers = |packets: &[Captured]| packets.iter().map(Captured::header).collect::<Vec<_>>();
    let (at_sender, at_satellite, at_receiver) = (headers(&sender), headers(&satellite), headers(&receiver));
    let data = |headers: &[Header], user: u8| {
        headers.iter().filter(|header| header.destination == [10, 128, 0, user] && header.payload > 0).count() as u64
    };
    for (flow, user) in summary.flows.iter().zip(1..) {
        assert_eq!(data(&at_sender, user), flow.sent_packets);
        assert_eq!(data(&at_receiver, user), flow.received_packets);
        assert!(data(&at_satellite, user) <= flow.sent_packets && data(&at_satellite, user) > flow.received_packets);
        assert!(flow.retransmitted_packets > 0);
    }
    let forward = at_satellite.iter().filter(|header| header.is_from_server()).count() as u64;
    assert_eq!(forward, summary.last_hop.offered_packets);
    // The same packet is the same at every place; the path takes 30 ms to the satellite.
    let find = |headers: &[Header], number: u16| headers.iter().position(|header| header.identification == number);
    for number in [0, 5, 77] {
        let places =
            [find(&at_sender, number), find(&at_satellite, number), find(&at_receiver, number)].map(Option::unwrap);
        let times = [sender[places[0]].at_ns, satellite[places[1]].at_ns, receiver[places[2]].at_ns];
        let [from, to] = if at_sender[places[0]].is_from_server() { [0, 1] } else { [1, 0] };
        assert_eq!(times[to] - times[from], 30_000_000, "{times:?}");
        assert!(times[2].abs_diff(times[1]) >= 10_000_000);
    }
}

#[test]
fn options_are_those_of_the_segments_and_sizes_those_of_the_simulation() {
    let (summary, folder) = captured("options", LABORATORY, &LOSSY[..2], 1);
    let sender = read(&folder, "sender");
    let headers: Vec<Header> = sender.iter().map(Captured::header).collect();
    let options = |header: &Header| header.tcp.options_iterator().map(Result::unwrap).collect::<Vec<_>>();
    use TcpOptionElement::*;
    let syn = options(&headers[0]);
    assert!(headers[0].tcp.syn() && !headers[0].tcp.ack());
    assert!(matches!(
        syn[..],
        [MaximumSegmentSize(1460), SelectiveAcknowledgementPermitted, Timestamp(_, 0), Noop, WindowScale(_)]
    ));
    let blocks = headers
        .iter()
        .filter(|header| options(header).iter().any(|option| matches!(option, SelectiveAcknowledgement(..))));
    assert!(blocks.clone().count() > 20);
    for header in blocks {
        let next = header.tcp.acknowledgment_number();
        for option in options(header) {
            if let SelectiveAcknowledgement(first, more) = option {
                let blocks = [Some(first)].into_iter().chain(more).flatten();
                // Above what is acknowledged, and within a window, whatever the 32 bits began with.
                assert!(blocks.into_iter().all(|(start, end)| {
                    (1..1 << 24).contains(&start.wrapping_sub(next)) && end.wrapping_sub(start) % 1448 == 0
                }));
            }
        }
    }
    // Without options that the ends do not use.
    let (_, folder) = captured(
        "plain",
        LABORATORY,
        &["duration=2 s", "flows.0.transport.timestamps=false", "flows.0.transport.sack=false"],
        1,
    );
    let plain: Vec<Header> = read(&folder, "sender").iter().map(Captured::header).collect();
    assert!(matches!(options(&plain[0])[..], [MaximumSegmentSize(_), Noop, WindowScale(_)]));
    assert!(plain[2..].iter().all(|header| options(header).is_empty()));
    let (_, folder) = captured("sack", LABORATORY, &["duration=1 s", "flows.0.transport.timestamps=false"], 1);
    let sack: Vec<Header> = read(&folder, "sender").iter().map(Captured::header).collect();
    assert!(matches!(
        options(&sack[0])[..],
        [MaximumSegmentSize(_), Noop, Noop, SelectiveAcknowledgementPermitted, Noop, WindowScale(_)]
    ));
    assert!(summary.flows[0].sent_packets > 0);
}

#[test]
fn sequence_numbers_begin_at_random_and_follow_the_stream() {
    let (summary, folder) = captured("numbers", LABORATORY, &["duration=3 s", "flows.0.count=3"], 1);
    let headers: Vec<Header> = read(&folder, "receiver").iter().map(Captured::header).collect();
    let mut initial = BTreeSet::new();
    for (flow, user) in summary.flows.iter().zip(1..) {
        let mine = |header: &&Header| header.destination == [10, 128, 0, user];
        let first = headers.iter().find(mine).unwrap();
        assert!(first.tcp.syn());
        initial.insert(first.tcp.sequence_number());
        let begin = first.tcp.sequence_number().wrapping_add(1);
        let end = |header: &Header| header.tcp.sequence_number().wrapping_add(header.payload).wrapping_sub(begin);
        let last = headers.iter().filter(mine).filter(|header| header.payload > 0).map(end).max().unwrap();
        assert!(u64::from(last) >= flow.delivered_bytes);
        let acknowledged = headers.iter().rfind(|header| header.source == [10, 128, 0, user]).unwrap();
        assert_eq!(u64::from(acknowledged.tcp.acknowledgment_number().wrapping_sub(begin)), flow.delivered_bytes);
    }
    assert_eq!(initial.len(), 3, "every flow has its own");
    let ports: BTreeSet<_> =
        headers.iter().filter(|h| h.is_from_server()).map(|h| (h.source, h.tcp.source_port())).collect();
    assert_eq!(ports.len(), 3);
}

#[test]
fn marks_and_echoes_are_seen_where_they_are_made() {
    let marking = ["last_hop.queue={kind=\"droptail\", mark_above=\"10 packets\"}", "flows.0.transport.ecn=true"];
    let (summary, folder) = captured("ecn", LABORATORY, &[&marking[..], &["duration=5 s"]].concat(), 1);
    let count = |place: &str, of: fn(&Header) -> bool| {
        read(&folder, place).iter().map(Captured::header).filter(of).count() as u64
    };
    let marked = summary.last_hop.marked_packets;
    assert!(marked > 0 && summary.flows[0].marked_packets <= marked);
    let ce: fn(&Header) -> bool = |header| header.ecn == IpEcn::CongestionExperienced;
    assert_eq!((count("sender", ce), count("satellite", ce)), (0, 0));
    assert_eq!(count("receiver", ce), summary.flows[0].marked_packets);
    let echo: fn(&Header) -> bool = |header| header.tcp.ece() && !header.tcp.syn();
    assert!(count("sender", echo) > 0 && count("sender", |header| header.tcp.cwr() && !header.tcp.syn()) > 0);
}

/// RFC 9768: three bits count the marks, and the option of kind 174 their bytes.
#[test]
fn accurate_feedback_is_seen_in_bits_and_options() {
    let marking = ["last_hop.queue=dualpi2", "flows.0.transport.congestion=prague"];
    let (summary, folder) = captured("accurate", LABORATORY, &[&marking[..], &["duration=5 s"]].concat(), 1);
    let headers: Vec<Header> = read(&folder, "sender").iter().map(Captured::header).collect();
    let ace = |header: &Header| [header.tcp.ns(), header.tcp.cwr(), header.tcp.ece()];
    let syns: Vec<[bool; 3]> = headers.iter().filter(|header| header.tcp.syn()).map(ace).collect();
    assert_eq!(syns, [[true, true, true], [false, true, false]]);
    assert!(headers.iter().any(|header| header.is_from_server() && header.ecn == IpEcn::Ect1));
    let last = headers.iter().rfind(|header| !header.is_from_server()).unwrap();
    let options = last.tcp.options();
    let at = options.windows(2).position(|pair| pair == [174, 8]).expect("two counts");
    let bytes = u32::from_be_bytes([0, options[at + 5], options[at + 6], options[at + 7]]);
    // All that was marked is a full segment; the last ones are still in flight.
    let (marked, mss) = (summary.flows[0].marked_packets, 1448);
    assert!(marked > 3 && bytes.is_multiple_of(mss), "{bytes}");
    assert!((marked - 3..=marked).contains(&u64::from(bytes / mss)), "{bytes} of {marked}");
    let count = ace(last).iter().fold(0, |count, &bit| count << 1 | u64::from(bit));
    assert_eq!(count, (5 + u64::from(bytes / mss)) % 8);
}

#[test]
fn writing_packets_changes_nothing_and_is_the_same_however_the_run_is_cut() {
    let base = run(LEO, &["duration=10 s"]).summary;
    let (whole, one) = captured("whole", LEO, &["duration=10 s"], 1);
    let (pieces, many) = captured("pieces", LEO, &["duration=10 s"], 37);
    assert_eq!((&base, &base), (&whole, &pieces));
    for place in ["sender", "satellite", "receiver"] {
        let bytes = |folder: &Path| std::fs::read(folder.join(format!("packets-{place}.pcapng"))).unwrap();
        assert!(bytes(&one) == bytes(&many), "{place}");
    }
}

#[test]
fn nothing_is_written_unless_asked() {
    let folder = folder("unasked");
    let mut simulation = Simulation::new(&scenario(LABORATORY, &["duration=1 s"]), None).unwrap();
    assert!(!simulation.wants_packets());
    simulation.record_packets(&folder).unwrap();
    simulation.advance(Time::MAX).unwrap();
    simulation.finish(false).unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);

    let wanted = scenario(LABORATORY, &["duration=1 s", "record.packets=pcapng"]);
    let mut simulation = Simulation::new(&wanted, None).unwrap();
    assert!(simulation.record_packets(Path::new("no/such/folder")).is_err());
    simulation.advance(Time::MAX).unwrap();
    simulation.finish(false).unwrap();
}

#[test]
fn a_proxy_has_a_place_of_its_own() {
    let pep = "flows.0.pep={delay=\"20 ms\", buffer=\"500 kB\"}";
    let (summary, folder) = captured("pep", LABORATORY, &[pep, "duration=5 s"], 1);
    let count = |place: &str| {
        let headers = read(&folder, place).iter().map(Captured::header).collect::<Vec<_>>();
        headers.iter().filter(|header| header.is_from_server() && header.payload > 0).count() as u64
    };
    let flow = &summary.flows[0];
    assert_eq!(count("sender"), flow.pep.as_ref().unwrap().sent_packets);
    assert_eq!((count("gateway"), count("receiver")), (flow.sent_packets, flow.received_packets));
    // The window that the gateway offers is what is left of its buffer.
    let held = read(&folder, "sender").iter().map(Captured::header).filter(|header| !header.is_from_server()).count();
    assert!(held > 100);
}

/// The user sends, so the gateway is between: it has what came over the satellites, and the server what left it.
#[test]
fn an_upload_is_seen_on_both_sides_of_its_proxy() {
    let pep = "flows.0.pep={delay=\"20 ms\", buffer=\"500 kB\"}";
    let edits = [pep, "flows.0.direction=\"up\"", "flows.0.traffic={kind=\"bulk\", size=\"300 kB\"}", "duration=5 s"];
    let (summary, folder) = captured("pep-upload", LABORATORY, &edits, 1);
    let bytes = |place: &str| {
        let headers = read(&folder, place).iter().map(Captured::header).collect::<Vec<_>>();
        let data = headers.iter().filter(|header| header.payload > 0).collect::<Vec<_>>();
        assert!(data.iter().all(|header| !header.is_from_server()), "{place}");
        (data.len() as u64, data.iter().map(|header| u64::from(header.payload)).sum::<u64>())
    };
    let flow = &summary.flows[0];
    assert_eq!(bytes("receiver"), (flow.sent_packets, 300_000));
    assert_eq!(bytes("gateway"), (flow.received_packets, 300_000));
    assert_eq!(bytes("sender"), (flow.pep.as_ref().unwrap().sent_packets, 300_000));
}
