//! A connection of the library as an end gets it: its options, addresses and identifiers.

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use noq_proto::{
    AckFrequencyConfig, ClientConfig, Connection as Noq, ConnectionError, ConnectionHandle, ConnectionId, Endpoint,
    EndpointConfig, IdleTimeout, ServerConfig, Side, TransportConfig, TransportErrorCode, VarInt,
};
use units::{IPV4_UDP_HEADER_BYTES, Time};

use super::clock::{Clock, theirs};
use super::config::{MAX_ACK_DELAY, QuicConfig};
use super::controller::SharedController;
use super::frames::CID_LEN;
use super::handshake::{Handshakes, NoKey};
use super::identifiers::{Identifiers, NoTime, mix};
use super::lifetime::{EndCause, Ended};

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

/// So many pieces of a stream may wait in the library for one that is missing: with more than 2,048 it ends the
/// connection, and a datagram brings some more.
pub(super) const MOST_PIECES: u64 = 2000;

/// The most bytes that a sender buffers, beside the window of the receiver.
const SEND_WINDOW: u64 = 64 << 20;

/// One end's part of a connection.
pub(super) struct Library {
    pub endpoint: Endpoint,
    /// From the opening on, or the first packet.
    pub live: Option<(ConnectionHandle, Noq)>,
}

/// The facts for which the library's part of a connection is made.
pub(super) struct Start<'a> {
    pub settings: &'a Settings,
    pub clock: Clock,
    pub now: Time,
    /// Differs between the connections and ends of a run.
    pub entropy: u64,
    pub side: Side,
    /// The client has a ticket.
    pub resumes: bool,
    /// The number of the server's address.
    pub server: u32,
}

impl Library {
    pub fn new(start: &Start<'_>, control: SharedController) -> Library {
        let &Start { settings, clock, now, entropy, side, resumes, server } = start;
        let transport = Arc::new(transport_config(settings, control));
        let handshakes = Arc::new(Handshakes { resumes });
        let mut endpoint = EndpointConfig::new(Arc::new(NoKey::default()));
        let mut seed = [0; 32];
        for (chunk, word) in seed.chunks_mut(8).zip(1..) {
            chunk.copy_from_slice(&mix(entropy ^ word).to_le_bytes());
        }
        endpoint.rng_seed(Some(seed));
        endpoint.cid_generator(Arc::new(move || Box::new(Identifiers { next: entropy })));
        endpoint.max_udp_payload_size(u16::MAX - 8).expect("a datagram may be as long as it can");
        let accepts = (side == Side::Server).then(|| {
            let mut config = ServerConfig::new(handshakes.clone(), Arc::new(NoKey::default()));
            config.transport_config(Arc::clone(&transport)).time_source(Arc::new(NoTime));
            config.migration(settings.config.migration != Some(false));
            Arc::new(config)
        });
        let mut endpoint = Endpoint::new(Arc::new(endpoint), accepts, true);
        let live = (side == Side::Client).then(|| {
            let mut client = ClientConfig::new(handshakes);
            let first = ConnectionId::new(&mix(!entropy).to_be_bytes());
            client.transport_config(transport).initial_dst_cid_provider(Arc::new(move || first));
            let server = address(Side::Server, server);
            endpoint.connect(clock.instant(now), client, server, "server").expect("its options were checked")
        });
        Library { endpoint, live }
    }
}

/// An address of a side, which nothing but the library sees. `number`: how often it has changed before.
pub(super) fn address(side: Side, number: u32) -> SocketAddr {
    let [.., high, low] = number.to_be_bytes();
    SocketAddr::from(([10, high, low, if side == Side::Client { 1 } else { 2 }], 443))
}

/// The number of an address.
pub(super) fn number_of(address: SocketAddr) -> u32 {
    match address.ip() {
        IpAddr::V4(ip) => u32::from(ip) >> 8 & 0xffff,
        IpAddr::V6(_) => unreachable!("all addresses are of IPv4"),
    }
}

/// Returns the end of a connection, with the library's reason.
pub(super) fn ended(now: Time, error: &ConnectionError) -> Ended {
    let named = |code: TransportErrorCode| match code {
        TransportErrorCode::INTERNAL_ERROR => EndCause::InternalError,
        other => EndCause::Error(format!("{other:?}").to_lowercase().replace('_', "-")),
    };
    let cause = match error {
        ConnectionError::VersionMismatch => EndCause::VersionMismatch,
        ConnectionError::TransportError(error) => named(error.code),
        ConnectionError::ConnectionClosed(close) => named(close.error_code),
        ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed => EndCause::Closed,
        ConnectionError::Reset => EndCause::StatelessReset,
        ConnectionError::TimedOut => EndCause::IdleTimeout,
        ConnectionError::CidsExhausted => EndCause::NoIdentifiers,
    };
    let by_peer = matches!(error, ConnectionError::ConnectionClosed(_) | ConnectionError::ApplicationClosed(_));
    Ended { at: now, cause, words: error.to_string(), by_peer }
}

/// The client has opened another connection before this end knew that the last is over.
pub(super) fn replaced(now: Time) -> Ended {
    let words = "the client has opened another".to_owned();
    Ended { at: now, cause: EndCause::Replaced, words, by_peer: true }
}

fn transport_config(settings: &Settings, control: SharedController) -> TransportConfig {
    let Settings { config, .. } = settings;
    let window = VarInt::try_from(config.receive_window.get()).expect("a window of at most 4 GiB");
    let idle = config.idle_timeout.map(|idle| IdleTimeout::try_from(theirs(idle)).expect("a day at most"));
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(Arc::new(control))
        .enable_segmentation_offload(false)
        .max_idle_timeout(idle)
        .initial_mtu(settings.mtu() as u16)
        .min_mtu(settings.mtu() as u16) // the path carries it: losses never tell of a smaller one
        .mtu_discovery_config(None)
        .receive_window(window)
        .stream_receive_window(window)
        .send_fairness(false) // one object after the other (RFC 9218 section 4.2)
        .send_window(SEND_WINDOW.max(config.receive_window.get()))
        .packet_threshold(config.packet_threshold)
        .time_threshold(config.time_threshold as f32)
        .max_concurrent_bidi_streams(config.max_streams.into())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_its_number() {
        for number in [0, 1, 255, 256, 65_535] {
            assert_eq!(number_of(address(Side::Client, number)), number);
        }
        assert_ne!(address(Side::Client, 7).ip(), address(Side::Server, 7).ip());
    }
}
