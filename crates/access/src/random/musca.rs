//! Multi-slot coded ALOHA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::FieldError;

use super::check::check_replica_count;
use super::coding::{Coded, Coding, coded_scheme};
use super::{RandomLayout, ReplicaCount};

coded_scheme! {
    /// Multi-slot coded ALOHA: the parts of one codeword go into several bursts and are decoded together, collided or
    /// not; decoded packets are subtracted.
    ///
    /// Bui, Lacan, Boucheret 2012, "An enhanced multiple random access scheme for satellite communications". The
    /// default is that of Kuhn et al. 2015, section 4.4.2: 680 bits in 2,760 coded bits, QPSK, 3 bursts. A packet is
    /// decoded when the mutual information, averaged over its bursts, reaches the code rate. The headers are taken to
    /// be read: a condition on the best burst changed no loss rate in the range where packets are decoded at all.
    pub struct Musca {
        /// Bursts into which the codeword is split (N_block), at least 2.
        pub replicas: u32 = 3,
    }
    payload_bits: 594, packet_bits: 680, margin: 0.05
}

impl Coded for Musca {
    fn code(&self) -> Coding {
        // The codeword extends over all bursts.
        Coding { bursts: self.replicas, ..self.coding() }
    }

    fn replicas(&self) -> ReplicaCount {
        ReplicaCount::Fixed(self.replicas)
    }

    fn check_replicas(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        check_replica_count("replicas", self.replicas, 2, layout)
    }
}
