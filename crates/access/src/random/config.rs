//! The options that all schemes of random access share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Db, FieldError};

/// The largest standard deviation of received powers for which their range holds.
pub(super) const MAX_POWER_SPREAD_DB: f64 = 10.0;

/// The options that all schemes of random access share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RandomConfig {
    /// Es/N0 of a burst without interference; with `power_spread` its median.
    pub es_n0: Db,
    /// Standard deviation of the received power of packets, which is lognormal; all bursts of a packet have the same.
    /// At most 10 dB.
    pub power_spread: Db,
    /// Iterations of interference cancellation, at most; 1 is none. Each decodes all packets that can be decoded at its
    /// beginning.
    pub iterations: u32,
}

impl Default for RandomConfig {
    fn default() -> RandomConfig {
        RandomConfig { es_n0: Db::new(5.0), power_spread: Db::new(0.0), iterations: 50 }
    }
}

impl RandomConfig {
    /// Whether the values can be used.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        let refuse = |field: &str, message: String| Err(FieldError::new(field, message));
        if !(-40.0..=60.0).contains(&self.es_n0.get()) {
            return refuse("es_n0", format!("{} is not between -40 dB and 60 dB", self.es_n0));
        }
        if !(0.0..=MAX_POWER_SPREAD_DB).contains(&self.power_spread.get()) {
            let highest = MAX_POWER_SPREAD_DB;
            return refuse("power_spread", format!("{} is not between 0 dB and {highest} dB", self.power_spread));
        }
        if self.iterations == 0 {
            return refuse("iterations", "0 iterations decode nothing: at least 1".to_owned());
        }
        Ok(())
    }
}
