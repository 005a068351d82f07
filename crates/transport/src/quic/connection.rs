//! One end of a connection of the library: its clock, its packets, its streams.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use noq_proto::{
    AckFrequencyConfig, ClientConfig, Connection as Noq, ConnectionHandle, ConnectionId, DatagramEvent, Dir,
    EcnCodepoint, Endpoint, EndpointConfig, Event, FourTuple, ServerConfig, Side, StreamEvent, StreamId,
    TransportConfig, VarInt,
};
use units::{Duration, Ecn, IPV4_UDP_HEADER_BYTES, Time};

use super::clock::{Clock, theirs};
use super::config::{HandshakeMode, MAX_ACK_DELAY, QuicConfig};
use super::controller::{Core, Facts, Shared};
use super::frames::{self, CID_LEN, Visitor};
use super::handshake::{Handshakes, NoKey};
use super::identifiers::{Identifiers, NoTime, mix};
use super::packet::{Content, QuicPacket, place, stream_and_offset};
use super::qlog::{Heading, Qlog};
use super::received::Received;
use crate::state::CongestionState;
use crate::tcp::{Counters, Info, State};

/// A connection's options, nothing left open.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub config: QuicConfig,
    /// Bytes of a full IP packet.
    pub packet: u32,
}

impl Settings {
    /// Bytes of a full UDP payload.
    pub fn mtu(&self) -> u32 {
        self.packet - IPV4_UDP_HEADER_BYTES
    }

    /// Bytes of stream data in a full packet: without the short header, the frame's header and the tag.
    pub fn payload_bytes(&self) -> u32 {
        self.mtu() - (1 + CID_LEN as u32 + 2) - 8 - super::handshake::TAG as u32
    }
}

/// See the module.
pub(crate) struct Connection {
    settings: Arc<Settings>,
    side: Side,
    clock: Clock,
    endpoint: Endpoint,
    live: Option<(ConnectionHandle, Noq)>,
    control: Shared,
    ledger: Sending,
    arrived: BTreeMap<u64, Received>,
    streams: BTreeMap<u64, Stream>,
    /// Streams on which more has arrived than the application was told, and how much in all.
    grown: BTreeMap<u64, u64>,
    /// Datagrams written before the connection could take them.
    waiting: Vec<u32>,
    counters: Counters,
    delivered: u64,
    numbers: u64,
    established: bool,
    /// The library has ended it before its time.
    broken: bool,
    /// Where the library writes.
    buffer: Vec<u8>,
    scratch: Vec<u8>,
}

/// What the application does with one stream, at this end.
#[derive(Debug, Default)]
struct Stream {
    id: Option<StreamId>,
    unwritten: u64,
    for_ever: bool,
    closes: bool,
    closed: bool,
    /// The other end has confirmed that all has arrived.
    finished: bool,
    /// All that the other end sends has arrived.
    ended: bool,
    /// Bytes that have arrived here in order.
    delivered: u64,
}

/// What was sent, to tell what is sent again.
#[derive(Debug, Default)]
struct Sending {
    /// Of each stream, the end of what was sent.
    ends: BTreeMap<u64, u64>,
    /// How often the data at a place were sent again.
    copies: BTreeMap<u64, u32>,
    datagrams: u64,
}

/// What a packet that is being sent holds.
struct Outgoing<'a> {
    sending: &'a mut Sending,
    content: Content,
    copy: u32,
    data_bytes: u64,
}

impl Visitor for Outgoing<'_> {
    fn stream(&mut self, id: u64, offset: u64, len: u64) {
        self.data_bytes += len;
        if len == 0 {
            return;
        }
        let at = place(id, offset);
        let end = self.sending.ends.entry(id).or_default();
        let again = offset < *end;
        *end = (*end).max(offset + len);
        let copies = again.then(|| {
            let copies = self.sending.copies.entry(at).or_default();
            *copies += 1;
            *copies
        });
        if self.content == Content::None {
            self.content = Content::Stream(at);
            self.copy = copies.unwrap_or(0);
        }
    }

    fn datagram(&mut self) {
        let number = self.sending.datagrams;
        self.sending.datagrams += 1;
        match &mut self.content {
            Content::Datagrams { count, .. } => *count += 1,
            content => *content = Content::Datagrams { first: number, count: 1 },
        }
    }
}

/// What a packet that arrives holds.
struct Incoming<'a> {
    arrived: &'a mut BTreeMap<u64, Received>,
    marked: Option<u64>,
}

impl Visitor for Incoming<'_> {
    fn stream(&mut self, id: u64, offset: u64, len: u64) {
        self.arrived.entry(id).or_default().add(offset, offset + len);
    }

    fn datagram(&mut self) {}

    fn marks(&mut self, marked: u64) {
        self.marked = Some(marked);
    }
}

/// The bytes of applications, which nobody looks at.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];
/// The first stream that the client opens, of which each direction is the byte stream of a flow.
const FIRST: u64 = 0;
/// What a sender buffers at most, beside the window of the receiver.
const SEND_WINDOW: u64 = 64 << 20;

impl Connection {
    /// An end of a connection; `opens`: the other end accepts it. `entropy` differs between the ends of a run.
    pub fn new(settings: Arc<Settings>, now: Time, entropy: u64, opens: bool) -> Connection {
        let clock = Clock::new();
        let facts = Facts { config: settings.config.clone(), mtu: settings.mtu(), entropy, clock };
        let control = Shared::new(Core::new(facts));
        let transport = Arc::new(transport_config(&settings, control.clone()));
        let handshakes = Arc::new(Handshakes { resumes: settings.config.handshake == HandshakeMode::ZeroRtt });
        let mut endpoint = EndpointConfig::new(Arc::new(NoKey));
        let mut seed = [0; 32];
        for (chunk, word) in seed.chunks_mut(8).zip(1..) {
            chunk.copy_from_slice(&mix(entropy ^ word).to_le_bytes());
        }
        endpoint.rng_seed(Some(seed));
        endpoint.cid_generator(Arc::new(move || Box::new(Identifiers { next: entropy })));
        endpoint.max_udp_payload_size(u16::MAX - 8).expect("a datagram may be as long as it can");
        let side = if opens { Side::Client } else { Side::Server };
        let server = (!opens).then(|| {
            let mut server = ServerConfig::new(handshakes.clone(), Arc::new(NoKey));
            server.transport_config(Arc::clone(&transport)).time_source(Arc::new(NoTime));
            Arc::new(server)
        });
        let mut endpoint = Endpoint::new(Arc::new(endpoint), server, true);
        let live = opens.then(|| {
            let mut client = ClientConfig::new(handshakes);
            let first = ConnectionId::new(&mix(!entropy).to_be_bytes());
            client.transport_config(transport).initial_dst_cid_provider(Arc::new(move || first));
            let server = address(Side::Server);
            endpoint.connect(clock.instant(now), client, server, "server").expect("its options were checked")
        });
        Connection {
            settings,
            side,
            clock,
            endpoint,
            live,
            control,
            ledger: Sending::default(),
            arrived: BTreeMap::new(),
            streams: BTreeMap::new(),
            grown: BTreeMap::new(),
            waiting: Vec::new(),
            counters: Counters::default(),
            delivered: 0,
            numbers: 0,
            established: false,
            broken: false,
            buffer: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The application writes; `None` without end.
    pub fn write(&mut self, bytes: Option<u64>) {
        if self.settings.config.datagrams {
            self.waiting.extend(bytes.map(|bytes| bytes as u32));
            return;
        }
        let stream = self.streams.entry(FIRST).or_default();
        match bytes {
            Some(bytes) => stream.unwritten += bytes,
            None => stream.for_ever = true,
        }
    }

    /// The application writes all that a stream carries this way.
    pub fn write_stream(&mut self, number: u32, bytes: u64) {
        let stream = self.streams.entry(id_of(number)).or_default();
        stream.unwritten += bytes;
        stream.closes = true;
    }

    /// The next stream on which more has arrived since it was asked last, and all that has.
    pub fn poll_stream(&mut self) -> Option<(u32, u64)> {
        let (stream, bytes) = self.grown.pop_first()?;
        Some(((stream / 4) as u32, bytes))
    }

    /// Keeps a log from now on, the beginning.
    pub fn keep_log(&mut self, now: Time) {
        let log = Qlog::new(now, self.side, [address(self.side), address(!self.side)]);
        self.control.core().log = Some(Box::new(log));
    }

    /// Takes what was logged since it was asked last.
    pub fn poll_log(&mut self, records: &mut Vec<u8>) {
        self.control.core().log.iter_mut().for_each(|log| log.take(records));
    }

    /// Nothing more is written.
    pub fn close(&mut self) {
        self.streams.entry(FIRST).or_default().closes = true;
    }

    /// A datagram of the other end arrives.
    pub fn handle_packet(&mut self, now: Time, packet: &QuicPacket) {
        self.counters.segments_received += 1;
        self.control.core().log_datagram(now, Heading::Received, packet.number, &packet.bytes);
        let mut incoming = Incoming { arrived: &mut self.arrived, marked: None };
        frames::read(&packet.bytes, &mut incoming);
        if let Some(marked) = incoming.marked {
            self.control.core().count_marks(marked);
        }
        let ecn = match packet.ecn {
            Ecn::NotEct => None,
            // The library knows one codepoint of two; which is sent, the controller says.
            Ecn::Ect0 | Ecn::Ect1 => Some(EcnCodepoint::Ect0),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let (instant, data) = (self.clock.instant(now), BytesMut::from(&packet.bytes[..]));
        let path = FourTuple::new(address(!self.side), None);
        match self.endpoint.handle(instant, path, ecn, data, &mut self.scratch) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.live {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.live.is_none() => {
                let accepted = self.endpoint.accept(incoming, instant, &mut self.scratch, None);
                self.live = Some(accepted.map_err(|error| error.cause).expect("its options were checked"));
            }
            // Repeated first packets, and what comes after the end.
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.scratch.clear();
    }

    /// The instant of [`Connection::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        let instant = self.clock.instant(now);
        if let Some((_, connection)) = &mut self.live
            && connection.poll_timeout().is_some_and(|at| at <= instant)
        {
            connection.handle_timeout(instant);
        }
        self.control.core().handle_timeout(now);
    }

    /// When [`Connection::handle_timeout`] is due; [`Time::MAX`] for never.
    pub fn poll_timeout(&self) -> Time {
        let library = self.live.as_ref().and_then(|(_, connection)| connection.poll_timeout());
        library.map_or(Time::MAX, |at| self.clock.time(at)).min(self.control.core().timer())
    }

    /// Does what follows from what happened: takes what has arrived, and hands over what is to be written.
    pub fn work(&mut self) {
        let Connection { endpoint, live: Some((handle, connection)), .. } = self else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = self.live.as_mut().and_then(|(_, connection)| connection.poll()) {
            match event {
                Event::Connected => self.established = true,
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = self.noq().streams().accept(dir) {
                        self.streams.entry(id.into()).or_default().id = Some(id);
                        self.read(id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read(id),
                Event::Stream(StreamEvent::Finished { id }) => {
                    self.streams.entry(id.into()).or_default().finished = true;
                    self.forget(id.into());
                }
                Event::DatagramReceived => {
                    while let Some(datagram) = self.noq().datagrams().recv() {
                        self.delivered += datagram.len() as u64;
                    }
                }
                // The library ends one whose peer breaks a limit of its own, as that on gaps in a stream.
                Event::ConnectionLost { .. } => self.broken = true,
                _ => {}
            }
        }
        if !self.broken {
            self.write_streams();
            self.write_datagrams();
        }
    }

    fn noq(&mut self) -> &mut Noq {
        &mut self.live.as_mut().expect("asked where there is one").1
    }

    /// Takes what has arrived in order on a stream.
    fn read(&mut self, id: StreamId) {
        let mut stream = self.noq().recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        let (mut bytes, mut ended) = (0, false);
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => bytes += chunk.bytes.len() as u64,
                Ok(None) => {
                    ended = true;
                    break;
                }
                Err(_) => break,
            }
        }
        let _ = chunks.finalize(); // everything is sent that there is, in any case
        self.delivered += bytes;
        let stream = self.streams.entry(id.into()).or_default();
        stream.ended |= ended;
        stream.delivered += bytes;
        if bytes > 0 {
            self.grown.insert(id.into(), stream.delivered);
        }
        self.forget(id.into());
    }

    /// Leaves a stream that is over both ways, but the first, which says that a connection is.
    fn forget(&mut self, id: u64) {
        if id != FIRST && self.streams.get(&id).is_some_and(|stream| stream.finished && stream.ended) {
            self.streams.remove(&id);
        }
    }

    fn write_streams(&mut self) {
        let may_open =
            self.side == Side::Client && (self.established || self.settings.config.handshake == HandshakeMode::ZeroRtt);
        let (Some((_, connection)), true) = (&mut self.live, self.streams.values().any(Stream::waits)) else { return };
        for stream in self.streams.values_mut().filter(|stream| stream.waits()) {
            if stream.id.is_none() && may_open {
                stream.id = connection.streams().open(Dir::Bi);
            }
            let Some(id) = stream.id else { continue };
            let mut sender = connection.send_stream(id);
            while stream.for_ever || stream.unwritten > 0 {
                let most =
                    if stream.for_ever { ZEROS.len() } else { stream.unwritten.min(ZEROS.len() as u64) as usize };
                let Ok(written) = sender.write_chunks(&mut &mut [Bytes::from_static(&ZEROS[..most])][..]) else {
                    break;
                };
                stream.unwritten -= if stream.for_ever { 0 } else { written as u64 };
            }
            if stream.closes && !stream.for_ever && stream.unwritten == 0 {
                stream.closed = sender.finish().is_ok();
            }
        }
    }

    fn write_datagrams(&mut self) {
        if self.waiting.is_empty() || !self.established {
            return;
        }
        for bytes in std::mem::take(&mut self.waiting) {
            let data = Bytes::from_static(&ZEROS[..bytes as usize]);
            self.noq().datagrams().send(data, false).expect("a datagram fits a packet, and the buffer takes all");
        }
    }

    /// The next packet to send, and how often its data were sent before.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(QuicPacket, u32)> {
        let instant = self.clock.instant(now);
        let (_, connection) = self.live.as_mut()?;
        self.buffer.clear();
        let transmit = connection.poll_transmit(instant, NonZeroUsize::MIN, &mut self.buffer)?;
        let bytes = &self.buffer[..transmit.size];
        let mut outgoing = Outgoing { sending: &mut self.ledger, content: Content::None, copy: 0, data_bytes: 0 };
        frames::read(bytes, &mut outgoing);
        let Outgoing { content, copy, data_bytes, .. } = outgoing;
        self.counters.segments_sent += 1;
        self.counters.data_segments_sent += u64::from(content != Content::None);
        self.counters.data_bytes_sent += data_bytes;
        self.counters.retransmitted_segments += u64::from(copy > 0);
        let number = self.numbers;
        self.numbers += 1;
        self.control.core().log_datagram(now, Heading::Sent, number, bytes);
        let ecn = transmit
            .ecn
            .filter(|_| self.settings.config.ecn)
            .map_or(Ecn::NotEct, |_| self.settings.config.congestion.entry().marks().unwrap_or(Ecn::Ect0));
        Some((QuicPacket { number, ecn, content, bytes: Arc::from(bytes) }, copy))
    }

    /// Bytes that have arrived for the application in order, or by datagrams.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered
    }

    /// The window in packets.
    pub fn window(&self) -> u32 {
        self.control.core().window()
    }

    /// Whether the data at `sequence` have arrived.
    pub fn has_received(&self, sequence: u64) -> bool {
        let (stream, offset) = stream_and_offset(sequence);
        self.arrived.get(&stream).is_some_and(|received| received.has(offset))
    }

    /// Whether both ends know of the connection.
    pub fn is_open(&self) -> bool {
        self.established
    }

    /// Whether the other end has sent all that it will, and it has arrived.
    pub fn has_been_closed(&self) -> bool {
        self.streams.get(&FIRST).is_some_and(|stream| stream.ended)
    }

    /// Whether all that was written has arrived, and nothing more will be.
    pub fn has_finished(&self) -> bool {
        let done = |stream: &Stream| stream.finished || stream.closes && self.settings.config.datagrams;
        self.streams.get(&FIRST).is_some_and(done)
    }

    /// What this end has counted.
    pub fn counters(&self) -> Counters {
        let core = self.control.core();
        Counters {
            dupack_events: core.reductions,
            rto_events: core.timeouts,
            rtt_samples: core.rtt.samples,
            rtt_sum: core.rtt.sum,
            ..self.counters
        }
    }

    /// The connection at this moment. Places in the stream are packet numbers.
    pub fn info(&self) -> Info {
        let core = self.control.core();
        let (una, nxt) = core.ledger.span();
        let rtt = &core.rtt;
        // RFC 9002 section 6.2.1
        let srtt = rtt.smoothed.unwrap_or(Duration::from_millis(333));
        let rto = srtt + (rtt.variation * 4).max(Duration::from_millis(1)) + self.settings.config.max_ack_delay;
        Info {
            state: match (self.broken, self.established) {
                (true, _) => State::Closed,
                (false, true) => State::Established,
                (false, false) => State::SynSent,
            },
            congestion_state: core.state(),
            window: core.window(),
            slow_start_threshold: core.threshold(),
            una,
            nxt,
            unacked: core.ledger.in_flight,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            reordering: self.settings.config.packet_threshold,
            reordering_seen: 0,
            total_retransmitted: self.counters.retransmitted_segments,
            delivered: core.ledger.delivered,
            delivered_marked: 0,
            backoff: 0,
            consecutive_timeouts: u32::from(core.state() == CongestionState::Loss),
            probes: 0,
            srtt: rtt.smoothed,
            rttvar: rtt.smoothed.map(|_| rtt.variation),
            rto,
            min_rtt: rtt.min,
            pacing_rate: None,
            unsent_bytes: self.streams.values().map(|stream| stream.unwritten).sum(),
            mss: self.settings.payload_bytes(),
            syn_data: false,
        }
    }
}

impl Stream {
    /// Whether the application has something for the library.
    fn waits(&self) -> bool {
        self.for_ever || self.unwritten > 0 || self.closes && !self.closed
    }
}

/// The identifier of the stream with this number, of those that the client opens (RFC 9000 section 2.1).
fn id_of(number: u32) -> u64 {
    u64::from(number) * 4
}

/// The address of a side, which nothing but the library sees.
fn address(side: Side) -> core::net::SocketAddr {
    core::net::SocketAddr::from(([10, 0, 0, if side == Side::Client { 1 } else { 2 }], 443))
}

fn transport_config(settings: &Settings, control: Shared) -> TransportConfig {
    let Settings { config, .. } = settings;
    let window = VarInt::try_from(config.receive_window.get()).expect("a window of at most 4 GiB");
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(Arc::new(control))
        .enable_segmentation_offload(false)
        .max_idle_timeout(None)
        .initial_mtu(settings.mtu() as u16)
        .mtu_discovery_config(None)
        .receive_window(window)
        .stream_receive_window(window)
        .send_fairness(false) // one object after the other (RFC 9218 section 4.2)
        .send_window(SEND_WINDOW.max(config.receive_window.get()))
        .packet_threshold(config.packet_threshold)
        .max_concurrent_bidi_streams(VarInt::from_u32(100))
        .datagram_send_buffer_size(1 << 30)
        .allow_spin(false);
    if config.ack_every != 2 || config.max_ack_delay != MAX_ACK_DELAY {
        let mut frequency = AckFrequencyConfig::default();
        frequency
            .ack_eliciting_threshold(VarInt::from_u32(config.ack_every - 1))
            .max_ack_delay(Some(theirs(config.max_ack_delay)))
            .reordering_threshold(VarInt::from_u32(config.packet_threshold - 1));
        transport.ack_frequency_config(Some(frequency));
    }
    transport
}
