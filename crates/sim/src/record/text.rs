//! The text of a summary as JSON, each flow on a line of its own.

use std::io::{Result, Write};

use super::flow_summary::FlowSummary;

/// Flows whose text is made at once: half a megabyte.
const FLOWS_AT_ONCE: usize = 400;
/// The bytes of a flow's line, about.
const LINE: usize = 1500;

/// Returns flows as the elements of an array.
pub(super) fn flow_lines(flows: &[Box<FlowSummary>]) -> String {
    let mut text = Vec::with_capacity(flows.len() * LINE);
    append(flows, &mut text);
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// Writes a summary, whose `numbers` are its JSON with an empty list of flows.
pub(super) fn write_summary(numbers: &str, flows: &[Box<FlowSummary>], writer: &mut impl Write) -> Result<()> {
    // Within a text the quotes are escaped, so this is the key.
    const NO_FLOWS: &str = "\"flows\":[]";
    let (before, after) = numbers.split_once(NO_FLOWS).expect("there is a list of flows");
    write!(writer, "{before}{}", NO_FLOWS.trim_end_matches(']'))?;
    let mut text = Vec::with_capacity(flows.len().min(FLOWS_AT_ONCE) * LINE);
    for (number, part) in flows.chunks(FLOWS_AT_ONCE).enumerate() {
        text.clear();
        if number > 0 {
            text.push(b',');
        }
        append(part, &mut text);
        writer.write_all(&text)?;
    }
    write!(writer, "\n]{after}")
}

/// Appends the text of flows, with a comma between two.
fn append(flows: &[Box<FlowSummary>], text: &mut Vec<u8>) {
    for (number, flow) in flows.iter().enumerate() {
        text.extend_from_slice(if number == 0 { b"\n    " } else { b",\n    " });
        flow.write_json(text);
    }
}
