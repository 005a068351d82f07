//! Packets that a path delays beyond the others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Probability};

/// An extra delay for some packets of either direction, drawn for each packet independently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// The probability that a packet is delayed.
    pub probability: Probability,
    /// The extra delay of these packets.
    pub extra: Duration,
}
