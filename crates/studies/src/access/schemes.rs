//! The schemes of random access that a study is asked for, from a scenario's return link and the names of methods.

use access::random::RandomAccess;
use access::{AccessConfig, AccessMethod};
use serde_json::{Map, Value as Json, json};
use sim::{Scenario, ScenarioConfig, ScenarioError};
use toml::Value;

/// The schemes that are asked for where a scenario has no random access of its own: the default, whose replicas are
/// decoded one by one, and the one that decodes them together.
fn usual() -> [&'static str; 2] {
    let with_defaults = |kind: &str| serde_json::from_value::<RandomAccess>(json!({ "kind": kind })).ok();
    let is_joint = |kind: &&&str| with_defaults(kind).is_some_and(|scheme| scheme.entry().is_joint());
    let joint = RandomAccess::ALL.iter().find(is_joint).expect("a scheme decodes replicas together");
    [RandomAccess::default().kind(), joint]
}

/// A scheme of random access and how it is called: `crdsa-2`, `musca (margin=0.1)`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    pub(super) label: String,
    pub(super) scheme: RandomAccess,
    /// Where a message about it begins: `methods.0`, or the scenario's own.
    pub(super) field: String,
}

/// The scenario's values, each of its type but not held against each other: what a run needs beside them does not
/// matter here.
pub(super) fn return_link(scenario: &Scenario) -> Result<(ScenarioConfig, AccessConfig), ScenarioError> {
    let config = scenario.values()?;
    let Some(access) = config.access.clone() else {
        return Err(ScenarioError::new("access", "is missing: the scenario has no return link to look at"));
    };
    Ok((config, access))
}

/// The schemes that `methods` name, each once; without any, the scenario's own, and if it has none, the usual ones.
pub(super) fn named_schemes(
    scenario: &Scenario,
    access: &AccessConfig,
    methods: Option<&[Value]>,
) -> Result<Vec<Named>, ScenarioError> {
    let own = access.method.entry().random();
    let asked_schemes = match (methods, own) {
        (Some(methods), _) => methods.to_vec(),
        (None, Some(_)) => vec![Value::from(access.method.kind())],
        (None, None) => usual().map(Value::from).to_vec(),
    };
    if asked_schemes.is_empty() {
        return Err(ScenarioError::new("methods", "at least one method is needed"));
    }
    let mut schemes: Vec<Named> = Vec::new();
    for (i, value) in asked_schemes.into_iter().enumerate() {
        let field = methods.map_or("access.method".to_owned(), |_| format!("methods.{i}"));
        let scheme = scheme(scenario, access, value).map_err(|error| moved(error, &field))?;
        if schemes.iter().all(|known| known.scheme != scheme) {
            schemes.push(Named { label: label(scenario, &scheme), scheme, field });
        }
    }
    Ok(schemes)
}

/// The scheme that a value of `access.method` names: a table, or a name with the scenario's options if it is the
/// scenario's own.
fn scheme(scenario: &Scenario, access: &AccessConfig, value: Value) -> Result<RandomAccess, ScenarioError> {
    let method = match value {
        Value::String(name) if name == access.method.kind() => access.method.clone(),
        value => method(scenario, value)?,
    };
    method.entry().random().cloned().ok_or_else(|| {
        let with: Vec<&str> = RandomAccess::ALL.to_vec();
        let message = format!("\"{}\" has no random access: one of {}", method.kind(), with.join(", "));
        ScenarioError::new("access.method", message)
    })
}

/// The scenario's method if `value` were given; text may be a table in TOML, as on the command line.
fn method(scenario: &Scenario, value: Value) -> Result<AccessMethod, ScenarioError> {
    let edited = match value {
        Value::String(text) => scenario.assign(&format!("access.method={text}"))?,
        table => scenario.replace("access.method", table)?,
    };
    Ok(return_link(&edited)?.1.method)
}

/// The error under the name of the option that it is about.
fn moved(error: ScenarioError, field: &str) -> ScenarioError {
    match error.field.strip_prefix("access.method") {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => {
            ScenarioError { field: format!("{field}{rest}"), ..error }
        }
        _ => error,
    }
}

/// Returns the label of a scheme: its name, with the options that are not their defaults.
fn label(scenario: &Scenario, scheme: &RandomAccess) -> String {
    let usual = defaults(scenario, scheme);
    let mut name = scheme.kind().to_owned();
    let mut others = Vec::new();
    for (key, value) in options(scheme).iter().filter(|(key, value)| usual.get(*key) != Some(value)) {
        match (key.as_str(), value) {
            ("kind", _) => {}
            ("replicas", count) => name = format!("{name}-{count}"),
            (_, Json::String(text)) => others.push(format!("{key}={text}")),
            _ => others.push(format!("{key}={value}")),
        }
    }
    if others.is_empty() { name } else { format!("{name} ({})", others.join(", ")) }
}

/// The defaults of a scheme's options.
fn defaults(scenario: &Scenario, scheme: &RandomAccess) -> Map<String, Json> {
    let read = |value| method(scenario, value).ok().and_then(|method| method.entry().random().map(options));
    read(Value::from(scheme.kind())).unwrap_or_else(|| {
        // A scheme that needs a file: the only text, which has no default.
        let texts = options(scheme).into_iter().filter_map(|(key, value)| Some((key, Value::from(value.as_str()?))));
        let mut usual = read(Value::Table(texts.collect())).unwrap_or_default();
        usual.retain(|_, value| !value.is_string());
        usual
    })
}

/// The keys of a scheme's table.
pub(super) fn options(scheme: &RandomAccess) -> Map<String, Json> {
    match serde_json::to_value(scheme).expect("a scheme is JSON") {
        Json::Object(table) => table,
        _ => unreachable!("a scheme is a table"),
    }
}
