//! The schema of a scenario, with the definitions of its types.

use serde_json::Value as Json;

use super::config::ScenarioConfig;

/// The schema of [`ScenarioConfig`] as the types give it, made once.
pub(super) fn schema_with_definitions() -> &'static Json {
    static SCHEMA: std::sync::OnceLock<Json> = std::sync::OnceLock::new();
    SCHEMA.get_or_init(|| schemars::schema_for!(ScenarioConfig).to_value())
}
