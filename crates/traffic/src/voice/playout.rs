//! The play-out buffer: when a packet is played, and so whether it comes too late.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

units::registry! {
    /// Play-out buffers.
    pub enum Playout {
        "fixed" => Fixed(FixedPlayout),
        "adaptive" => Adaptive(AdaptivePlayout),
    }
}

/// Plays the first packet of the call a fixed time after its arrival, and the others in the rhythm in which they were spoken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FixedPlayout {
    /// How long the first packet is held.
    pub delay: Duration,
}

/// Sets itself anew for each talk-spurt, from the mean and the deviation of the network's delay (Ramjee et al. 1994).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptivePlayout {
    /// How long the first packet of the call is held, when nothing is known of the network.
    pub initial: Duration,
    /// Share of the old estimate that a packet leaves, α.
    pub memory: f64,
    /// Mean deviations that are waited beyond the mean delay.
    pub deviations: f64,
}

impl Default for Playout {
    fn default() -> Playout {
        Playout::Fixed(FixedPlayout::default())
    }
}

impl Default for FixedPlayout {
    fn default() -> FixedPlayout {
        FixedPlayout { delay: Duration::from_millis(60) }
    }
}

impl Default for AdaptivePlayout {
    fn default() -> AdaptivePlayout {
        AdaptivePlayout { initial: Duration::from_millis(60), memory: 0.998, deviations: 4.0 }
    }
}

/// Longer buffers are no conversation.
const LONGEST: Duration = Duration::from_secs(5);

impl Playout {
    pub(crate) fn check(&self) -> Result<(), FieldError> {
        let at_most = |field: &str, delay: Duration| match delay {
            delay if delay > LONGEST => {
                Err(FieldError::new(field, format!("{delay} was given: must be at most {LONGEST}")))
            }
            _ => Ok(()),
        };
        match self {
            Playout::Fixed(fixed) => at_most("delay", fixed.delay),
            Playout::Adaptive(adaptive) => {
                at_most("initial", adaptive.initial)?;
                if !(0.0..1.0).contains(&adaptive.memory) {
                    let reason = format!("{} was given: must be at least 0 and less than 1", adaptive.memory);
                    return Err(FieldError::new("memory", reason));
                }
                if !(adaptive.deviations > 0.0 && adaptive.deviations <= 100.0) {
                    let reason = format!("{} was given: must be more than 0 and at most 100", adaptive.deviations);
                    return Err(FieldError::new("deviations", reason));
                }
                Ok(())
            }
        }
    }

    pub(crate) fn build(&self) -> Buffer {
        match self {
            Playout::Fixed(fixed) => Buffer::Fixed { delay: fixed.delay, offset: None },
            Playout::Adaptive(config) => Buffer::Adaptive {
                mean: None,
                deviation: 0.0,
                initial: config.initial.as_secs_f64(),
                memory: config.memory,
                deviations: config.deviations,
            },
        }
    }
}

/// A play-out buffer at work.
#[derive(Clone, Debug)]
pub(crate) enum Buffer {
    Fixed { delay: Duration, offset: Option<Duration> },
    Adaptive { mean: Option<f64>, deviation: f64, initial: f64, memory: f64, deviations: f64 },
}

impl Buffer {
    /// A packet took `delay` through the network.
    pub(crate) fn handle_packet(&mut self, delay: Duration) {
        match self {
            Buffer::Fixed { delay: held, offset } => {
                offset.get_or_insert(delay + *held);
            }
            Buffer::Adaptive { mean, deviation, initial, memory, deviations } => {
                let sample = delay.as_secs_f64();
                match mean {
                    // The first talk-spurt is held as long as `initial` says.
                    None => *deviation = *initial / *deviations,
                    Some(mean) => {
                        *mean = *memory * *mean + (1.0 - *memory) * sample;
                        *deviation = *memory * *deviation + (1.0 - *memory) * (*mean - sample).abs();
                    }
                }
                mean.get_or_insert(sample);
            }
        }
    }

    /// From sending to playing, for a talk-spurt that begins now. A packet has been handled.
    pub(crate) fn spurt_delay(&self) -> Duration {
        match self {
            Buffer::Fixed { delay, offset } => offset.unwrap_or(*delay),
            Buffer::Adaptive { mean, deviation, deviations, .. } => {
                Duration::from_secs_f64(mean.unwrap_or(0.0) + deviations * deviation)
            }
        }
    }
}
