//! Dedicated access alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Kind;
use crate::policy::SwitchPolicy;
use crate::random::RandomAccess;

/// Dedicated access: terminals request capacity, and the network control centre grants them slots of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dedicated {}

impl Kind for Dedicated {
    fn random(&self) -> Option<&RandomAccess> {
        None
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        Vec::new()
    }

    fn has_dedicated(&self) -> bool {
        true
    }

    fn policy(&self) -> Option<&SwitchPolicy> {
        None
    }
}
