//! One end of the connections of a flow: their clock, their packets, their streams.

mod life;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use noq_proto::{Connection as Noq, DatagramEvent, Dir, EcnCodepoint, Event, FourTuple, Side, StreamEvent, StreamId};
use units::{Duration, Ecn, Time};

use super::clock::Clock;
use super::config::{Client, HandshakeMode};
use super::controller::{Core, Facts, SharedController};
use super::frames::{self, CID_LEN, PacketKind};
use super::handshake::TAG;
use super::library::{self, Library, Settings, Start, address, number_of};
use super::lifetime::{Lifetime, Resume};
use super::packet::{Answered, Content, QuicPacket};
use super::qlog::{Heading, Qlog};
use super::streams::{Arrived, FIRST, Incoming, Outgoing, SentStreams, Stream, id_of, stream_and_offset, stream_of};
use crate::state::SenderSample;
use crate::tcp::Counters;

/// See the module.
pub(crate) struct Connection {
    settings: Arc<Settings>,
    side: Side,
    clock: Clock,
    entropy: u64,
    library: Library,
    control: SharedController,
    sending: SentStreams,
    arrived: Arrived,
    streams: BTreeMap<u64, Stream>,
    /// Streams on which more has arrived than was reported to the application, and how much in all.
    grown: BTreeMap<u64, u64>,
    /// Datagrams written before the connection could take them.
    waiting: Vec<u32>,
    /// One past the streams that the client has opened.
    opened: u64,
    /// The application has a stream for each request.
    by_requests: bool,
    /// The application writes nothing more.
    closed: bool,
    counters: Counters,
    delivered: u64,
    numbers: u64,
    established: bool,
    /// The library has ended the connection before its time.
    over: bool,
    lifetime: Lifetime,
    /// The request with a connection after the first.
    resume: Option<Arc<Resume>>,
    /// The number of its own address, which only a user changes.
    own_address: u32,
    /// The number of the other end's address that is to be validated, and the answers to challenges until then.
    validating: Option<(u32, u64)>,
    /// The number of the other end's address.
    other_address: u32,
    /// How far the other end has answered.
    answered: Answered,
    /// The buffer into which the library writes a packet.
    buffer: Vec<u8>,
    scratch: Vec<u8>,
}

/// What a packet with a long header has beside a datagram: header, version, identifiers, length, number, frame and tag.
const EARLY_OVERHEAD: u32 = 1 + 4 + 2 * (1 + CID_LEN as u32) + 4 + 4 + 9 + TAG as u32;

/// The bytes of applications, which nobody looks at.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

impl Connection {
    /// An end of a connection; `opens`: the other end accepts it. `entropy` differs between the ends of a run.
    pub fn new(settings: Arc<Settings>, now: Time, entropy: u64, opens: bool) -> Connection {
        let clock = Clock::new();
        let side = if opens { Side::Client } else { Side::Server };
        let control = controller(&settings, clock, entropy);
        let resumes = settings.config.handshake == HandshakeMode::ZeroRtt;
        let start = Start { settings: &settings, clock, now, entropy, side, resumes, server: 0 };
        let library = Library::new(&start, control.clone());
        Connection {
            settings,
            side,
            clock,
            entropy,
            library,
            control,
            sending: SentStreams::default(),
            arrived: Arrived::default(),
            streams: BTreeMap::new(),
            grown: BTreeMap::new(),
            waiting: Vec::new(),
            opened: FIRST,
            by_requests: false,
            closed: false,
            counters: Counters::default(),
            delivered: 0,
            numbers: 0,
            established: false,
            over: false,
            lifetime: Lifetime::default(),
            resume: None,
            own_address: 0,
            validating: None,
            other_address: 0,
            answered: Answered::default(),
            buffer: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The application writes; `None` without end.
    pub fn write(&mut self, now: Time, bytes: Option<u64>) {
        if self.settings.config.datagrams {
            if let Some(bytes) = bytes {
                self.waiting.push(bytes as u32);
                self.sending.write_datagram(now);
            }
            return;
        }
        let stream = self.streams.entry(FIRST).or_default();
        match bytes {
            Some(bytes) => stream.write(bytes),
            None => stream.for_ever = true,
        }
    }

    /// The application writes all that a stream carries this way.
    pub fn write_stream(&mut self, number: u32, bytes: u64) {
        let stream = self.streams.entry(id_of(number)).or_default();
        stream.unwritten += bytes;
        (stream.closes, stream.asks) = (true, true);
        self.by_requests = true;
    }

    /// The next stream on which more has arrived since it was asked last, and all that has.
    pub fn poll_stream(&mut self) -> Option<(u32, u64)> {
        let (stream, bytes) = self.grown.pop_first()?;
        Some(((stream / 4) as u32, bytes))
    }

    /// Keeps a log from now on, the beginning.
    pub fn keep_log(&mut self, now: Time) {
        let log = Qlog::new(now, self.side, [address(self.side, 0), address(!self.side, 0)]);
        self.control.lock().log = Some(Box::new(log));
    }

    /// Takes what was logged since it was asked last.
    pub fn poll_log(&mut self, records: &mut Vec<u8>) {
        self.control.lock().log.iter_mut().for_each(|log| log.take(records));
    }

    /// Nothing more is written, on no stream.
    pub fn close(&mut self) {
        self.streams.entry(FIRST).or_default().closes = true;
        self.closed = true;
    }

    /// A datagram of the other end arrives.
    pub fn handle_packet(&mut self, now: Time, packet: &QuicPacket) {
        self.counters.segments_received += 1;
        match packet.connection().cmp(&self.number()) {
            std::cmp::Ordering::Less => return, // of one that is over
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => self.accept_again(now, packet),
        }
        let Answered { written, read } = &mut self.answered;
        *written = packet.answered.written.max(*written);
        *read = packet.answered.read.max(*read);
        let is_early = self.is_handshaking();
        let data: fn(PacketKind) -> bool = if is_early { |_| false } else { |_| true };
        let mut incoming = Incoming::new(&mut self.arrived, self.resume.as_deref(), data);
        if !is_early || !frames::is_of_one_rtt(&packet.bytes) {
            frames::read(&packet.bytes, &mut incoming);
        }
        let mut core = self.control.lock();
        core.now = now;
        core.log_datagram(now, Heading::Received, packet.number, &packet.bytes);
        core.rtt.read(&incoming.acknowledgments);
        if let Some(marked) = incoming.marked {
            core.count_marks(marked);
        }
        drop(core);
        let ecn = match packet.ecn {
            Ecn::NotEct => None,
            // The library knows one codepoint of two; which is sent, the controller says.
            Ecn::Ect0 | Ecn::Ect1 => Some(EcnCodepoint::Ect0),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let (instant, data) = (self.clock.instant(now), BytesMut::from(&packet.bytes[..]));
        // If this end is the user's, it has the address that the packet names.
        let from = if self.own_address > 0 { 0 } else { packet.address };
        let path = FourTuple::new(address(!self.side, from), None);
        let Library { endpoint, live } = &mut self.library;
        match endpoint.handle(instant, path, ecn, data, &mut self.scratch) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = live {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if live.is_none() => {
                let accepted = endpoint.accept(incoming, instant, &mut self.scratch, None);
                *live = Some(accepted.map_err(|error| error.cause).expect("its options were checked"));
                self.other_address = from;
            }
            // Repeated first packets, and what comes after the end.
            Some(DatagramEvent::NewConnection(incoming)) => endpoint.ignore(incoming),
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.scratch.clear();
        if is_early && self.library.live.is_some() {
            // The library discards packets of 1-RTT until it has their keys (RFC 9001 section 5.7).
            let data: fn(PacketKind) -> bool =
                if self.is_handshaking() { |kind| kind != PacketKind::OneRtt } else { |_| true };
            frames::read(&packet.bytes, &mut Incoming::new(&mut self.arrived, self.resume.as_deref(), data));
        }
        if from > self.other_address || self.validating.is_some() {
            self.follow(now, from);
        }
    }

    /// Whether this end has not all of the other's handshake.
    fn is_handshaking(&self) -> bool {
        self.library.live.as_ref().is_none_or(|(_, connection)| connection.is_handshaking())
    }

    /// Returns how the connections ended and were reopened.
    pub fn lifetime(&self) -> &Lifetime {
        &self.lifetime
    }

    /// Whether nothing happens until a packet comes or the application writes.
    pub fn rests(&self) -> bool {
        (self.over || self.settings.config.migration.is_none()) && self.poll_timeout() == Time::MAX
    }

    /// The instant of [`Connection::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        let instant = self.clock.instant(now);
        if let Some((_, connection)) = &mut self.library.live
            && connection.poll_timeout().is_some_and(|at| at <= instant)
        {
            connection.handle_timeout(instant);
        }
        self.control.lock().handle_timeout(now);
    }

    /// When [`Connection::handle_timeout`] is due; [`Time::MAX`] for never.
    pub fn poll_timeout(&self) -> Time {
        self.poll_state().1
    }

    /// The window in packets, and [`Connection::poll_timeout`].
    pub fn poll_state(&self) -> (u32, Time) {
        let library = self.library.live.as_ref().and_then(|(_, connection)| connection.poll_timeout());
        let core = self.control.lock();
        (core.window(), library.map_or(Time::MAX, |at| self.clock.time(at)).min(core.timer()))
    }

    /// Does what follows from what happened: takes what has arrived, and hands over what is to be written.
    pub fn work(&mut self, now: Time) {
        let Library { endpoint, live: Some((handle, connection)) } = &mut self.library else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = self.library.live.as_mut().and_then(|(_, connection)| connection.poll()) {
            match event {
                Event::Connected => self.established = true,
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = self.noq().streams().accept(dir) {
                        let name = self.name(id);
                        self.streams.entry(name).or_default().id = Some(id);
                        self.read(now, id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read(now, id),
                Event::Stream(StreamEvent::Finished { id }) => {
                    let name = self.name(id);
                    self.streams.entry(name).or_default().finished = true;
                    self.forget(name);
                }
                Event::DatagramReceived => {
                    self.lifetime.resume(now);
                    while let Some(datagram) = self.noq().datagrams().recv() {
                        self.delivered += datagram.len() as u64;
                    }
                }
                // By an idle time-out, or as the peer breaks a limit of the library, which may report that again with
                // each packet that follows.
                Event::ConnectionLost { reason } if !self.over => self.end(library::ended(now, &reason)),
                _ => {}
            }
        }
        if !self.over {
            self.write_streams();
            self.write_datagrams();
        }
    }

    fn noq(&mut self) -> &mut Noq {
        &mut self.library.live.as_mut().expect("asked where there is one").1
    }

    /// The name of a stream over all connections.
    fn name(&self, id: StreamId) -> u64 {
        stream_of(self.resume.as_deref(), id.into())
    }

    /// Takes what has arrived on a stream, and tells of what has in order.
    fn read(&mut self, now: Time, id: StreamId) {
        let name = self.name(id);
        let Connection { library, streams, arrived, .. } = self;
        let (_, noq) = library.live.as_mut().expect("asked where there is one");
        let (stream, arrived) = (streams.entry(name).or_default(), arrived.streams.entry(name).or_default());
        stream.takes_at_once |= arrived.pieces.saturating_sub(stream.settled) > library::MOST_PIECES;
        let mut arriving = noq.recv_stream(id);
        let Ok(mut chunks) = arriving.read(!stream.takes_at_once) else { return };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    stream.taken.add(chunk.offset, chunk.offset + chunk.bytes.len() as u64);
                    stream.settled += 1;
                }
                Ok(None) => {
                    stream.ended = true;
                    break;
                }
                Err(_) => break,
            }
        }
        let _ = chunks.finalize(); // everything is sent that there is, in any case
        if stream.takes_at_once {
            // The library may drop what it takes for read, where pieces are small and many (its `defragment`).
            stream.taken.add(0, arrived.in_order().saturating_sub(stream.reads));
            stream.ended |= arrived.is_whole();
        } else if stream.reads + stream.taken.in_order() == arrived.end() {
            stream.settled = arrived.pieces;
        }
        let new = stream.read();
        if new > 0 {
            self.grown.insert(name, stream.delivered);
            self.lifetime.resume(now);
        }
        self.delivered += new;
        self.forget(name);
    }

    /// Leaves a stream that is over both ways, but the first, which says that a connection is.
    fn forget(&mut self, id: u64) {
        if id != FIRST && self.streams.get(&id).is_some_and(|stream| stream.finished && stream.ended) {
            self.streams.remove(&id);
        }
    }

    /// Whether this end may begin to send: once the connection is established, or with 0-RTT.
    fn may_begin(&self) -> bool {
        let config = &self.settings.config;
        let mode = self.resume.as_ref().and(config.reopen).unwrap_or(config.handshake);
        self.established || mode == HandshakeMode::ZeroRtt
    }

    /// Whether this end may open a stream: the client may, and the server its first where the client is the user,
    /// because a user may have nothing to say.
    fn may_open(&self) -> bool {
        (self.side == Side::Client || self.settings.config.client == Client::User) && self.may_begin()
    }

    fn write_streams(&mut self) {
        let (may_open, side) = (self.may_open(), self.side);
        let waits = self.streams.values().any(Stream::waits);
        let (Some((_, connection)), true) = (&mut self.library.live, waits) else { return };
        for (name, stream) in self.streams.iter_mut().filter(|(_, stream)| stream.waits()) {
            let opens = side == Side::Client || *name == FIRST && (stream.for_ever || stream.unwritten > 0);
            if stream.id.is_none() && may_open && opens {
                stream.id = connection.streams().open(Dir::Bi);
                self.opened = self.opened.max(name + 4);
            }
            let Some(id) = stream.id else { continue };
            let mut sender = connection.send_stream(id);
            while stream.for_ever || stream.unwritten > 0 {
                let most =
                    if stream.for_ever { ZEROS.len() } else { stream.unwritten.min(ZEROS.len() as u64) as usize };
                let Ok(written) = sender.write_chunks(&mut &mut [Bytes::from_static(&ZEROS[..most])][..]) else {
                    break;
                };
                stream.written += written as u64;
                stream.unwritten -= if stream.for_ever { 0 } else { written as u64 };
            }
            if stream.closes && !stream.for_ever && stream.unwritten == 0 {
                stream.closed = sender.finish().is_ok();
            }
        }
    }

    fn write_datagrams(&mut self) {
        // A server knows what the client takes when the client's first packet has come.
        if self.waiting.is_empty() || !self.may_begin() || self.noq_takes_none() {
            return;
        }
        // A datagram that fills a packet of 1-RTT has no room in one with a long header.
        let most = if self.established { u32::MAX } else { self.settings.mtu().saturating_sub(EARLY_OVERHEAD) };
        let fitting = self.waiting.iter().position(|bytes| *bytes > most).unwrap_or(self.waiting.len());
        let rest = self.waiting.split_off(fitting);
        for bytes in std::mem::replace(&mut self.waiting, rest) {
            let data = Bytes::from_static(&ZEROS[..bytes as usize]);
            self.noq().datagrams().send(data, false).expect("a datagram fits a packet, and the buffer takes all");
        }
    }

    /// Whether the library takes no datagrams yet.
    fn noq_takes_none(&mut self) -> bool {
        self.library.live.as_mut().is_none_or(|(_, connection)| connection.datagrams().max_size().is_none())
    }

    /// The next packet to send, and how often its data were sent before.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(QuicPacket, u32)> {
        let instant = self.clock.instant(now);
        let (_, connection) = self.library.live.as_mut()?;
        self.buffer.clear();
        let transmit = connection.poll_transmit(instant, NonZeroUsize::MIN, &mut self.buffer)?;
        let bytes = &self.buffer[..transmit.size];
        let mut outgoing = Outgoing::new(&mut self.sending, self.resume.as_ref());
        frames::read(bytes, &mut outgoing);
        let Outgoing { content, sent_before, data_bytes, packets, .. } = outgoing;
        self.counters.segments_sent += 1;
        self.counters.data_segments_sent += u64::from(content != Content::None);
        self.counters.data_bytes_sent += data_bytes;
        self.counters.retransmitted_segments += u64::from(sent_before > 0);
        let number = self.numbers;
        self.numbers += 1;
        let mut core = self.control.lock();
        packets.iter().flatten().for_each(|packet| core.rtt.send(now, packet));
        core.packets.tell_kinds(now, &packets);
        core.log_datagram(now, Heading::Sent, number, bytes);
        drop(core);
        let ecn = transmit
            .ecn
            .filter(|_| self.settings.config.sends_ect())
            .map_or(Ecn::NotEct, |_| self.settings.config.congestion.entry().marks().unwrap_or(Ecn::Ect0));
        let address = if self.own_address > 0 { self.own_address } else { number_of(transmit.destination) };
        let resume = self.resume.clone();
        let first = self.streams.get(&FIRST).filter(|_| self.settings.config.reopen.is_some());
        let answered = first.map_or(Answered::default(), Stream::answers);
        Some((QuicPacket { number, ecn, address, content, resume, answered, bytes: Arc::from(bytes) }, sent_before))
    }

    /// Bytes that have arrived for the application in order, or by datagrams.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered
    }

    /// Whether the data at `sequence` have arrived.
    pub fn has_received(&self, sequence: u64) -> bool {
        let (stream, offset) = stream_and_offset(sequence);
        self.arrived.streams.get(&stream).is_some_and(|received| received.has(offset))
    }

    /// Whether both ends know of the connection.
    pub fn is_open(&self) -> bool {
        self.established
    }

    /// Whether the other end has sent all that it will, and it has arrived. Where there are streams for each request,
    /// the application knows that none will follow, and tells both ends.
    pub fn has_been_closed(&self) -> bool {
        (self.closed || !self.by_requests) && self.all_streams(|stream| stream.ended)
    }

    /// Whether all that was written has arrived, and nothing more will be.
    pub fn has_finished(&self) -> bool {
        let datagrams = self.settings.config.datagrams;
        (self.closed || !self.by_requests) && self.all_streams(|stream| stream.finished || stream.closes && datagrams)
    }

    /// Whether there was a stream and this holds of all that are not forgotten.
    fn all_streams(&self, holds: impl Fn(&Stream) -> bool) -> bool {
        self.streams.contains_key(&FIRST) && self.streams.values().all(holds)
    }

    /// Returns the counters of this end.
    pub fn counters(&self) -> Counters {
        let core = self.control.lock();
        Counters {
            dupack_events: core.reductions,
            rto_events: core.timeouts,
            rtt_samples: core.rtt.samples,
            rtt_sum: core.rtt.sum,
            ..self.counters
        }
    }

    /// The connection at this moment; `una` and `nxt` are packet numbers: one past the newest packet known to have
    /// arrived, and the next to send.
    pub fn sample(&self) -> SenderSample {
        let core = self.control.lock();
        let rtt = &core.rtt;
        // RFC 9002 section 6.2.1
        let srtt = rtt.smoothed.unwrap_or(Duration::from_millis(333));
        let rto = srtt + (rtt.variation * 4).max(Duration::from_millis(1)) + self.settings.config.max_ack_delay;
        SenderSample {
            window: core.window(),
            slow_start_threshold: core.threshold(),
            in_flight: core.packets.in_flight,
            srtt: rtt.smoothed,
            rto,
        }
    }
}

fn controller(settings: &Settings, clock: Clock, entropy: u64) -> SharedController {
    SharedController::new(Core::new(Facts { config: settings.config.clone(), mtu: settings.mtu(), entropy, clock }))
}
