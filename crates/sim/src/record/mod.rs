//! The record of a run: a summary, tables of flows and series.

mod columns;
mod distribution;
pub(crate) mod drops;
pub(crate) mod flow;
pub(crate) mod flow_summary;
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

/// The bytes of a flow's line, about.
const LINE: usize = 1500;
/// Flows whose text is made at once: half a megabyte.
const PART: usize = 500;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Record {
    /// The key numbers.
    pub summary: Summary,
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

    /// Writes the summary as JSON, each flow on a line of its own. `numbers`: from [`Summary::numbers_json`].
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_summary(&self, numbers: &str, writer: &mut impl Write) -> io::Result<()> {
        const NO_FLOWS: &str = "\"flows\":[]";
        let (before, after) = numbers.split_once(NO_FLOWS).expect("there is a list of flows");
        writer.write_all(before.as_bytes())?;
        writer.write_all(NO_FLOWS.trim_end_matches(']').as_bytes())?;
        for first in (0..self.summary.flows.len()).step_by(PART) {
            writer.write_all(if first == 0 { b"" } else { b"," })?;
            writer.write_all(self.flow_lines(first..first + PART).as_bytes())?;
        }
        write!(writer, "\n]{after}")
    }

    /// These flows of the summary as elements of a JSON array, each on a line of its own. Flows that do not exist are
    /// left out.
    pub fn flow_lines(&self, flows: Range<usize>) -> String {
        let end = flows.end.min(self.summary.flows.len());
        let flows = &self.summary.flows[flows.start.min(end)..end];
        let mut text = Vec::with_capacity(flows.len() * LINE);
        for (number, flow) in flows.iter().enumerate() {
            text.extend_from_slice(if number == 0 { b"\n   " } else { b",\n   " });
            let start = text.len();
            flow.write_members(&mut text);
            text[start..start + 2].copy_from_slice(b" {"); // in place of the first comma
            text.push(b'}');
        }
        String::from_utf8(text).expect("JSON is UTF-8")
    }
}
