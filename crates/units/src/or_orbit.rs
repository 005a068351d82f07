//! Quantities that are given, or computed from the position of the serving satellite.

use std::fmt;
use std::str::FromStr;

use crate::text::{ParseQuantityError, Quantity};

/// A quantity that is given, or the word `orbit`: then it follows the serving satellite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrOrbit<Q> {
    /// Constant.
    Given(Q),
    /// Computed from the position of the serving satellite.
    Orbit,
}

const WORD: &str = "orbit";
/// The suffix of such a quantity's name in a JSON schema.
const SUFFIX: &str = "OrOrbit";

impl<Q: Copy> OrOrbit<Q> {
    /// The quantity that was given; `None` if it follows the orbit.
    pub fn given(self) -> Option<Q> {
        match self {
            OrOrbit::Given(quantity) => Some(quantity),
            OrOrbit::Orbit => None,
        }
    }

    /// Whether it follows the orbit.
    pub fn follows_orbit(self) -> bool {
        matches!(self, OrOrbit::Orbit)
    }
}

impl<Q> From<Q> for OrOrbit<Q> {
    fn from(quantity: Q) -> OrOrbit<Q> {
        OrOrbit::Given(quantity)
    }
}

impl<Q: Quantity> FromStr for OrOrbit<Q> {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        or_orbit(text, || Q::parse(text).map(OrOrbit::Given)).unwrap_or(Ok(OrOrbit::Orbit))
    }
}

impl<Q: fmt::Display> fmt::Display for OrOrbit<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrOrbit::Given(quantity) => quantity.fmt(f),
            OrOrbit::Orbit => f.write_str(WORD),
        }
    }
}

impl<Q: fmt::Display> serde::Serialize for OrOrbit<Q> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, Q: Quantity> serde::Deserialize<'de> for OrOrbit<Q> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl<Q: schemars::JsonSchema> schemars::JsonSchema for OrOrbit<Q> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}{SUFFIX}", Q::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = Q::json_schema(generator);
        let described = schema.get("description").and_then(|text| text.as_str()).unwrap_or_default();
        let described = format!("{described}; or \"{WORD}\": it follows the satellite that serves the users");
        schema.insert("description".to_owned(), described.into());
        schema
    }
}

/// As [`crate::quantity::check_text`], for the names of all definitions.
pub fn check_text(name: &str, text: &str) -> Option<Result<(), ParseQuantityError>> {
    match name.strip_suffix(SUFFIX) {
        None => crate::quantity::check_text(name, text),
        Some(_) if text == WORD => Some(Ok(())),
        Some(name) => or_orbit(text, || crate::quantity::check_text(name, text).transpose())?.transpose(),
    }
}

/// Reads `text` with `read`, unless it is the word `orbit`: `None`. An error of `read` then lists the word among the
/// accepted texts.
fn or_orbit<T>(
    text: &str,
    read: impl FnOnce() -> Result<T, ParseQuantityError>,
) -> Option<Result<T, ParseQuantityError>> {
    (text != WORD).then(|| {
        read().map_err(|error| ParseQuantityError { reason: format!("{}; or write \"{WORD}\"", error.reason), ..error })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Angle, Duration};

    #[test]
    fn reads_and_writes_both() {
        let given: OrOrbit<Duration> = "10 ms".parse().unwrap();
        assert_eq!((given, given.to_string()), (Duration::from_millis(10).into(), "10 ms".to_owned()));
        let follows: OrOrbit<Angle> = serde_json::from_str("\"orbit\"").unwrap();
        assert!(follows.follows_orbit() && follows.given().is_none());
        assert_eq!(serde_json::to_string(&follows).unwrap(), "\"orbit\"");
    }

    #[test]
    fn an_error_offers_the_word() {
        let says = "ten".parse::<OrOrbit<Duration>>().unwrap_err().to_string();
        assert!(says.starts_with("\"ten\" is not ") && says.ends_with("; or write \"orbit\""), "{says}");
        assert_eq!(check_text("DurationOrOrbit", "ten").unwrap().unwrap_err().to_string(), says);
        assert_eq!(check_text("DurationOrOrbit", "orbit"), Some(Ok(())));
        assert_eq!(check_text("AngleOrOrbit", "40 deg"), Some(Ok(())));
        assert!(check_text("Angle", "orbit").unwrap().is_err());
        assert!(check_text("NothingOrOrbit", "1").is_none() && check_text("Nothing", "1").is_none());
    }
}
