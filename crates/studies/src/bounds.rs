//! How large a question and its answer may be.

use sim::{ScenarioError, positive};
use units::Duration;

/// The most rows of a table: some gigabytes.
const MOST_ROWS: u64 = 20_000_000;

/// The longest time that is taken, in seconds: nanoseconds are counted in 64 bits.
const LONGEST_S: f64 = 1e10;

/// A duration given in seconds.
pub(crate) fn span(field: &str, seconds: f64) -> Result<Duration, ScenarioError> {
    match instant(field, seconds)? {
        negative if negative < 0.0 => {
            Err(ScenarioError::new(field, format!("{negative} s was given, a time is 0 s or more")))
        }
        seconds => Ok(Duration::from_secs_f64(seconds)),
    }
}

/// A question's duration, given in seconds, that is not 0.
pub(crate) fn positive_span(field: &str, seconds: f64) -> Result<Duration, ScenarioError> {
    let duration = span(field, seconds)?;
    positive(field, duration)?;
    Ok(duration)
}

/// Returns the number of whole steps in a duration. At the begin of each and at the end there are so many rows of a
/// table.
pub(crate) fn steps(duration: Duration, step: Duration, rows: u64) -> Result<u64, ScenarioError> {
    positive("step", step)?;
    let count = duration.as_nanos() / step.as_nanos();
    let all = count.saturating_add(1).saturating_mul(rows);
    if all > MOST_ROWS {
        let message = format!("{duration} in steps of {step} are {all} rows, at most {MOST_ROWS} are possible");
        return Err(ScenarioError::new("duration", message));
    }
    Ok(count)
}

/// An instant in seconds that may be negative.
pub(crate) fn instant(field: &str, seconds: f64) -> Result<f64, ScenarioError> {
    match seconds.abs() <= LONGEST_S {
        true => Ok(seconds),
        false => {
            let message = format!("{seconds} s was given, a number of at most {LONGEST_S:e} s is expected");
            Err(ScenarioError::new(field, message))
        }
    }
}
