//! Our end against another implementation, quinn-proto, in simulated time: both ways round, with losses.
//!
//! The handshake is ours on both sides, as neither can read the other's without TLS; packets, frames, transport
//! parameters, acknowledgments, loss recovery and flow control are each one's own.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use noq_proto::crypto::{PacketKey as _, Session};
use noq_proto::transport_parameters::TransportParameters as Ours;
use noq_proto::{PathId, Side};
use quinn_proto::crypto;
use quinn_proto::transport_parameters::TransportParameters as Theirs;
use units::{Duration, Ecn, Time};

use super::clock::Clock;
use super::config::QuicConfig;
use super::connection::Connection;
use super::handshake::{Handshakes, NoKey, TAG};
use super::library::{Settings, address};
use super::packet::{Answered, Content, QuicPacket};

/// Our keys behind the traits of the other library.
#[derive(Clone, Copy, Default)]
struct Key(NoKey);

impl crypto::PacketKey for Key {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        self.0.encrypt(PathId::ZERO, packet, buf, header_len);
    }

    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), crypto::CryptoError> {
        self.0.decrypt(PathId::ZERO, packet, header, payload).map_err(|_| crypto::CryptoError)
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl crypto::HeaderKey for Key {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

impl crypto::HmacKey for Key {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        noq_proto::crypto::HmacKey::sign(&self.0, data, out);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), crypto::CryptoError> {
        noq_proto::crypto::HmacKey::verify(&self.0, data, signature).map_err(|_| crypto::CryptoError)
    }
}

impl crypto::HandshakeTokenKey for Key {
    fn aead_from_hkdf(&self, _random: &[u8]) -> Box<dyn crypto::AeadKey> {
        Box::new(*self)
    }
}

impl crypto::AeadKey for Key {
    fn seal(&self, data: &mut Vec<u8>, _additional: &[u8]) -> Result<(), crypto::CryptoError> {
        data.extend([0; TAG]);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _additional: &[u8]) -> Result<&'a mut [u8], crypto::CryptoError> {
        let len = data.len().checked_sub(TAG).ok_or(crypto::CryptoError)?;
        Ok(&mut data[..len])
    }
}

fn pair<K: ?Sized>(key: impl Fn() -> Box<K>) -> crypto::KeyPair<Box<K>> {
    crypto::KeyPair { local: key(), remote: key() }
}

fn keys() -> crypto::Keys {
    crypto::Keys {
        header: pair(|| Box::new(Key::default()) as Box<dyn crypto::HeaderKey>),
        packet: pair(|| Box::new(Key::default()) as Box<dyn crypto::PacketKey>),
    }
}

/// Our handshake as a session of the other library.
struct Handshake {
    side: Side,
    session: Box<dyn Session>,
    generation: u64,
}

fn side_of(side: Side) -> quinn_proto::Side {
    if side.is_client() { quinn_proto::Side::Client } else { quinn_proto::Side::Server }
}

/// Returns quinn's parameters, which the end on `side` sends, as ours.
fn ours(side: Side, theirs: &Theirs) -> Ours {
    let mut bytes = Vec::new();
    theirs.write(&mut bytes);
    Ours::read(!side, &mut &bytes[..]).expect("what one wrote the other reads")
}

impl crypto::Session for Handshake {
    fn initial_keys(&self, _dst: &quinn_proto::ConnectionId, _side: quinn_proto::Side) -> crypto::Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn crypto::HeaderKey>, Box<dyn crypto::PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.session.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, quinn_proto::TransportError> {
        Ok(self.session.read_handshake(buf).expect("written by our handshake"))
    }

    fn transport_parameters(&self) -> Result<Option<Theirs>, quinn_proto::TransportError> {
        let read = self.session.transport_parameters().expect("written by our handshake");
        Ok(read.map(|parameters| {
            let mut bytes = Vec::new();
            parameters.write(&mut bytes);
            Theirs::read(side_of(self.side), &mut &bytes[..]).expect("what one wrote the other reads")
        }))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<crypto::Keys> {
        self.session.write_handshake(out).map(|_| keys())
    }

    fn next_1rtt_keys(&mut self) -> Option<crypto::KeyPair<Box<dyn crypto::PacketKey>>> {
        self.session.next_1rtt_keys()?;
        self.generation += 1;
        let key = Key(NoKey { generation: self.generation });
        Some(pair(|| Box::new(key) as Box<dyn crypto::PacketKey>))
    }

    fn is_valid_retry(&self, _orig: &quinn_proto::ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        out: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), crypto::ExportKeyingMaterialError> {
        out.fill(0);
        Ok(())
    }
}

struct Crypto(Handshakes);

impl crypto::ClientConfig for Crypto {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        own: &Theirs,
    ) -> Result<Box<dyn crypto::Session>, quinn_proto::ConnectError> {
        let side = Side::Client;
        let session = noq_proto::crypto::ClientConfig::start_session(&self.0, version, name, &ours(side, own));
        let session = session.expect("ours never fails");
        Ok(Box::new(Handshake { side, session, generation: 0 }))
    }
}

impl crypto::ServerConfig for Crypto {
    fn initial_keys(
        &self,
        _version: u32,
        _dst: &quinn_proto::ConnectionId,
    ) -> Result<crypto::Keys, crypto::UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig: &quinn_proto::ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, version: u32, own: &Theirs) -> Box<dyn crypto::Session> {
        let side = Side::Server;
        let session = noq_proto::crypto::ServerConfig::start_session(&self.0, version, &ours(side, own));
        Box::new(Handshake { side, session, generation: 0 })
    }
}

/// Returns an end of quinn with an application that writes `unwritten` bytes on the client's first stream, and reads.
struct Peer {
    side: Side,
    endpoint: quinn_proto::Endpoint,
    live: Option<(quinn_proto::ConnectionHandle, quinn_proto::Connection)>,
    clock: Clock,
    stream: Option<quinn_proto::StreamId>,
    unwritten: usize,
    read: usize,
    ended: bool,
    lost: Option<quinn_proto::ConnectionError>,
}

impl Peer {
    fn new(side: Side, clock: Clock, bytes: usize) -> Peer {
        let crypto = Arc::new(Crypto(Handshakes { resumes: false }));
        let key = Arc::new(Key::default());
        let accepts = side.is_server().then(|| {
            Arc::new(quinn_proto::ServerConfig::new(Arc::clone(&crypto) as Arc<_>, Arc::clone(&key) as Arc<_>))
        });
        let config = Arc::new(quinn_proto::EndpointConfig::new(key));
        let mut endpoint = quinn_proto::Endpoint::new(config, accepts, true, Some([7; 32]));
        let live = side.is_client().then(|| {
            let config = quinn_proto::ClientConfig::new(crypto);
            let server = address(Side::Server, 0);
            endpoint.connect(clock.instant(Time::ZERO), config, server, "server").expect("it may connect")
        });
        let (stream, unwritten, read) = (None, bytes, 0);
        Peer { side, endpoint, live, clock, stream, unwritten, read, ended: false, lost: None }
    }

    fn handle_packet(&mut self, now: Time, bytes: &[u8]) {
        let (mut answer, from) = (Vec::new(), address(!self.side, 0));
        let instant = self.clock.instant(now);
        match self.endpoint.handle(instant, from, None, None, BytesMut::from(bytes), &mut answer) {
            Some(quinn_proto::DatagramEvent::ConnectionEvent(_, event)) => {
                self.live.as_mut().expect("a packet of one").1.handle_event(event);
            }
            Some(quinn_proto::DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, instant, &mut answer, None);
                self.live = Some(accepted.expect("its options are the defaults"));
            }
            Some(quinn_proto::DatagramEvent::Response(_)) | None => {}
        }
    }

    fn work(&mut self) {
        let Some((handle, connection)) = &mut self.live else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                quinn_proto::Event::Connected if self.side.is_client() => {
                    self.stream = connection.streams().open(quinn_proto::Dir::Bi);
                }
                quinn_proto::Event::ConnectionLost { reason } => self.lost = Some(reason),
                _ => {}
            }
        }
        self.stream = self.stream.or_else(|| connection.streams().accept(quinn_proto::Dir::Bi));
        let Some(id) = self.stream else { return };
        while self.unwritten > 0 {
            let zeros = Bytes::from_static(&[0; 1 << 16]);
            let chunk = zeros.slice(..self.unwritten.min(zeros.len()));
            let Ok(written) = connection.send_stream(id).write(&chunk) else { break };
            self.unwritten -= written;
            if self.unwritten == 0 {
                connection.send_stream(id).finish().expect("it is open");
            }
        }
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(next) = chunks.next(usize::MAX) {
            let Some(chunk) = next else {
                self.ended = true;
                break;
            };
            self.read += chunk.bytes.len();
        }
        let _ = chunks.finalize();
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Arc<[u8]>> {
        let mut bytes = Vec::new();
        let transmit = self.live.as_mut()?.1.poll_transmit(self.clock.instant(now), 1, &mut bytes)?;
        Some(Arc::from(&bytes[..transmit.size]))
    }

    fn poll_timeout(&mut self) -> Time {
        let due = self.live.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        due.map_or(Time::MAX, |at| self.clock.time(at))
    }
}

const SIZE: usize = 1_000_000;
const DELAY: Duration = Duration::from_millis(20);

/// Whether a datagram arrives at us, and its bytes.
type Arrival = (bool, Arc<[u8]>);

/// Datagrams in flight, with the arrival of each, by numbers.
#[derive(Default)]
struct Wire {
    queue: BTreeMap<(Time, u64), Arrival>,
    sent: u64,
    dropped: u64,
    every: u64,
}

impl Wire {
    /// One of `every` datagrams is lost in each direction, and none of the first eight.
    fn send(&mut self, now: Time, to_us: bool, bytes: Arc<[u8]>) {
        self.sent += 1;
        if self.every > 0 && self.sent > 8 && self.sent.is_multiple_of(self.every) {
            self.dropped += 1;
            return;
        }
        self.queue.insert((now + DELAY, self.sent), (to_us, bytes));
    }
}

/// Both ends send `SIZE` bytes on one stream, ours being on `side`: when all has arrived, and how many datagrams were
/// lost.
fn exchange(side: Side, every: u64) -> (Time, u64) {
    let settings = Arc::new(Settings { config: QuicConfig::default().resolved(1_500), packet: 1_500 });
    let mut us = Connection::new(settings, Time::ZERO, 1, side.is_client());
    us.write(Time::ZERO, Some(SIZE as u64));
    us.close();
    let mut peer = Peer::new(!side, Clock::new(), SIZE);
    let mut wire = Wire { every, ..Wire::default() };
    let mut now = Time::ZERO;
    loop {
        us.work(now);
        while let Some((packet, _)) = us.poll_transmit(now) {
            wire.send(now, false, packet.bytes);
        }
        peer.work();
        while let Some(bytes) = peer.poll_transmit(now) {
            wire.send(now, true, bytes);
        }
        let done = us.delivered_bytes() == SIZE as u64 && us.has_been_closed() && us.has_finished();
        if done && peer.read == SIZE && peer.ended {
            assert!(us.lifetime().ended.is_none() && peer.lost.is_none());
            return (now, wire.dropped);
        }
        let arrival = wire.queue.keys().next().map_or(Time::MAX, |key| key.0);
        let due = us.poll_timeout().min(peer.poll_timeout());
        now = arrival.min(due).max(now + Duration::from_nanos(1));
        assert!(
            now < Time::ZERO + Duration::from_secs(60),
            "{} of ours and {} of theirs",
            peer.read,
            us.delivered_bytes()
        );
        while let Some(entry) = wire.queue.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, number), (to_us, bytes)) = entry.remove_entry();
            match to_us {
                true => us.handle_packet(now, &packet(number, bytes)),
                false => peer.handle_packet(now, &bytes),
            }
        }
        us.handle_timeout(now);
        let instant = peer.clock.instant(now);
        if let Some((_, connection)) = &mut peer.live
            && connection.poll_timeout().is_some_and(|at| at <= instant)
        {
            connection.handle_timeout(instant);
        }
    }
}

fn packet(number: u64, bytes: Arc<[u8]>) -> QuicPacket {
    let (ecn, content, answered) = (Ecn::NotEct, Content::None, Answered::default());
    QuicPacket { number, ecn, address: 0, content, resume: None, answered, bytes }
}

#[test]
fn a_megabyte_each_way_arrives_whole_with_and_without_losses() {
    for side in [Side::Client, Side::Server] {
        let (clear, none) = exchange(side, 0);
        let (lossy, some) = exchange(side, 29);
        assert!(none == 0 && some > 30, "{some} lost");
        // A window of 10 packets that doubles each round trip of 40 ms takes 7 of them after the handshake.
        assert!((Duration::from_millis(200)..Duration::from_secs(1)).contains(&clear.since(Time::ZERO)), "{clear:?}");
        assert!(lossy > clear, "{lossy:?} {clear:?}");
        assert_eq!(exchange(side, 29), (lossy, some), "the same each time");
    }
}
