//! Diversity slotted ALOHA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::FieldError;

use super::check::check_replica_count;
use super::coding::{Coded, Coding, coded_scheme};
use super::scheme::Receiver;
use super::{RandomConfig, RandomLayout, ReplicaCount};

coded_scheme! {
    /// Diversity slotted ALOHA: several replicas of a packet, of which one has to arrive; nothing is cancelled.
    ///
    /// Choudhury and Rappaport 1983.
    pub struct Dsa {
        /// Replicas of a packet, at least 2.
        pub replicas: u32 = 2,
    }
    payload_bits: 597, packet_bits: 613, margin: 0.0
}

impl Coded for Dsa {
    fn code(&self) -> Coding {
        self.coding()
    }

    fn replicas(&self) -> ReplicaCount {
        ReplicaCount::Fixed(self.replicas)
    }

    fn check_replicas(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        check_replica_count("replicas", self.replicas, 2, layout)
    }

    fn receiver(&self, random: &RandomConfig) -> Receiver {
        // Nothing is subtracted.
        Receiver { iterations: 1, ..self.code().receiver(random) }
    }
}
