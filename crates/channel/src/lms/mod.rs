//! The land mobile satellite channel of Pérez-Fontán et al. (1998, 2001): a Markov chain of three states, Loo fading
//! within. [`P681`] is that of Recommendation ITU-R P.681-11, with the same series and other states.
//!
//! Simplified, and who could notice: a burst meets one sample, held for a sampling interval (matters to bursts longer
//! than a few milliseconds); an elevation that follows the orbit takes the nearest published parameters, and the
//! shadowing state continues at a handover to a satellite elsewhere in the sky (a user whose satellites alternate); the
//! channel is flat over the band (wider than about 1 MHz it is not); the Doppler shift of the direct ray is half the
//! maximum; interference is left out.

mod course;
mod fft;
mod law;
mod model;
mod multipath;
mod p681;
mod parameters;
mod perez_fontan;
mod series;
mod shadowing;
mod shared;
mod states;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Angle, Db, Duration, Frequency, OrOrbit, Speed};

use self::course::{Course, Published};
use self::model::{Fading, REFERENCE_SNR, Site, default_reference_snr, fading_options};
pub use self::p681::{P681, P681Environment};
pub use self::parameters::Environment;
use self::parameters::ParameterSet;
use self::perez_fontan::SETS;
pub(crate) use self::series::Motion;
use self::states::MarkovTrack;
use crate::held::Held;
use crate::link_budget::LinkBudget;

/// Land mobile satellite fading: three shadowing states, Loo's law within, by Pérez-Fontán's published parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
#[schemars(rename = "Lms")]
pub struct Lms {
    /// Surroundings of the user.
    pub environment: Environment,
    /// Elevation of the satellite: one for which the environment has published parameters; or "orbit": the parameters
    /// nearest to the elevation of the serving satellite.
    pub elevation: OrOrbit<Angle>,
    /// Speed of the user, more than zero and at most 1 km/s.
    pub speed: Speed,
    /// Es/N0 of an unobstructed line of sight, unless a link budget is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = REFERENCE_SNR.to_string()))]
    pub reference_snr: Option<Db>,
    /// The link budget from which Es/N0 is computed, in place of `reference_snr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_budget: Option<LinkBudget>,
    /// Carrier frequency, for the Doppler shift and the link budget.
    pub carrier: Frequency,
    /// Time between two samples of the series, at most a quarter of a Doppler period. By default an eighth or less, and
    /// at most 10 ms: 1 ms at 60 km/h and 2.2 GHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_interval: Option<Duration>,
    /// How the series goes on between bursts; by default with the clock.
    #[serde(skip_serializing_if = "Held::holds_by_time")]
    pub held: Held,
}

impl Default for Lms {
    fn default() -> Lms {
        Lms {
            environment: Environment::IntermediateTreeShadowed,
            elevation: Angle::from_degrees(40.0).into(),
            speed: Speed::from_mps(60.0 / 3.6),
            reference_snr: Some(REFERENCE_SNR),
            link_budget: None,
            carrier: Frequency::from_hz(2.2e9),
            sampling_interval: None,
            held: Held::Time,
        }
    }
}

default_reference_snr!(Lms);

impl Fading for Lms {
    type Site = ParameterSet;

    fn published(&self) -> Published<ParameterSet> {
        let sets = SETS.iter().filter(|set| set.environment == self.environment);
        Published::new(self.environment.name(), sets.map(|set| (set.elevation_deg, set)))
    }

    fading_options!();
}

impl Site for ParameterSet {
    type Track = MarkovTrack;

    fn track(course: Course<ParameterSet>, rng: Box<dyn Rng + Send>) -> MarkovTrack {
        MarkovTrack::new(course, rng)
    }

    fn state_name(&'static self, state: usize) -> &'static str {
        self.states[state].name
    }

    fn shadowing_correlation_m(&self) -> f64 {
        self.shadowing_correlation_m
    }

    /// S band; the measurements were made near 2 GHz.
    fn band_hz(&self) -> std::ops::RangeInclusive<f64> {
        1e9..=4e9
    }

    fn warnings(sites: &[&'static ParameterSet]) -> Vec<String> {
        let mut warnings: Vec<String> = Vec::new();
        let mut incomplete: Vec<_> = sites.iter().filter(|set| !set.assumed.is_empty()).collect();
        incomplete.sort_by(|a, b| a.elevation_deg.total_cmp(&b.elevation_deg));
        incomplete.dedup_by_key(|set| set.elevation_deg);
        for group in incomplete.chunk_by(|a, b| a.assumed == b.assumed) {
            let elevations: Vec<String> = group.iter().map(|set| set.elevation_deg.to_string()).collect();
            let (name, assumed) = (group[0].environment.name(), group[0].assumed.join(", "));
            let published =
                format!("the parameters of {name} at {} deg were published without {assumed}", elevations.join(", "));
            warnings.push(format!("{published}; usual values are assumed"));
        }
        warnings
    }
}
