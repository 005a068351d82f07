//! When somebody speaks: bursts of packets and pauses.

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

use crate::MakeUserRng;
use crate::random::{exponential, pareto, pareto_least};
use crate::size::check_shape;

units::registry! {
    /// When a voice flow sends.
    pub enum Activity {
        "continuous" => Continuous(Continuous),
        "pareto" => Pareto(ParetoOnOff),
        "exponential" => Exponential(ExponentialOnOff),
    }
}

/// Packets at a constant rate, pauses or not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Continuous {}

/// Bursts and pauses with Pareto lengths, as the source of the same name of ns-2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ParetoOnOff {
    /// Mean length of a burst.
    pub burst: Duration,
    /// Mean length of a pause.
    pub idle: Duration,
    /// Exponent of both laws, more than 1. Below 2 the variance is infinite, and means converge slowly.
    pub shape: f64,
}

/// Bursts and pauses with exponential lengths; by default those of conversational speech (ITU-T P.59).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExponentialOnOff {
    /// Mean length of a burst.
    pub burst: Duration,
    /// Mean length of a pause.
    pub idle: Duration,
}

impl Default for Activity {
    fn default() -> Activity {
        Activity::Continuous(Continuous {})
    }
}

impl Default for ParetoOnOff {
    fn default() -> ParetoOnOff {
        ParetoOnOff { burst: Duration::from_millis(500), idle: Duration::from_millis(50), shape: 1.5 }
    }
}

impl Default for ExponentialOnOff {
    fn default() -> ExponentialOnOff {
        ExponentialOnOff { burst: Duration::from_millis(1_004), idle: Duration::from_millis(1_587) }
    }
}

impl Activity {
    /// Where bursts and pauses come from, for packets each `interval`; `None` if there are no pauses.
    pub(crate) fn periods(&self, interval: Duration, streams: &mut MakeUserRng) -> Option<Box<Periods>> {
        let (burst, idle, shape) = match self {
            Activity::Continuous(_) => return None,
            Activity::Pareto(law) => (law.burst, law.idle, Some(law.shape)),
            Activity::Exponential(law) => (law.burst, law.idle, None),
        };
        Some(Box::new(Periods {
            burst: Law::new(burst.as_secs_f64() / interval.as_secs_f64(), shape, streams("traffic.burst")),
            idle: Law::new(idle.as_secs_f64(), shape, streams("traffic.idle")),
        }))
    }

    pub(crate) fn check(&self) -> Result<(), FieldError> {
        let (burst, idle) = match self {
            Activity::Continuous(_) => return Ok(()),
            Activity::Pareto(law) => {
                check_shape(law.shape)?;
                (law.burst, law.idle)
            }
            Activity::Exponential(law) => (law.burst, law.idle),
        };
        for (field, length) in [("burst", burst), ("idle", idle)] {
            if length.is_zero() {
                return Err(FieldError::new(field, "0 s was given: must be more than 0"));
            }
        }
        Ok(())
    }
}

/// The lengths of bursts and pauses of one speaker.
pub(crate) struct Periods {
    /// In packets.
    burst: Law,
    /// In seconds.
    idle: Law,
}

impl Periods {
    /// Packets of the next burst, at least one.
    pub(crate) fn burst(&mut self) -> u64 {
        (self.burst.draw().round() as u64).max(1)
    }

    /// Length of the next pause.
    pub(crate) fn idle(&mut self) -> Duration {
        Duration::from_secs_f64(self.idle.draw())
    }
}

/// A law of lengths: Pareto if it has a shape, else exponential.
struct Law {
    /// Mean of an exponential, least value of a Pareto law.
    scale: f64,
    shape: Option<f64>,
    rng: Box<dyn Rng + Send>,
}

impl Law {
    fn new(mean: f64, shape: Option<f64>, rng: Box<dyn Rng + Send>) -> Law {
        Law { scale: shape.map_or(mean, |shape| pareto_least(mean, shape)), shape, rng }
    }

    fn draw(&mut self) -> f64 {
        match self.shape {
            Some(shape) => pareto(&mut *self.rng, self.scale, shape),
            None => exponential(&mut *self.rng, self.scale),
        }
    }
}
