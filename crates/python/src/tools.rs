//! Functions that need no run: registries, delays over a constellation, series and statistics of a channel.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use pyo3::prelude::*;
use units::{Duration, Frequency};

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

/// The choices of a scenario, as JSON.
#[pyfunction]
pub(crate) fn registries_json() -> String {
    serde_json::to_string(&sim::registries()).expect("registries are JSON")
}

/// The longest accepted time, in seconds: nanoseconds are counted in 64 bits.
const LONGEST_S: f64 = 1e10;

/// A length of time.
pub(crate) fn time_span(field: &str, seconds: f64) -> PyResult<Duration> {
    match instant(field, seconds)? {
        negative if negative < 0.0 => {
            Err(refused(sim::ScenarioError::new(field, format!("{negative} s was given, a time is 0 s or more"))))
        }
        seconds => Ok(Duration::from_secs_f64(seconds)),
    }
}

/// An instant in seconds, which may be negative.
pub(crate) fn instant(field: &str, seconds: f64) -> PyResult<f64> {
    match seconds.abs() <= LONGEST_S {
        true => Ok(seconds),
        false => {
            let message = format!("{seconds} s was given, a number of at most {LONGEST_S:e} s is expected");
            Err(refused(sim::ScenarioError::new(field, message)))
        }
    }
}

/// One-way delay over a constellation; the path is given as the JSON of a scenario's `path` table.
#[pyfunction]
pub(crate) fn constellation_delay(
    py: Python<'_>,
    path_json: String,
    base_dir: PathBuf,
    duration_s: f64,
    carrier_hz: Option<f64>,
) -> PyResult<ArrowTable> {
    let duration = time_span("duration", duration_s)?;
    let carrier = carrier_hz.map(Frequency::from_hz);
    let work = move || studies::constellation::constellation_delay(&path_json, &base_dir, duration, carrier);
    interruptible(py, work)?.map(ArrowTable::from).map_err(refused)
}

/// The same delay as the text of a delay trace.
#[pyfunction]
pub(crate) fn constellation_trace(
    py: Python<'_>,
    path_json: String,
    base_dir: PathBuf,
    duration_s: f64,
    trace_format: String,
) -> PyResult<String> {
    let duration = time_span("duration", duration_s)?;
    let work = move || studies::constellation::constellation_trace(&path_json, &base_dir, duration, &trace_format);
    interruptible(py, work)?.map_err(refused)
}

/// Runs `work` in a thread of its own and checks for Ctrl-C meanwhile; after Ctrl-C its result is discarded.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, wait) = mpsc::channel();
    let wait = Mutex::new(wait); // so that it can be awaited without the GIL
    let worker = thread::spawn(move || done.send(work()));
    loop {
        match py.detach(|| wait.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK_FOR_SIGNALS)) {
            Ok(found) => return Ok(found),
            Err(mpsc::RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(_) => unreachable!("it sends before it ends"),
            },
        }
    }
}

const LOOK_FOR_SIGNALS: std::time::Duration = std::time::Duration::from_millis(50);

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
    let channel = studies::channel::ChannelTool::new(config_json, Path::new(base_dir), seed).map_err(refused)?;
    let duration = time_span("duration", duration_s)?;
    let step = step_s.map(|seconds| time_span("step", seconds)).transpose()?;
    py.detach(|| channel.generate(duration, step)).map(ArrowTable::from).map_err(refused)
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
    let channel = studies::channel::ChannelTool::new(config_json, Path::new(base_dir), seed).map_err(refused)?;
    let duration = time_span("duration", duration_s)?;
    py.detach(|| channel.stats(duration)).map_err(refused)
}
