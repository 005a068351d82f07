//! Volume-based dynamic capacity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::BitRate;

use super::{Demand, Kind, Need};
use crate::ncc::facts::FrameFacts;

/// Volume-based dynamic capacity: a terminal requests slots, and requests add up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Vbdc {
    /// The rate that a connected terminal has without a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cra: Option<BitRate>,
}

impl Kind for Vbdc {
    fn base_rate(&self) -> Option<BitRate> {
        self.cra
    }

    fn build(&self, frame: FrameFacts, _request_frames: u64, terminals: usize) -> Option<Box<dyn Demand>> {
        let terminals = vec![Volume::default(); terminals];
        Some(Box::new(Volumes { slot_bits: u64::from(frame.slot_bits), terminals }))
    }
}

/// VBDC: requests add up (EN 301 790 section 6.4.1.3).
///
/// The terminal requests slots for the waiting data beyond the slots that it requested and did not get, and beyond what
/// its base rate sends until the request takes effect. So no slot is requested twice, and data that were sent by other
/// means are not requested again.
struct Volumes {
    slot_bits: u64,
    terminals: Vec<Volume>,
}

/// What VBDC keeps of a terminal, in slots.
#[derive(Clone, Debug, Default)]
struct Volume {
    /// Slots that the terminal has requested and not got.
    outstanding: u64,
    /// Slots that were requested at the NCC and not granted.
    volume: u64,
}

impl Demand for Volumes {
    fn forget(&mut self, terminal: usize, _arrived_bits: u64) {
        self.terminals[terminal] = Volume::default();
    }

    fn request(&mut self, terminal: usize, need: &Need) -> Option<u64> {
        let terminal = &mut self.terminals[terminal];
        let by_rate = (need.base_until_effect_bits / self.slot_bits as f64) as u64;
        let requested = need.slots.saturating_sub(terminal.outstanding + by_rate);
        terminal.outstanding += requested;
        (requested > 0).then_some(requested)
    }

    fn handle_request(&mut self, terminal: usize, requested: u64, _granted_since: u64) {
        self.terminals[terminal].volume += requested;
    }

    fn wanted(&mut self, terminal: usize) -> u64 {
        self.terminals[terminal].volume
    }

    fn on_granted(&mut self, terminal: usize, slots: u32) {
        let terminal = &mut self.terminals[terminal];
        terminal.volume -= u64::from(slots);
        terminal.outstanding -= u64::from(slots);
    }
}
