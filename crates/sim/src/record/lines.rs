//! Flows as lines of JSON, as `summary.json` has them where they are many.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::flow_summary::FlowSummary;

/// The bytes of a flow's line, about.
const LINE: usize = 1500;

/// Returns the flows as the elements of an array, each on a line of its own.
pub(super) fn flow_lines(flows: &[Box<FlowSummary>]) -> String {
    let mut text = Vec::with_capacity(flows.len() * LINE);
    for (number, flow) in flows.iter().enumerate() {
        text.extend_from_slice(if number == 0 { b"\n    " } else { b",\n    " });
        flow.serialize(&mut Serializer::with_formatter(&mut text, Spaced)).expect("a summary is JSON");
    }
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// JSON on one line, with a space after each comma and colon.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.begin_array_value(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(b": ")
    }
}
