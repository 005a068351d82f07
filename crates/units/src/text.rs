//! Quantities as text: a number, a space, a unit.

use std::fmt;

/// A quantity that scenarios write as a string, such as `"50 Mbit/s"`.
pub trait Quantity: Sized + Copy {
    /// The name of the quantity in messages: "a bit rate".
    const NOUN: &'static str;
    /// The units that are written, each with its size in the base unit.
    const UNITS: &'static [(&'static str, f64)];
    /// Units that are read as well: other spellings, and units of one field.
    const READ: &'static [(&'static str, f64)] = &[];
    /// An example for messages and the schema.
    const EXAMPLE: &'static str;
    /// The allowed range in the base unit, both ends included, and its wording in messages.
    const RANGE: (f64, f64, &'static str);
    /// Whether a number without a unit is accepted; it is then in the base unit.
    const BARE: bool = false;
    /// The unit of a ratio that is written by mistake for the one unit of a quantity that is relative to something.
    const MISTAKEN: Option<&'static str> = None;

    /// Returns the quantity of a value in the base unit that is within [`Quantity::RANGE`].
    fn from_base(value: f64) -> Self;
    /// The value in the base unit.
    fn to_base(self) -> f64;

    /// Reads `"10 dB"`; the space is optional, the unit is not.
    ///
    /// # Errors
    /// The message has the text that was given, and the allowed units or the allowed range.
    fn parse(text: &str) -> Result<Self, ParseQuantityError> {
        let refuse = |reason: String| ParseQuantityError { noun: Self::NOUN, given: text.to_owned(), reason };
        let text = text.trim();
        let split =
            text.find(|c: char| c.is_alphabetic() && c != 'e' && c != 'E' || "%°µ".contains(c)).unwrap_or(text.len());
        let (number, unit) = (text[..split].trim(), text[split..].trim());
        let units = || Self::UNITS.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
        let value: f64 = number.replace('_', "").parse().map_err(|_| {
            refuse(format!("write a number and a unit, as in \"{}\" (units: {})", Self::EXAMPLE, units()))
        })?;
        let known = || Self::UNITS.iter().chain(Self::READ);
        let scale = match known().find(|u| u.0 == unit) {
            Some(u) => u.1,
            None if unit.is_empty() && Self::BARE => 1.0,
            None if unit.is_empty() => return Err(refuse(format!("the unit is missing: one of {}", units()))),
            None if Self::MISTAKEN == Some(unit) => {
                let own = units();
                let hint = format!("{unit} is a ratio of two powers: write \"{number} {own}\"");
                return Err(refuse(format!("unknown unit \"{unit}\": one of {own}; {hint}")));
            }
            None => {
                let near = known().find(|u| differs_in_case(unit, u.0));
                let hint = near.map_or(String::new(), |u| format!(", did you mean \"{number} {}\"?", u.0));
                return Err(refuse(format!("unknown unit \"{unit}\"{hint} (one of {})", units())));
            }
        };
        let quantity = Self::of(value, scale).ok_or_else(|| refuse(format!("must be {}", Self::RANGE.2)))?;
        if quantity.to_base() == 0.0 && value != 0.0 {
            return Err(refuse("is so little that it would be rounded to 0".to_owned()));
        }
        Ok(quantity)
    }

    /// The quantity of a number and the size of its unit; `None` out of range.
    fn of(number: f64, scale: f64) -> Option<Self> {
        let base = number * scale;
        let (low, high, _) = Self::RANGE;
        (base.is_finite() && base >= low && base <= high).then(|| Self::from_base(base))
    }

    /// Writes the shortest text that reads back as the same value. A number below 1 counts as longer, so 200 ms is
    /// preferred to 0.2 s.
    fn write(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = self.to_base();
        let length = |text: &str| text.len() + if text.starts_with("0.") { 2 } else { 0 };
        // A number is written with the digits that read back as the same number.
        let exact = |number: f64, scale: f64| Self::of(number, scale).is_some_and(|q| q.to_base() == base);
        let mut shortest: Option<String> = None;
        let is_shorter = |least: usize, than: &Option<String>| than.as_ref().is_none_or(|than| least < length(than));
        let offer = |number: f64, (unit, scale): (&str, f64), shortest: &mut Option<String>| {
            if !exact(number, scale) {
                return;
            }
            let text = format!("{number} {unit}");
            if is_shorter(length(&text), shortest) {
                *shortest = Some(text);
            }
        };
        let mut untidy = Vec::new();
        for &(unit, scale) in Self::UNITS {
            let number = base / scale;
            if !is_shorter(least_length(number) + 1 + unit.len(), &shortest) {
                continue; // before it is written, which takes long
            }
            let tidied = tidy(number);
            offer(tidied, (unit, scale), &mut shortest);
            if tidied != number {
                untidy.push((number, (unit, scale)));
            }
        }
        untidy.into_iter().for_each(|(number, unit)| offer(number, unit, &mut shortest));
        match shortest {
            Some(text) => f.write_str(&text),
            None => write!(f, "{} {}", base / Self::UNITS[0].1, Self::UNITS[0].0),
        }
    }
}

/// Whether a unit is another one but for its case. Bits (b) and bytes (B) are two things.
fn differs_in_case(given: &str, unit: &str) -> bool {
    given.eq_ignore_ascii_case(unit) && given.contains('B') == unit.contains('B')
}

/// A length that a number has at least as text, before and after [`tidy`]: that of its whole part, and where that is 0
/// also the two characters as which it counts.
fn least_length(number: f64) -> usize {
    if number > 0.0 && number < 0.9 {
        return "0.1".len() + 2;
    }
    std::iter::successors(Some(number.abs()), |left| Some(left / 10.0)).take_while(|&left| left >= 1.0).count()
}

/// Rounds to 15 digits, because division by a unit leaves an error in the last bits.
fn tidy(value: f64) -> f64 {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return value;
    }
    let shortest = value.to_string();
    let digits = shortest.trim_start_matches(['-', '0', '.']).bytes().filter(u8::is_ascii_digit).count();
    if digits <= 15 { value } else { format!("{value:.14e}").parse().unwrap_or(value) }
}

/// Reads a quantity from a text, or from a number as if it were a text, so that the message is about the missing unit.
pub(crate) struct QuantityVisitor<Q>(pub(crate) std::marker::PhantomData<Q>);

impl<Q: Quantity> serde::de::Visitor<'_> for QuantityVisitor<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} such as \"{}\"", Q::NOUN, Q::EXAMPLE)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Q, E> {
        Q::parse(text).map_err(E::custom)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Q, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Q, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Q, E> {
        self.visit_str(&number.to_string())
    }
}

/// Why a text is not the expected quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{given}\" is not {noun}: {reason}")]
pub struct ParseQuantityError {
    /// The name of the quantity.
    pub noun: &'static str,
    /// The text as given.
    pub given: String,
    /// The complaint, and what is allowed.
    pub reason: String,
}

/// Implements text, serde and JSON schema for types with [`Quantity`].
macro_rules! textual {
    ($($name:ident),+) => {
        /// Reads `text` as the quantity type of this name ("BitRate"); `None` if there is no such type.
        ///
        /// A schema names the type of each field, so a scenario's texts can be checked before its types are built.
        pub fn check_text(name: &str, text: &str) -> Option<Result<(), ParseQuantityError>> {
            match name {
                $(stringify!($name) => Some($name::parse(text).map(drop)),)+
                _ => None,
            }
        }

        $(
        impl std::str::FromStr for $name {
            type Err = ParseQuantityError;
            fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
                Self::parse(text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.write(f)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(crate::text::QuantityVisitor(std::marker::PhantomData))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let units: Vec<_> = Self::UNITS.iter().chain(Self::READ).map(|u| u.0).collect();
                let both = serde_json::json!(["string", "number"]);
                let types = if Self::BARE { both } else { serde_json::json!("string") };
                let (noun, example) = (Self::NOUN, Self::EXAMPLE);
                schemars::json_schema!({
                    "type": types,
                    "description": format!("{noun} as text, for example \"{example}\"; units: {}", units.join(", ")),
                    "examples": [Self::EXAMPLE],
                })
            }
        }
    )+};
}
pub(crate) use textual;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Otherwise a text would be left out that is the shortest.
        #[test]
        fn no_text_is_shorter_than_its_least_length(
            digits in prop_oneof![1u64..10, 1u64..1000, 1u64..1_000_000_000_000], tens in -13i32..13, up in -1i64..=1)
        {
            let rounded: f64 = format!("{digits}e{tens}").parse().unwrap();
            let number = f64::from_bits(rounded.to_bits().saturating_add_signed(up));
            for text in [number.to_string(), tidy(number).to_string()] {
                let counted = text.len() + if text.starts_with("0.") { 2 } else { 0 };
                prop_assert!(least_length(number) <= counted, "{number}: {text}");
            }
        }
    }
}
