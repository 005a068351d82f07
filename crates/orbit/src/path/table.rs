//! The delay between two places as a table, for export.

use units::{Duration, FieldError, Files, Time};

use crate::path::ConstellationPath;
use crate::path::change::Change;
use crate::path::trace::DelayTrace;

/// One-way delays on a grid of time.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayTable {
    /// One row for each step, and one for the end.
    pub rows: Vec<DelayRow>,
    /// The delay trace of the rows, with the exact instants of the changes.
    pub trace: DelayTrace,
}

/// A row of a [`DelayTable`].
#[derive(Clone, Debug, PartialEq)]
pub struct DelayRow {
    /// Seconds since the start.
    pub time_s: f64,
    /// One-way delay in seconds, of propagation and of processing on board; nothing without a route.
    pub one_way_delay_s: Option<f64>,
    /// Number of inter-satellite links; nothing without a route.
    pub hops: Option<u32>,
    /// The gateway where the route begins, by its number among the gateways; nothing without a route.
    pub gateway: Option<u32>,
    /// The gateway's serving satellite.
    pub source_satellite: Option<u32>,
    /// The user's serving satellite.
    pub user_satellite: Option<u32>,
    /// Elevation of the user's satellite, degrees.
    pub elevation_deg: Option<f64>,
    /// Distance of the user's satellite, metres.
    pub range_m: Option<f64>,
    /// The rate at which that distance grows, metres per second.
    pub range_rate_mps: Option<f64>,
    /// The changes since the row before: [`Change::names`].
    pub event: String,
}

/// The one-way delay over `path`, every step from the start of the run to `duration`, with the files that the path
/// names.
///
/// # Errors
/// As [`ConstellationPath::trace_reading`].
pub fn constellation_delay(
    path: &ConstellationPath,
    duration: Duration,
    files: &mut dyn Files,
) -> Result<DelayTable, FieldError> {
    path.trace_reading(duration, files).map(|trace| tabulate(trace, duration, path.step))
}

fn tabulate(trace: DelayTrace, duration: Duration, step: Duration) -> DelayTable {
    let mut intervals = trace.intervals().iter().peekable();
    let mut interval = trace.intervals()[0];
    let mut rows = Vec::new();
    let end = Time::ZERO + duration;
    let mut at = Time::ZERO;
    loop {
        let mut change = Change::default();
        while let Some(next) = intervals.next_if(|next| next.from <= at) {
            change = change.and(next.change);
            interval = *next;
        }
        let look = trace.look(at);
        rows.push(DelayRow {
            time_s: at.as_secs_f64(),
            one_way_delay_s: trace.delay(at).map(Duration::as_secs_f64),
            hops: interval.hops,
            gateway: interval.gateway,
            source_satellite: interval.gateway_satellite,
            user_satellite: interval.user_satellite,
            elevation_deg: look.map(|look| look.elevation_deg),
            range_m: look.map(|look| look.range_m),
            range_rate_mps: look.map(|look| look.range_rate_mps),
            event: change.names(),
        });
        if at >= end {
            return DelayTable { rows, trace };
        }
        at = (at + step).min(end);
    }
}
