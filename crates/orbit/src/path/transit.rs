//! The configuration of packets on the long path: the cost of each hop, and their fate at a handover and without a
//! route. The path's own delay includes the processing delay only; queues, interruptions and losses are applied by the
//! caller.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, FieldError};

/// Longer than any satellite takes, and within the range of the router's arithmetic.
const LONGEST_PROCESSING: Duration = Duration::from_secs(1);
/// The largest payload of an Ethernet frame.
const LARGEST_PACKET: u64 = 1500;

/// Processing delay, rate and buffer of the satellites on the route and of its links before the last hop: the
/// gateway's, and the inter-satellite links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HopConfig {
    /// The processing delay of every satellite on the route. It is part of the route's delay, and so of its choice.
    #[serde(default)]
    pub processing_delay: Duration,
    /// The rate of each link; by default they are never the bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// The size of the buffer before each link, with what is left of the packet that is being sent; by default
    /// unlimited. It needs a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
}

/// What a handover of the user costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AtHandover {
    /// Nothing is sent to or by the user for so long.
    #[serde(default)]
    pub interruption: Duration,
    /// The fate of packets that wait at the old serving satellite or are in flight from it.
    #[serde(default)]
    pub packets: AtHandoverPackets,
}

/// The fate of packets that wait at the old serving satellite or are in flight from it to the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtHandoverPackets {
    /// They reach the user as if there were no handover.
    #[default]
    Deliver,
    /// Waiting packets are forwarded to the new serving satellite over the inter-satellite links; packets in flight to
    /// the user are lost.
    Forward,
    /// They are lost.
    Lose,
}

units::registry! {
    /// The fate of packets that find no route.
    pub enum NoRoute: dyn Kind {
        #[default] "drop" => Drop(DropWithoutRoute),
        "queue" => Queue(QueueWithoutRoute),
    }
}

/// Packets without a route are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropWithoutRoute {}

/// Packets without a route wait at the begin of the path until there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueWithoutRoute {
    /// The size of the buffer; packets that find it full are lost.
    #[serde(default = "one_megabyte")]
    pub buffer: Bytes,
}

/// The most bytes that wait for an uplink with a rate, unless the path says otherwise.
pub(crate) const UPLINK_BUFFER: Bytes = Bytes::new(1_000_000);

fn one_megabyte() -> Bytes {
    Bytes::new(1_000_000)
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
        self.buffer.map_or(Ok(()), |buffer| holds_a_packet("buffer", buffer))
    }
}

/// The fate of packets that find no route.
pub trait Kind {
    /// Checks every value.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// Returns the size of the buffer for packets that wait for a route; `None` if none wait.
    fn buffer(&self) -> Option<Bytes> {
        None
    }
}

impl Kind for DropWithoutRoute {}

impl Kind for QueueWithoutRoute {
    fn check(&self) -> Result<(), FieldError> {
        holds_a_packet("buffer", self.buffer)
    }

    fn buffer(&self) -> Option<Bytes> {
        Some(self.buffer)
    }
}

/// Checks the size of a buffer, which is this field.
///
/// # Errors
/// The largest packet does not fit.
pub(super) fn holds_a_packet(field: &str, buffer: Bytes) -> Result<(), FieldError> {
    match buffer.get() < LARGEST_PACKET {
        true => {
            let message =
                format!("{buffer} must be at least {LARGEST_PACKET} B: a packet larger than the buffer is always lost");
            Err(FieldError::new(field, message))
        }
        false => Ok(()),
    }
}
