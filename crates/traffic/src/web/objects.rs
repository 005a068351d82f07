//! How many objects are embedded in a page of the web.

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::FieldError;

use crate::random::pareto;

units::registry! {
    /// Laws of the number of objects in a page.
    pub enum ObjectCount: dyn Kind {
        #[default] "pareto" => Pareto(ParetoCount),
        "constant" => Constant(ConstantCount),
    }
}

/// A Pareto law cut off at `max`, less its smallest value: `least` becomes no object, what is beyond `max` becomes
/// `max`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ParetoCount {
    /// The tail's exponent, α.
    pub shape: f64,
    /// The smallest value of the law, k.
    pub least: u32,
    /// The largest value of the law, m.
    pub max: u32,
}

/// Always the same number of objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConstantCount {
    /// How many.
    pub count: u32,
}

impl Default for ParetoCount {
    fn default() -> ParetoCount {
        ParetoCount { shape: 1.1, least: 2, max: 55 }
    }
}

/// A law of the number of objects in a page.
pub trait Kind {
    /// Whether the values make sense.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// Returns the number of every page, where nothing is drawn.
    fn constant(&self) -> Option<u64> {
        None
    }

    /// The number of the next page.
    fn draw(&self, rng: &mut dyn Rng) -> u64;
}

impl Kind for ConstantCount {
    fn constant(&self) -> Option<u64> {
        Some(u64::from(self.count))
    }

    fn draw(&self, _rng: &mut dyn Rng) -> u64 {
        u64::from(self.count)
    }
}

impl Kind for ParetoCount {
    fn check(&self) -> Result<(), FieldError> {
        if !(self.shape > 0.0 && self.shape <= 1000.0) {
            let reason = format!("{} was given: must be more than 0 and at most 1000", self.shape);
            return Err(FieldError::new("shape", reason));
        }
        if self.least == 0 {
            return Err(FieldError::new("least", "0 was given: must be at least 1"));
        }
        if self.max < self.least {
            let reason = format!("{} was given: must be at least `least`, {}", self.max, self.least);
            return Err(FieldError::new("max", reason));
        }
        Ok(())
    }

    fn draw(&self, rng: &mut dyn Rng) -> u64 {
        let value = pareto(rng, f64::from(self.least), self.shape).min(f64::from(self.max));
        value.round() as u64 - u64::from(self.least)
    }
}
