//! CoDeS, the Controlled Delay Scheduler: proportional fairness with a limit on how long a packet waits.
//!
//! Tauran's thesis, section 6.3.5: what has waited too long is dropped, and so neither holds up what comes after it nor reaches
//! an application that has given it up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

use super::pf::{DEFAULT_WINDOW, PfConfig};
use super::users::DEFAULT_BUFFER;
use super::{Kind, Parts, Scheduler};
use crate::buffer::{Buffer, LinkFacts};

/// Proportional fairness that drops what has waited too long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodesConfig {
    /// Size of all queues together, of which each of the n users has an equal part: packets, bytes, time at the rate of the
    /// link, or bandwidth-delay products.
    pub buffer: Buffer,
    /// How long a packet may wait before it is dropped.
    pub limit: Duration,
    /// Over which what a user was served is averaged: it divides the past by e.
    pub window: Duration,
}

impl Default for CodesConfig {
    fn default() -> CodesConfig {
        let limit = Duration::from_millis(100);
        CodesConfig { buffer: DEFAULT_BUFFER, limit, window: DEFAULT_WINDOW }
    }
}

impl CodesConfig {
    fn as_pf(&self) -> PfConfig {
        PfConfig { buffer: self.buffer, limit: Some(self.limit), window: self.window }
    }
}

impl Kind for CodesConfig {
    fn check(&self, link: &LinkFacts) -> Result<(), FieldError> {
        self.as_pf().check(link)
    }

    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError> {
        self.as_pf().build(parts)
    }
}
