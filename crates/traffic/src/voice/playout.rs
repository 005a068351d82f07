//! Play-out buffers: when a packet is played, and thus whether it is late.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

units::registry! {
    /// Play-out buffers.
    pub enum Playout: dyn Kind {
        #[default] "fixed" => Fixed(FixedPlayout),
        "adaptive" => Adaptive(AdaptivePlayout),
    }
}

/// Plays the first packet of the call a fixed time after its arrival, and the others at the intervals at which they
/// were sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FixedPlayout {
    /// The time for which the first packet is held.
    pub delay: Duration,
}

/// Sets the play-out delay anew for each talk-spurt, from mean and deviation of the network's delay (Ramjee et al.
/// 1994).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptivePlayout {
    /// The time for which the first packet of the call is held, before any delay is known.
    pub initial: Duration,
    /// The weight of the old estimate at each packet, α.
    pub memory: f64,
    /// The number of mean deviations added to the mean delay.
    pub deviations: f64,
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

/// A conversation with a longer delay is impossible.
const LONGEST: Duration = Duration::from_secs(5);

/// The options of a play-out buffer, from which it is built.
pub trait Kind {
    /// Whether the values make sense.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError>;

    /// Whether a talk-spurt may be played with another delay than the one before.
    fn adapts(&self) -> bool {
        false
    }

    /// The play-out buffer of one call.
    fn build(&self) -> Box<dyn Buffer>;
}

/// A play-out buffer at work.
pub trait Buffer: Send + std::fmt::Debug {
    /// A packet took `delay` through the network.
    fn handle_packet(&mut self, delay: Duration);

    /// Returns the delay from sending to playing, for a talk-spurt that begins now. A packet has been handled.
    fn spurt_delay(&self) -> Duration;
}

fn check_hold(field: &str, delay: Duration) -> Result<(), FieldError> {
    match delay {
        delay if delay > LONGEST => {
            Err(FieldError::new(field, format!("{delay} was given: must be at most {LONGEST}")))
        }
        _ => Ok(()),
    }
}

impl Kind for FixedPlayout {
    fn check(&self) -> Result<(), FieldError> {
        check_hold("delay", self.delay)
    }

    fn build(&self) -> Box<dyn Buffer> {
        Box::new(FixedBuffer { delay: self.delay, offset: None })
    }
}

impl Kind for AdaptivePlayout {
    fn check(&self) -> Result<(), FieldError> {
        check_hold("initial", self.initial)?;
        if !(0.0..1.0).contains(&self.memory) {
            let reason = format!("{} was given: must be at least 0 and less than 1", self.memory);
            return Err(FieldError::new("memory", reason));
        }
        if !(self.deviations > 0.0 && self.deviations <= 100.0) {
            let reason = format!("{} was given: must be more than 0 and at most 100", self.deviations);
            return Err(FieldError::new("deviations", reason));
        }
        Ok(())
    }

    fn adapts(&self) -> bool {
        true
    }

    fn build(&self) -> Box<dyn Buffer> {
        Box::new(AdaptiveBuffer {
            mean: None,
            deviation: 0.0,
            initial: self.initial.as_secs_f64(),
            memory: self.memory,
            deviations: self.deviations,
        })
    }
}

/// See [`FixedPlayout`].
#[derive(Debug)]
struct FixedBuffer {
    delay: Duration,
    offset: Option<Duration>,
}

impl Buffer for FixedBuffer {
    fn handle_packet(&mut self, delay: Duration) {
        self.offset.get_or_insert(delay + self.delay);
    }

    fn spurt_delay(&self) -> Duration {
        self.offset.unwrap_or(self.delay)
    }
}

/// See [`AdaptivePlayout`]; in seconds.
#[derive(Debug)]
struct AdaptiveBuffer {
    mean: Option<f64>,
    deviation: f64,
    initial: f64,
    memory: f64,
    deviations: f64,
}

impl Buffer for AdaptiveBuffer {
    fn handle_packet(&mut self, delay: Duration) {
        let sample = delay.as_secs_f64();
        match &mut self.mean {
            // The first talk-spurt is held as long as `initial` says.
            None => self.deviation = self.initial / self.deviations,
            Some(mean) => {
                *mean = self.memory * *mean + (1.0 - self.memory) * sample;
                self.deviation = self.memory * self.deviation + (1.0 - self.memory) * (*mean - sample).abs();
            }
        }
        self.mean.get_or_insert(sample);
    }

    fn spurt_delay(&self) -> Duration {
        Duration::from_secs_f64(self.mean.unwrap_or(0.0) + self.deviations * self.deviation)
    }
}
