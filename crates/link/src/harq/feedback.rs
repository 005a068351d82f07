//! Feedback from the receiver to the sender: its delay and its losses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Probability};

use super::chance::{Chance, UserStreams};

/// Delay and loss of the feedback from a user to the sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FeedbackConfig {
    /// The delay of feedback, from the end of a burst's reception; by default the link's own delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Probability that feedback is lost, independently for each; the sender notices when it was due, and repeats.
    pub loss: Probability,
    /// Whether receivers send feedback; if not, every packet is sent the largest number of times, back to back.
    pub enabled: bool,
}

impl Default for FeedbackConfig {
    fn default() -> FeedbackConfig {
        FeedbackConfig { delay: None, loss: Probability::new(0.0), enabled: true }
    }
}

impl FeedbackConfig {
    /// The probability that feedback is lost; `None` without feedback.
    pub(crate) fn resolve(&self) -> Result<Option<f64>, FieldError> {
        let loss = self.loss.get();
        if !(0.0..=1.0).contains(&loss) {
            return Err(FieldError::new("feedback.loss", format!("{} given, 0 % to 100 % allowed", self.loss)));
        }
        let says =
            |field| Err(FieldError::new(field, "given although feedback is not enabled: leave one of the two out"));
        match (self.enabled, self.delay, loss > 0.0) {
            (true, ..) => Ok(Some(loss)),
            (false, Some(_), _) => says("feedback.delay"),
            (false, None, true) => says("feedback.loss"),
            (false, None, false) => Ok(None),
        }
    }

    /// As [`FeedbackConfig::resolve`], for a scheme that needs feedback.
    pub(crate) fn resolve_enabled(&self) -> Result<f64, FieldError> {
        let why = "false given, but this scheme repeats on request only: choose one that can do without feedback";
        self.resolve()?.ok_or_else(|| FieldError::new("feedback.enabled", why))
    }
}

/// What the receiver says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// The packet is decoded.
    Ack,
    /// The packet is not decoded.
    Nack,
    /// Feedback was due and did not arrive: the sender notices at the instant at which it was due, because it knows
    /// all delays.
    Lost,
}

/// The feedback channel: loses feedback at random.
pub(crate) struct FeedbackChannel {
    loss: f64,
    chance: Chance,
}

impl FeedbackChannel {
    pub(crate) fn new(loss: f64, streams: UserStreams) -> FeedbackChannel {
        FeedbackChannel { loss, chance: Chance::new(streams) }
    }

    /// The fate of a user's feedback. The stream has no other draws, so none is made where no feedback is lost.
    #[inline]
    pub(crate) fn carry(&mut self, user: u32, feedback: Feedback) -> Feedback {
        if self.loss > 0.0 && self.loses(user) { Feedback::Lost } else { feedback }
    }

    #[inline(never)]
    fn loses(&mut self, user: u32) -> bool {
        self.chance.draw(user) < self.loss
    }
}
