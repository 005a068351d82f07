//! A path whose delay over time stands in a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Files};

use super::format::TraceFormat;
use super::trace::DelayTrace;
use super::transit::NoRoute;
use super::{Kind, is_default};
use crate::csv::read_text;

/// The one-way delay over time from a file.
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
    /// What happens to packets while there is no route.
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_route: NoRoute,
}

impl Kind for TracePath {
    fn check(&self) -> Result<(), FieldError> {
        self.no_route.entry().check().map_err(|error| error.within("no_route"))?;
        match self.interval {
            Some(interval) => {
                self.format.check_interval(interval).map_err(|message| FieldError::new("interval", message))
            }
            None => Ok(()),
        }
    }

    fn delays(&self, _duration: Duration, files: &mut dyn Files) -> Result<DelayTrace, FieldError> {
        let trace = read_text(files, &self.file).and_then(|text| self.parse(&text).map_err(|error| error.to_string()));
        trace.map_err(|message| FieldError::new("file", format!("{}: {message}", self.file)))
    }

    fn no_route(&self) -> NoRoute {
        self.no_route.clone()
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.file]
    }
}

impl TracePath {
    /// The delays of `file`, in comma-separated rows.
    pub fn new(file: &str) -> TracePath {
        TracePath {
            file: file.to_owned(),
            format: TraceFormat::default(),
            interval: None,
            no_route: NoRoute::default(),
        }
    }

    /// The delays in `text`, the content of the file.
    ///
    /// # Errors
    /// Names the line and what is wrong with it.
    pub fn parse(&self, text: &str) -> Result<DelayTrace, FieldError> {
        DelayTrace::parse(text, self.format, self.interval)
    }
}
