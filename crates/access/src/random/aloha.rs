//! Slotted ALOHA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::FieldError;

use super::check::check_replica_count;
use super::coding::{Coded, Coding, coded_scheme};
use super::scheme::Receiver;
use super::{RandomConfig, RandomLayout, ReplicaCount};

coded_scheme! {
    /// Slotted ALOHA: one burst for a packet, lost when it collides, unless it is strong enough to be heard all the
    /// same (capture, with `power_spread` or a code of low rate).
    ///
    /// Abramson 1970.
    pub struct Aloha {}
    payload_bits: 597, packet_bits: 613, margin: 0.0
}

impl Coded for Aloha {
    fn code(&self) -> Coding {
        self.coding()
    }

    fn replicas(&self) -> ReplicaCount {
        ReplicaCount::Fixed(1)
    }

    fn check_replicas(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        check_replica_count("", 1, 1, layout)
    }

    fn receiver(&self, random: &RandomConfig) -> Receiver {
        // Nothing is subtracted.
        Receiver { iterations: 1, ..self.code().receiver(random) }
    }
}
