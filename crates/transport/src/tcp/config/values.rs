//! Options that are a number or a word, a switch or a duration.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::Duration;

/// Whether acknowledgments wait for a second segment (RFC 1122 section 4.2.3.2), and how long at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DelayedAck {
    /// Every segment is acknowledged at once.
    #[default]
    Off,
    /// At least every second full segment is acknowledged, at the latest after this time.
    After(Duration),
}

impl DelayedAck {
    /// Returns the longest time that an acknowledgment waits; `None` if it does not wait.
    pub(in crate::tcp) fn longest(self) -> Option<Duration> {
        match self {
            DelayedAck::Off => None,
            DelayedAck::After(delay) => Some(delay),
        }
    }
}

/// The value of `true`: the shortest that Linux uses.
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

/// Explicit congestion notification, if both ends use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnMode {
    /// None.
    #[default]
    Off,
    /// RFC 3168: an acknowledgment echoes that a mark arrived.
    Classic,
    /// RFC 9768: acknowledgments count marks; RFC 3168 with a peer that has no more.
    Accurate,
}

/// The word for accurate feedback.
const ACCURATE: &str = "accurate";

impl Serialize for EcnMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EcnMode::Off => serializer.serialize_bool(false),
            EcnMode::Classic => serializer.serialize_bool(true),
            EcnMode::Accurate => serializer.serialize_str(ACCURATE),
        }
    }
}

impl<'de> Deserialize<'de> for EcnMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EcnModeVisitor)
    }
}

struct EcnModeVisitor;

impl serde::de::Visitor<'_> for EcnModeVisitor {
    type Value = EcnMode;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("true, false or \"accurate\"")
    }

    fn visit_bool<E: serde::de::Error>(self, on: bool) -> Result<EcnMode, E> {
        Ok(if on { EcnMode::Classic } else { EcnMode::Off })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<EcnMode, E> {
        if text == ACCURATE {
            return Ok(EcnMode::Accurate);
        }
        Err(E::custom(format!("\"{text}\" is not true, false or \"{ACCURATE}\"")))
    }
}

impl JsonSchema for EcnMode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EcnMode".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "boolean" }, { "const": ACCURATE }] })
    }
}

/// TCP Fast Open (RFC 7413).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FastOpenMode {
    /// None.
    #[default]
    Off,
    /// The first connection to a host asks for a cookie, the next ones show it.
    Cookie,
    /// As from an earlier visit, the first one has a cookie too.
    Cached,
    /// Data go and are taken without cookies.
    Bare,
}

/// The words of a scenario for [`FastOpenMode::Cached`] and [`FastOpenMode::Bare`].
const CACHED: &str = "cached";
const BARE: &str = "no-cookie";

impl Serialize for FastOpenMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FastOpenMode::Off => serializer.serialize_bool(false),
            FastOpenMode::Cookie => serializer.serialize_bool(true),
            FastOpenMode::Cached => serializer.serialize_str(CACHED),
            FastOpenMode::Bare => serializer.serialize_str(BARE),
        }
    }
}

impl<'de> Deserialize<'de> for FastOpenMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FastOpenModeVisitor)
    }
}

struct FastOpenModeVisitor;

impl serde::de::Visitor<'_> for FastOpenModeVisitor {
    type Value = FastOpenMode;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "true, false, \"{CACHED}\" or \"{BARE}\"")
    }

    fn visit_bool<E: serde::de::Error>(self, on: bool) -> Result<FastOpenMode, E> {
        Ok(if on { FastOpenMode::Cookie } else { FastOpenMode::Off })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<FastOpenMode, E> {
        match text {
            CACHED => Ok(FastOpenMode::Cached),
            BARE => Ok(FastOpenMode::Bare),
            _ => Err(E::custom(format!("\"{text}\" is not true, false, \"{CACHED}\" or \"{BARE}\""))),
        }
    }
}

impl JsonSchema for FastOpenMode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FastOpenMode".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "boolean" }, { "const": CACHED }, { "const": BARE }] })
    }
}

/// Declares an option that is a whole number in a range, or one word.
macro_rules! number_or_word {
    ($(#[$meta:meta])* $name:ident, $number:ident, $word:ident = $text:literal, $low:literal ..= $high:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            /// So many.
            $number(u32),
            /// The word.
            $word,
        }

        impl $name {
            fn check(number: u64) -> Result<$name, String> {
                match u32::try_from(number) {
                    Ok(number) if ($low..=$high).contains(&number) => Ok($name::$number(number)),
                    _ => Err(format!("{number} is not from {} to {}, nor \"{}\"", $low, $high, $text)),
                }
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<$name, String> {
                match text {
                    $text => Ok($name::$word),
                    _ => Err(format!("{text:?} is neither a number from {} to {} nor \"{}\"", $low, $high, $text)),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $name::$number(number) => serializer.serialize_u32(*number),
                    $name::$word => serializer.serialize_str($text),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, "a number from {} to {} or \"{}\"", $low, $high, $text)
                    }

                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$name, E> {
                        $name::check(number).map_err(E::custom)
                    }

                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$name, E> {
                        let positive = u64::try_from(number);
                        let positive = positive.map_err(|_| E::custom(format!("{number} is less than {}", $low)))?;
                        self.visit_u64(positive)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "anyOf": [{ "type": "integer", "minimum": $low, "maximum": $high }, { "const": $text }]
                })
            }
        }
    };
}

number_or_word! {
    /// Duplicate acknowledgments, or their equivalent by SACK, that are taken for a loss.
    Dupthresh, Fixed, Adaptive = "adaptive", 1..=1000
}

number_or_word! {
    /// Segments that one acknowledgment may count for in slow start (RFC 3465 L).
    ByteCounting, AtMost, All = "all", 1..=1024
}

/// The unit that opens the window in congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AvoidanceCounts {
    /// A segment for each window of bytes acknowledged (RFC 3465 section 2.1).
    #[default]
    Bytes,
    /// A segment for each window of acknowledgments, whatever they acknowledge (RFC 5681 equation (3)).
    Acknowledgments,
}

/// When the retransmission timer starts anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RtoRestart {
    /// When an acknowledgment acknowledges new data (RFC 6298 (5.3)).
    NewData,
    /// As in Linux: also when a block acknowledges an original that was sent before the last transmission of the oldest
    /// segment.
    Linux,
    /// At every acknowledgment, as in ns-2.
    EveryAck,
}

/// Where `min_rto` is a floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RtoFloor {
    /// Under the variance term, as in Linux: RTO = SRTT + max(4 RTTVAR, min_rto).
    Variance,
    /// Under the whole, as RFC 6298 (2.4) and ns-2 have it: RTO = max(SRTT + 4 RTTVAR, min_rto).
    Total,
}
