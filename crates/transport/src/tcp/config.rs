//! Options of a TCP end point, and the same with every default filled in.
//!
//! An option that is not given takes the value of the profile. The advertised maximum segment size never counts timestamps
//! (RFC 6691); `mss` here is the payload of a full segment, with them taken off.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::{Bytes, Duration, FieldError};

use crate::CongestionConfig;
use crate::congestion::CubicConfig;

/// TCP: a bulk or interactive stream with retransmission and congestion control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpConfig {
    /// The congestion controller.
    pub congestion: CongestionConfig,
    /// The stack whose rules and defaults apply.
    pub profile: Profile,
    /// Payload of a full segment; by default what fills the path's default packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<Bytes>,
    /// Whether acknowledgments wait for a second segment, and how long at most; `true` is 40 ms.
    pub delayed_ack: DelayedAck,
    /// Selective acknowledgments (RFC 2018, RFC 6675); without them loss recovery is NewReno's (RFC 6582).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Timestamps option (RFC 7323), 12 bytes in every segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Send new data on the first duplicate acknowledgments (RFC 3042).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,
    /// Duplicate acknowledgments that are taken for a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub dupthresh: Option<u32>,
    /// Congestion window at the start, in segments (RFC 6928).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub initial_window: Option<u32>,
    /// Floor of the variance term of the retransmission time-out, as in Linux: RTO = SRTT + max(4 RTTVAR, min_rto).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Duration>,
    /// Receive buffer, which is the window offered to the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Bytes>,
}

impl Default for TcpConfig {
    fn default() -> Self {
        TcpConfig {
            congestion: CongestionConfig::Cubic(CubicConfig::default()),
            profile: Profile::Classic,
            mss: None,
            delayed_ack: DelayedAck::Off,
            sack: None,
            timestamps: None,
            limited_transmit: None,
            dupthresh: None,
            initial_window: None,
            min_rto: None,
            receive_buffer: None,
        }
    }
}

/// The stack whose rules and defaults apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The stack of the RFCs: losses are told by three duplicate acknowledgments (RFC 5681, RFC 6675), there is neither RACK
    /// nor a tail loss probe, and spurious recoveries are not undone.
    #[default]
    Classic,
}

/// What an option is where the configuration leaves it open.
#[derive(Clone, Copy, Debug)]
struct ProfileDefaults {
    sack: bool,
    timestamps: bool,
    limited_transmit: bool,
    dupthresh: u32,
    initial_window: u32,
    min_rto: Duration,
    max_rto: Duration,
    initial_rto: Duration,
    receive_buffer: Bytes,
}

const CLASSIC: ProfileDefaults = ProfileDefaults {
    sack: true,
    timestamps: true,
    limited_transmit: true,
    dupthresh: 3,
    initial_window: 10,
    min_rto: Duration::from_millis(200),
    max_rto: Duration::from_secs(60),
    initial_rto: Duration::from_secs(1),
    receive_buffer: Bytes::new(64 << 20),
};

impl Profile {
    fn defaults(self) -> ProfileDefaults {
        match self {
            Profile::Classic => CLASSIC,
        }
    }
}

/// IPv4 and TCP headers.
const HEADERS: u32 = 40;
/// Timestamps option with its padding.
const TIMESTAMPS: u32 = 12;
/// RFC 9293 section 3.7.1 asks for more; smaller segments would be all headers.
const MIN_MSS: u64 = 16;
/// What the option of a SYN and the packet's length can say, headers taken off.
const MAX_MSS: u64 = 65_535 - (HEADERS + TIMESTAMPS) as u64;
/// 65,535 bytes scaled by the largest shift of RFC 7323 section 2.3.
const MAX_WINDOW: u64 = 65_535 << 14;

impl TcpConfig {
    /// Refuses values that no connection can work with.
    ///
    /// # Errors
    /// The field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        let outside = |value: u64, low: u64, high: u64| value < low || value > high;
        if let Some(mss) = self.mss.filter(|mss| outside(mss.get(), MIN_MSS, MAX_MSS)) {
            return Err(FieldError::new("mss", format!("{mss} is not from {MIN_MSS} B to {MAX_MSS} B")));
        }
        if let Some(segments) = self.dupthresh.filter(|d| outside(u64::from(*d), 1, 1000)) {
            return Err(FieldError::new("dupthresh", format!("{segments} is not from 1 to 1000")));
        }
        if let Some(segments) = self.initial_window.filter(|w| outside(u64::from(*w), 1, 10_000)) {
            return Err(FieldError::new("initial_window", format!("{segments} is not from 1 to 10000 segments")));
        }
        let max_rto = self.profile.defaults().max_rto;
        if let Some(rto) = self.min_rto.filter(|rto| rto.is_zero() || *rto > max_rto) {
            return Err(FieldError::new("min_rto", format!("{rto} is not more than 0 s and at most {max_rto}")));
        }
        if let DelayedAck::After(delay) = self.delayed_ack
            && (delay.is_zero() || delay > Duration::from_millis(500))
        {
            let message = format!("{delay} is not more than 0 s and at most 500 ms (RFC 9293 section 3.8.6.3)");
            return Err(FieldError::new("delayed_ack", message));
        }
        let least = self.mss.map_or(4096, Bytes::get);
        if let Some(buffer) = self.receive_buffer.filter(|b| outside(b.get(), least, MAX_WINDOW)) {
            let message = format!("{buffer} is not from {} (a segment) to {} B", Bytes::new(least), MAX_WINDOW);
            return Err(FieldError::new("receive_buffer", message));
        }
        self.congestion.check().map_err(|error| error.within("congestion"))
    }

    /// Bytes of a full packet where the default packet has `default_packet` bytes.
    pub fn packet_bytes(&self, default_packet: u32) -> u32 {
        let settings = self.resolve(default_packet);
        settings.mss + header_bytes(settings.timestamps)
    }

    /// The options with every default filled in.
    pub fn resolve(&self, default_packet: u32) -> Settings {
        let defaults = self.profile.defaults();
        let timestamps = self.timestamps.unwrap_or(defaults.timestamps);
        let fill = u64::from(default_packet.saturating_sub(header_bytes(timestamps)));
        let mss = self.mss.map_or(fill, Bytes::get).clamp(MIN_MSS, MAX_MSS);
        Settings {
            congestion: self.congestion.clone(),
            mss: mss as u32,
            delayed_ack: match self.delayed_ack {
                DelayedAck::Off => None,
                DelayedAck::After(delay) => Some(delay),
            },
            sack: self.sack.unwrap_or(defaults.sack),
            timestamps,
            limited_transmit: self.limited_transmit.unwrap_or(defaults.limited_transmit),
            dupthresh: self.dupthresh.unwrap_or(defaults.dupthresh),
            initial_window: mss * u64::from(self.initial_window.unwrap_or(defaults.initial_window)),
            min_rto: self.min_rto.unwrap_or(defaults.min_rto),
            max_rto: defaults.max_rto,
            initial_rto: defaults.initial_rto,
            receive_buffer: self.receive_buffer.unwrap_or(defaults.receive_buffer).get().clamp(mss, MAX_WINDOW),
        }
    }

    /// The same configuration with nothing left open, for whoever wants to see what a run uses.
    pub fn resolved(&self, default_packet: u32) -> TcpConfig {
        let settings = self.resolve(default_packet);
        TcpConfig {
            congestion: settings.congestion,
            profile: self.profile,
            mss: Some(Bytes::new(u64::from(settings.mss))),
            delayed_ack: self.delayed_ack,
            sack: Some(settings.sack),
            timestamps: Some(settings.timestamps),
            limited_transmit: Some(settings.limited_transmit),
            dupthresh: Some(settings.dupthresh),
            initial_window: Some((settings.initial_window / u64::from(settings.mss)) as u32),
            min_rto: Some(settings.min_rto),
            receive_buffer: Some(Bytes::new(settings.receive_buffer)),
        }
    }
}

fn header_bytes(timestamps: bool) -> u32 {
    HEADERS + if timestamps { TIMESTAMPS } else { 0 }
}

/// A connection's options, nothing left open.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The congestion controller.
    pub congestion: CongestionConfig,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// How long an acknowledgment may wait for a second segment; `None` acknowledges every segment at once.
    pub delayed_ack: Option<Duration>,
    /// Whether selective acknowledgments are offered.
    pub sack: bool,
    /// Whether timestamps are offered.
    pub timestamps: bool,
    /// Whether the first duplicate acknowledgments let new data out (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate acknowledgments that are taken for a loss.
    pub dupthresh: u32,
    /// Congestion window at the start, in bytes.
    pub initial_window: u64,
    /// Floor of the variance term of the retransmission time-out.
    pub min_rto: Duration,
    /// The longest retransmission time-out.
    pub max_rto: Duration,
    /// The retransmission time-out before the first measurement.
    pub initial_rto: Duration,
    /// The receive window in bytes.
    pub receive_buffer: u64,
}

/// Whether acknowledgments wait for a second segment (RFC 1122 section 4.2.3.2), and how long at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DelayedAck {
    /// Every segment is acknowledged at once.
    #[default]
    Off,
    /// At least every second full segment is acknowledged, at the latest after this time.
    After(Duration),
}

/// What `true` stands for: the shortest that Linux uses.
const DELAYED_ACK: Duration = Duration::from_millis(40);

impl Serialize for DelayedAck {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            DelayedAck::Off => serializer.serialize_bool(false),
            DelayedAck::After(delay) => delay.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for DelayedAck {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DelayedAckVisitor)
    }
}

struct DelayedAckVisitor;

impl serde::de::Visitor<'_> for DelayedAckVisitor {
    type Value = DelayedAck;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("true, false or a duration such as \"40 ms\"")
    }

    fn visit_bool<E: serde::de::Error>(self, on: bool) -> Result<DelayedAck, E> {
        Ok(if on { DelayedAck::After(DELAYED_ACK) } else { DelayedAck::Off })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<DelayedAck, E> {
        text.parse().map(DelayedAck::After).map_err(E::custom)
    }
}

impl JsonSchema for DelayedAck {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DelayedAck".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let duration = generator.subschema_for::<Duration>();
        schemars::json_schema!({ "anyOf": [{ "type": "boolean" }, duration] })
    }
}
