//! Random access for the beginning of a flow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::FieldError;

use super::{Kind, SwitchView};

/// The first datagrams of a flow take random access, the others dedicated access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BySequence {
    /// How many full packets of data (of UDP and QUIC: datagrams) take random access (`switchAleaDet_`).
    pub after: u64,
    /// With which of them, from 0, the terminal requests a connection, so that it is ready, or nearly so, when it is
    /// needed. By default it requests one when it is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask_after: Option<u64>,
}

impl Default for BySequence {
    fn default() -> BySequence {
        BySequence { after: 3, ask_after: None }
    }
}

impl Kind for BySequence {
    fn check(&self) -> Result<(), FieldError> {
        match self.ask_after {
            Some(ask) if ask > self.after => {
                let message = format!("{ask} was given, more than `after`, which is {}", self.after);
                Err(FieldError::new("ask_after", message))
            }
            _ => Ok(()),
        }
    }

    fn is_dedicated(&self, _before: bool, view: &SwitchView) -> bool {
        view.position >= self.after
    }

    fn requests_slots(&self, view: &SwitchView) -> bool {
        self.ask_after.is_some_and(|after| view.position >= after)
    }

    fn requests_early(&self) -> bool {
        self.ask_after.is_some()
    }
}
