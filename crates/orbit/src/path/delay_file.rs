//! A path whose delay over time stands in a file, and perhaps its rate and losses.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, FieldError, Files, Time};

use super::format::TraceFormat;
use super::table_file;
use super::trace::DelayTrace;
use super::transit::{NoRoute, UPLINK_BUFFER, holds_a_packet};
use super::{Kind, is_default};
use crate::csv::read_text;

/// Delay, rate and losses over time from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TracePath {
    /// The file, relative to the scenario's.
    pub file: String,
    /// The format of the file.
    #[serde(default, skip_serializing_if = "is_default")]
    pub format: TraceFormat,
    /// Time between two values, in formats without timestamps; by default the value in the file's first line, or 1 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// What the columns of a table hold, where its header says it otherwise: the file's names by what they mean, as
    /// `{ time_s = "t", rtt_ms = "Latency" }`. Other columns are not read then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, String>,
    /// The one-way delay, for a table without a delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Whether the file begins anew at the instant of its last row; if not, its last values hold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeat: bool,
    /// The most bytes that wait for the uplink, where the file gives its rate.
    #[serde(default = "uplink_buffer", skip_serializing_if = "is_uplink_buffer")]
    pub uplink_buffer: Bytes,
    /// What happens to packets while there is no route.
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_route: NoRoute,
}

fn uplink_buffer() -> Bytes {
    UPLINK_BUFFER
}

fn is_uplink_buffer(buffer: &Bytes) -> bool {
    *buffer == UPLINK_BUFFER
}

impl Kind for TracePath {
    fn check(&self) -> Result<(), FieldError> {
        self.no_route.entry().check().map_err(|error| error.within("no_route"))?;
        holds_a_packet("uplink_buffer", self.uplink_buffer)?;
        let table = [("columns", !self.columns.is_empty()), ("delay", self.delay.is_some())];
        if let Some((field, _)) = table.iter().find(|given| given.1 && self.format != TraceFormat::Csv) {
            return Err(FieldError::new(
                *field,
                "is for tables, format \"csv\": the other formats have a delay, in their own place",
            ));
        }
        match self.interval {
            Some(interval) => {
                self.format.check_interval(interval).map_err(|message| FieldError::new("interval", message))
            }
            None => Ok(()),
        }
    }

    fn delays(&self, duration: Duration, files: &mut dyn Files) -> Result<DelayTrace, FieldError> {
        let trace = read_text(files, &self.file).and_then(|text| self.parse(&text).map_err(|error| error.to_string()));
        let trace = trace.map_err(|message| {
            let hint = if self.file.ends_with(".parquet") {
                ": a Parquet file is read by transorbit trace import"
            } else {
                ""
            };
            FieldError::new("file", format!("{}: {message}{hint}", self.file))
        })?;
        let end = trace.end();
        if self.repeat {
            let unseen = trace.unseen_at_end().filter(|_| end < Time::ZERO + duration);
            let warning = unseen.map(|unseen| {
                let (file, end) = (&self.file, end.as_secs_f64());
                format!(
                    "path.file: {file} begins anew at its last row, at {end} s: the {unseen} there is never seen; add \
                     a row where it ends"
                )
            });
            return Ok(trace.repeated(duration).warned(warning.into_iter().collect()));
        }
        let is_long = end > Time::ZERO && end + Duration::from_secs(1) < Time::ZERO + duration;
        let warning = is_long.then(|| {
            let (file, end) = (&self.file, end.as_secs_f64());
            format!("path.file: {file} ends at {end} s of {duration}: its last values hold on, unless repeat = true")
        });
        Ok(trace.warned(warning.into_iter().collect()))
    }

    fn uplink_buffer(&self) -> Bytes {
        self.uplink_buffer
    }

    fn no_route(&self) -> NoRoute {
        self.no_route.clone()
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.file]
    }
}

impl TracePath {
    /// Returns the path of the table `file`.
    pub fn new(file: &str) -> TracePath {
        TracePath {
            file: file.to_owned(),
            format: TraceFormat::default(),
            interval: None,
            columns: BTreeMap::new(),
            delay: None,
            repeat: false,
            uplink_buffer: UPLINK_BUFFER,
            no_route: NoRoute::default(),
        }
    }

    /// Returns the delay over time of `text`, the content of the file.
    ///
    /// # Errors
    /// Names the line and what is wrong with it.
    pub fn parse(&self, text: &str) -> Result<DelayTrace, FieldError> {
        match self.format {
            TraceFormat::Csv => table_file::read(text, &self.columns, self.delay),
            format => DelayTrace::parse(text, format, self.interval),
        }
    }
}
