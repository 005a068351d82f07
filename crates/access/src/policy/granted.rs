//! Dedicated access where there are slots.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Kind, SwitchView};

/// Datagrams take dedicated access in frames in which the terminal has slots, and random access in the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Granted {
    /// The datagram of a flow after which the terminal requests a connection: shorter flows do without.
    pub ask_after: u64,
}

impl Kind for Granted {
    fn is_dedicated(&self, _before: bool, _view: &SwitchView) -> bool {
        false
    }

    fn requests_slots(&self, view: &SwitchView) -> bool {
        view.position >= self.ask_after
    }

    fn requests_early(&self) -> bool {
        true
    }

    fn prefers_slots(&self) -> bool {
        true
    }
}
