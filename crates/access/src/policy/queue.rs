//! Dedicated access for a long queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, FieldError};

use super::{Kind, SwitchView};

/// Datagrams take dedicated access while the terminal's backlog is large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ByQueue {
    /// The backlog at which the terminal changes to dedicated access.
    pub threshold: Bytes,
    /// The backlog at which it changes back to random access.
    pub back: Bytes,
}

impl Default for ByQueue {
    /// About thirteen packets of random access, the most that a terminal sends in a frame of 40 timeslots with three
    /// replicas; back when nothing waits.
    fn default() -> ByQueue {
        ByQueue { threshold: Bytes::new(1000), back: Bytes::new(0) }
    }
}

impl Kind for ByQueue {
    fn check(&self) -> Result<(), FieldError> {
        if self.back <= self.threshold {
            return Ok(());
        }
        let message = format!("{} was given, more than the threshold of {}", self.back, self.threshold);
        Err(FieldError::new("back", message))
    }

    fn is_dedicated(&self, before: bool, view: &SwitchView) -> bool {
        view.queue_bits > if before { self.back.bits() } else { self.threshold.bits() }
    }
}
