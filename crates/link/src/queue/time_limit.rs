//! A limit on how long a packet waits, in any queue.
//!
//! What the schedulers call `limit`, for those who want it beside the queue's other options; CoDeS is proportional fairness
//! with one (Tauran's thesis, section 6.3.5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

use super::QueueManager;

/// Drops what has waited too long, when it would be sent or another comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeLimitConfig {
    /// How long a packet may wait. Where the scheduler has a limit too, the shorter one holds.
    pub limit: Duration,
}

impl Default for TimeLimitConfig {
    fn default() -> TimeLimitConfig {
        TimeLimitConfig { limit: Duration::from_millis(100) }
    }
}

impl TimeLimitConfig {
    /// Whether the manager can be built.
    pub(super) fn check(&self) -> Result<(), FieldError> {
        if self.limit.is_zero() { Err(FieldError::new("limit", "must be more than 0 s")) } else { Ok(()) }
    }
}

/// See [`TimeLimitConfig`].
#[derive(Debug)]
pub struct TimeLimit {
    limit: Duration,
}

impl TimeLimit {
    /// A limit.
    ///
    /// # Errors
    /// If it is nothing.
    pub fn new(config: &TimeLimitConfig) -> Result<TimeLimit, FieldError> {
        config.check()?;
        Ok(TimeLimit { limit: config.limit })
    }
}

impl QueueManager for TimeLimit {
    fn max_wait(&self) -> Option<Duration> {
        Some(self.limit)
    }
}
