//! Contention resolution diversity slotted ALOHA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::FieldError;

use super::check::check_bursts;
use super::coding::{Coded, Coding, coded_scheme};
use super::{BurstCount, RandomLayout};

coded_scheme! {
    /// Contention resolution diversity slotted ALOHA: several copies of a packet; those of decoded packets are
    /// subtracted from their slots.
    ///
    /// Casini, De Gaudenzi, del Rio Herrero 2007 (with 2 copies); EN 301 545-2, section 7.2.5.2. The default is CRDSA-3
    /// with QPSK 2/3 of Kuhn et al. 2015, section 4.4.2: 613 bits in 920 coded bits.
    pub struct Crdsa {
        /// Copies of a packet, at least 2.
        pub replicas: u32 = 3,
    }
    payload_bits: 597, packet_bits: 613, margin: 0.0
}

impl Coded for Crdsa {
    fn code(&self) -> Coding {
        self.coding()
    }

    fn copies(&self) -> BurstCount {
        BurstCount::Fixed(self.replicas)
    }

    fn check_copies(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        check_bursts("replicas", self.replicas, 2, layout)
    }
}
