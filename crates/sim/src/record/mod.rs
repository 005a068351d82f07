//! The record of a run: a summary, tables of flows and series.

mod columns;
mod distribution;
pub(crate) mod drops;
pub(crate) mod flow;
pub(crate) mod flow_summary;
mod member;
pub(crate) mod order;
mod pep_summary;
pub(crate) mod recorder;
pub(crate) mod series;
pub(crate) mod spurious;
mod summary;
mod table;
mod text;
pub(crate) mod watch;

use std::io::{self, Write};
use std::ops::Range;

pub use columns::columns;
pub use drops::{Lost, REASONS, Reason};
pub use flow_summary::FlowSummary;
pub use pep_summary::PepSummary;
pub use summary::{ChannelSummary, Conservation, PathSummary, Summary, UsersSummary};
pub use table::{Column, Table};

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Record {
    /// The key numbers.
    pub summary: Summary,
    /// See [`Record::numbers_json`].
    pub(crate) numbers: String,
    /// One row for each instant and flow; empty if the scenario keeps no series.
    pub series: Table,
    /// One row for each event, if the run was watched: see [`Simulation::watch`](crate::Simulation::watch).
    pub events: Table,
    /// Events beyond those.
    pub more_events: u64,
    /// One row for each packet that was watched.
    pub packets: Table,
}

impl Record {
    /// One row for each flow, the columns of [`FlowSummary`].
    pub fn flows(&self) -> Table {
        flow_summary::flow_table(&self.summary.flows)
    }

    /// One row for each flow that has this report, which is a key of [`FlowSummary`] such as `web`: `flow`, its number,
    /// and the numbers of the report. Without such a flow there is only `flow`; `None` if there is no such report.
    pub fn reports(&self, report: &str) -> Option<Table> {
        flow_summary::report_table(&self.summary.flows, report)
    }

    /// The summary as JSON with an empty list of flows, as it was when the run ended.
    pub fn numbers_json(&self) -> &str {
        &self.numbers
    }

    /// These flows of the summary as elements of a JSON array, each on a line of its own. Flows that do not exist are
    /// left out.
    pub fn flow_lines(&self, flows: Range<usize>) -> String {
        let end = flows.end.min(self.summary.flows.len());
        text::flow_lines(&self.summary.flows[flows.start.min(end)..end])
    }

    /// Writes the summary as JSON, each flow on a line of its own.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_summary(&self, writer: &mut impl Write) -> io::Result<()> {
        text::write_summary(&self.numbers, &self.summary.flows, writer)
    }
}
