//! A handshake without cryptography: the messages, sizes, flights and changes of keys of TLS 1.3 (RFC 8446, RFC 9001),
//! and nothing that is secret.
//!
//! Each message is its length, the transport parameters that it carries, and zeros up to the length that TLS would
//! give it. Packets are sent as they are, with room for the tag of an AEAD.

use std::any::Any;

use bytes::BytesMut;
use noq_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair, Keys,
    PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, PathId, Side, TransportError};

/// Bytes of the tag that ends a protected packet (RFC 9001 section 5.3).
pub(super) const TAG: usize = 16;

/// Bytes of the messages without transport parameters, with X25519, SHA-256 and a name of some 20 letters:
/// the ClientHello;
const CLIENT_HELLO: usize = 230;
/// a ticket of 200 bytes and its binder in it, of a client that resumes;
const TICKET: usize = 250;
/// the ServerHello;
const SERVER_HELLO: usize = 90;
/// the EncryptedExtensions;
const EXTENSIONS: usize = 30;
/// the Certificate with a chain of two of P-256, as of a large site, and the CertificateVerify;
const CERTIFICATES: usize = 2_300;
/// and the Finished.
const FINISHED: usize = 36;

/// The handshake of all connections of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshakes {
    /// The client has been there before: it has a ticket, sends data at once, and needs no certificates (0-RTT).
    pub resumes: bool,
}

/// The keys of everything: they change nothing.
#[derive(Clone, Copy, Default)]
pub(super) struct NoKey {
    /// Updates of the keys before (RFC 9001 section 6).
    pub generation: u64,
}

impl NoKey {
    fn tag(self, packet: u64) -> [u8; TAG] {
        (u128::from(self.generation) << 64 | u128::from(packet)).to_be_bytes()
    }
}

impl PacketKey for NoKey {
    // The tag consists of the packet's number and the generation of the keys. A cipher with authentication takes the
    // number for its nonce (RFC 9001 section 5.3), so a packet fails to open if it is so late that its shortened number
    // is read as another, or if its keys are no longer in use.
    fn encrypt(&self, _path: PathId, packet: u64, buf: &mut [u8], _header_len: usize) {
        let tag = buf.len() - TAG;
        buf[tag..].copy_from_slice(&self.tag(packet));
    }

    fn decrypt(&self, _: PathId, packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let tag = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        if payload[tag..] != self.tag(packet) {
            return Err(CryptoError);
        }
        payload.truncate(tag);
        Ok(())
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

impl HeaderKey for NoKey {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

/// For tokens of stateless resets: they must differ between connection identifiers, and nobody guesses.
impl HmacKey for NoKey {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let mut hash = data.iter().fold(0xcbf2_9ce4_8422_2325, mix);
        for chunk in out.chunks_mut(8) {
            hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            chunk.copy_from_slice(&hash.to_le_bytes()[..chunk.len()]);
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut own = [0; 32];
        self.sign(data, &mut own);
        if own == signature { Ok(()) } else { Err(CryptoError) }
    }
}

impl HandshakeTokenKey for NoKey {
    fn seal(&self, _nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        data.extend([0; TAG]);
        Ok(())
    }

    fn open<'a>(&self, _nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        data.len().checked_sub(TAG).map(|len| &data[..len]).ok_or(CryptoError)
    }
}

fn pair<K: ?Sized>(key: impl Fn() -> Box<K>) -> KeyPair<Box<K>> {
    KeyPair { local: key(), remote: key() }
}

fn keys() -> Keys {
    Keys {
        header: pair(|| Box::new(NoKey::default()) as Box<dyn HeaderKey>),
        packet: pair(|| Box::new(NoKey::default()) as Box<dyn PacketKey>),
    }
}

/// The step of one end in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HandshakeStep {
    /// Client: the ClientHello is to be sent.
    SendHello,
    /// Client: the ServerHello is awaited.
    AwaitHello,
    /// Client: the keys of the handshake are to be installed.
    HasHello,
    /// Client: everything up to the server's Finished is awaited.
    AwaitFlight,
    /// Client: its Finished is to be sent.
    SendFinished,
    /// Server: the ClientHello is awaited.
    AwaitClient,
    /// Server: the ServerHello is to be sent.
    SendServerHello,
    /// Server: everything up to its Finished is to be sent.
    SendFlight,
    /// Server: the client's Finished is awaited.
    AwaitFinished,
    Done,
}

struct Handshake {
    side: Side,
    resumes: bool,
    step: HandshakeStep,
    own: TransportParameters,
    peer: Option<TransportParameters>,
    /// Bytes of the next message of the handshake that have come.
    input: Vec<u8>,
    /// Whether the library knows that the peer's parameters have come.
    reported: bool,
    /// Updates of the keys.
    generation: u64,
}

impl Handshake {
    fn start(side: Side, resumes: bool, own: &TransportParameters) -> Box<dyn Session> {
        let step = if side == Side::Client { HandshakeStep::SendHello } else { HandshakeStep::AwaitClient };
        Box::new(Handshake {
            side,
            resumes,
            step,
            own: *own,
            peer: None,
            input: Vec::new(),
            reported: false,
            generation: 0,
        })
    }

    /// The parameters of the next message, if it is there whole.
    fn take(&mut self) -> Option<Vec<u8>> {
        let word = |at: usize| Some(usize::from(u16::from_be_bytes(self.input.get(at..at + 2)?.try_into().ok()?)));
        let (total, length) = (word(0)?, word(2)?);
        if self.input.len() < total {
            return None;
        }
        let message: Vec<u8> = self.input.drain(..total).collect();
        Some(message[4..4 + length].to_vec())
    }

    /// Writes a message of `bytes` beside the transport parameters, if it has these.
    fn write(&self, out: &mut Vec<u8>, bytes: usize, has_parameters: bool) {
        let mut parameters = Vec::new();
        if has_parameters {
            self.own.write(&mut parameters);
        }
        let end = out.len() + bytes.max(4) + parameters.len();
        out.extend(((bytes.max(4) + parameters.len()) as u16).to_be_bytes());
        out.extend((parameters.len() as u16).to_be_bytes());
        out.extend(parameters);
        out.resize(end, 0);
    }
}

impl Session for Handshake {
    fn initial_keys(&self, _dst_cid: ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.resumes.then(|| {
            (Box::new(NoKey::default()) as Box<dyn HeaderKey>, Box::new(NoKey::default()) as Box<dyn PacketKey>)
        })
    }

    fn early_data_accepted(&self) -> Option<bool> {
        (self.side == Side::Client).then_some(self.resumes)
    }

    fn is_handshaking(&self) -> bool {
        self.step != HandshakeStep::Done
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.input.extend(buf);
        while let Some(parameters) = self.take() {
            if !parameters.is_empty() {
                let read = TransportParameters::read(self.side, &mut &parameters[..]);
                self.peer = Some(read.expect("written by the other end"));
            }
            self.step = match self.step {
                HandshakeStep::AwaitHello => HandshakeStep::HasHello,
                HandshakeStep::HasHello | HandshakeStep::AwaitFlight => HandshakeStep::SendFinished,
                HandshakeStep::AwaitClient => HandshakeStep::SendServerHello,
                HandshakeStep::AwaitFinished => HandshakeStep::Done,
                step => unreachable!("a message at {step:?}"),
            };
            if self.step == HandshakeStep::HasHello {
                break; // what follows belongs to other keys
            }
        }
        Ok(self.peer.is_some() && !std::mem::replace(&mut self.reported, true))
    }

    /// The parameters of the other end; a client that resumes remembers them, and they are its own.
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer.or((self.resumes && self.side == Side::Client).then_some(self.own)))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let (step, keys) = match self.step {
            HandshakeStep::SendHello => {
                self.write(out, CLIENT_HELLO + if self.resumes { TICKET } else { 0 }, true);
                (HandshakeStep::AwaitHello, None)
            }
            HandshakeStep::HasHello => (HandshakeStep::AwaitFlight, Some(keys())),
            HandshakeStep::SendFinished => {
                self.write(out, FINISHED, false);
                (HandshakeStep::Done, Some(keys()))
            }
            HandshakeStep::SendServerHello => {
                self.write(out, SERVER_HELLO, false);
                (HandshakeStep::SendFlight, Some(keys()))
            }
            HandshakeStep::SendFlight => {
                let certificates = if self.resumes { 0 } else { CERTIFICATES };
                self.write(out, EXTENSIONS + certificates + FINISHED, true);
                (HandshakeStep::AwaitFinished, Some(keys()))
            }
            step => (step, None),
        };
        self.step = step;
        keys
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.generation += 1;
        let key = NoKey { generation: self.generation };
        Some(pair(|| Box::new(key) as Box<dyn PacketKey>))
    }

    fn is_valid_retry(&self, _orig_dst_cid: ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        true
    }

    fn export_keying_material(&self, out: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        out.fill(0);
        Ok(())
    }
}

impl ClientConfig for Handshakes {
    fn start_session(&self, _: u32, _: &str, own: &TransportParameters) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Handshake::start(Side::Client, self.resumes, own))
    }
}

impl ServerConfig for Handshakes {
    fn initial_keys(&self, _version: u32, _dst_cid: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(&self, _version: u32, own: &TransportParameters) -> Box<dyn Session> {
        Handshake::start(Side::Server, self.resumes, own)
    }
}
