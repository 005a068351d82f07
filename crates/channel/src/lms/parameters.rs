//! The parameters of the three-state model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Surroundings of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Environment {
    /// Trees along the road.
    IntermediateTreeShadowed,
    /// Fields with hardly an obstacle.
    Open,
    /// Houses and gardens.
    Suburban,
    /// Forest: never a clear line of sight.
    HeavyTreeShadowed,
    /// Streets between tall buildings.
    Urban,
}

impl Environment {
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Environment::IntermediateTreeShadowed => "intermediate-tree-shadowed",
            Environment::Open => "open",
            Environment::Suburban => "suburban",
            Environment::HeavyTreeShadowed => "heavy-tree-shadowed",
            Environment::Urban => "urban",
        }
    }
}

/// The most states of a set.
pub(crate) const MOST_STATES: usize = 3;

/// The parameters of an environment at an elevation.
#[derive(Debug)]
pub(crate) struct ParameterSet {
    pub(crate) environment: Environment,
    pub(crate) elevation_deg: f64,
    /// Distance after which the shadowing has a correlation of 1/e.
    pub(crate) shadowing_correlation_m: f64,
    /// Length of the ramp from one state's parameters to the next's, half of it on each side of the border.
    pub(crate) transition_m: f64,
    /// Names of values that were not published with this row.
    pub(crate) assumed: &'static [&'static str],
    pub(crate) states: &'static [FadingState],
}

/// A state, which is kept for a frame; then the Markov chain takes a step.
#[derive(Debug)]
pub(crate) struct FadingState {
    pub(crate) name: &'static str,
    pub(crate) loo: Loo,
    /// Distance between two steps of the chain.
    pub(crate) frame_m: f64,
    /// Probabilities of the next state; 0 beyond the states of the set.
    pub(crate) next: [f64; MOST_STATES],
}

/// The three parameters of Loo's law, in decibels relative to a line of sight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Loo {
    /// Mean of the direct ray (alpha).
    pub(crate) mean_db: f64,
    /// Standard deviation of the direct ray (psi).
    pub(crate) deviation_db: f64,
    /// Power of the diffuse multipath (MP).
    pub(crate) multipath_db: f64,
}

impl Loo {
    /// The power of the direct ray at a value of the standard normal shadowing, in decibels.
    #[inline(always)]
    pub(crate) fn direct_db(self, shadowing: f32) -> f32 {
        (self.mean_db + self.deviation_db * f64::from(shadowing)) as f32
    }

    /// `self + factor * other`, parameter by parameter.
    pub(crate) fn plus(self, factor: f64, other: Loo) -> Loo {
        Loo {
            mean_db: self.mean_db + factor * other.mean_db,
            deviation_db: self.deviation_db + factor * other.deviation_db,
            multipath_db: self.multipath_db + factor * other.multipath_db,
        }
    }
}

impl ParameterSet {
    /// The probabilities of the state that follows `state`.
    pub(crate) fn next_probabilities(&self, state: usize) -> &[f64] {
        &self.states[state].next[..self.states.len()]
    }

    /// The stationary law of the chain over its frames, `P = P W`.
    pub(crate) fn stationary_law(&self) -> Vec<f64> {
        let mut law = vec![1.0 / self.states.len() as f64; self.states.len()];
        for _ in 0..10_000 {
            let next: Vec<f64> = (0..law.len())
                .map(|to| law.iter().zip(self.states).map(|(share, from)| share * from.next[to]).sum())
                .collect();
            let change: f64 = law.iter().zip(&next).map(|(old, new)| (old - new).abs()).sum();
            law = next;
            if change < 1e-15 {
                break;
            }
        }
        law
    }

    /// The share of the distance spent in each state: frames of a state count with their length.
    pub(crate) fn shares_of_distance(&self) -> Vec<f64> {
        let lengths: Vec<f64> =
            self.stationary_law().iter().zip(self.states).map(|(share, state)| share * state.frame_m).collect();
        let total_length: f64 = lengths.iter().sum();
        lengths.iter().map(|length| length / total_length).collect()
    }
}
