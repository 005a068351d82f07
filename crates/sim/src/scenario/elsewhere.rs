//! Where else in a scenario a key or a name would fit that does not where it was given.

use serde_json::Value as Json;

use super::schemas::{listed, resolved, tagged_choices, type_of};

/// The most places for a wrong key that an error names: more are no help.
const MOST_PLACES: usize = 3;

/// Returns where the unknown `key` of the table at `path` is known, in words; nothing where it is known nowhere, or at
/// too many places. `choices`: the kinds that the table may be of, if it has a kind.
pub(super) fn of_key(root: &Json, path: &str, key: &str, choices: &[(&str, &Json)]) -> Option<String> {
    let kinds: Vec<&str> =
        choices.iter().filter(|(_, schema)| schema["properties"].get(key).is_some()).map(|(kind, _)| *kind).collect();
    if !kinds.is_empty() {
        return Some(format!(" of this kind, but one of {}", kinds.join(", ")));
    }
    if let Some(schema) = root["properties"].get(key) {
        return Some(match type_of(resolved(root, schema)) {
            Some("string" | "integer") => format!(": `{key}` stands at the top, before the first [table]"),
            Some("array") => format!(": [[{key}]] are tables of their own"),
            _ => format!(": [{key}] is a table of its own"),
        });
    }
    let places = places(root, path, |schema| schema["properties"].get(key).is_some());
    let keys: Vec<String> = places.iter().map(|place| format!("`{place}.{key}`")).collect();
    (!keys.is_empty()).then(|| format!(", but {} {}", keys.join(", "), if keys.len() == 1 { "is one" } else { "are" }))
}

/// As [`of_key`] for the unknown `name` of a choice at `path`.
pub(super) fn of_name(root: &Json, path: &str, name: &str) -> Option<String> {
    let places = places(root, path, |schema| {
        let tagged = tagged_choices(schema).is_some_and(|choices| choices.iter().any(|choice| choice.0 == name));
        tagged || listed(schema).is_some_and(|names| names.iter().any(|known| *known == name))
    });
    (!places.is_empty()).then(|| format!(" here, but known to `{}`", places.join("`, `")))
}

/// The paths of the schemas that are `wanted`, the shortest first: those below `near`, or all, or none if they are more
/// than [`MOST_PLACES`]. Entries of lists have the numbers that they have in `near`, or 0.
fn places(root: &Json, near: &str, wanted: impl Fn(&Json) -> bool) -> Vec<String> {
    let mut key_paths: Vec<String> = Vec::new();
    let mut visit = |schema: &Json, path: &str| {
        if wanted(schema) && !key_paths.iter().any(|known| known == path) {
            key_paths.push(path.to_owned());
        }
    };
    walk(root, root, "", near, &mut visit);
    let is_below = |path: &String| path.strip_prefix(near).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    if !near.is_empty() && key_paths.iter().any(is_below) {
        key_paths.retain(is_below);
    }
    key_paths.sort_by_key(String::len);
    if key_paths.len() > MOST_PLACES { Vec::new() } else { key_paths }
}

/// Visits a schema at `path` and all below it.
fn walk(root: &Json, schema: &Json, path: &str, near: &str, visit: &mut impl FnMut(&Json, &str)) {
    let schema = resolved(root, schema);
    visit(schema, path);
    for alternatives in ["oneOf", "anyOf"] {
        for alternative in schema[alternatives].as_array().into_iter().flatten() {
            walk(root, alternative, path, near, visit);
        }
    }
    let below = |step: &str| if path.is_empty() { step.to_owned() } else { format!("{path}.{step}") };
    // A `kind` is its table's.
    for (key, property) in schema["properties"].as_object().into_iter().flatten().filter(|(key, _)| *key != "kind") {
        walk(root, property, &below(key), near, visit);
    }
    if schema["items"].is_object() {
        let same = near.strip_prefix(path).and_then(|rest| rest.strip_prefix('.')?.split('.').next());
        walk(root, &schema["items"], &below(same.unwrap_or("0")), near, visit);
    }
}
