//! Irregular repetition slotted ALOHA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::FieldError;

use super::check::check_replica_count;
use super::coding::{Coded, Coding, coded_scheme};
use super::{RandomLayout, Repetition, ReplicaCount};

coded_scheme! {
    /// Irregular repetition slotted ALOHA: as CRDSA, with a number of replicas that is drawn for each packet.
    ///
    /// Liva 2011, "Graph-based analysis and optimization of contention resolution diversity slotted ALOHA", IEEE Trans.
    /// Commun. 59(2).
    pub struct Irsa {
        /// Numbers of replicas and their probabilities, which add up to 1. The default is
        /// `0.5 x^2 + 0.28 x^3 + 0.22 x^8` (Liva 2011), whose losses vanish in large blocks below 0.938 packets per
        /// slot.
        pub distribution: Vec<Repetition> = liva(),
    }
    payload_bits: 597, packet_bits: 613, margin: 0.0
}

fn liva() -> Vec<Repetition> {
    [(2, 0.5), (3, 0.28), (8, 0.22)].map(|(replicas, probability)| Repetition { replicas, probability }).to_vec()
}

impl Coded for Irsa {
    fn code(&self) -> Coding {
        self.coding()
    }

    fn replicas(&self) -> ReplicaCount {
        ReplicaCount::Drawn(self.distribution.clone())
    }

    fn check_replicas(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        self.check_distribution(layout)
    }
}

impl Irsa {
    fn check_distribution(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        let refuse = |message: String| Err(FieldError::new("distribution", message));
        let mut sum = 0.0;
        for (index, &Repetition { replicas, probability }) in self.distribution.iter().enumerate() {
            let field = |name: &str| format!("distribution.{index}.{name}");
            check_replica_count(&field("replicas"), replicas, 1, layout)?;
            if !(0.0..=1.0).contains(&probability) {
                return Err(FieldError::new(field("probability"), format!("{probability} is not between 0 and 1")));
            }
            if self.distribution[..index].iter().any(|other| other.replicas == replicas) {
                return Err(FieldError::new(
                    field("replicas"),
                    format!("{replicas} replicas have a probability already"),
                ));
            }
            sum += probability;
        }
        if (sum - 1.0).abs() > 1e-6 {
            return refuse(format!("the probabilities add up to {sum}, not to 1"));
        }
        Ok(())
    }
}
