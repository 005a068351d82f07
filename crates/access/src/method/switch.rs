//! Random and dedicated access together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Kind;
use crate::policy::SwitchPolicy;
use crate::random::RandomAccess;

/// Random and dedicated access: a policy chooses for each datagram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Switch {
    /// The scheme of random access.
    pub random: RandomAccess,
    /// The choice of access for each datagram.
    pub policy: SwitchPolicy,
}

impl Kind for Switch {
    fn random(&self) -> Option<&RandomAccess> {
        Some(&self.random)
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        self.random.entry_mut().files_mut()
    }

    fn has_dedicated(&self) -> bool {
        true
    }

    fn policy(&self) -> Option<&SwitchPolicy> {
        Some(&self.policy)
    }
}
