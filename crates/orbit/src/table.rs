//! The delay between two places as a table, for export.

use units::{Duration, FieldError, Time};

use crate::choice::ConstellationChoice;
use crate::constellation::Constellation;
use crate::ground::Place;
use crate::path::ConstellationPath;
use crate::sky::ReadFile;
use crate::trace::{Change, DelayTrace};

/// One-way delays on a grid of time.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayTable {
    /// One row for each step, and one for the end.
    pub rows: Vec<DelayRow>,
    /// The trace they were read from, which knows the exact instants of the changes.
    pub trace: DelayTrace,
}

/// A row of a [`DelayTable`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayRow {
    /// Seconds since the start.
    pub time_s: f64,
    /// One-way propagation delay in seconds; nothing without a route.
    pub one_way_delay_s: Option<f64>,
    /// Number of inter-satellite links; nothing without a route.
    pub hops: Option<u32>,
    /// The satellite that serves the source.
    pub source_satellite: Option<u32>,
    /// The satellite that serves the user.
    pub user_satellite: Option<u32>,
    /// What happened since the row before: nothing (`""`), `handover` (perhaps with a change of the route), or `route-change`.
    pub event: &'static str,
}

/// The one-way delay `from` one place `to` another over `constellation`, every `step` from its reference instant to
/// `duration`, with the default handover.
///
/// # Errors
/// Names the field that is wrong (`constellation.…`, `source.…`, `user.…`, `step`).
pub fn constellation_delay(
    constellation: &Constellation,
    from: &Place,
    to: &Place,
    duration: Duration,
    step: Duration,
) -> Result<DelayTable, FieldError> {
    let path = ConstellationPath::new(ConstellationChoice::from(constellation.clone()), *from, *to);
    ConstellationPath { step, ..path }.table(duration)
}

impl ConstellationPath {
    /// The one-way delay every step from the start of the run to `duration`.
    ///
    /// # Errors
    /// As [`ConstellationPath::check`].
    pub fn table(&self, duration: Duration) -> Result<DelayTable, FieldError> {
        self.trace(duration).map(|trace| self.tabulate(trace, duration))
    }

    /// As [`ConstellationPath::table`], with the files that the constellation names.
    ///
    /// # Errors
    /// As [`ConstellationPath::trace_reading`].
    pub fn table_reading(&self, duration: Duration, read: ReadFile) -> Result<DelayTable, FieldError> {
        self.trace_reading(duration, read).map(|trace| self.tabulate(trace, duration))
    }

    fn tabulate(&self, trace: DelayTrace, duration: Duration) -> DelayTable {
        let mut legs = trace.legs().iter().peekable();
        let mut leg = trace.legs()[0];
        let mut rows = Vec::new();
        let end = Time::ZERO + duration;
        let mut now = Time::ZERO;
        loop {
            let mut change = Change::None;
            while let Some(next) = legs.next_if(|next| next.from <= now) {
                change = change.max(next.change);
                leg = *next;
            }
            rows.push(DelayRow {
                time_s: now.as_secs_f64(),
                one_way_delay_s: trace.delay(now).map(Duration::as_secs_f64),
                hops: leg.hops,
                source_satellite: leg.source_satellite,
                user_satellite: leg.user_satellite,
                event: match change {
                    Change::None => "",
                    Change::Route => "route-change",
                    Change::Handover => "handover",
                },
            });
            if now >= end {
                return DelayTable { rows, trace };
            }
            now = (now + self.step).min(end);
        }
    }
}
