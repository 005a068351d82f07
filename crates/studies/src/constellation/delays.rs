//! The delay between two ends of a path over a constellation.

use std::path::Path;

use orbit::{ConstellationPath, DelayTable, Look, TraceFormat};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use sim::{InputFiles, ScenarioError, Table};
use units::{Frequency, Time};

use crate::bounds::positive_span;
use crate::path::scenario_over;

/// Asks for the one-way delay over a constellation on a grid of time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// As a scenario's `path`; its `step` is that of the grid.
    path: Json,
    duration_s: f64,
    carrier_hz: Option<f64>,
}

/// Asks for this delay as the text of a delay trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayTraceText {
    /// As a scenario's `path`.
    path: Json,
    duration_s: f64,
    /// As `path.format` of a scenario.
    format: String,
}

/// Returns the columns `time_s`, `one_way_delay_s` (empty without a route), `hops`, `gateway`, `source_satellite`,
/// `user_satellite` (empty without one), how the user sees its satellite (`elevation_deg`, `range_m`,
/// `range_rate_mps`), with a carrier its Doppler shift and how fast that changes (`doppler_hz`,
/// `doppler_rate_hz_per_s`), and `event` (what changed since the row before).
///
/// # Errors
/// Names the field of the path that is wrong, or `duration`.
pub(crate) fn delay(question: &Delay, base: &Path) -> Result<Table, ScenarioError> {
    let duration = positive_span("duration", question.duration_s)?;
    let DelayTable { rows, trace } =
        orbit::constellation_delay(&path(&question.path, base)?, duration, &mut InputFiles::new(base))?;
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
    if let Some(carrier) = question.carrier_hz.map(Frequency::from_hz) {
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
    table.text("event", rows.iter().map(|row| Some(row.event.clone())));
    Ok(table)
}

/// Returns the same delay as the text of a delay trace, a row for each step of the path, in a format of `path.format`.
///
/// # Errors
/// As [`delay`], or the format is unknown.
pub(crate) fn delay_trace(question: &DelayTraceText, base: &Path) -> Result<Json, ScenarioError> {
    let duration = positive_span("duration", question.duration_s)?;
    let format: TraceFormat = serde_json::from_value(json!(question.format))
        .map_err(|error| ScenarioError::new("format", error.to_string().replace('`', "\"")))?;
    let path = path(&question.path, base)?;
    Ok(json!(path.trace_reading(duration, &mut InputFiles::new(base))?.write(format, path.step)))
}

/// Returns the constellation path that the table describes; errors name its fields.
fn path(json: &Json, base: &Path) -> Result<ConstellationPath, ScenarioError> {
    let without_path = |error: ScenarioError| {
        let field = error.field.strip_prefix("path.").unwrap_or(&error.field).to_owned();
        ScenarioError { field, ..error }
    };
    let path = scenario_over(json, base)?.values().map_err(without_path)?.path;
    path.entry().constellation().cloned().ok_or_else(|| ScenarioError::new("kind", "constellation is expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error on a path with these keys changed.
    fn says(changes: &[(&str, serde_json::Value)], duration_s: f64) -> String {
        let place = json!({ "latitude": "43.6 deg", "longitude": "1.4 deg" });
        let mut path = json!({ "kind": "constellation", "constellation": "leo-66", "source": place, "user": place });
        changes.iter().for_each(|(key, value)| path[key] = value.clone());
        match delay(&Delay { path, duration_s, carrier_hz: None }, Path::new("")) {
            Ok(table) => format!("{} rows of {} columns", table.rows(), table.columns.len()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_path_is_said_as_in_a_scenario() {
        assert_eq!(says(&[("handover", json!("highest")), ("step", json!("2 s"))], 5.0), "4 rows of 10 columns");
        let wrong = |key: &str, value: serde_json::Value| says(&[(key, value)], 5.0);
        assert!(wrong("handover", json!("never")).starts_with("handover.kind: \"never\" is unknown"));
        let nowhere = json!({ "latitude": "91 deg", "longitude": "0 deg" });
        assert!(wrong("user", nowhere).starts_with("user.latitude: 91 deg"));
        assert!(wrong("step", json!("0 s")).starts_with("step: "));
        assert!(wrong("stop", json!("0 s")).contains("stop"));
        assert!(wrong("constellation", json!("leo-67")).contains("leo-66"));
        let file = ("constellation", json!({ "file": "none.tle" }));
        assert!(says(&[file, ("handover", json!("shortest-path"))], 5.0).contains("none.tle: cannot be read"));
        assert!(wrong("kind", json!("fixed")).contains("delay"));
        assert_eq!(says(&[], 0.0), "duration: must be more than 0 s");
    }
}
