//! What can be asked without a run: registries, delays over a constellation, series and statistics of a channel.

use std::path::Path;

use pyo3::prelude::*;
use units::Duration;

use crate::refused;
use crate::table::ArrowTable;

/// The version of the simulator.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The JSON Schema of a scenario.
#[pyfunction]
pub(crate) fn schema_json() -> String {
    serde_json::to_string(&sim::schema()).expect("a schema is JSON")
}

/// What can be chosen in a scenario, as JSON.
#[pyfunction]
pub(crate) fn registries_json() -> String {
    serde_json::to_string(&sim::registries()).expect("registries are JSON")
}

/// One-way delay over a constellation between two places given as (latitude, longitude) in degrees.
#[pyfunction]
pub(crate) fn constellation_delay(
    py: Python<'_>,
    constellation: &str,
    source: (f64, f64),
    user: (f64, f64),
    duration_s: f64,
    step_s: f64,
) -> PyResult<ArrowTable> {
    let (duration, step) = (Duration::from_secs_f64(duration_s), Duration::from_secs_f64(step_s));
    py.detach(|| sim::constellation_delay(constellation, source, user, duration, step))
        .map(ArrowTable::from)
        .map_err(refused)
}

/// A channel's series; the channel is given as the JSON of a scenario's `channel` table.
#[pyfunction]
#[pyo3(signature = (config_json, base_dir, duration_s, step_s, seed))]
pub(crate) fn channel_generate(
    py: Python<'_>,
    config_json: &str,
    base_dir: &str,
    duration_s: f64,
    step_s: Option<f64>,
    seed: u64,
) -> PyResult<ArrowTable> {
    let channel = sim::ChannelTool::new(config_json, Path::new(base_dir), seed).map_err(refused)?;
    let step = step_s.map(Duration::from_secs_f64);
    py.detach(|| channel.generate(Duration::from_secs_f64(duration_s), step)).map(ArrowTable::from).map_err(refused)
}

/// A channel's statistics as JSON; the channel is given as the JSON of a scenario's `channel` table.
#[pyfunction]
pub(crate) fn channel_stats(
    py: Python<'_>,
    config_json: &str,
    base_dir: &str,
    duration_s: f64,
    seed: u64,
) -> PyResult<String> {
    let channel = sim::ChannelTool::new(config_json, Path::new(base_dir), seed).map_err(refused)?;
    py.detach(|| channel.stats(Duration::from_secs_f64(duration_s))).map_err(refused)
}
