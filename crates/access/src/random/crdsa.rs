//! Contention resolution diversity slotted ALOHA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::FieldError;

use super::check::check_replica_count;
use super::coding::{Coded, Coding, coded_scheme};
use super::{RandomLayout, ReplicaCount};

coded_scheme! {
    /// Contention resolution diversity slotted ALOHA: several replicas of a packet; those of decoded packets are
    /// subtracted from their slots.
    ///
    /// Casini, De Gaudenzi, del Rio Herrero 2007 (with 2 replicas); EN 301 545-2, section 7.2.5.2. The default is
    /// CRDSA-3 with QPSK 2/3 of Kuhn et al. 2015, section 4.4.2: 613 bits in 920 coded bits.
    pub struct Crdsa {
        /// Replicas of a packet, at least 2.
        pub replicas: u32 = 3,
    }
    payload_bits: 597, packet_bits: 613, margin: 0.0
}

impl Coded for Crdsa {
    fn code(&self) -> Coding {
        self.coding()
    }

    fn replicas(&self) -> ReplicaCount {
        ReplicaCount::Fixed(self.replicas)
    }

    fn check_replicas(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        check_replica_count("replicas", self.replicas, 2, layout)
    }
}
