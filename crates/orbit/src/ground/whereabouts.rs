//! The ends of a path: one or more gateways, and a user who may move.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use units::{FieldError, Files};

use crate::csv::read_text;
use crate::ground::course::Course;
use crate::ground::place::Place;
use crate::ground::stations::NamedPlace;
use crate::ground::waypoints::MovingUser;

/// The places where packets enter and leave the constellation on the fixed side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Gateways {
    /// One place.
    One(Place),
    /// Several places; a route begins at the gateway from which it is best.
    Several(Vec<Place>),
    /// The places of a file.
    File(PlacesFile),
}

/// Places from a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacesFile {
    /// The file, relative to the scenario's: comma-separated rows with the header `name,latitude_deg,longitude_deg` and
    /// optionally `altitude_m`.
    pub file: String,
}

/// A user's position over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Whereabouts {
    /// One place.
    At(Place),
    /// From way-point to way-point.
    Moving(MovingUser),
    /// The track of a file.
    File(TrackFile),
}

/// A user's track from a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackFile {
    /// The file, relative to the scenario's: comma-separated rows `time_s,latitude_deg,longitude_deg` and optionally
    /// `altitude_m`. Times count from the start of the run. Between two rows the user moves on a great circle at a
    /// constant speed; before the first and after the last it stays.
    pub file: String,
}

/// With so many gateways, preparing a run of minutes takes minutes.
const MOST_GATEWAYS: usize = 1000;

impl Gateways {
    /// Checks every value; no file is opened.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        match self {
            Gateways::One(place) => place.check(),
            Gateways::Several(places) => {
                count(places.len()).map_err(|message| FieldError::new("", message))?;
                let mut numbered = places.iter().enumerate();
                numbered.try_for_each(|(i, place)| place.check().map_err(|error| error.within(&i.to_string())))
            }
            Gateways::File(_) => Ok(()),
        }
    }

    /// The gateways, in the order of their numbers, with the file read.
    ///
    /// # Errors
    /// As [`Gateways::check`]; or the file cannot be read or is wrong: names the line.
    pub fn places(&self, files: &mut dyn Files) -> Result<Vec<Place>, FieldError> {
        self.check()?;
        match self {
            Gateways::One(place) => Ok(vec![*place]),
            Gateways::Several(places) => Ok(places.clone()),
            Gateways::File(PlacesFile { file }) => {
                let refuse = |message: String| FieldError::new("file", format!("{file}: {message}"));
                let places = NamedPlace::from_csv(&read_text(files, file).map_err(refuse)?);
                let places = places.map_err(|error| refuse(error.to_string()))?;
                count(places.len()).map_err(refuse)?;
                Ok(places.into_iter().map(|named| named.place).collect())
            }
        }
    }

    /// The name of the file that it needs.
    pub fn file_mut(&mut self) -> Option<&mut String> {
        match self {
            Gateways::File(PlacesFile { file }) => Some(file),
            Gateways::One(_) | Gateways::Several(_) => None,
        }
    }
}

fn count(gateways: usize) -> Result<(), String> {
    match gateways {
        1..=MOST_GATEWAYS => Ok(()),
        _ => Err(format!("{gateways} gateways given, 1 to {MOST_GATEWAYS} are expected")),
    }
}

impl Whereabouts {
    /// Checks every value; no file is opened.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        match self {
            Whereabouts::At(place) => place.check(),
            Whereabouts::Moving(user) => Course::of_waypoints(user).map(|_| ()),
            Whereabouts::File(_) => Ok(()),
        }
    }

    /// The user's course, with the file read.
    ///
    /// # Errors
    /// As [`Whereabouts::check`]; or the file cannot be read or is wrong: names the line.
    pub fn course(&self, files: &mut dyn Files) -> Result<Course, FieldError> {
        match self {
            Whereabouts::At(place) => place.check().map(|()| Course::at(place)),
            Whereabouts::Moving(user) => Course::of_waypoints(user),
            Whereabouts::File(TrackFile { file }) => {
                let refuse = |message: String| FieldError::new("file", format!("{file}: {message}"));
                let text = read_text(files, file).map_err(refuse)?;
                Course::from_csv(&text).map_err(|error| refuse(error.to_string()))
            }
        }
    }

    /// The name of the file that it needs.
    pub fn file_mut(&mut self) -> Option<&mut String> {
        match self {
            Whereabouts::File(TrackFile { file }) => Some(file),
            Whereabouts::At(_) | Whereabouts::Moving(_) => None,
        }
    }
}

impl From<Place> for Gateways {
    fn from(place: Place) -> Gateways {
        Gateways::One(place)
    }
}

impl From<Vec<Place>> for Gateways {
    fn from(places: Vec<Place>) -> Gateways {
        Gateways::Several(places)
    }
}

impl From<Place> for Whereabouts {
    fn from(place: Place) -> Whereabouts {
        Whereabouts::At(place)
    }
}

impl From<MovingUser> for Whereabouts {
    fn from(user: MovingUser) -> Whereabouts {
        Whereabouts::Moving(user)
    }
}

// Neither is derived as untagged: serde would then replace every error in a table with "did not match any variant".
impl<'de> Deserialize<'de> for Gateways {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct GatewaysVisitor;
        impl<'de> Visitor<'de> for GatewaysVisitor {
            type Value = Gateways;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a place, a list of places, or a table with a file")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Gateways, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Gateways::Several)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Gateways, A::Error> {
                let table = toml::Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
                match table.contains_key("file") {
                    true => read(table).map(Gateways::File),
                    false => read(table).map(Gateways::One),
                }
            }
        }
        deserializer.deserialize_any(GatewaysVisitor)
    }
}

impl<'de> Deserialize<'de> for Whereabouts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WhereaboutsVisitor;
        impl<'de> Visitor<'de> for WhereaboutsVisitor {
            type Value = Whereabouts;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a place, a table with way-points, or a table with a file")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Whereabouts, A::Error> {
                let table = toml::Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
                if table.contains_key("file") {
                    read(table).map(Whereabouts::File)
                } else if table.contains_key("waypoints") {
                    read(table).map(Whereabouts::Moving)
                } else {
                    read(table).map(Whereabouts::At)
                }
            }
        }
        deserializer.deserialize_any(WhereaboutsVisitor)
    }
}

fn read<T: de::DeserializeOwned, E: de::Error>(table: toml::Table) -> Result<T, E> {
    table.try_into().map_err(|error: toml::de::Error| E::custom(error.message()))
}

impl JsonSchema for Gateways {
    fn schema_name() -> Cow<'static, str> {
        "Gateways".into()
    }

    // The place comes last: a checker that reports only the errors of the last possible form then reports those of the
    // most common one.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let place = generator.subschema_for::<Place>();
        json_schema!({ "anyOf": [
            { "type": "array", "items": place.clone(), "minItems": 1, "description": "Several gateways." },
            generator.subschema_for::<PlacesFile>(),
            place,
        ] })
    }
}

impl JsonSchema for Whereabouts {
    fn schema_name() -> Cow<'static, str> {
        "Whereabouts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            generator.subschema_for::<MovingUser>(),
            generator.subschema_for::<TrackFile>(),
            generator.subschema_for::<Place>(),
        ] })
    }
}
