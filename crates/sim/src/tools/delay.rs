//! The delay between two ends of a path over a constellation.

use std::path::Path;

use orbit::{ConstellationPath, PathConfig};
use units::Duration;

use crate::record::Table;
use crate::scenario::{Scenario, ScenarioError, positive};
use crate::sky::reader;

/// What a scenario needs beside its path.
const REST: &str = r#"
duration = "1 s"
[last_hop]
rate  = "1 Mbit/s"
delay = "0 ms"
[[flows]]
transport = "tcp"
traffic   = "bulk"
"#;

/// One-way delay over a constellation on a grid of time. `path` is what a scenario's `path` says, as JSON; its `step` is that
/// of the grid, and relative names of files in it start from `base`.
///
/// Columns `time_s`, `one_way_delay_s` (empty without a route), `hops`, `source_satellite`, `user_satellite` (empty without
/// one) and `event` (what changed since the row before).
///
/// # Errors
/// Names the field of the path that is wrong, or `duration`.
pub fn constellation_delay(path: &str, base: &Path, duration: Duration) -> Result<Table, ScenarioError> {
    positive("duration", duration)?;
    let rows = path_from_json(path, base)?.table_reading(duration, &reader(base))?.rows;
    let known = |value: Option<u32>| value.map_or(f64::NAN, f64::from);
    let mut table = Table::default();
    table.float("time_s", rows.iter().map(|row| row.time_s));
    table.float("one_way_delay_s", rows.iter().map(|row| row.one_way_delay_s.unwrap_or(f64::NAN)));
    table.float("hops", rows.iter().map(|row| known(row.hops)));
    table.float("source_satellite", rows.iter().map(|row| known(row.source_satellite)));
    table.float("user_satellite", rows.iter().map(|row| known(row.user_satellite)));
    table.text("event", rows.iter().map(|row| row.event.to_owned()));
    Ok(table)
}

/// Read as part of a scenario, so that there is one way to say a path and to check it.
fn path_from_json(json: &str, base: &Path) -> Result<ConstellationPath, ScenarioError> {
    let path = serde_json::from_str(json).map_err(|error| ScenarioError::new("path", format!("no table: {error}")))?;
    let without_path = |error: ScenarioError| {
        let field = error.field.strip_prefix("path.").unwrap_or(&error.field).to_owned();
        ScenarioError { field, ..error }
    };
    let scenario = Scenario::from_toml(REST, base)?.replace("path", path)?;
    match scenario.unchecked().map_err(without_path)?.path {
        PathConfig::Constellation(path) => Ok(path),
        PathConfig::Fixed(_) | PathConfig::Trace(_) => Err(ScenarioError::new("kind", "constellation is expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Of a path with these keys changed.
    fn says(changes: &[(&str, serde_json::Value)], duration: u64) -> String {
        let place = json!({ "latitude": "43.6 deg", "longitude": "1.4 deg" });
        let mut path = json!({ "kind": "constellation", "constellation": "leo-66", "source": place, "user": place });
        changes.iter().for_each(|(key, value)| path[key] = value.clone());
        match constellation_delay(&path.to_string(), Path::new(""), Duration::from_secs(duration)) {
            Ok(table) => format!("{} rows of {} columns", table.rows(), table.columns.len()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_path_is_said_as_in_a_scenario() {
        assert_eq!(says(&[("handover", json!("highest")), ("step", json!("2 s"))], 5), "4 rows of 6 columns");
        let wrong = |key: &str, value: serde_json::Value| says(&[(key, value)], 5);
        assert!(wrong("handover", json!("never")).starts_with("handover: "));
        let nowhere = json!({ "latitude": "91 deg", "longitude": "0 deg" });
        assert!(wrong("user", nowhere).starts_with("user.latitude: 91 deg"));
        assert!(wrong("step", json!("0 s")).starts_with("step: "));
        assert!(wrong("stop", json!("0 s")).contains("stop"));
        assert!(wrong("constellation", json!("leo-67")).contains("leo-66"));
        let file = ("constellation", json!({ "file": "none.tle" }));
        assert!(says(&[file, ("handover", json!("shortest-path"))], 5).contains("none.tle: cannot be read"));
        assert!(wrong("kind", json!("fixed")).contains("delay"));
        assert_eq!(says(&[], 0), "duration: must be more than 0 s");
    }
}
