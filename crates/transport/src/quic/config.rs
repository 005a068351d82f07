//! The options of QUIC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, FieldError};

use crate::congestion::CongestionConfig;
use crate::profile::Profile;

/// QUIC: streams or datagrams over one connection, encrypted in the field, with loss detection of its own (RFC 9000).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuicConfig {
    /// The congestion controller; by default CUBIC, with the constants of RFC 9438.
    pub congestion: CongestionConfig,
    /// Whose code the controller is: this project's, which TCP uses too, or the QUIC library's.
    pub controllers: Controllers,
    /// Bytes of a full packet with IPv4 and UDP headers, at least 1228; by default the path's default packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet: Option<Bytes>,
    /// Whether a round trip passes before data do.
    pub handshake: HandshakeMode,
    /// Which end is the client, who opens the connection.
    pub client: Client,
    /// Nothing arrives for so long, and the connection is over (RFC 9000 section 10.1); by default it waits for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Duration>,
    /// How the application opens a connection after one that has ended; by default it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reopen: Option<HandshakeMode>,
    /// Users get another address where the path moves to another gateway. With `true` the connection migrates: the
    /// server validates the address and begins anew there (RFC 9000 section 9); with `false` the server refuses it, so
    /// that nothing arrives any more. By default users keep their addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration: Option<bool>,
    /// Each write of the application is a datagram, which is not retransmitted (RFC 9221); without it, a byte stream.
    pub datagrams: bool,
    /// Congestion window at the start, in packets (RFC 9002 section 7.2).
    #[schemars(range(min = 2, max = 10_000))]
    pub initial_window: u32,
    /// Space packets at 1.25 times the window per round trip (RFC 9002 section 7.7); controllers that set a rate, such
    /// as BBR, pace in any case.
    pub pacing: bool,
    /// Packets that one acknowledgment answers (RFC 9000 section 13.2.2); more than 2 asks for the extension
    /// draft-ietf-quic-ack-frequency.
    #[schemars(range(min = 1, max = 1000))]
    pub ack_every: u32,
    /// How long an acknowledgment may wait for a second packet (RFC 9000 section 18.2).
    pub max_ack_delay: Duration,
    /// Packets by which others may overtake one that is not taken for lost (RFC 9002 section 6.1.1).
    #[schemars(range(min = 3, max = 100_000))]
    pub packet_threshold: u32,
    /// Round trips, 1 to 10, after which what others have overtaken is taken for lost (RFC 9002 section 6.1.2).
    #[schemars(range(min = 1.0, max = 10.0))]
    pub time_threshold: f64,
    /// Explicit congestion notification (RFC 9000 section 13.4): acknowledgments count marks; by default with
    /// controllers that take the count, such as Prague.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// What the receiver takes of a stream, and of all of them, before the application reads.
    pub receive_window: Bytes,
    /// Streams that the other end may have open at a time (RFC 9000 section 4.6). Others wait until it knows that one
    /// has ended, a round trip or more.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_streams: u32,
}

/// Whose code a congestion controller is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Controllers {
    /// This project's, each of `congestion`.
    #[default]
    Own,
    /// CUBIC and NewReno of noq-proto, with its constants.
    Noq,
}

/// Whether a round trip passes before data do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HandshakeMode {
    /// The handshake comes first.
    #[default]
    #[serde(rename = "1-rtt")]
    OneRtt,
    /// The client has a ticket of an earlier connection, and data leave with its first packet (RFC 9001 section 4.6).
    #[serde(rename = "0-rtt")]
    ZeroRtt,
}

/// Which end is the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// The end whose application opens: the server's of downloads, the user's of web pages.
    #[default]
    Opener,
    /// The user's end, always.
    User,
}

impl Default for QuicConfig {
    fn default() -> QuicConfig {
        QuicConfig {
            congestion: CongestionConfig::default(),
            controllers: Controllers::Own,
            packet: None,
            handshake: HandshakeMode::OneRtt,
            client: Client::Opener,
            idle_timeout: None,
            reopen: None,
            migration: None,
            datagrams: false,
            initial_window: 10,
            pacing: true,
            ack_every: 2,
            max_ack_delay: MAX_ACK_DELAY,
            packet_threshold: 3,
            time_threshold: 9.0 / 8.0,
            ecn: None,
            receive_window: Bytes::new(64 << 20),
            max_streams: 100,
        }
    }
}

/// RFC 9000 section 14.1: a datagram with an Initial packet has 1,200 bytes, and IPv4 and UDP headers.
pub(crate) const LEAST_PACKET: u32 = 1_200 + units::IPV4_UDP_HEADER_BYTES;
/// RFC 9002 section 7.2: the least window, in packets.
pub(crate) const LEAST_WINDOW: u32 = 2;
/// The default of the largest delay of an acknowledgment: RFC 9000 section 18.2.
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// RFC 9000 section 18.2: 2^14 ms.
const MOST_ACK_DELAY: Duration = Duration::from_millis(1 << 14);

/// The idle time-outs that are possible.
const LEAST_IDLE: Duration = Duration::from_millis(10);
const MOST_IDLE: Duration = Duration::from_secs(86_400);

impl QuicConfig {
    /// Refuses values that no connection can work with.
    ///
    /// # Errors
    /// The field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        if cfg!(target_family = "wasm") {
            return Err(FieldError::new("kind", "quic does not run in a page: it runs in `transorbit run`"));
        }
        if let Some(packet) = self.packet.filter(|packet| !(LEAST_PACKET.into()..=65_535).contains(&packet.get())) {
            return Err(FieldError::new("packet", format!("{packet} is not from {LEAST_PACKET} B to 65535 B")));
        }
        let numbers = [
            ("initial_window", self.initial_window, LEAST_WINDOW, 10_000, "packets"),
            ("ack_every", self.ack_every, 1, 1_000, "packets"),
            ("packet_threshold", self.packet_threshold, 3, 100_000, "packets"),
            ("max_streams", self.max_streams, 1, 1_000_000, "streams"),
        ];
        for (name, value, least, most, unit) in numbers {
            if !(least..=most).contains(&value) {
                return Err(FieldError::new(name, format!("{value} is not from {least} to {most} {unit}")));
            }
        }
        if !(1.0..=10.0).contains(&self.time_threshold) {
            let message = format!("{} is not from 1 to 10 round trips", self.time_threshold);
            return Err(FieldError::new("time_threshold", message));
        }
        if !(Duration::from_millis(1)..MOST_ACK_DELAY).contains(&self.max_ack_delay) {
            let message = format!("{} is not from 1 ms to less than {MOST_ACK_DELAY}", self.max_ack_delay);
            return Err(FieldError::new("max_ack_delay", message));
        }
        let window = self.receive_window;
        if !(1 << 14..=1 << 32).contains(&window.get()) {
            let message = format!("{window} is not from {} to {}", Bytes::new(1 << 14), Bytes::new(1 << 32));
            return Err(FieldError::new("receive_window", message));
        }
        self.check_lifetime()?;
        self.check_congestion()
    }

    fn check_lifetime(&self) -> Result<(), FieldError> {
        let allowed = LEAST_IDLE..=MOST_IDLE;
        if let Some(idle) = self.idle_timeout.filter(|idle| !allowed.contains(idle)) {
            let message = format!("{idle} is not from {LEAST_IDLE} to {MOST_IDLE}");
            return Err(FieldError::new("idle_timeout", message));
        }
        if self.idle_timeout.is_none() && (self.reopen.is_some() || self.migration == Some(false)) {
            let because = if self.reopen.is_some() { "reopen" } else { "migration = false" };
            let message = format!("{because} needs one, as \"10 s\": without it no end learns that nothing arrives");
            return Err(FieldError::new("idle_timeout", message));
        }
        if self.migration.is_some() && self.client != Client::User {
            let message = "the address of a client may change, not that of a server (RFC 9000 section 9): migration \
                           needs client = \"user\"";
            return Err(FieldError::new("client", message));
        }
        Ok(())
    }

    fn check_congestion(&self) -> Result<(), FieldError> {
        let (entry, kind) = (self.congestion.entry(), self.congestion.kind());
        entry.check().map_err(|error| error.within("congestion"))?;
        if self.controllers == Controllers::Noq && entry.standard().is_none() {
            let message = format!("noq has CUBIC and NewReno, and congestion is {kind}");
            return Err(FieldError::new("controllers", message));
        }
        if self.controllers == Controllers::Noq
            && let Some(option) = self.given_option()
        {
            let message = format!("the {kind} of noq has constants of its own: options need controllers = \"own\"");
            return Err(FieldError::new(option, message).within("congestion"));
        }
        if entry.sends_probes() {
            let message = format!("{kind} has dummy segments sent, and a QUIC sender has none: it needs tcp");
            return Err(FieldError::new("congestion", message));
        }
        Ok(())
    }

    /// The first option of the controller that does not have its default.
    fn given_option(&self) -> Option<String> {
        let options = |congestion: &CongestionConfig| {
            serde_json::to_value(congestion.resolved(Profile::Classic)).expect("options are plain values")
        };
        let default = serde_json::from_value(serde_json::json!({ "kind": self.congestion.kind() })).ok()?;
        let (given, default) = (options(&self.congestion), options(&default));
        let differs = |name: &&String| given.get(name) != default.get(name);
        given.as_object()?.keys().find(differs).cloned()
    }

    /// Bytes of a full packet where the default packet has `default_packet`.
    pub(crate) fn packet_bytes(&self, default_packet: u32) -> u32 {
        self.packet.map_or(default_packet, |packet| packet.get() as u32).max(LEAST_PACKET)
    }

    /// Whether data are sent as ECT.
    pub(crate) fn sends_ect(&self) -> bool {
        self.ecn.unwrap_or_else(|| self.congestion.entry().marks().is_some())
    }

    /// Returns the options with every default filled in.
    pub(crate) fn resolved(&self, default_packet: u32) -> QuicConfig {
        QuicConfig {
            congestion: self.congestion.resolved(Profile::Classic),
            packet: Some(Bytes::new(self.packet_bytes(default_packet).into())),
            ecn: Some(self.sends_ect()),
            ..self.clone()
        }
    }
}
