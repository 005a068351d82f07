//! A choice of a scenario, in words.

use serde::Serialize;

/// An extension point: one key of the scenario and the names it accepts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Registry {
    /// The name of the list, as in `transorbit list channels`.
    pub name: &'static str,
    /// The key that chooses, such as `channel.kind`.
    pub key: &'static str,
    /// The choices, in the order of the documentation.
    pub entries: Vec<Choice>,
}

/// One choice of a [`Registry`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The name that a scenario writes.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// The options of the choice.
    pub options: Vec<ChoiceOption>,
}

/// One option of a [`Choice`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChoiceOption {
    /// The key.
    pub name: String,
    /// The type of its value, in words.
    #[serde(rename = "type")]
    pub kind: String,
    /// The default as the scenario would write it; `None` if the option must be given or its absence means something.
    pub default: Option<String>,
    /// The option's description.
    pub description: String,
}
