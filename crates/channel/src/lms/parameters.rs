//! The published parameters of the three-state model, read from `parameters/perez-fontan.toml`.

use std::sync::OnceLock;

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

/// The parameters of an environment at an elevation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParameterSet {
    pub(crate) environment: Environment,
    pub(crate) elevation_deg: f64,
    /// Distance after which the shadowing has a correlation of 1/e.
    pub(crate) shadowing_correlation_m: f64,
    /// Length of the ramp from one state's parameters to the next's, half of it on each side of the border.
    pub(crate) transition_m: f64,
    /// Names of values that were not published with this row.
    #[serde(default)]
    pub(crate) assumed: Vec<String>,
    #[serde(rename = "state")]
    pub(crate) states: Vec<FadingState>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FadingState {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) loo: Loo,
    /// Distance between two steps of the chain.
    pub(crate) frame_m: f64,
    /// Probabilities of the next state.
    pub(crate) next: Vec<f64>,
}

/// The three parameters of Loo's law, in decibels relative to a line of sight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
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
    /// All sets.
    pub(crate) fn all() -> &'static [ParameterSet] {
        static SETS: OnceLock<Vec<ParameterSet>> = OnceLock::new();
        SETS.get_or_init(|| read(include_str!("../../parameters/perez-fontan.toml")))
    }

    #[cfg(test)]
    pub(crate) fn find(environment: Environment, elevation_deg: f64) -> &'static ParameterSet {
        let mut sets = ParameterSet::all().iter();
        sets.find(|set| set.environment == environment && set.elevation_deg == elevation_deg).unwrap()
    }

    /// The stationary law of the chain over its frames, `P = P W`.
    pub(crate) fn stationary_law(&self) -> Vec<f64> {
        let mut law = vec![1.0 / self.states.len() as f64; self.states.len()];
        for _ in 0..10_000 {
            let next: Vec<f64> = (0..law.len())
                .map(|to| law.iter().zip(&self.states).map(|(share, from)| share * from.next[to]).sum())
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
            self.stationary_law().iter().zip(&self.states).map(|(share, state)| share * state.frame_m).collect();
        let total_length: f64 = lengths.iter().sum();
        lengths.iter().map(|length| length / total_length).collect()
    }
}

/// The file is compiled in; a test reads it.
fn read(text: &str) -> Vec<ParameterSet> {
    #[derive(Deserialize)]
    struct File {
        set: Vec<ParameterSet>,
    }
    let mut sets = toml::from_str::<File>(text).expect("a valid parameter file").set;
    for state in sets.iter_mut().flat_map(|set| &mut set.states) {
        let total: f64 = state.next.iter().sum();
        state.next.iter_mut().for_each(|probability| *probability /= total);
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_complete() {
        for set in ParameterSet::all() {
            assert!(set.shadowing_correlation_m > 0.0 && set.transition_m >= 0.0, "{set:?}");
            assert!((2..=3).contains(&set.states.len()));
            for state in &set.states {
                assert_eq!(state.next.len(), set.states.len(), "{set:?}");
                assert!((state.next.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                assert!(state.frame_m > 0.0 && state.loo.deviation_db > 0.0 && state.loo.multipath_db < 0.0);
            }
            let found = ParameterSet::find(set.environment, set.elevation_deg);
            assert!(std::ptr::eq(found, set), "two rows for one environment and elevation");
        }
    }

    #[test]
    fn stationary_laws_are_the_printed_ones() {
        let printed: [(_, &[f64]); 4] = [
            (Environment::IntermediateTreeShadowed, &[0.3929, 0.3571, 0.25]),
            (Environment::HeavyTreeShadowed, &[0.5, 0.5]),
            (Environment::Suburban, &[0.4545, 0.4545, 0.091]),
            (Environment::Open, &[0.5, 0.375, 0.125]),
        ];
        for (environment, printed) in printed {
            let computed = ParameterSet::find(environment, 40.0).stationary_law();
            for (computed, printed) in computed.iter().zip(printed) {
                assert!((computed - printed).abs() < 0.011, "{}: {computed} against {printed}", environment.name());
            }
        }
    }
}
