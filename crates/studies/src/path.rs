//! A path over time as packets meet it: delay, rate and losses, as a run with a seed has them.

use std::path::Path;

use engine::Streams;
use orbit::DelayTrace;
use serde::Deserialize;
use serde_json::Value as Json;
use sim::{InputFiles, Scenario, ScenarioError, Table, path_course};
use units::{Duration, RateOverTime, Time};

use crate::bounds::{span, steps};

/// Asks for the course of a path.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Course {
    /// As a scenario's `path`.
    path: Json,
    /// By default to the end of what was measured.
    duration_s: Option<f64>,
    /// Time between rows; by default there is one wherever something is known.
    step_s: Option<f64>,
    seed: u64,
}

/// `time_s`, `delay_down_s`, `delay_up_s` (empty without a route), `rate_down_bps`, `rate_up_bps`, `loss_down`,
/// `loss_up` (empty where the path has none).
///
/// # Errors
/// Names the field of the path that is wrong, `duration` or `step`.
pub(crate) fn course(question: &Course, base: &Path) -> Result<Table, ScenarioError> {
    let mut path = scenario_over(&question.path, base)?.values()?.path;
    let mut files = InputFiles::new(base);
    let duration = question.duration_s.map(|seconds| span("duration", seconds)).transpose()?;
    let within = |error: ScenarioError| error.within("path");
    path.entry_mut().prepare(&mut files).map_err(within)?;
    let mean = path.entry().delays(duration.unwrap_or(Duration::from_secs(1)), &mut files).map_err(within)?;
    let duration = duration.unwrap_or(mean.end().since(Time::ZERO));
    let trace = path_course(&path, &Streams::new(question.seed), duration).unwrap_or(mean);
    let times = match question.step_s {
        Some(step) => grid(duration, span("step", step)?)?,
        None => instants(&trace, duration),
    };
    Ok(tabulate(&trace, &times))
}

/// The rest of a scenario, beside its path.
const REST: &str = r#"
duration = "1 s"
[last_hop]
rate  = "1 Mbit/s"
delay = "0 ms"
[[flows]]
transport = "tcp"
traffic   = "bulk"
"#;

/// A scenario over a path, so that there is one way to say a path and to check it.
///
/// # Errors
/// The path is no table.
pub(crate) fn scenario_over(path: &Json, base: &Path) -> Result<Scenario, ScenarioError> {
    let path = serde_json::from_value(path.clone())
        .map_err(|error| ScenarioError::new("path", format!("no table: {error}")))?;
    Scenario::from_toml(REST, base)?.replace("path", path)
}

fn grid(duration: Duration, step: Duration) -> Result<Vec<Time>, ScenarioError> {
    let count = steps(duration, step, 1)?;
    Ok((0..=count).map(|row| Time::ZERO + step * row).collect())
}

/// Wherever something is known.
fn instants(trace: &DelayTrace, duration: Duration) -> Vec<Time> {
    let measured = trace.measured();
    let rates = [&measured.rate_down, &measured.rate_up].into_iter().flatten();
    let losses = [&measured.loss_down, &measured.loss_up].into_iter().flatten();
    let up = trace.uplink().into_iter().flat_map(DelayTrace::points);
    let mut times: Vec<Time> = trace.points().chain(up).map(|point| point.0).collect();
    times.extend(rates.flat_map(|rates| rates.steps().iter().map(|step| step.0)));
    times.extend(losses.flat_map(|loss| loss.steps().iter().map(|step| step.0)));
    times.retain(|&at| at <= Time::ZERO + duration);
    times.sort_unstable();
    times.dedup();
    times
}

fn tabulate(trace: &DelayTrace, times: &[Time]) -> Table {
    let measured = trace.measured();
    let up = trace.uplink().unwrap_or(trace);
    let delay = |trace: &DelayTrace, at| trace.delay(at).map_or(f64::NAN, Duration::as_secs_f64);
    let rate = |rates: Option<&RateOverTime>, at| rates.map_or(f64::NAN, |rates| rates.at(at) as f64);
    let mut table = Table::default();
    table.float("time_s", times.iter().map(|at| at.as_secs_f64()));
    table.float("delay_down_s", times.iter().map(|&at| delay(trace, at)));
    table.float("delay_up_s", times.iter().map(|&at| delay(up, at)));
    table.float("rate_down_bps", times.iter().map(|&at| rate(measured.rate_down.as_deref(), at)));
    table.float("rate_up_bps", times.iter().map(|&at| rate(measured.rate_up.as_deref(), at)));
    for (name, loss) in [("loss_down", &measured.loss_down), ("loss_up", &measured.loss_up)] {
        table.float(name, times.iter().map(|&at| loss.as_ref().map_or(f64::NAN, |loss| loss.at(at))));
    }
    table
}
