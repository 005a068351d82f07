//! The choices of a scenario, read off its schema: for lists, reference pages, completion and editors.

use serde_json::{Value as Json, json};

use super::choice::{Choice, ChoiceOption, Registry};
use super::definitions::schema_with_definitions;
use super::schemas::{listed, tagged_choices, type_of};

/// Where in the schema each list stands. Lists of presets are not part of the schema and are added in [`registries`].
const KEYS: &[(&str, &str)] = &[
    ("paths", "path"),
    ("channels", "channel"),
    ("schedulers", "last_hop.scheduler"),
    ("queues", "last_hop.queue"),
    ("harq", "last_hop.harq"),
    ("access-methods", "access.method"),
    ("random-access", "access.method.random"),
    ("switch-policies", "access.method.policy"),
    ("carrier-divisions", "access.division"),
    ("capacity-categories", "access.dedicated.capacity"),
    ("transports", "flows.0.transport"),
    ("congestion", "flows.0.transport.congestion"),
    ("profiles", "flows.0.transport.profile"),
    ("traffic", "flows.0.traffic"),
    ("codecs", "flows.0.traffic.codec"),
    ("voice-activities", "flows.0.traffic.activity"),
    ("playout-buffers", "flows.0.traffic.playout"),
    ("adaptations", "flows.0.traffic.adaptation"),
    ("catch-up", "flows.0.traffic.catch_up"),
    ("environments", "channel.environment"),
];

/// All registries, in the order of a packet's journey, with the presets of constellations.
pub fn registries() -> Vec<Registry> {
    let root = schema_with_definitions();
    let mut registries: Vec<Registry> = KEYS.iter().map(|&(name, path)| registry(root, name, path)).collect();
    registries.push(tables(root, "return-link", "access", ACCESS_TABLES));
    registries.push(super::pca::registry());
    add_profiles(&mut registries);
    let presets = orbit::presets().map(|preset| Choice {
        name: preset.name.to_owned(),
        summary: preset.summary.clone(),
        options: Vec::new(),
    });
    registries.insert(1, Registry { name: "constellations", key: "path.constellation", entries: presets.collect() });
    registries
}

/// The tables of the return link that are not chosen by `kind`.
const ACCESS_TABLES: &[&str] = &["access", "access.frame", "access.random", "access.dedicated", "access.encapsulation"];

/// Tables with options, each called by the last step of its path.
fn tables(root: &Json, name: &'static str, key: &'static str, paths: &[&str]) -> Registry {
    let table = |path: &&str| choice(root, path.rsplit('.').next().unwrap_or(path), schemas_at(root, path)[0]);
    Registry { name, key, entries: paths.iter().map(table).collect() }
}

/// Adds the profiles of TCP: the transport's options, each with the value that a profile gives it where it is left
/// open.
fn add_profiles(all: &mut [Registry]) {
    // TCP is the transport that has profiles.
    let has_profile = |entry: &&Choice| entry.options.iter().any(|option| option.name == "profile");
    let transports = all.iter().find(|registry| registry.name == "transports");
    let tcp = transports.and_then(|registry| registry.entries.iter().find(has_profile)).map(|tcp| tcp.options.clone());
    let profiles = all.iter_mut().find(|registry| registry.name == "profiles");
    let (Some(tcp), Some(profiles)) = (tcp, profiles) else { return };
    for (name, values) in transport::profile_table() {
        let Some(option) = tcp.iter().find(|option| option.name == name) else { continue };
        for (entry, value) in profiles.entries.iter_mut().zip(values) {
            entry.options.push(ChoiceOption { default: Some(value), ..option.clone() });
        }
    }
}

/// The JSON Schema (draft 2020-12) of a scenario file, for editors: short forms included.
pub fn schema() -> Json {
    let mut schema = schema_with_definitions().clone();
    allow_short_forms(&mut schema);
    super::pca::describe(&mut schema);
    schema["title"] = json!("Transorbit scenario");
    schema
}

/// Wherever a table is chosen by `kind`, the bare name is accepted too.
fn allow_short_forms(schema: &mut Json) {
    if let Some(choices) = tagged_choices(schema) {
        let names: Vec<String> = choices.iter().map(|c| c.0.to_owned()).collect();
        let choices = schema["oneOf"].as_array_mut().expect("tagged choices are a list");
        choices.push(json!({ "title": "by name, with default options", "enum": names }));
    }
    match schema {
        Json::Object(map) => map.values_mut().for_each(allow_short_forms),
        Json::Array(list) => list.iter_mut().for_each(allow_short_forms),
        _ => {}
    }
}

/// The schemas of the values that may stand at a path of keys.
fn schemas_at<'a>(root: &'a Json, path: &str) -> Vec<&'a Json> {
    path.split('.').fold(vec![root], |schemas, step| {
        schemas.into_iter().flat_map(|schema| schemas_below(root, schema, step)).collect()
    })
}

fn registry(root: &Json, name: &'static str, path: &'static str) -> Registry {
    let mut entries: Vec<Choice> = Vec::new();
    for schema in schemas_at(root, path) {
        let more = match tagged_choices(schema) {
            Some(choices) => choices.into_iter().map(|(name, schema)| choice(root, name, schema)).collect(),
            None => names_of(schema),
        };
        // Two kinds may share a name, such as an environment that both have parameters for.
        entries.extend(
            more.into_iter().filter(|new| entries.iter().all(|known| known.name != new.name)).collect::<Vec<_>>(),
        );
    }
    Registry { name, key: path, entries }
}

/// Entries of a key that takes a bare name.
fn names_of(schema: &Json) -> Vec<Choice> {
    let plain = |name: &Json, about: &Json| Choice {
        name: name.as_str().unwrap_or_default().to_owned(),
        summary: one_line(about),
        options: Vec::new(),
    };
    match schema["oneOf"].as_array() {
        Some(list) if list.iter().all(|c| c.get("const").is_some()) => {
            list.iter().map(|c| plain(&c["const"], &c["description"])).collect()
        }
        _ => listed(schema).unwrap_or_default().into_iter().map(|name| plain(name, &Json::Null)).collect(),
    }
}

fn choice(root: &Json, name: &str, schema: &Json) -> Choice {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten().filter(|(key, _)| *key != "kind");
    let options = properties.map(|(key, property)| ChoiceOption {
        name: key.clone(),
        kind: in_words(root, property),
        default: match property.get("default") {
            _ if required.contains(&key.as_str()) => None,
            Some(Json::Null) | None => None,
            Some(Json::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        },
        description: one_line(&property["description"]),
    });
    Choice { name: name.to_owned(), summary: one_line(&schema["description"]), options: options.collect() }
}

/// The schemas of one key below a table or a list, or below each choice that has it.
fn schemas_below<'a>(root: &'a Json, schema: &'a Json, step: &str) -> Vec<&'a Json> {
    let below: Vec<&Json> = match tagged_choices(schema) {
        Some(choices) => choices.iter().filter_map(|(_, choice)| choice["properties"].get(step)).collect(),
        None if schema.get("items").is_some() => schema.get("items").into_iter().collect(),
        None => schema["properties"].get(step).into_iter().collect(),
    };
    below.into_iter().map(|schema| resolve(root, schema)).collect()
}

/// Follows a reference, and looks through "or nothing".
fn resolve<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    if let Some(name) = schema["$ref"].as_str().and_then(|r| r.rsplit('/').next()) {
        return resolve(root, &root["$defs"][name]);
    }
    match schema["anyOf"].as_array().map(Vec::as_slice) {
        Some([one, null]) if null["type"] == "null" => resolve(root, one),
        _ => schema,
    }
}

fn in_words(root: &Json, property: &Json) -> String {
    let schema = resolve(root, property);
    if let Some(names) = listed(schema).or_else(|| listed_kinds(schema)) {
        let names: Vec<String> =
            names.iter().map(|n| n.as_str().map_or_else(|| n.to_string(), str::to_owned)).collect();
        return names.join(" | ");
    }
    if let Some(alternatives) = schema["anyOf"].as_array() {
        let mut words: Vec<String> =
            alternatives.iter().filter(|a| a["type"] != "null").map(|a| in_words(root, a)).collect();
        words.dedup();
        return words.join(" | ");
    }
    let numbers_too = schema["type"].as_array().is_some_and(|types| types.iter().any(|t| t == "number"));
    if let Some(example) = schema["examples"][0].as_str().filter(|_| numbers_too) {
        return format!("as \"{example}\", or a number");
    }
    match (type_of(schema), schema["examples"][0].as_str()) {
        (Some("string"), Some(example)) => format!("as \"{example}\""),
        (Some("string"), None) => "text".to_owned(),
        (Some("object"), _) => "table".to_owned(),
        (Some("array"), _) => format!("list of: {}", in_words(root, &schema["items"])),
        (Some(kind), _) => kind.to_owned(),
        (None, _) => "any".to_owned(),
    }
}

fn listed_kinds(schema: &Json) -> Option<Vec<&Json>> {
    tagged_choices(schema).map(|choices| choices.iter().map(|(_, c)| &c["properties"]["kind"]["const"]).collect())
}

fn one_line(text: &Json) -> String {
    text.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
