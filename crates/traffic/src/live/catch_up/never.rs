//! No catching up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Kind;

/// Stays behind: what a stall took is added to the latency for good.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Never {}

impl Kind for Never {}
