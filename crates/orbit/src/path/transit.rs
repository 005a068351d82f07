//! What a scenario says of packets on the long path: what each hop costs them, and what becomes of them at a handover and without a
//! route. The path's own delay knows of processing only; queues, interruptions and losses are for whoever carries the packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, FieldError};

/// More than any satellite takes; the router's arithmetic has room for it.
const LONGEST_PROCESSING: Duration = Duration::from_secs(1);
/// What Ethernet carries in one frame.
const LARGEST_PACKET: u64 = 1500;

/// The satellites on the route, and its links before the last hop: the gateway's up to the constellation, and those between
/// satellites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HopConfig {
    /// What every satellite on the route takes to send a packet on. It counts in the route's delay, and so in its choice.
    #[serde(default)]
    pub processing_delay: Duration,
    /// The rate of each link; by default they are never the bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// How much may wait before each link; by default without a limit. It needs a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
}

/// What happens when another satellite takes over the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AtHandover {
    /// For so long nothing is sent to the user or by it.
    #[serde(default)]
    pub interruption: Duration,
    /// What becomes of the packets at the satellite left behind, and on their way from it.
    #[serde(default)]
    pub packets: AtHandoverPackets,
}

/// What becomes of the packets that a satellite holds for a user, or has sent, when another takes over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtHandoverPackets {
    /// They reach the user as if nothing had happened.
    #[default]
    Deliver,
    /// What waits is sent on to the new satellite over the links between both; what is on its way to the user is lost.
    Forward,
    /// They are lost.
    Lose,
}

units::registry! {
    /// What happens to packets that find no route.
    pub enum NoRoute {
        "drop" => Drop(DropWithoutRoute),
        "queue" => Queue(QueueWithoutRoute),
    }
}

/// They are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropWithoutRoute {}

/// They wait where the path begins until there is a route again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueWithoutRoute {
    /// So much may wait; what comes then is lost.
    #[serde(default = "one_megabyte")]
    pub buffer: Bytes,
}

fn one_megabyte() -> Bytes {
    Bytes::new(1_000_000)
}

impl Default for NoRoute {
    fn default() -> NoRoute {
        NoRoute::Drop(DropWithoutRoute {})
    }
}

impl Default for QueueWithoutRoute {
    fn default() -> QueueWithoutRoute {
        QueueWithoutRoute { buffer: one_megabyte() }
    }
}

impl HopConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        if self.processing_delay > LONGEST_PROCESSING {
            let message = format!("{} must be at most {LONGEST_PROCESSING}", self.processing_delay);
            return Err(FieldError::new("processing_delay", message));
        }
        if self.buffer.is_some() && self.rate.is_none() {
            let message = "without a `rate` nothing waits: give one, or leave the buffer out";
            return Err(FieldError::new("buffer", message));
        }
        self.buffer.map_or(Ok(()), holds_a_packet)
    }
}

impl NoRoute {
    /// Checks every value.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        match self {
            NoRoute::Drop(_) => Ok(()),
            NoRoute::Queue(queue) => holds_a_packet(queue.buffer),
        }
    }
}

fn holds_a_packet(buffer: Bytes) -> Result<(), FieldError> {
    match buffer.get() < LARGEST_PACKET {
        true => {
            let message =
                format!("{buffer} must be at least {LARGEST_PACKET} B: a packet larger than the buffer is always lost");
            Err(FieldError::new("buffer", message))
        }
        false => Ok(()),
    }
}
