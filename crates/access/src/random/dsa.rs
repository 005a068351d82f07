//! Diversity slotted ALOHA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::FieldError;

use super::check::check_bursts;
use super::coding::{Coded, Coding, coded_scheme};
use super::scheme::Receiver;
use super::{BurstCount, RandomConfig, RandomLayout};

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

impl Coded for Dsa {
    fn code(&self) -> Coding {
        self.coding()
    }

    fn copies(&self) -> BurstCount {
        BurstCount::Fixed(self.replicas)
    }

    fn check_copies(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        check_bursts("replicas", self.replicas, 2, layout)
    }

    fn receiver(&self, random: &RandomConfig) -> Receiver {
        // Nothing is subtracted.
        Receiver { iterations: 1, ..self.code().receiver(random) }
    }
}
