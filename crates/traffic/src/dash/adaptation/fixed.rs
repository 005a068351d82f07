//! No adaptation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::FieldError;

use super::{Kind, Situation, Video};

/// Always the same bit rate, as a progressive download: what adaptation is compared with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fixed {
    /// The index of the bit rate in the ladder, from 0.
    pub level: u32,
}

impl Kind for Fixed {
    fn check(&self, video: &Video<'_>) -> Result<(), FieldError> {
        let top = video.ladder.len() - 1;
        if self.level as usize > top {
            return Err(FieldError::new("level", format!("{} was given: must be from 0 to {top}", self.level)));
        }
        Ok(())
    }

    fn choose(&self, _now: &Situation<'_>) -> usize {
        self.level as usize
    }
}
