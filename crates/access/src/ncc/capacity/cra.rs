//! Continuous rate assignment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::BitRate;

use super::{Demand, Kind};
use crate::ncc::facts::FrameFacts;

/// Continuous rate assignment: a connected terminal has constant slots, with or without data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cra {
    /// The rate of what slots carry of datagrams, without the headers of their parts; by default an equal share (by
    /// weight) of all slots among the connected terminals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}

impl Kind for Cra {
    fn base_rate(&self) -> Option<BitRate> {
        self.rate
    }

    fn shares_slots(&self) -> bool {
        true
    }

    fn build(&self, _frame: FrameFacts, _request_frames: u64, _terminals: usize) -> Option<Box<dyn Demand>> {
        None
    }
}
