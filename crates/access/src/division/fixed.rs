//! A division that stays.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Divide, Kind};

/// The carriers of the frame's description, always.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fixed {}

impl Kind for Fixed {
    fn build(&self, _carriers: u32, random_carriers: u32, _step: u32) -> Box<dyn Divide> {
        Box::new(Constant { random_carriers })
    }
}

struct Constant {
    random_carriers: u32,
}

impl Divide for Constant {
    fn handle_superframe(&mut self, _superframe: u64, _random_load: f64, _dedicated_backlog_slots: u64) -> u32 {
        self.random_carriers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_division_stays() {
        let mut divider = Fixed::default().build(100, 50, 5);
        assert_eq!([divider.handle_superframe(0, 1000.0, 0), divider.handle_superframe(1, 0.0, 1000)], [50, 50]);
    }
}
