//! Sizes of queues.

use std::fmt;
use std::str::FromStr;

use units::{BitRate, Bytes, Duration, FieldError, ParseQuantityError, Quantity};

/// The packets that wait in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// The properties of a link from which sizes of queues are computed.
#[derive(Clone, Copy, Debug)]
pub struct LinkFacts {
    /// Coded bits per second.
    pub rate: BitRate,
    /// The flows' round-trip time without queueing.
    pub base_rtt: Duration,
    /// Number of users of the link.
    pub users: usize,
}

/// The size of a queue in a scenario: `"100 packets"`, `"64 kB"`, `"20 ms"` (at the rate of the link), `"1 bdp"`
/// (bandwidth-delay product, B = RTT·C, with any factor), `"1 bdp/sqrt(n)"` (the same over the square root of the
/// number of users, Appenzeller, Keslassy and McKeown, SIGCOMM 2004) or `"1 bdp/sqrt(n)/n"` (one user's part of that).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// Packets of any size.
    Packets(u32),
    /// Bytes.
    Bytes(Bytes),
    /// The bytes that the link sends in this time.
    Time(Duration),
    /// This many times the bytes that the link sends in one base round-trip time, over the square root of the number of
    /// users if `root`, over their number if `divided`.
    Bdp {
        /// The number of bandwidth-delay products.
        factor: f64,
        /// Whether it is divided by the square root of n.
        root: bool,
        /// Whether it is divided by n.
        divided: bool,
    },
}

/// The size of a queue in packets or bytes. The packet that is being sent is not in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes.
    Bytes(u64),
}

impl Buffer {
    /// This many bandwidth-delay products.
    pub const fn bdp(factor: f64) -> Buffer {
        Buffer::Bdp { factor, root: false, divided: false }
    }

    /// The size in packets or bytes on `link`.
    ///
    /// # Errors
    /// If no byte, or more than 10^15, would fit.
    pub fn resolve(self, link: &LinkFacts) -> Result<Limit, FieldError> {
        self.resolve_as("buffer", link)
    }

    /// As [`Buffer::resolve`] for the option `field`.
    pub(crate) fn resolve_as(self, field: &'static str, link: &LinkFacts) -> Result<Limit, FieldError> {
        let &LinkFacts { rate, base_rtt, users } = link;
        let bytes = match self {
            Buffer::Packets(packets) => return Ok(Limit::Packets(packets)),
            Buffer::Bytes(bytes) => bytes.get() as f64,
            Buffer::Time(time) => bytes_in(rate, time),
            Buffer::Bdp { factor, root, divided } => {
                let users = users.max(1) as f64;
                let root = if root { users.sqrt() } else { 1.0 };
                factor * bytes_in(rate, base_rtt) / root / if divided { users } else { 1.0 }
            }
        };
        if (1.0..=1e15).contains(&bytes) {
            return Ok(Limit::Bytes(bytes as u64));
        }
        let size = if bytes < 1.0 { "no byte at all" } else { "more than 10^15 bytes" };
        let among = if matches!(self, Buffer::Bdp { root, divided, .. } if root || divided) {
            format!(" for {users} users")
        } else {
            String::new()
        };
        let reason = format!("\"{self}\" is {size} at {rate} and a base round-trip time of {base_rtt}{among}");
        Err(FieldError::new(field, reason))
    }
}

impl Limit {
    /// Whether a packet of `size` bytes fits into a queue with this backlog. An empty queue takes one packet of any
    /// size.
    pub fn admits(self, backlog: Backlog, size: u32) -> bool {
        match self {
            Limit::Packets(packets) => backlog.packets < packets as usize,
            Limit::Bytes(bytes) => backlog.packets == 0 || backlog.bytes + u64::from(size) <= bytes,
        }
    }

    /// An equal part for each of `queues`, of at least a packet.
    pub fn divided(self, queues: usize) -> Limit {
        match self {
            Limit::Packets(packets) => Limit::Packets((packets / queues as u32).max(1)),
            Limit::Bytes(bytes) => Limit::Bytes(bytes / queues as u64),
        }
    }

    /// The number of packets or bytes.
    pub fn count(self) -> u64 {
        match self {
            Limit::Packets(packets) => u64::from(packets),
            Limit::Bytes(bytes) => bytes,
        }
    }

    /// The backlog in the unit of this limit: packets or bytes.
    pub fn measure(self, backlog: Backlog) -> u64 {
        match self {
            Limit::Packets(_) => backlog.packets as u64,
            Limit::Bytes(_) => backlog.bytes,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Packets(1) => write!(f, "1 packet"),
            Limit::Packets(packets) => write!(f, "{packets} packets"),
            Limit::Bytes(bytes) => Bytes::new(*bytes).fmt(f),
        }
    }
}

fn bytes_in(rate: BitRate, time: Duration) -> f64 {
    rate.as_bps() as f64 * time.as_nanos() as f64 / 8e9
}

const NOUN: &str = "a buffer size";
const ALLOWED: &str = "write packets, bytes, a time at the rate of the link, or bandwidth-delay products, as in \
     \"100 packets\", \"64 kB\", \"20 ms\" or \"1 bdp\", for n users also \"1 bdp/sqrt(n)\" or \"1 bdp/sqrt(n)/n\"";

impl FromStr for Buffer {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Buffer, ParseQuantityError> {
        let refuse =
            |reason: &str| ParseQuantityError { noun: NOUN, given: text.to_owned(), reason: reason.to_owned() };
        let trimmed = text.trim();
        let count = |unit: &str| trimmed.strip_suffix(unit).map(|number| number.trim().replace('_', ""));
        let buffer = if let Some(number) = count("packets").or_else(|| count("packet")) {
            let whole = "a whole number of packets, at least 1 and at most 4294967295, is needed";
            let is_number = number.parse::<f64>().is_ok();
            Buffer::Packets(number.parse().map_err(|_| refuse(if is_number { whole } else { ALLOWED }))?)
        } else if let Some((root, divided, number)) = products(trimmed) {
            let factor: f64 = number.parse().map_err(|_| refuse(ALLOWED))?;
            if !(factor.is_finite() && factor >= 0.0) {
                return Err(refuse("the factor must be more than 0 and finite"));
            }
            Buffer::Bdp { factor, root, divided }
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
            Buffer::Bdp { factor, .. } => factor == 0.0,
        };
        if empty { Err(refuse("a buffer without room lets nothing through")) } else { Ok(buffer) }
    }
}

/// Parses a size in bandwidth-delay products: whether over the root of n, whether over n, and the factor.
fn products(text: &str) -> Option<(bool, bool, String)> {
    let (text, divided) = text.strip_suffix("/n").map_or((text, false), |text| (text.trim_end(), true));
    let (text, root) = text.strip_suffix("/sqrt(n)").map_or((text, false), |text| (text.trim_end(), true));
    Some((root, divided, text.strip_suffix("bdp")?.trim().replace('_', "")))
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Buffer::Packets(1) => f.write_str("1 packet"),
            Buffer::Packets(packets) => write!(f, "{packets} packets"),
            Buffer::Bytes(bytes) => write!(f, "{bytes}"),
            Buffer::Time(time) => write!(f, "{time}"),
            Buffer::Bdp { factor, root, divided } => {
                let root = if *root { "/sqrt(n)" } else { "" };
                write!(f, "{factor} bdp{root}{}", if *divided { "/n" } else { "" })
            }
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
            "description": format!("{NOUN}: {ALLOWED}"),
            "examples": ["1 bdp", "1 bdp/sqrt(n)", "100 packets", "64 kB", "20 ms"],
        })
    }
}
