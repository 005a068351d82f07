//! A jump to the frame that should be shown, as players do beyond a largest drift.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::Kind;

/// Leaves out frames as soon as it is so far behind, up to the one that should be shown, or the newest that is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Seek {
    /// How far behind its latency it may be.
    pub drift: Duration,
}

impl Default for Seek {
    fn default() -> Seek {
        Seek { drift: Duration::from_millis(500) }
    }
}

impl Kind for Seek {
    fn jumps(&self, latency: Duration, target: Duration) -> bool {
        latency > target + self.drift
    }
}
