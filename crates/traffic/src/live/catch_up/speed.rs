//! Faster play-out, as the default rule of dash.js (`CatchupController`, version 4): 1 − c + 2c/(1 + e^(−5 (L − T)))
//! for a latency of L and a target of T seconds. Only the half above 1: a receiver here shows no frame before its
//! time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

use super::Kind;

/// Plays faster the further it is behind, at most so much: 1 − c + 2c/(1 + e^(−5 (latency − target))).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Speed {
    /// How much faster at most, c: 0.1 for a tenth.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub most: f64,
}

impl Default for Speed {
    fn default() -> Speed {
        Speed { most: 0.1 }
    }
}

impl Kind for Speed {
    fn check(&self) -> Result<(), FieldError> {
        if !(0.0..=1.0).contains(&self.most) {
            return Err(FieldError::new("most", format!("{} was given: must be between 0 and 1", self.most)));
        }
        Ok(())
    }

    fn rate(&self, latency: Duration, target: Duration) -> f64 {
        let behind_s = latency.saturating_sub(target).as_secs_f64();
        1.0 - self.most + 2.0 * self.most / (1.0 + libm::exp(-5.0 * behind_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_of_the_rule() {
        let rate = |ms: u64| Speed { most: 0.5 }.rate(Duration::from_millis(1_000 + ms), Duration::from_secs(1));
        assert_eq!(rate(0), 1.0);
        // 0.5 + 1/(1 + 1/e), 1.2311; and the limit.
        assert!((rate(200) - 1.231_058_578).abs() < 1e-9 && (rate(20_000) - 1.5).abs() < 1e-9);
        assert_eq!(Speed::default().rate(Duration::ZERO, Duration::from_secs(1)), 1.0);
    }
}
