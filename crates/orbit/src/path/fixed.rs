//! A path whose delay does not change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Files};

use super::Kind;
use super::jitter::Jitter;
use super::trace::DelayTrace;

/// A constant one-way delay, with jitter if wished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedPath {
    /// The one-way delay.
    pub delay: Duration,
    /// An extra delay for some packets of either direction, which therefore arrive out of order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
}

impl Kind for FixedPath {
    fn delays(&self, _duration: Duration, _files: &mut dyn Files) -> Result<DelayTrace, FieldError> {
        Ok(DelayTrace::fixed(self.delay))
    }

    fn jitter(&self) -> Option<&Jitter> {
        self.jitter.as_ref()
    }
}
