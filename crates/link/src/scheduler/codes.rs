//! CoDeS, the Controlled Delay Scheduler: proportional fairness with a limit on the waiting time.
//!
//! Tauran's thesis, section 6.3.5: a packet that has waited too long is dropped. So it neither delays later packets nor
//! reaches an application that has given it up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

use super::rule::{ByRule, ProportionalFairness};
use super::served::{DEFAULT_WINDOW, check_window};
use super::users::{DEFAULT_BUFFER, UserQueuesConfig};
use super::{Kind, Parts, Scheduler};
use crate::buffer::{Buffer, LinkFacts};

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

impl Kind for CodesConfig {
    fn check(&self, link: &LinkFacts) -> Result<(), FieldError> {
        check_window(self.window)?;
        self.queues().resolve(link).map(drop)
    }

    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError> {
        self.check(parts.link)?;
        Ok(Box::new(ByRule::new(ProportionalFairness, self.queues().build(parts)?, self.window)))
    }
}
