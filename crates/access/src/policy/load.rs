//! Dedicated access while random access is loaded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FieldError, Probability};

use super::{Kind, SwitchView};

/// Datagrams take dedicated access while random access is loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ByLoad {
    /// Packets in each random access block at which terminals change to dedicated access.
    pub threshold: f64,
    /// The share by which the load must be below the threshold before they change back.
    pub hysteresis: Probability,
}

impl Default for ByLoad {
    /// CRDSA with three replicas is free of loss up to 30 packets in each block of 100 slots.
    fn default() -> ByLoad {
        ByLoad { threshold: 30.0, hysteresis: Probability::new(0.2) }
    }
}

impl Kind for ByLoad {
    fn check(&self) -> Result<(), FieldError> {
        if self.threshold.is_finite() && self.threshold >= 0.0 {
            return Ok(());
        }
        Err(FieldError::new("threshold", format!("{} was given, 0 or more packets are allowed", self.threshold)))
    }

    fn is_dedicated(&self, before: bool, view: &SwitchView) -> bool {
        let back = self.threshold * (1.0 - self.hysteresis.get());
        view.random_load > if before { back } else { self.threshold }
    }
}
