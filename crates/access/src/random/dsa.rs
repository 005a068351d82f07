//! Diversity slotted ALOHA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FieldError, Files};

use super::check::check_bursts;
use super::coding::coded_scheme;
use super::scheme::Receiver;
use super::{BurstCount, Decoding, Kind, RandomConfig, RandomLayout};

coded_scheme! {
    /// Diversity slotted ALOHA: several copies of a packet, of which one has to arrive; nothing is cancelled.
    ///
    /// Choudhury and Rappaport 1983.
    pub struct Dsa {
        /// Copies of a packet, at least 2.
        pub replicas: u32 = 2,
    }
    payload_bits: 597, packet_bits: 613, margin: 0.0
}

impl Kind for Dsa {
    fn check(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        self.coding().check()?;
        check_bursts("replicas", self.replicas, 2, layout)
    }

    fn payload_bits(&self) -> u32 {
        self.payload_bits
    }

    fn symbols(&self) -> Option<u32> {
        Some(self.symbols)
    }

    fn bursts(&self) -> BurstCount {
        BurstCount::Fixed(self.replicas)
    }

    fn decoding(&self, random: &RandomConfig, _files: &mut dyn Files) -> Result<Decoding, FieldError> {
        // Nothing is subtracted.
        Ok(Decoding::Receiver(Receiver { iterations: 1, ..self.coding().receiver(random) }))
    }
}
