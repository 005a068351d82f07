//! What the kinds of reliability schemes say of themselves, so that tests need no lists of their names.

use link::HarqConfig;
use link::harq::Kind;
use serde_json::{Value, json};

/// The configuration with these options.
pub fn read(harq: &Value) -> HarqConfig {
    serde_json::from_value(harq.clone()).unwrap_or_else(|error| panic!("{harq}: {error}"))
}

/// Whether a scenario may say so.
pub fn is_accepted(harq: &Value) -> bool {
    serde_json::from_value::<HarqConfig>(harq.clone()).is_ok_and(|config| config.entry().check().is_ok())
}

/// What a kind of scheme says of itself with its defaults.
pub fn ask<T>(kind: &str, question: impl FnOnce(&dyn Kind) -> T) -> T {
    question(read(&json!({ "kind": kind })).entry())
}

/// Whether a kind of scheme has feedback.
pub fn has_feedback(kind: &str) -> bool {
    ask(kind, |entry| entry.feedback().is_some())
}

/// Whether a kind of scheme has feedback and can do without.
pub fn may_switch_off_feedback(kind: &str) -> bool {
    has_feedback(kind) && is_accepted(&json!({ "kind": kind, "feedback": { "enabled": false } }))
}

/// The options of a kind of scheme with their defaults, but for those that are not given by default.
pub fn options(kind: &str) -> Value {
    serde_json::to_value(read(&json!({ "kind": kind }))).expect("a table")
}

/// Whether a kind of scheme has this option.
pub fn has_option(kind: &str, option: &str) -> bool {
    options(kind).get(option).is_some()
}

/// The kinds of schemes with all these options.
pub fn schemes_with(names: &[&str]) -> Vec<&'static str> {
    let has = |kind: &&str| names.iter().all(|option| has_option(kind, option));
    let kinds: Vec<&str> = HarqConfig::ALL.iter().copied().filter(has).collect();
    assert!(!kinds.is_empty(), "no scheme has the options {names:?}");
    kinds
}

/// The kinds of schemes with feedback.
pub fn schemes_with_feedback() -> impl Iterator<Item = &'static str> {
    HarqConfig::ALL.iter().copied().filter(|kind| has_feedback(kind))
}

/// A configuration with more options.
pub fn with(config: &Value, options: Value) -> Value {
    let mut config = config.clone();
    config.as_object_mut().expect("a table").extend(options.as_object().expect("a table").clone());
    config
}
