//! A channel by itself: the series that a user would meet, and its statistics.

use std::path::Path;

use channel::ChannelModel;
use engine::Streams;
use serde::Deserialize;
use serde_json::Value as Json;
use sim::{InputFiles, ScenarioError, Table, channel_from_json, channel_streams, load_channel};
use units::Duration;

use crate::bounds::{positive_span, steps};

/// Asks for the series that user 0 of a run with this seed meets; without a step, as finely as the channel changes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// As a scenario's `channel`.
    channel: Json,
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
    duration_s: f64,
    seed: u64,
}

/// `time_s`, `attenuation_db`, `snr_db`, `mutual_information`, `state`.
pub(crate) fn series(asked: &Series, base: &Path) -> Result<Table, ScenarioError> {
    let model = model(&asked.channel, base)?;
    let duration = positive_span("duration", asked.duration_s)?;
    let step = asked.step_s.map(|seconds| positive_span("step", seconds)).transpose()?;
    let fine = step.or(model.sampling_interval()).unwrap_or(Duration::from_millis(1));
    steps(duration, fine, 1)?;
    let mut streams = channel_streams(Streams::new(asked.seed), 0);
    let rows: Vec<_> = channel::generate(model.as_ref(), duration, step, &mut streams).collect();
    let mut table = Table::default();
    table.float("time_s", rows.iter().map(|row| row.time_s));
    table.float("attenuation_db", rows.iter().map(|row| row.attenuation_db.unwrap_or(f64::NAN)));
    table.float("snr_db", rows.iter().map(|row| row.snr_db));
    table.float("mutual_information", rows.iter().map(|row| row.mutual_information));
    table.text("state", rows.iter().map(|row| row.state.unwrap_or_default().to_owned()));
    Ok(table)
}

/// Attenuation quantiles, time in each state, mutual information; the keys end in their units.
pub(crate) fn statistics(asked: &Statistics, base: &Path) -> Result<Json, ScenarioError> {
    let model = model(&asked.channel, base)?;
    let duration = positive_span("duration", asked.duration_s)?;
    let stats = channel::measure(model.as_ref(), duration, &mut channel_streams(Streams::new(asked.seed), 0));
    Ok(serde_json::to_value(&stats).expect("statistics are JSON"))
}

fn model(channel: &Json, base: &Path) -> Result<Box<dyn ChannelModel>, ScenarioError> {
    load_channel(&channel_from_json(&channel.to_string())?, &mut InputFiles::new(base), None)
}
