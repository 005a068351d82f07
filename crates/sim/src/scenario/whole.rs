//! Whole numbers of a TOML text that TOML has no room for: its own have 64 bits with the sign.

use toml::de::{DeTable, DeValue};
use units::FieldError as ScenarioError;

/// Returns the refusal of the first such number by the dotted path of its key; `None` if all fit, or the text is not
/// TOML.
pub(super) fn refusal(text: &str) -> Option<ScenarioError> {
    of_table(DeTable::parse(text).ok()?.get_ref())
}

fn of_table(table: &DeTable<'_>) -> Option<ScenarioError> {
    table.iter().find_map(|(key, value)| Some(of_value(value.get_ref())?.within(key.get_ref())))
}

fn of_value(value: &DeValue<'_>) -> Option<ScenarioError> {
    match value {
        DeValue::Table(table) => of_table(table),
        DeValue::Array(entries) => {
            let mut entries = entries.iter().enumerate();
            entries.find_map(|(i, entry)| Some(of_value(entry.get_ref())?.within(&i.to_string())))
        }
        DeValue::Integer(number) if i64::from_str_radix(number.as_str(), number.radix()).is_err() => {
            let limit = match number.as_str().starts_with('-') {
                true => format!("at least {}", i64::MIN),
                false => format!("at most {}", i64::MAX),
            };
            Some(ScenarioError::new("", format!("{number} was given: a whole number is {limit}")))
        }
        _ => None,
    }
}
