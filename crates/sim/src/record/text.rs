//! The members of a JSON object as text on one line, as `summary.json` has flows where they are many.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// Appends a member of an object: its `key` begins with a comma and ends with a colon, each with a space after it.
#[inline]
pub(super) fn write_member(text: &mut Vec<u8>, key: &str, value: &impl Serialize) {
    text.extend_from_slice(key.as_bytes());
    value.serialize(&mut Serializer::with_formatter(text, Spaced)).expect("a summary is JSON");
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
