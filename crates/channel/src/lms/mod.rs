//! The land mobile satellite channel of Pérez-Fontán et al. (1998, 2001): a Markov chain of three states, Loo fading within.
//!
//! Simplified, and who could notice: a burst meets one sample, held for a sampling interval (matters to bursts longer than a
//! few milliseconds); the elevation stays that of the parameter set during a run; the channel is flat over the band (wider
//! than about 1 MHz it is not); the Doppler shift of the direct ray is half the largest; interference and rain are left out.

mod fft;
mod law;
mod model;
mod multipath;
mod parameters;
mod series;
mod shadowing;
mod states;

use std::path::Path;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Angle, Db, Duration, FieldError, Frequency, Speed};

pub(crate) use self::model::{FadingModel, Site, at_elevation};
pub use self::parameters::Environment;
pub(crate) use self::parameters::Loo;
use self::parameters::ParameterSet;
pub(crate) use self::series::Motion;
use self::states::MarkovTrack;
pub(crate) use self::states::Track;
use crate::ChannelModel;
use crate::registry::{Entry, LoadError};

/// Land mobile satellite fading: three shadowing states, Loo's law within, by Pérez-Fontán's published parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lms {
    /// Surroundings of the user.
    pub environment: Environment,
    /// Elevation of the satellite; one for which the environment has published parameters.
    pub elevation: Angle,
    /// Speed of the user, more than zero.
    pub speed: Speed,
    /// Es/N0 of an unobstructed line of sight.
    pub reference_snr: Db,
    /// Carrier frequency, for the Doppler shift.
    pub carrier: Frequency,
    /// Time between two samples of the series, at most a quarter of a Doppler period. By default an eighth or less, and at
    /// most 10 ms: 1 ms at 60 km/h and 2.2 GHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_interval: Option<Duration>,
}

impl Default for Lms {
    fn default() -> Lms {
        Lms {
            environment: Environment::IntermediateTreeShadowed,
            elevation: Angle::from_degrees(40.0),
            speed: Speed::from_mps(60.0 / 3.6),
            reference_snr: Db::new(10.0),
            carrier: Frequency::from_hz(2.2e9),
            sampling_interval: None,
        }
    }
}

impl Entry for Lms {
    fn check(&self) -> Result<(), FieldError> {
        self.model().map(|_| ())
    }

    fn load(&self, _base_dir: &Path) -> Result<Box<dyn ChannelModel>, LoadError> {
        Ok(Box::new(self.model()?))
    }
}

impl Lms {
    fn model(&self) -> Result<FadingModel<ParameterSet>, FieldError> {
        let sets = ParameterSet::all().iter().filter(|set| set.environment == self.environment);
        let site = at_elevation(self.elevation, self.environment.name(), sets.map(|set| (set.elevation_deg, set)))?;
        let motion = Motion::new(self.speed, self.carrier, self.sampling_interval)?;
        Ok(FadingModel::new(site, motion, self.reference_snr, self.carrier))
    }
}

impl Site for ParameterSet {
    type Track = MarkovTrack;

    fn track(&'static self, rng: Box<dyn Rng + Send>) -> MarkovTrack {
        MarkovTrack::new(self, rng)
    }

    fn state_name(&'static self, state: usize) -> &'static str {
        &self.states[state].name
    }

    fn shadowing_correlation_m(&self) -> f64 {
        self.shadowing_correlation_m
    }

    /// S band; the measurements were made near 2 GHz.
    fn band_hz(&self) -> std::ops::RangeInclusive<f64> {
        1e9..=4e9
    }

    fn warnings(&self) -> Vec<String> {
        if self.assumed.is_empty() {
            return Vec::new();
        }
        let (name, assumed) = (self.environment.name(), self.assumed.join(", "));
        let published =
            format!("the parameters of {name} at {} deg were published without {assumed}", self.elevation_deg);
        vec![format!("{published}; usual values are assumed")]
    }
}
