//! How many replicas a packet has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many replicas a packet has, each a burst in a slot of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplicaCount {
    /// The same number for each packet.
    Fixed(u32),
    /// A number that is drawn for each packet.
    Drawn(Vec<Repetition>),
}

impl ReplicaCount {
    /// The largest number.
    pub fn most(&self) -> u32 {
        match self {
            ReplicaCount::Fixed(replicas) => *replicas,
            ReplicaCount::Drawn(choices) => choices.iter().map(|choice| choice.replicas).max().unwrap_or(0),
        }
    }

    /// The mean number.
    pub fn mean(&self) -> f64 {
        match self {
            ReplicaCount::Fixed(replicas) => f64::from(*replicas),
            ReplicaCount::Drawn(choices) => {
                choices.iter().map(|choice| f64::from(choice.replicas) * choice.probability).sum()
            }
        }
    }
}

/// A number of replicas, and how likely it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repetition {
    /// Replicas of a packet.
    pub replicas: u32,
    /// Its probability.
    pub probability: f64,
}
