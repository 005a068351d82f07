//! Voice activity: talk-spurts and pauses.

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

use crate::MakeUserRng;
use crate::random::{exponential, pareto, pareto_least};
use crate::size::check_shape;

units::registry! {
    /// When a voice flow sends.
    pub enum Activity: dyn Kind {
        #[default] "continuous" => Continuous(Continuous),
        "pareto" => Pareto(ParetoOnOff),
        "exponential" => Exponential(ExponentialOnOff),
    }
}

/// Packets at a constant rate without pauses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Continuous {}

/// Talk-spurts and pauses with Pareto lengths, as ns-2's source of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ParetoOnOff {
    /// Mean length of a talk-spurt.
    pub burst: Duration,
    /// Mean length of a pause.
    pub idle: Duration,
    /// Exponent of both laws, more than 1. Below 2 the variance is infinite, and means converge slowly.
    pub shape: f64,
}

/// Talk-spurts and pauses with exponential lengths; by default those of conversational speech (ITU-T P.59).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExponentialOnOff {
    /// Mean length of a talk-spurt.
    pub burst: Duration,
    /// Mean length of a pause.
    pub idle: Duration,
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

/// When somebody speaks.
pub trait Kind {
    /// Whether the values make sense.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// Whether there are pauses between talk-spurts.
    fn pauses(&self) -> bool {
        true
    }

    /// Returns the source of talk-spurts and pauses, for packets each `interval`; `None` if there are no pauses.
    fn periods(&self, interval: Duration, streams: &mut MakeUserRng) -> Option<Box<Periods>>;
}

impl Kind for Continuous {
    fn pauses(&self) -> bool {
        false
    }

    fn periods(&self, _interval: Duration, _streams: &mut MakeUserRng) -> Option<Box<Periods>> {
        None
    }
}

impl Kind for ParetoOnOff {
    fn check(&self) -> Result<(), FieldError> {
        check_shape(self.shape)?;
        check_lengths(self.burst, self.idle)
    }

    fn periods(&self, interval: Duration, streams: &mut MakeUserRng) -> Option<Box<Periods>> {
        Some(Box::new(Periods::new(self.burst, self.idle, Some(self.shape), interval, streams)))
    }
}

impl Kind for ExponentialOnOff {
    fn check(&self) -> Result<(), FieldError> {
        check_lengths(self.burst, self.idle)
    }

    fn periods(&self, interval: Duration, streams: &mut MakeUserRng) -> Option<Box<Periods>> {
        Some(Box::new(Periods::new(self.burst, self.idle, None, interval, streams)))
    }
}

fn check_lengths(burst: Duration, idle: Duration) -> Result<(), FieldError> {
    for (field, length) in [("burst", burst), ("idle", idle)] {
        if length.is_zero() {
            return Err(FieldError::new(field, "0 s was given: must be more than 0"));
        }
    }
    Ok(())
}

/// The lengths of talk-spurts and pauses of one speaker.
pub struct Periods {
    /// In packets.
    burst: SpurtLaw,
    /// Lengths of pauses, in seconds.
    idle: SpurtLaw,
}

impl Periods {
    /// Pareto lengths with `shape`, exponential ones without; `burst` and `idle` are the means, `interval` is between
    /// packets.
    fn new(
        burst: Duration,
        idle: Duration,
        shape: Option<f64>,
        interval: Duration,
        streams: &mut MakeUserRng,
    ) -> Periods {
        Periods {
            burst: SpurtLaw::new(burst.as_secs_f64() / interval.as_secs_f64(), shape, streams("traffic.burst")),
            idle: SpurtLaw::new(idle.as_secs_f64(), shape, streams("traffic.idle")),
        }
    }

    /// Packets of the next talk-spurt, at least one.
    pub(crate) fn burst(&mut self) -> u64 {
        (self.burst.draw().round() as u64).max(1)
    }

    /// Length of the next pause.
    pub(crate) fn idle(&mut self) -> Duration {
        Duration::from_secs_f64(self.idle.draw())
    }
}

/// The law of a length: Pareto if it has a shape, else exponential.
struct SpurtLaw {
    /// Mean of an exponential, least value of a Pareto law.
    scale: f64,
    shape: Option<f64>,
    rng: Box<dyn Rng + Send>,
}

impl SpurtLaw {
    fn new(mean: f64, shape: Option<f64>, rng: Box<dyn Rng + Send>) -> SpurtLaw {
        SpurtLaw { scale: shape.map_or(mean, |shape| pareto_least(mean, shape)), shape, rng }
    }

    fn draw(&mut self) -> f64 {
        match self.shape {
            Some(shape) => pareto(&mut *self.rng, self.scale, shape),
            None => exponential(&mut *self.rng, self.scale),
        }
    }
}
