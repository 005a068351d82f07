//! Absolute volume-based dynamic capacity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::BitRate;

use super::{Demand, Kind, Need};
use crate::ncc::facts::FrameFacts;

/// Absolute volume-based dynamic capacity: a terminal requests slots, and a new request replaces the former.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Avbdc {
    /// The rate that a connected terminal has without a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cra: Option<BitRate>,
}

impl Kind for Avbdc {
    fn base_rate(&self) -> Option<BitRate> {
        self.cra
    }

    fn build(&self, _frame: FrameFacts, _request_frames: u64, terminals: usize) -> Option<Box<dyn Demand>> {
        Some(Box::new(AbsoluteVolumes { terminals: vec![Absolute::default(); terminals] }))
    }
}

/// AVBDC: a request has the whole backlog and replaces the former (EN 301 790 section 6.4.1.4).
///
/// Slots that were granted while the request was in flight were for the same data: the NCC, which knows its plans,
/// subtracts them.
struct AbsoluteVolumes {
    terminals: Vec<Absolute>,
}

/// What AVBDC keeps of a terminal, in slots.
#[derive(Clone, Debug, Default)]
struct Absolute {
    /// The last request of the terminal.
    requested: u64,
    /// Slots that were requested at the NCC and not granted.
    volume: u64,
}

impl Demand for AbsoluteVolumes {
    fn forget(&mut self, terminal: usize, _arrived_bits: u64) {
        self.terminals[terminal] = Absolute::default();
    }

    fn request(&mut self, terminal: usize, need: &Need) -> Option<u64> {
        let terminal = &mut self.terminals[terminal];
        let before = std::mem::replace(&mut terminal.requested, need.slots);
        (need.slots > 0 || before > 0).then_some(need.slots)
    }

    fn handle_request(&mut self, terminal: usize, requested: u64, granted_since: u64) {
        self.terminals[terminal].volume = requested.saturating_sub(granted_since);
    }

    fn wanted(&mut self, terminal: usize) -> u64 {
        self.terminals[terminal].volume
    }

    fn on_granted(&mut self, terminal: usize, slots: u32) {
        self.terminals[terminal].volume -= u64::from(slots);
    }
}
