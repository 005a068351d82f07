//! Holds a scenario against its JSON schema, so that an error names the field, what was given and what is allowed.
//!
//! The schema is made from the configuration types, so there is no second list of keys. Serde alone would lose the path
//! inside a `kind = "…"` table and could not name the nearest valid one.

use serde_json::{Map, Value as Json};
use toml::{Table, Value};
use units::FieldError as ScenarioError;

use super::edit::kind_table;
use super::elsewhere;
use super::schemas::{listed, resolved, tagged_choices, type_of};

/// Reads a text as the quantity that a schema definition names; `None` if it names none.
pub(super) type QuantityCheck = fn(definition: &str, text: &str) -> Option<Result<(), String>>;

/// The schema of a key, with the definitions that it names.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    root: &'a Json,
    quantity: QuantityCheck,
    /// Whether an error tells where an unknown name is known. That takes as long as all the rest, and of several
    /// alternatives most fail.
    advises: bool,
}

impl<'a> Shape<'a> {
    /// The schema `root`, whose quantities `quantity` reads.
    pub(super) fn new(root: &'a Json, quantity: QuantityCheck) -> Shape<'a> {
        Shape { root, quantity, advises: false }
    }

    /// Checks `table` and writes out its short forms (`"cubic"` for `{ kind = "cubic" }`).
    pub(super) fn apply(&self, table: Table) -> Result<Table, ScenarioError> {
        let mut value = Value::Table(table);
        self.check_advising(&mut value, self.root, "")?;
        match value {
            Value::Table(table) => Ok(table),
            _ => unreachable!("checking keeps a table a table"),
        }
    }

    /// As [`Shape::apply`] for the value of one key at the top.
    pub(super) fn apply_to(&self, key: &str, mut value: Value) -> Result<Value, ScenarioError> {
        self.check_advising(&mut value, &self.root["properties"][key], key)?;
        Ok(value)
    }

    fn check_advising(&self, value: &mut Value, schema: &Json, path: &str) -> Result<(), ScenarioError> {
        let advising = Shape { advises: true, ..*self };
        self.check(value, schema, path).or_else(|_| advising.check(value, schema, path))
    }

    fn check(&self, value: &mut Value, schema: &Json, path: &str) -> Result<(), ScenarioError> {
        if let Some(definition) = schema["$ref"].as_str() {
            let name = definition.rsplit('/').next().unwrap_or_default();
            if let Some(result) = (self.quantity)(name, &as_text(value)) {
                return result.map_err(|message| ScenarioError::new(path, message));
            }
            let definition = &self.root["$defs"][name];
            return match tagged_choices(definition) {
                Some(choices) => self.check_tagged(value, &choices, &schema["default"], path),
                None => self.check(value, definition, path),
            };
        }
        if let Some(choices) = tagged_choices(schema) {
            return self.check_tagged(value, &choices, &schema["default"], path);
        }
        if let Some(allowed) = listed(schema) {
            return check_listed(value, &allowed, path);
        }
        if let Some(alternatives) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            return self.check_alternatives(value, alternatives, path);
        }
        match type_of(schema) {
            Some("object") => self.check_table(value, schema, &[], path),
            Some("array") => self.check_list(value, schema, path),
            Some(kind) => check_scalar(value, kind, schema, path),
            None => Ok(()),
        }
    }

    /// A table whose `kind` selects which other keys it has; a bare string is short for the kind alone. `default` is
    /// what stands for a table that is not given.
    fn check_tagged(
        &self,
        value: &mut Value,
        choices: &[(&str, &Json)],
        default: &Json,
        path: &str,
    ) -> Result<(), ScenarioError> {
        if let Value::String(kind) = value {
            *value = Value::Table(kind_table(kind));
        }
        let names: Vec<&str> = choices.iter().map(|c| c.0).collect();
        let key = join(path, "kind");
        let Value::Table(table) = &*value else {
            return Err(given(path, value, &format!("a table with `kind` = {}", list(&names))));
        };
        let kind = match table.get("kind") {
            Some(Value::String(kind)) => kind,
            Some(other) => return Err(given(&key, other, &list(&names))),
            None => {
                let otherwise = default["kind"].as_str().map(|kind| format!("; without the table it is \"{kind}\""));
                let message = format!("is missing: {}{}", list(&names), otherwise.unwrap_or_default());
                return Err(ScenarioError::new(key, message));
            }
        };
        match choices.iter().find(|c| c.0 == kind) {
            Some((_, schema)) => self.check_table(value, schema, choices, path),
            None => {
                let elsewhere = self.advises.then(|| elsewhere::of_name(self.root, path, kind)).flatten();
                Err(unknown(&key, &format!("\"{kind}\" is unknown"), kind, &names, elsewhere))
            }
        }
    }

    /// `choices`: the kinds that the table may be of, if it has a kind.
    fn check_table(
        &self,
        value: &mut Value,
        schema: &Json,
        choices: &[(&str, &Json)],
        path: &str,
    ) -> Result<(), ScenarioError> {
        let empty = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let Value::Table(table) = value else {
            return Err(given(path, value, "a table"));
        };
        for (key, value) in table.iter_mut() {
            match properties.get(key) {
                Some(schema) => self.check(value, schema, &join(path, key))?,
                // A table whose keys are names of the user's.
                None if schema["additionalProperties"].is_object() => {
                    self.check(value, &schema["additionalProperties"], &join(path, key))?;
                }
                None => {
                    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
                    let elsewhere = self.advises.then(|| elsewhere::of_key(self.root, path, key, choices)).flatten();
                    return Err(unknown(&join(path, key), "is an unknown key", key, &names, elsewhere));
                }
            }
        }
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            if !table.contains_key(key) {
                let about = properties[key]["description"].as_str().unwrap_or("it has no default");
                return Err(ScenarioError::new(
                    join(path, key),
                    format!("is missing ({})", about.trim_end_matches('.')),
                ));
            }
        }
        Ok(())
    }

    fn check_list(&self, value: &mut Value, schema: &Json, path: &str) -> Result<(), ScenarioError> {
        let Value::Array(entries) = value else {
            return Err(given(path, value, "a list"));
        };
        let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
        if entries.len() < least {
            return Err(ScenarioError::new(path, format!("has {} entries, needs at least {least}", entries.len())));
        }
        let mut checked = entries.iter_mut().enumerate();
        checked.try_for_each(|(i, entry)| self.check(entry, &schema["items"], &join(path, &i.to_string())))
    }

    /// Several shapes are allowed: the first that fits, else the complaint of the one that the value comes nearest to.
    fn check_alternatives(&self, value: &mut Value, alternatives: &[Json], path: &str) -> Result<(), ScenarioError> {
        let mut complaint: Option<(Likeness, ScenarioError)> = None;
        for alternative in alternatives.iter().filter(|a| a["type"] != "null") {
            let mut tried = value.clone(); // a failed attempt leaves no trace
            match self.check(&mut tried, alternative, path) {
                Ok(()) => {
                    *value = tried;
                    return Ok(());
                }
                Err(error) => {
                    let likeness = self.likeness(value, alternative);
                    let nearer = complaint.as_ref().is_none_or(|(best, _)| likeness.same_type && likeness >= *best);
                    if nearer {
                        complaint = Some((likeness, error));
                    }
                }
            }
        }
        // A number or a word, a switch or a quantity: the error on anything else names both.
        let all = number_or_word(alternatives).filter(|_| !value.is_integer());
        let all = all.or_else(|| self.switch_or_quantity(alternatives).filter(|_| !value.is_str()));
        if let (Some(_), Some(words)) = (&complaint, all) {
            return Err(given(path, value, &words));
        }
        complaint.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Returns the alternatives in words, if they are a switch and a quantity.
    fn switch_or_quantity(&self, alternatives: &[Json]) -> Option<String> {
        alternatives.iter().find(|a| a["type"] == "boolean")?;
        let example = alternatives.iter().find_map(|a| resolved(self.root, a)["examples"][0].as_str())?;
        Some(format!("true, false or a text such as \"{example}\""))
    }

    fn likeness(&self, value: &Value, schema: &Json) -> Likeness {
        let schema = resolved(self.root, schema);
        let (required, known) = match (value.as_table(), schema["properties"].as_object()) {
            (Some(table), Some(properties)) => {
                let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
                let known = table.keys().filter(|key| properties.contains_key(*key)).count();
                (required.all(|key| table.contains_key(key)), known)
            }
            _ => (false, 0),
        };
        Likeness { same_type: self.same_type(value, schema), required, known }
    }

    fn same_type(&self, value: &Value, schema: &Json) -> bool {
        let resolved = resolved(self.root, schema);
        let is_table = tagged_choices(resolved).is_some() || resolved["type"] == "object";
        match value {
            Value::Table(_) => is_table,
            Value::String(_) => type_of(resolved) == Some("string"),
            Value::Integer(_) | Value::Float(_) => matches!(type_of(resolved), Some("number" | "integer")),
            _ => false,
        }
    }
}

/// How near a value comes to a shape that it does not fit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Likeness {
    same_type: bool,
    /// A table has all the keys that the shape requires.
    required: bool,
    /// How many of the table's keys the shape knows.
    known: usize,
}

/// Returns the alternatives in words, if they are a word and either a whole number in a range or a switch.
fn number_or_word(alternatives: &[Json]) -> Option<String> {
    let word = alternatives.iter().find_map(|a| a["const"].as_str())?;
    if alternatives.iter().any(|a| a["type"] == "boolean") {
        return Some(format!("true, false or \"{word}\""));
    }
    let number = alternatives.iter().find(|a| a["type"] == "integer")?;
    Some(format!("a whole number from {} to {} or \"{word}\"", number["minimum"], number["maximum"]))
}

fn check_listed(value: &Value, allowed: &[&Json], path: &str) -> Result<(), ScenarioError> {
    let names: Vec<String> = allowed.iter().map(|a| a.as_str().map_or_else(|| a.to_string(), str::to_owned)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let matches = match value {
        Value::String(text) => names.contains(&text.as_str()),
        Value::Boolean(b) => allowed.iter().any(|a| a.as_bool() == Some(*b)),
        _ => false,
    };
    match value {
        _ if matches => Ok(()),
        Value::String(text) => Err(unknown(path, &format!("\"{text}\" is unknown"), text, &names, None)),
        other => Err(given(path, other, &list(&names))),
    }
}

fn check_scalar(value: &Value, kind: &str, schema: &Json, path: &str) -> Result<(), ScenarioError> {
    let number = match value {
        Value::Integer(i) => Some(*i as f64),
        Value::Float(f) if kind == "number" => Some(*f),
        _ => None,
    };
    let (is_kind, wanted) = match kind {
        "string" => (value.is_str(), "a text in quotes"),
        "boolean" => (value.is_bool(), "true or false"),
        "integer" => (number.is_some(), "a whole number"),
        "number" => (number.is_some(), "a number"),
        _ => (true, ""),
    };
    if !is_kind {
        return Err(given(path, value, wanted));
    }
    let fits = match schema["format"].as_str() {
        Some("uint8") => Some(f64::from(u8::MAX)),
        Some("uint32") => Some(f64::from(u32::MAX)),
        _ => None,
    };
    let (low, high) = (schema["minimum"].as_f64(), schema["maximum"].as_f64().or(fits));
    match number {
        Some(n) if low.is_some_and(|low| n < low) || high.is_some_and(|high| n > high) || n.is_nan() => {
            let range = match (low, high) {
                (Some(low), Some(high)) if high < 1e15 => format!("between {low} and {high}"),
                (Some(low), _) => format!("{low} or more"),
                (_, Some(high)) => format!("at most {high}"),
                (None, None) => "a number".to_owned(),
            };
            Err(ScenarioError::new(path, format!("{value} was given: must be {range}")))
        }
        _ => Ok(()),
    }
}

fn given(path: &str, value: &Value, wanted: &str) -> ScenarioError {
    let shown = match value {
        Value::Table(_) => "a table".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => other.to_string(),
    };
    ScenarioError::new(path, format!("{shown} was given, {wanted} is expected"))
}

/// `elsewhere`: where the name would be known, in words; without that the nearest of those `allowed` is proposed.
fn unknown(path: &str, complaint: &str, name: &str, allowed: &[&str], elsewhere: Option<String>) -> ScenarioError {
    let lower = name.to_lowercase();
    let nearest = || {
        allowed
            .iter()
            .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
            .filter(|(similarity, _)| *similarity > 0.75)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map_or(String::new(), |(_, candidate)| format!(", did you mean \"{candidate}\"?"))
    };
    let advice = elsewhere.unwrap_or_else(nearest);
    ScenarioError::new(path, format!("{complaint}{advice} (allowed: {})", allowed.join(", ")))
}

fn list(names: &[&str]) -> String {
    format!("one of {}", names.join(", "))
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
