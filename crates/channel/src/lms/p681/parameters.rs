//! The parameters of the two-state model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Surroundings of the user, as P.681-11 names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum P681Environment {
    /// Streets between tall buildings.
    Urban,
    /// Houses and gardens.
    Suburban,
    /// A village.
    Village,
    /// Roads through woods.
    RuralWooded,
    /// Residential streets.
    Residential,
}

impl P681Environment {
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            P681Environment::Urban => "urban",
            P681Environment::Suburban => "suburban",
            P681Environment::Village => "village",
            P681Environment::RuralWooded => "rural-wooded",
            P681Environment::Residential => "residential",
        }
    }
}

/// A row of the tables.
#[derive(Debug)]
pub(crate) struct P681Parameters {
    pub(super) environment: P681Environment,
    pub(super) elevation_deg: f64,
    /// Distance after which the shadowing has a correlation of 1/e.
    pub(super) shadowing_correlation_m: f64,
    /// Two events are joined by a ramp of `f1 |difference of their mean attenuations| + f2` metres.
    pub(super) f1: f64,
    pub(super) f2: f64,
    pub(super) good: P681State,
    pub(super) bad: P681State,
}

/// A state. The natural logarithm of an event's length in metres is normal, and shorter lengths than the least are
/// drawn again. An event's mean attenuation in decibels is normal.
#[derive(Debug)]
pub(super) struct P681State {
    pub(super) log_length_mean: f64,
    pub(super) log_length_deviation: f64,
    pub(super) length_min_m: f64,
    pub(super) mean_db: f64,
    pub(super) mean_deviation_db: f64,
    /// The multipath power is `h1 * mean attenuation + h2` decibels.
    pub(super) h1: f64,
    pub(super) h2: f64,
    /// The direct ray varies by `g1 * mean attenuation + g2` decibels.
    pub(super) g1: f64,
    pub(super) g2: f64,
}
