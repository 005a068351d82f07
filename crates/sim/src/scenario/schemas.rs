//! What a JSON schema allows: its one type, the choices of a `kind`, a list of names; and what it refers to.

use serde_json::Value as Json;

/// The one type that a schema allows, "or nothing" aside; `None` if there are several.
pub(super) fn type_of(schema: &Json) -> Option<&str> {
    let Some(types) = schema["type"].as_array() else { return schema["type"].as_str() };
    let mut types = types.iter().filter_map(Json::as_str).filter(|name| *name != "null");
    types.next().filter(|_| types.next().is_none())
}

/// Returns the choices of a `oneOf` whose entries differ in the constant of their `kind`.
pub(super) fn tagged_choices(schema: &Json) -> Option<Vec<(&str, &Json)>> {
    let choices = schema["oneOf"].as_array()?;
    choices.iter().map(|c| Some((c["properties"]["kind"]["const"].as_str()?, c))).collect()
}

/// The constants that a schema allows, if it allows nothing else.
pub(super) fn listed(schema: &Json) -> Option<Vec<&Json>> {
    match (schema.get("const"), schema["enum"].as_array(), schema["oneOf"].as_array()) {
        (Some(constant), ..) => Some(vec![constant]),
        (_, Some(list), _) => Some(list.iter().collect()),
        (.., Some(choices)) => {
            let nested: Option<Vec<Vec<&Json>>> = choices.iter().map(listed).collect();
            nested.map(|lists| lists.concat())
        }
        _ => None,
    }
}

/// The definition that a schema refers to, or the schema itself.
pub(super) fn resolved<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    match schema["$ref"].as_str() {
        Some(definition) => &root["$defs"][definition.rsplit('/').next().unwrap_or_default()],
        None => schema,
    }
}
