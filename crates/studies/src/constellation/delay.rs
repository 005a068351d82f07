//! The delay between two ends of a path over a constellation.

use std::path::Path;

use orbit::{ConstellationPath, DelayTable, Look, PathConfig, TraceFormat};
use sim::{Scenario, ScenarioError, Table, positive, reader};
use units::{Duration, Frequency, Time};

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
/// Columns `time_s`, `one_way_delay_s` (empty without a route), `hops`, `gateway`, `source_satellite`, `user_satellite` (empty
/// without one), how the user sees its satellite (`elevation_deg`, `range_m`, `range_rate_mps`), with a carrier its Doppler shift
/// and how fast that changes (`doppler_hz`, `doppler_rate_hz_per_s`), and `event` (what changed since the row before).
///
/// # Errors
/// Names the field of the path that is wrong, or `duration`.
pub fn constellation_delay(
    path: &str,
    base: &Path,
    duration: Duration,
    carrier: Option<Frequency>,
) -> Result<Table, ScenarioError> {
    positive("duration", duration)?;
    let DelayTable { rows, trace } = orbit::constellation_delay(&path_from_json(path, base)?, duration, &reader(base))?;
    let known = |value: Option<u32>| value.map_or(f64::NAN, f64::from);
    let float = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let mut table = Table::default();
    table.float("time_s", rows.iter().map(|row| row.time_s));
    table.float("one_way_delay_s", rows.iter().map(|row| float(row.one_way_delay_s)));
    table.float("hops", rows.iter().map(|row| known(row.hops)));
    table.float("gateway", rows.iter().map(|row| known(row.gateway)));
    table.float("source_satellite", rows.iter().map(|row| known(row.source_satellite)));
    table.float("user_satellite", rows.iter().map(|row| known(row.user_satellite)));
    table.float("elevation_deg", rows.iter().map(|row| float(row.elevation_deg)));
    table.float("range_m", rows.iter().map(|row| float(row.range_m)));
    table.float("range_rate_mps", rows.iter().map(|row| float(row.range_rate_mps)));
    if let Some(carrier) = carrier {
        let looks = || {
            rows.iter().map(|row| Time::from_secs_f64(row.time_s)).map(|now| trace.look(now).map(|look| (now, look)))
        };
        // The shift grows with the range rate, so its rate is the shift of the range rate's rate.
        let acceleration = |(now, look): (Time, Look)| {
            trace.range_acceleration(now).map(|range_rate_mps| Look { range_rate_mps, ..look })
        };
        let shift = |look: Look| look.doppler_shift(carrier);
        table.float("doppler_hz", looks().map(|seen| float(seen.map(|seen| shift(seen.1)))));
        table.float("doppler_rate_hz_per_s", looks().map(|seen| float(seen.and_then(acceleration).map(shift))));
    }
    table.text("event", rows.iter().map(|row| row.event.clone()));
    Ok(table)
}

/// The same delay as the text of a delay trace, a row for each step of the path, in a format of `path.format`.
///
/// # Errors
/// As [`constellation_delay`], or the format is unknown.
pub fn constellation_trace(path: &str, base: &Path, duration: Duration, format: &str) -> Result<String, ScenarioError> {
    positive("duration", duration)?;
    let format: TraceFormat = serde_json::from_value(format.into())
        .map_err(|error| ScenarioError::new("format", error.to_string().replace('`', "\"")))?;
    let path = path_from_json(path, base)?;
    Ok(path.trace_reading(duration, &reader(base))?.write(format, path.step))
}

/// Read as part of a scenario, so that there is one way to say a path and to check it.
fn path_from_json(json: &str, base: &Path) -> Result<ConstellationPath, ScenarioError> {
    let path = serde_json::from_str(json).map_err(|error| ScenarioError::new("path", format!("no table: {error}")))?;
    let without_path = |error: ScenarioError| {
        let field = error.field.strip_prefix("path.").unwrap_or(&error.field).to_owned();
        ScenarioError { field, ..error }
    };
    let scenario = Scenario::from_toml(REST, base)?.replace("path", path)?;
    match scenario.values().map_err(without_path)?.path {
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
        match constellation_delay(&path.to_string(), Path::new(""), Duration::from_secs(duration), None) {
            Ok(table) => format!("{} rows of {} columns", table.rows(), table.columns.len()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_path_is_said_as_in_a_scenario() {
        assert_eq!(says(&[("handover", json!("highest")), ("step", json!("2 s"))], 5), "4 rows of 10 columns");
        let wrong = |key: &str, value: serde_json::Value| says(&[(key, value)], 5);
        assert!(wrong("handover", json!("never")).starts_with("handover.kind: \"never\" is unknown"));
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
