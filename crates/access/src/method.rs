//! How terminals get at the channel: one line for each method.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::{Crdsa, RandomAccess, random_access_schemes};
use crate::switch::SwitchPolicy;

/// Dedicated access: terminals ask the network control centre, which grants slots of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dedicated {}

/// Both: a policy decides for each datagram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Switch {
    /// The scheme of random access.
    pub random: RandomAccess,
    /// Which datagrams take which access.
    pub policy: SwitchPolicy,
}

impl Default for Switch {
    fn default() -> Switch {
        Switch { random: RandomAccess::Crdsa(Crdsa::default()), policy: SwitchPolicy::default() }
    }
}

macro_rules! access_methods {
    ($($key:literal => $variant:ident($config:ty)),+ $(,)?) => {
        units::registry! {
            /// How terminals get at the channel.
            pub enum AccessMethod {
                "dedicated" => Dedicated(Dedicated),
                $($key => $variant($config),)+
                "switch" => Switch(Switch),
            }
        }

        impl AccessMethod {
            /// The scheme of its random access, if it has one.
            pub fn random(&self) -> Option<RandomAccess> {
                match self {
                    AccessMethod::Dedicated(_) => None,
                    $(AccessMethod::$variant(scheme) => Some(RandomAccess::$variant(scheme.clone())),)+
                    AccessMethod::Switch(switch) => Some(switch.random.clone()),
                }
            }
        }
    };
}
random_access_schemes!(access_methods);

impl AccessMethod {
    /// The name of dedicated access.
    pub(crate) const DEDICATED: &'static str = AccessMethod::ALL[0];

    /// Where the options of its random access stand.
    pub(crate) fn random_path(&self) -> &'static str {
        if self.is_dedicated() { "method.random" } else { "method" }
    }

    /// The file that it names.
    pub(crate) fn file_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            AccessMethod::Table(table) | AccessMethod::Switch(Switch { random: RandomAccess::Table(table), .. }) => {
                Some(&mut table.plr)
            }
            _ => None,
        }
    }

    /// Whether terminals ask for slots of their own.
    pub fn is_dedicated(&self) -> bool {
        matches!(self, AccessMethod::Dedicated(_) | AccessMethod::Switch(_))
    }
}

impl Default for AccessMethod {
    fn default() -> AccessMethod {
        AccessMethod::Dedicated(Dedicated::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dedicated_access_has_the_name_of_its_line() {
        assert_eq!(AccessMethod::DEDICATED, AccessMethod::Dedicated(Dedicated::default()).kind());
    }
}
