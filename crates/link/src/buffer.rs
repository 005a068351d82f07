//! How large a queue is.

use std::fmt;
use std::str::FromStr;

use units::{BitRate, Bytes, Duration, FieldError, ParseQuantityError, Quantity};

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// The size of a queue as people state it: `"100 packets"`, `"64 kB"`, `"20 ms"` (at the rate of the link) or `"1 bdp"`
/// (bandwidth-delay product, B = RTT·C, with any factor).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// Packets of any size.
    Packets(u32),
    /// Bytes.
    Bytes(Bytes),
    /// The bytes that the link sends in this time.
    Time(Duration),
    /// This many times the bytes that the link sends in one base round-trip time.
    Bdp(f64),
}

/// The size of a queue in what can be counted. The packet that is being sent is not in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes.
    Bytes(u64),
}

impl Buffer {
    /// What this means on a link of `rate` under flows whose round-trip time without queueing is `base_rtt`.
    ///
    /// # Errors
    /// If no byte, or more than 10^15, would fit.
    pub fn resolve(self, rate: BitRate, base_rtt: Duration) -> Result<Limit, FieldError> {
        self.resolve_as("buffer", rate, base_rtt)
    }

    /// As [`Buffer::resolve`] for the option `field`.
    pub(crate) fn resolve_as(
        self,
        field: &'static str,
        rate: BitRate,
        base_rtt: Duration,
    ) -> Result<Limit, FieldError> {
        let bytes = match self {
            Buffer::Packets(packets) => return Ok(Limit::Packets(packets)),
            Buffer::Bytes(bytes) => bytes.get() as f64,
            Buffer::Time(time) => bytes_in(rate, time),
            Buffer::Bdp(factor) => factor * bytes_in(rate, base_rtt),
        };
        if (1.0..=1e15).contains(&bytes) {
            return Ok(Limit::Bytes(bytes as u64));
        }
        let size = if bytes < 1.0 { "no byte at all" } else { "more than 10^15 bytes" };
        let reason = format!("\"{self}\" is {size} at {rate} and a base round-trip time of {base_rtt}");
        Err(FieldError::new(field, reason))
    }
}

impl Limit {
    /// Whether a packet of `size` bytes still fits beside what waits.
    pub fn admits(self, backlog: Backlog, size: u32) -> bool {
        match self {
            Limit::Packets(packets) => backlog.packets < packets as usize,
            Limit::Bytes(bytes) => backlog.bytes + u64::from(size) <= bytes,
        }
    }

    /// How many packets or bytes.
    pub fn count(self) -> u64 {
        match self {
            Limit::Packets(packets) => u64::from(packets),
            Limit::Bytes(bytes) => bytes,
        }
    }

    /// What waits, in packets or bytes as this is.
    pub fn measure(self, backlog: Backlog) -> u64 {
        match self {
            Limit::Packets(_) => backlog.packets as u64,
            Limit::Bytes(_) => backlog.bytes,
        }
    }
}

fn bytes_in(rate: BitRate, time: Duration) -> f64 {
    rate.as_bps() as f64 * time.as_nanos() as f64 / 8e9
}

const WHAT: &str = "a buffer size";
const ALLOWED: &str = "write packets, bytes, a time at the rate of the link, or bandwidth-delay products, as in \
     \"100 packets\", \"64 kB\", \"20 ms\" or \"1 bdp\"";

impl FromStr for Buffer {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Buffer, ParseQuantityError> {
        let refuse =
            |reason: &str| ParseQuantityError { what: WHAT, given: text.to_owned(), reason: reason.to_owned() };
        let trimmed = text.trim();
        let count = |unit: &str| trimmed.strip_suffix(unit).map(|number| number.trim().replace('_', ""));
        let buffer = if let Some(number) = count("packets").or_else(|| count("packet")) {
            let whole = "a whole number of packets, at least 1 and at most 4294967295, is needed";
            let is_number = number.parse::<f64>().is_ok();
            Buffer::Packets(number.parse().map_err(|_| refuse(if is_number { whole } else { ALLOWED }))?)
        } else if let Some(number) = count("bdp") {
            let factor: f64 = number.parse().map_err(|_| refuse(ALLOWED))?;
            if !(factor.is_finite() && factor >= 0.0) {
                return Err(refuse("the factor must be more than 0 and finite"));
            }
            Buffer::Bdp(factor)
        } else {
            match (Bytes::parse(trimmed), Duration::parse(trimmed)) {
                (Ok(bytes), _) => Buffer::Bytes(bytes),
                (_, Ok(time)) => Buffer::Time(time),
                // The unit was understood, the value is out of range.
                (Err(error), _) | (_, Err(error)) if error.reason.starts_with("must be") => {
                    return Err(refuse(&error.reason));
                }
                _ => return Err(refuse(ALLOWED)),
            }
        };
        let empty = match buffer {
            Buffer::Packets(packets) => packets == 0,
            Buffer::Bytes(bytes) => bytes.get() == 0,
            Buffer::Time(time) => time.is_zero(),
            Buffer::Bdp(factor) => factor == 0.0,
        };
        if empty { Err(refuse("a buffer without room would drop every packet")) } else { Ok(buffer) }
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Buffer::Packets(1) => f.write_str("1 packet"),
            Buffer::Packets(packets) => write!(f, "{packets} packets"),
            Buffer::Bytes(bytes) => write!(f, "{bytes}"),
            Buffer::Time(time) => write!(f, "{time}"),
            Buffer::Bdp(factor) => write!(f, "{factor} bdp"),
        }
    }
}

impl serde::Serialize for Buffer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Buffer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Buffer, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Buffer {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Buffer".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": format!("{WHAT}: {ALLOWED}"),
            "examples": ["1 bdp", "100 packets", "64 kB", "20 ms"],
        })
    }
}
