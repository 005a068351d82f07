//! Slotted ALOHA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FieldError, Files};

use super::check::check_bursts;
use super::coding::coded_scheme;
use super::scheme::Receiver;
use super::{BurstCount, Decoding, Kind, RandomConfig, RandomLayout};

coded_scheme! {
    /// Slotted ALOHA: one burst for a packet, lost when it collides, unless it is strong enough to be heard all the
    /// same (capture, with `power_spread` or a code of low rate).
    ///
    /// Abramson 1970.
    pub struct Aloha {}
    payload_bits: 597, packet_bits: 613, margin: 0.0
}

impl Kind for Aloha {
    fn check(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        self.coding().check()?;
        check_bursts("", 1, 1, layout)
    }

    fn payload_bits(&self) -> u32 {
        self.payload_bits
    }

    fn symbols(&self) -> Option<u32> {
        Some(self.symbols)
    }

    fn bursts(&self) -> BurstCount {
        BurstCount::Fixed(1)
    }

    fn decoding(&self, random: &RandomConfig, _files: &mut dyn Files) -> Result<Decoding, FieldError> {
        // Nothing is subtracted.
        Ok(Decoding::Receiver(Receiver { iterations: 1, ..self.coding().receiver(random) }))
    }
}
