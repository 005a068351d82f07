//! A limit on the waiting time of packets, in any queue.
//!
//! The same as the option `limit` of the schedulers, as a queue manager; CoDeS is proportional fairness with such a
//! limit (Tauran's thesis, section 6.3.5).

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

use super::{Kind, QueueManager};
use crate::buffer::LinkFacts;

/// Drops packets that have waited too long, when they would be sent or another packet arrives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeLimitConfig {
    /// The limit on the waiting time. If the scheduler has a limit too, the shorter one applies.
    pub limit: Duration,
}

impl Default for TimeLimitConfig {
    fn default() -> TimeLimitConfig {
        TimeLimitConfig { limit: Duration::from_millis(100) }
    }
}

impl Kind for TimeLimitConfig {
    fn check(&self, _link: &LinkFacts) -> Result<(), FieldError> {
        if self.limit.is_zero() { Err(FieldError::new("limit", "must be more than 0 s")) } else { Ok(()) }
    }

    fn marks(&self) -> bool {
        false
    }

    fn build(&self, _link: &LinkFacts, _rng: Box<dyn Rng + Send>) -> Option<Box<dyn QueueManager>> {
        Some(Box::new(TimeLimit { limit: self.limit }))
    }
}

/// See [`TimeLimitConfig`].
#[derive(Debug)]
pub struct TimeLimit {
    limit: Duration,
}

impl QueueManager for TimeLimit {
    fn max_wait(&self) -> Option<Duration> {
        Some(self.limit)
    }
}
