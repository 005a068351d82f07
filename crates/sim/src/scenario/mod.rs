//! A scenario as people write it, and as the simulator uses it.
//!
//! [`Scenario`] holds the text's tables, to be edited and checked; [`ScenarioConfig`] is what remains after checking,
//! with every default filled in.

mod choice;
mod config;
mod definitions;
mod edit;
mod elsewhere;
mod pca;
mod registered;
mod registries;
mod schemas;
mod shape;
mod whole;

use std::collections::BTreeMap;

use channel::ChannelConfig;
use orbit::ConstellationChoice;
use toml::Table;

use crate::files::{FileSource, InputFile, InputFiles};

pub use config::{FlowConfig, FlowDirection, PacketCapture, PepConfig, RecordConfig, ScenarioConfig, positive};
/// An error in a scenario: the dotted path of one field, what was given, what is allowed.
pub use units::FieldError as ScenarioError;

pub use registered::Registered;

pub use choice::{Choice, ChoiceOption, Registry};
use definitions::schema_with_definitions;
pub use registries::{registries, schema};

/// A scenario that can be edited: TOML tables, not yet checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    table: Table,
    /// The source of the scenario's files.
    source: FileSource,
    /// The hashes of files by name, as they were when a result was made.
    recorded: BTreeMap<String, String>,
    /// The names that scripts have registered; `None` if a plan need not know them.
    registered: Option<Registered>,
}

impl Scenario {
    /// Reads TOML text; `source` is where the names of files in it lead: a folder, or files in memory.
    ///
    /// # Errors
    /// The text is not TOML: names the line and column. Or it has a whole number of more digits than TOML's: names the
    /// field.
    pub fn from_toml(text: &str, source: impl Into<FileSource>) -> Result<Scenario, ScenarioError> {
        let table = toml::from_str(text).map_err(|error: toml::de::Error| {
            whole::refusal(text).unwrap_or_else(|| {
                let before = error.span().map_or("", |span| &text[..span.start.min(text.len())]);
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
                ScenarioError::new("", format!("not valid TOML at line {line}, column {column}: {}", error.message()))
            })
        })?;
        Ok(Scenario { table, source: source.into(), recorded: BTreeMap::new(), registered: None })
    }

    /// A copy with the value at a dotted path replaced; a table replaces the table.
    ///
    /// # Errors
    /// The path reaches into something that has no parts, or past the end of a list.
    pub fn replace(&self, path: &str, value: toml::Value) -> Result<Scenario, ScenarioError> {
        let mut edited = self.clone();
        edit::set(&mut edited.table, path, value)?;
        Ok(edited)
    }

    /// A copy edited as on the command line, `key.path=value`; the value is any TOML value, or bare words.
    ///
    /// # Errors
    /// As [`Scenario::replace`], or the text is no assignment.
    pub fn assign(&self, assignment: &str) -> Result<Scenario, ScenarioError> {
        let (path, value) = edit::parse_assignment(assignment)?;
        self.replace(&path, value)
    }

    /// Checks everything that can be known without running, and fills in the defaults.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn config(&self) -> Result<ScenarioConfig, ScenarioError> {
        let config = self.values()?;
        config.check()?;
        Ok(config)
    }

    /// The values with the defaults filled in, each of its type but not held against each other.
    ///
    /// # Errors
    /// The first key that is unknown, or value that is none of its type.
    pub fn values(&self) -> Result<ScenarioConfig, ScenarioError> {
        let root = schema_with_definitions();
        let mut table = self.table.clone();
        pca::rewrite(&mut table)?;
        let table = shape::Shape::new(root, quantity).apply(table)?;
        table.try_into().map_err(|error: toml::de::Error| ScenarioError::new("", error.message()))
    }

    /// A copy with the SHA-256, in hexadecimal, that each file had by name when a result was made: a run warns of files
    /// that have another.
    pub fn with_recorded(&self, recorded: BTreeMap<String, String>) -> Scenario {
        Scenario { recorded, ..self.clone() }
    }

    /// A copy whose plan refuses what a script would have to register and is none of these.
    pub fn with_registered(&self, registered: Registered) -> Scenario {
        Scenario { registered: Some(registered), ..self.clone() }
    }

    /// As [`Scenario::config`], with an error if a script has not registered a name.
    pub(crate) fn known_config(&self) -> Result<ScenarioConfig, ScenarioError> {
        let config = self.config()?;
        if let Some(registered) = &self.registered {
            config.check_registered(registered)?;
        }
        Ok(config)
    }

    /// Warnings about inputs that are not those that were recorded.
    pub(crate) fn changed(&self, inputs: &[InputFile]) -> Vec<String> {
        let changed = |input: &InputFile| {
            let recorded = self.recorded.get(&input.file).filter(|recorded| **recorded != input.sha256)?;
            let (file, found) = (&input.file, &input.sha256);
            Some(format!("{file} has changed since the result was made: its SHA-256 is {found}, it was {recorded}"))
        };
        inputs.iter().filter_map(changed).collect()
    }

    /// Returns the source of the scenario's files.
    pub(crate) fn source(&self) -> &FileSource {
        &self.source
    }

    /// Whether the names of files lead where those of `other` do, to files of the same record.
    pub(crate) fn leads_where(&self, other: &Scenario) -> bool {
        (&self.source, &self.recorded) == (&other.source, &other.recorded)
    }

    /// The files that its names lead to, none of them read.
    pub fn files(&self) -> InputFiles {
        InputFiles::new(self.source.clone())
    }
}

/// A channel given as the JSON of a scenario's `channel` table.
///
/// # Errors
/// The first field that is wrong.
pub fn channel_from_json(json: &str) -> Result<ChannelConfig, ScenarioError> {
    let channel: toml::Value =
        serde_json::from_str(json).map_err(|error| ScenarioError::new("channel", format!("no table: {error}")))?;
    let root = schema_with_definitions();
    let channel = shape::Shape::new(root, quantity).apply_to("channel", channel)?;
    let config: ChannelConfig =
        channel.try_into().map_err(|error: toml::de::Error| ScenarioError::new("channel", error.message()))?;
    config.entry().check().map_err(|error| error.within("channel"))?;
    Ok(config)
}

/// A constellation as `path.constellation` says it, as JSON.
///
/// # Errors
/// The first field that is wrong.
pub fn constellation_from_json(json: &str) -> Result<ConstellationChoice, ScenarioError> {
    let refuse = |message: String| ScenarioError::new("constellation", message);
    let value: toml::Value = serde_json::from_str(json).map_err(|error| refuse(format!("no JSON: {error}")))?;
    // Within a path, so that there is one way to check it; the places matter to nobody.
    let place = Table::from_iter(["latitude", "longitude"].map(|key| (key.to_owned(), "0 deg".into())));
    let path = Table::from_iter([
        ("kind".to_owned(), "constellation".into()),
        ("constellation".to_owned(), value),
        ("source".to_owned(), place.clone().into()),
        ("user".to_owned(), place.into()),
    ]);
    let without_path = |error: ScenarioError| {
        let field = error.field.strip_prefix("path.").unwrap_or(&error.field).to_owned();
        ScenarioError { field, ..error }
    };
    let root = schema_with_definitions();
    let path = shape::Shape::new(root, quantity).apply_to("path", path.into()).map_err(without_path)?;
    let constellation = path.get("constellation").cloned().expect("it was put there");
    constellation.try_into().map_err(|error: toml::de::Error| refuse(error.message().to_owned()))
}

/// The texts with units that a scenario may hold.
fn quantity(definition: &str, text: &str) -> Option<Result<(), String>> {
    match definition {
        "Buffer" => Some(text.parse::<link::Buffer>().map(drop).map_err(|error| error.to_string())),
        "Epoch" => Some(text.parse::<orbit::Epoch>().map(drop)),
        _ => Some(units::check_text(definition, text)?.map_err(|error| error.to_string())),
    }
}
