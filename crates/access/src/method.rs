//! The access methods of the return link: one line for each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::{Crdsa, RandomAccess, random_access_schemes};
use crate::switch::SwitchPolicy;

/// Dedicated access: terminals request capacity, and the network control centre grants them slots of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dedicated {}

/// Random and dedicated access: a policy chooses for each datagram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Switch {
    /// The scheme of random access.
    pub random: RandomAccess,
    /// The choice of access for each datagram.
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
            /// The access method of the terminals.
            pub enum AccessMethod {
                "dedicated" => Dedicated(Dedicated),
                $($key => $variant($config),)+
                "switch" => Switch(Switch),
            }
        }

        impl AccessMethod {
            /// The scheme of random access, if the method has one.
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

    /// The path of the options of random access.
    pub(crate) fn random_path(&self) -> &'static str {
        if self.is_dedicated() { "method.random" } else { "method" }
    }

    /// The file that it names.
    pub(crate) fn file_mut(&mut self) -> Option<&mut String> {
        match self {
            AccessMethod::Table(table) | AccessMethod::Switch(Switch { random: RandomAccess::Table(table), .. }) => {
                Some(&mut table.plr)
            }
            _ => None,
        }
    }

    /// Whether terminals request slots of their own.
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
