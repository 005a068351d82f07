//! A channel by itself: the series that a user would meet, and its statistics.

use std::path::Path;

use channel::ChannelModel;
use engine::Streams;
use serde::Deserialize;
use serde_json::Value as Json;
use sim::{InputFiles, ScenarioError, Table, channel_from_json, channel_streams, geometry, load_channel};
use units::Duration;

use crate::bounds::{positive_span, steps};
use crate::path::scenario_over;

/// Asks for the series that user 0 of a run with this seed meets; without a step, as finely as the channel changes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// As a scenario's `channel`.
    channel: Json,
    /// As a scenario's `path`, for a channel that follows the orbit.
    path: Option<Json>,
    duration_s: f64,
    step_s: Option<f64>,
    seed: u64,
}

/// Asks for statistics of the same series.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// As a scenario's `channel`.
    channel: Json,
    /// As a scenario's `path`, for a channel that follows the orbit.
    path: Option<Json>,
    duration_s: f64,
    seed: u64,
}

/// `time_s`, `attenuation_db`, `snr_db`, `mutual_information`, `state`.
pub(crate) fn series(question: &Series, base: &Path) -> Result<Table, ScenarioError> {
    let duration = positive_span("duration", question.duration_s)?;
    let model = model(&question.channel, question.path.as_ref(), duration, base)?;
    let step = question.step_s.map(|seconds| positive_span("step", seconds)).transpose()?;
    let fine = step.or(model.sampling_interval()).unwrap_or(Duration::from_millis(1));
    steps(duration, fine, 1)?;
    let mut streams = channel_streams(Streams::new(question.seed), 0);
    let rows: Vec<_> = channel::generate(model.as_ref(), duration, step, &mut streams).collect();
    let mut table = Table::default();
    table.float("time_s", rows.iter().map(|row| row.time_s));
    table.float("attenuation_db", rows.iter().map(|row| row.attenuation_db.unwrap_or(f64::NAN)));
    table.float("snr_db", rows.iter().map(|row| row.snr_db));
    table.float("mutual_information", rows.iter().map(|row| row.mutual_information));
    table.text("state", rows.iter().map(|row| row.state));
    Ok(table)
}

/// Attenuation quantiles, time in each state, mutual information; the keys end in their units.
pub(crate) fn statistics(question: &Statistics, base: &Path) -> Result<Json, ScenarioError> {
    let duration = positive_span("duration", question.duration_s)?;
    let model = model(&question.channel, question.path.as_ref(), duration, base)?;
    let stats = channel::measure(model.as_ref(), duration, &mut channel_streams(Streams::new(question.seed), 0));
    Ok(serde_json::to_value(&stats).expect("statistics are JSON"))
}

/// A channel that follows the orbit is seen over `path`, from its start for `duration`.
fn model(
    channel: &Json,
    path: Option<&Json>,
    duration: Duration,
    base: &Path,
) -> Result<Box<dyn ChannelModel>, ScenarioError> {
    let config = channel_from_json(&channel.to_string())?;
    let mut files = InputFiles::new(base);
    let satellite_geometry = match path.filter(|_| config.entry().follows_orbit()) {
        Some(path) => {
            let mut path = scenario_over(path, base)?.values()?.path;
            let within = |error: ScenarioError| error.within("path");
            path.entry_mut().prepare(&mut files).map_err(within)?;
            geometry(&path.entry().delays(duration, &mut files).map_err(within)?)
        }
        None => None,
    };
    load_channel(&config, &mut files, satellite_geometry.as_ref())
}

#[cfg(test)]
mod tests {
    use crate::ask;

    const PATH: &str = r#"{ "kind": "constellation", "constellation": "leo-66",
        "source": { "latitude": "43.6 deg", "longitude": "1.4 deg" },
        "user": { "latitude": "43.6 deg", "longitude": "1.4 deg" } }"#;

    fn asked(question: &str, channel: &str, path: &str) -> Result<crate::Answer, String> {
        let options = format!(r#"{{ "channel": {channel}, "path": {path}, "duration_s": 900.0, "seed": 1 }}"#);
        ask(question, &options, std::path::Path::new("")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_channel_that_follows_the_orbit_is_seen_over_the_path() {
        let orbit = r#"{ "kind": "p681", "elevation": "orbit", "speed": "1 km/h" }"#;
        let series = asked("channel.series", orbit, PATH).unwrap();
        assert!(series.tables[0].1.rows() > 10_000);
        let stats = asked("channel.statistics", orbit, PATH).unwrap().value;
        assert!(stats["attenuation_mean_db"].as_f64().is_some(), "{stats}");
        let fixed = r#"{ "kind": "fixed", "delay": "10 ms" }"#;
        for path in ["null", fixed] {
            let said = asked("channel.statistics", orbit, path).err().unwrap();
            assert_eq!(
                said,
                "channel.elevation: follows the orbit, and there is no path over a constellation: give a value, or \
                 such a path"
            );
        }
        let said = asked("channel.series", orbit, &PATH.replace("leo-66", "leo-67")).err().unwrap();
        assert!(said.starts_with("path.constellation: \"leo-67\" is unknown"), "{said}");
        // A channel that follows nothing asks no path.
        let still = r#"{ "kind": "clear", "reference_snr": "7 dB" }"#;
        assert!(asked("channel.statistics", still, fixed).is_ok());
    }

    #[test]
    fn statistics_tell_what_to_know_before_trusting_them() {
        let channel = r#"{ "kind": "lms", "carrier": "12 GHz" }"#;
        let warnings = asked("channel.statistics", channel, "null").unwrap().value["warnings"].to_string();
        assert!(warnings.contains("the carrier is at 12 GHz") && warnings.contains("sampling_interval"), "{warnings}");
    }
}
