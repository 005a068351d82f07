//! The choice of a constellation: a name, a name with changes, parameters, or a file.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use units::{FieldError, Files};

use crate::satellites::constellation::{Constellation, LinkPattern};
use crate::satellites::elements_file::ElementsFile;
use crate::satellites::handover::HandoverPolicy;
use crate::satellites::presets::{preset, preset_names};
use crate::satellites::sky::{Sky, nearest_names};

/// A constellation by name, by its parameters, or from a file of elements.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ConstellationChoice {
    /// The name of a preset.
    Preset(String),
    /// Its parameters. A table with the key `preset` has the parameters of that preset, except for its other keys.
    Walker(Box<Constellation>),
    /// Real satellites.
    File(Box<ElementsFile>),
}

impl ConstellationChoice {
    /// The parameters of a Walker constellation.
    ///
    /// # Errors
    /// If there is no preset with this name, or the satellites come from a file.
    pub fn resolve(&self) -> Result<&Constellation, FieldError> {
        match self {
            ConstellationChoice::Walker(constellation) => Ok(constellation),
            ConstellationChoice::Preset(name) => {
                named(name).map_err(|message| FieldError::new("constellation", message))
            }
            ConstellationChoice::File(file) => {
                let message = format!("the satellites of {} have no pattern of planes", file.file);
                Err(FieldError::new("constellation", message))
            }
        }
    }

    /// Checks every value; no file is opened.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        match self {
            ConstellationChoice::File(file) => file.check().map_err(|error| error.within("constellation")),
            _ => self.resolve()?.check().map_err(|error| error.within("constellation")),
        }
    }

    /// The constellation with its files read.
    ///
    /// # Errors
    /// As [`ConstellationChoice::check`]; or a file cannot be read, or is wrong: names the line, record or satellite.
    pub fn sky(&self, files: &mut dyn Files) -> Result<Sky, FieldError> {
        self.check()?;
        let sky = match self {
            ConstellationChoice::File(file) => Sky::of_file(file, files),
            _ => Sky::of_walker(self.resolve()?, files),
        };
        sky.map_err(|error| error.within("constellation"))
    }

    /// The names of the files that it needs.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let (file, links) = match self {
            ConstellationChoice::Preset(_) => (None, None),
            ConstellationChoice::Walker(constellation) => (None, Some(&mut constellation.links)),
            ConstellationChoice::File(config) => (Some(&mut config.file), Some(&mut config.links)),
        };
        let pairs = links.and_then(|links| match links {
            LinkPattern::Pairs(file) => Some(file),
            LinkPattern::PlusGrid | LinkPattern::None => None,
        });
        file.into_iter().chain(pairs)
    }

    /// Returns the policy by which an end's satellite is chosen where a path does not say it. A bent pipe has no route
    /// to choose by.
    pub(crate) fn handover(&self) -> HandoverPolicy {
        let own = self.resolve().ok().filter(|_| self.is_linked()).and_then(|walker| walker.handover.clone());
        own.unwrap_or_default()
    }

    /// Whether there are inter-satellite links; `true` for a preset that does not exist.
    pub(crate) fn is_linked(&self) -> bool {
        match self {
            ConstellationChoice::File(file) => file.links != LinkPattern::None,
            _ => self.resolve().map_or(true, |constellation| constellation.links != LinkPattern::None),
        }
    }
}

fn named(name: &str) -> Result<&'static Constellation, String> {
    preset(name).map(|preset| &preset.constellation).ok_or_else(|| {
        let near = match nearest_names(name, preset_names()) {
            near if near.is_empty() => String::new(),
            near => format!(", did you mean {near}?"),
        };
        let names = preset_names().collect::<Vec<_>>().join(", ");
        format!("\"{name}\" is unknown{near} (allowed: {names})")
    })
}

impl From<&str> for ConstellationChoice {
    fn from(name: &str) -> ConstellationChoice {
        ConstellationChoice::Preset(name.to_owned())
    }
}

impl From<Constellation> for ConstellationChoice {
    fn from(constellation: Constellation) -> ConstellationChoice {
        ConstellationChoice::Walker(Box::new(constellation))
    }
}

impl From<ElementsFile> for ConstellationChoice {
    fn from(file: ElementsFile) -> ConstellationChoice {
        ConstellationChoice::File(Box::new(file))
    }
}

// Not derived as untagged: serde would then replace every error in a table with "did not match any variant".
impl<'de> Deserialize<'de> for ConstellationChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Choice;
        impl<'de> Visitor<'de> for Choice {
            type Value = ConstellationChoice;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a preset's name, a table of Walker parameters, or a table with a file")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<ConstellationChoice, E> {
                Ok(ConstellationChoice::from(name))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ConstellationChoice, A::Error> {
                let table = toml::Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
                constellation_of(table).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Choice)
    }
}

fn constellation_of(mut table: toml::Table) -> Result<ConstellationChoice, String> {
    let read = |error: toml::de::Error| error.message().to_owned();
    if table.contains_key("file") {
        return table.try_into().map(|file: ElementsFile| file.into()).map_err(read);
    }
    if let Some(name) = table.remove("preset") {
        let name = name.as_str().ok_or_else(|| format!("`preset` must be a preset's name, not {name}"))?;
        let whole = toml::Table::try_from(named(name)?).map_err(|error| error.to_string())?;
        let changes = std::mem::replace(&mut table, whole);
        table.extend(changes);
    }
    table.try_into().map(|constellation: Constellation| constellation.into()).map_err(read)
}

impl JsonSchema for ConstellationChoice {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ConstellationChoice".into()
    }

    // The Walker parameters come last: a checker that reports only the errors of the last possible form then reports
    // those of the most common one.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = preset_names().collect();
        let mut changed = Constellation::json_schema(generator).to_value();
        changed["description"] = "A preset with some of its parameters changed.".into();
        changed["required"] = ["preset"].into_iter().collect();
        changed["properties"]["preset"] =
            serde_json::json!({ "type": "string", "enum": names, "description": "The name of the preset." });
        json_schema!({ "anyOf": [
            { "type": "string", "enum": names },
            changed,
            generator.subschema_for::<ElementsFile>(),
            generator.subschema_for::<Constellation>(),
        ] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Angle;

    fn read(text: &str) -> Result<ConstellationChoice, String> {
        #[derive(Deserialize)]
        struct Holder {
            constellation: ConstellationChoice,
        }
        let holder: Result<Holder, _> = toml::from_str(&format!("constellation = {text}"));
        holder.map(|holder| holder.constellation).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_preset_can_be_changed() {
        let changed =
            read("{ preset = \"leo-66\", j2 = true, first_node = \"30 deg\", polar_cutoff = \"70 deg\" }").unwrap();
        let expected = Constellation {
            j2: true,
            first_node: Angle::from_degrees(30.0),
            polar_cutoff: Some(Angle::from_degrees(70.0)),
            ..preset("leo-66").unwrap().constellation.clone()
        };
        assert_eq!(changed, expected.into());
        let same = read("{ preset = \"oneweb\" }").unwrap();
        assert_eq!(same.resolve().unwrap(), &preset("oneweb").unwrap().constellation);
        assert_eq!(
            read("{ preset = \"leo-66\", planets = 7 }").unwrap_err().lines().next().unwrap().split(',').next(),
            Some("unknown field `planets`")
        );
        assert!(
            read("{ preset = \"leo-67\" }").unwrap_err().starts_with("\"leo-67\" is unknown, did you mean leo-66?")
        );
        assert_eq!(read("{ preset = 66 }").unwrap_err(), "`preset` must be a preset's name, not 66");
    }

    #[test]
    fn the_nearest_names_come_first() {
        let says = |name: &str| ConstellationChoice::from(name).check().unwrap_err().to_string();
        let iridium =
            "constellation: \"iridium\" is unknown, did you mean iridium-66, iridium-next? (allowed: leo-66, ";
        assert!(says("iridium").starts_with(iridium));
        assert!(says("Starlink").contains("did you mean starlink-shell-1?"));
        assert!(says("zzz").starts_with("constellation: \"zzz\" is unknown (allowed: leo-66, "));
    }

    #[test]
    fn whatever_is_chosen_reads_back() {
        for text in [
            "\"leo-66\"",
            "{ preset = \"leo-66\", j2 = true }",
            "{ preset = \"leo-66\", links = { pairs = \"links.csv\" } }",
            "{ file = \"a.tle\" }",
            "{ file = \"a.json\", epoch = \"2026-11-21T10:00:00.25\", links = { pairs = \"b.csv\" }, \
             minimum_elevation = \"7 deg\" }",
        ] {
            let choice = read(text).unwrap();
            let json = serde_json::to_string(&choice).unwrap();
            assert_eq!(serde_json::from_str::<ConstellationChoice>(&json).unwrap(), choice, "{json}");
            let toml = toml::Value::try_from(&choice).unwrap();
            assert_eq!(toml.try_into::<ConstellationChoice>().unwrap(), choice, "{text}");
        }
        // Without J2, the key is not written.
        assert!(!serde_json::to_string(&preset("leo-66").unwrap().constellation).unwrap().contains("j2"));
    }

    #[test]
    fn names_the_files_it_needs() {
        let files = |text: &str| read(text).unwrap().files_mut().map(|file| file.clone()).collect::<Vec<_>>();
        assert_eq!(files("\"leo-66\""), [""; 0]);
        assert_eq!(files("{ preset = \"leo-66\", links = { pairs = \"l\" } }"), ["l"]);
        assert_eq!(files("{ file = \"a\", links = { pairs = \"b\" } }"), ["a", "b"]);
    }
}
