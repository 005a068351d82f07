//! How many bursts a packet takes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many bursts a packet takes.
#[derive(Clone, Debug, PartialEq)]
pub enum BurstCount {
    /// Each as many.
    Fixed(u32),
    /// A number that is drawn for each packet.
    Drawn(Vec<Repetition>),
}

impl BurstCount {
    /// The largest number.
    pub fn most(&self) -> u32 {
        match self {
            BurstCount::Fixed(bursts) => *bursts,
            BurstCount::Drawn(choices) => choices.iter().map(|choice| choice.replicas).max().unwrap_or(0),
        }
    }

    /// The mean number.
    pub fn mean(&self) -> f64 {
        match self {
            BurstCount::Fixed(bursts) => f64::from(*bursts),
            BurstCount::Drawn(choices) => {
                choices.iter().map(|choice| f64::from(choice.replicas) * choice.probability).sum()
            }
        }
    }
}

/// A number of copies, and how likely it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repetition {
    /// Copies of a packet.
    pub replicas: u32,
    /// Its probability.
    pub probability: f64,
}
