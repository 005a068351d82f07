//! The access methods of the return link: those with options of their own, and each scheme of random access by itself.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::policy::SwitchPolicy;
use crate::random::RandomAccess;

units::registry! {
    /// The access methods with options of their own.
    pub enum OwnMethod: dyn Kind {
        #[default] "dedicated" => Dedicated(Dedicated) in dedicated,
        "switch" => Switch(Switch) in switch,
    }
}

/// The parts of an access method: a scheme of random access, dedicated access, or both with a policy.
pub trait Kind {
    /// The scheme of random access, if it has one.
    fn random(&self) -> Option<&RandomAccess>;

    /// The names of the files that it needs.
    fn files_mut(&mut self) -> Vec<&mut String>;

    /// Whether terminals request slots of their own.
    fn has_dedicated(&self) -> bool;

    /// The choice of access for each datagram, where there are both.
    fn policy(&self) -> Option<&SwitchPolicy>;
}

/// The name of dedicated access.
pub fn dedicated_name() -> &'static str {
    OwnMethod::from(Dedicated::default()).kind()
}

/// The access method of the terminals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AccessMethod {
    /// One with options of its own.
    Own(OwnMethod),
    /// Random access alone, by this scheme.
    Random(RandomAccess),
}

impl AccessMethod {
    /// The name of this choice.
    pub fn kind(&self) -> &'static str {
        match self {
            AccessMethod::Own(method) => method.kind(),
            AccessMethod::Random(scheme) => scheme.kind(),
        }
    }

    /// The names that `kind` accepts.
    pub fn all() -> impl Iterator<Item = &'static str> {
        OwnMethod::ALL.iter().chain(RandomAccess::ALL).copied()
    }

    /// The chosen method.
    pub fn entry(&self) -> &dyn Kind {
        match self {
            AccessMethod::Own(method) => method.entry(),
            AccessMethod::Random(scheme) => scheme,
        }
    }

    /// The options of the method, to be changed.
    pub fn entry_mut(&mut self) -> &mut dyn Kind {
        match self {
            AccessMethod::Own(method) => method.entry_mut(),
            AccessMethod::Random(scheme) => scheme,
        }
    }

    /// The path of the options of random access.
    pub(crate) fn random_path(&self) -> &'static str {
        match self {
            AccessMethod::Own(_) => "method.random",
            AccessMethod::Random(_) => "method",
        }
    }
}

impl Default for AccessMethod {
    fn default() -> AccessMethod {
        AccessMethod::Own(OwnMethod::default())
    }
}

impl Kind for RandomAccess {
    fn random(&self) -> Option<&RandomAccess> {
        Some(self)
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        RandomAccess::entry_mut(self).files_mut()
    }

    fn has_dedicated(&self) -> bool {
        false
    }

    fn policy(&self) -> Option<&SwitchPolicy> {
        None
    }
}

/// The kinds of both registries in one list.
impl JsonSchema for AccessMethod {
    fn schema_name() -> Cow<'static, str> {
        "AccessMethod".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = OwnMethod::json_schema(generator);
        let mut schemes = RandomAccess::json_schema(generator);
        let kinds = schema.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut()).expect("kinds are alternatives");
        kinds.append(schemes.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut()).expect("kinds are alternatives"));
        schema.insert("description".to_owned(), "The access method of the terminals.".into());
        schema
    }
}
