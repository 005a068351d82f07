//! CoDeS, the Controlled Delay Scheduler: proportional fairness with a limit on the waiting time.
//!
//! Tauran's thesis, section 6.3.5: a packet that has waited too long is dropped. So it neither delays later packets nor
//! reaches an application that has given it up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

use super::rule::{ProportionalFairness, by_rule};
use super::served::DEFAULT_WINDOW;
use super::user_queues::{DEFAULT_BUFFER, UserQueuesConfig};
use crate::buffer::Buffer;

/// Proportional fairness that drops packets which have waited too long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodesConfig {
    /// Size of all queues together, of which each of the n users has an equal part: packets, bytes, time at the rate of
    /// the link, or bandwidth-delay products.
    pub buffer: Buffer,
    /// The waiting time after which a packet is dropped.
    pub limit: Duration,
    /// The time over which the service is averaged: it divides the past by e.
    pub window: Duration,
}

impl Default for CodesConfig {
    fn default() -> CodesConfig {
        let limit = Duration::from_millis(100);
        CodesConfig { buffer: DEFAULT_BUFFER, limit, window: DEFAULT_WINDOW }
    }
}

impl CodesConfig {
    fn queues(&self) -> UserQueuesConfig {
        UserQueuesConfig { buffer: self.buffer, limit: Some(self.limit) }
    }
}

by_rule!(CodesConfig);

impl CodesConfig {
    fn rule(&self) -> Result<ProportionalFairness, FieldError> {
        Ok(ProportionalFairness)
    }
}
