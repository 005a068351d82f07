//! Quantities that are given, or follow something that the path knows: the serving satellite's position, or a measured
//! rate.

use std::fmt;
use std::str::FromStr;

use crate::text::{ParseQuantityError, Quantity};

/// Declares a quantity that is given, or a word.
macro_rules! or_word {
    (
        $(#[$meta:meta])* $name:ident, $variant:ident, $word:literal, $what:literal,
        $(#[$follows_meta:meta])* $follows:ident
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name<Q> {
            /// Constant.
            Given(Q),
            #[doc = concat!("The word `", $word, "`: ", $what, ".")]
            $variant,
        }

        impl<Q: Copy> $name<Q> {
            /// The quantity that was given; `None` for the word.
            pub fn given(self) -> Option<Q> {
                match self {
                    $name::Given(quantity) => Some(quantity),
                    $name::$variant => None,
                }
            }

            $(#[$follows_meta])*
            pub fn $follows(self) -> bool {
                matches!(self, $name::$variant)
            }
        }

        impl<Q> From<Q> for $name<Q> {
            fn from(quantity: Q) -> $name<Q> {
                $name::Given(quantity)
            }
        }

        impl<Q: Quantity> FromStr for $name<Q> {
            type Err = ParseQuantityError;
            fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
                or_word(text, $word, || Q::parse(text).map($name::Given)).unwrap_or(Ok($name::$variant))
            }
        }

        impl<Q: fmt::Display> fmt::Display for $name<Q> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $name::Given(quantity) => quantity.fmt(f),
                    $name::$variant => f.write_str($word),
                }
            }
        }

        impl<Q: fmt::Display> serde::Serialize for $name<Q> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de, Q: Quantity> serde::Deserialize<'de> for $name<Q> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl<Q: schemars::JsonSchema> schemars::JsonSchema for $name<Q> {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                format!("{}{}", Q::schema_name(), stringify!($name)).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut schema = Q::json_schema(generator);
                let described = schema.get("description").and_then(|text| text.as_str()).unwrap_or_default();
                let described = format!("{described}; or \"{}\": {}", $word, $what);
                schema.insert("description".to_owned(), described.into());
                schema
            }
        }
    };
}

or_word!(
    /// A quantity that is given, or the word `orbit`: then it follows the serving satellite.
    OrOrbit,
    Orbit,
    "orbit",
    "it follows the satellite that serves the users",
    /// Whether it follows the orbit.
    follows_orbit
);

or_word!(
    /// A quantity that is given, or the word `path`: then it is what the path says at each instant.
    OrPath,
    Path,
    "path",
    "it is what the path says at each instant",
    /// Whether it follows the path.
    follows_path
);

/// The suffixes of the names of such quantities in a JSON schema, and their words.
const WORDS: [(&str, &str); 2] = [("OrOrbit", "orbit"), ("OrPath", "path")];

/// As [`crate::quantity::check_text`], for the names of all definitions.
pub fn check_text(name: &str, text: &str) -> Option<Result<(), ParseQuantityError>> {
    let known = WORDS.iter().find_map(|&(suffix, word)| Some((name.strip_suffix(suffix)?, word)));
    match known {
        None => crate::quantity::check_text(name, text),
        Some((_, word)) if text == word => Some(Ok(())),
        Some((name, word)) => or_word(text, word, || crate::quantity::check_text(name, text).transpose())?.transpose(),
    }
}

/// Reads `text` with `read`, unless it is the word: `None`. An error of `read` then lists the word among the accepted
/// texts.
fn or_word<T>(
    text: &str,
    word: &str,
    read: impl FnOnce() -> Result<T, ParseQuantityError>,
) -> Option<Result<T, ParseQuantityError>> {
    (text != word).then(|| {
        read().map_err(|error| ParseQuantityError { reason: format!("{}; or write \"{word}\"", error.reason), ..error })
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
        assert_eq!(check_text("BitRateOrPath", "path"), Some(Ok(())));
        assert!(check_text("BitRateOrPath", "orbit").unwrap().is_err());
        assert!(check_text("NothingOrOrbit", "1").is_none() && check_text("Nothing", "1").is_none());
    }
}
