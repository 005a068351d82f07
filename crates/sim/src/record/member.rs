//! The members of a JSON object as text, with a space after each comma and colon.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// The text of a key, for [`write_member`].
macro_rules! key {
    ($name:expr) => {
        concat!("\"", $name, "\": ")
    };
}
pub(super) use key;

const COMMA: &[u8] = b", ";

/// Appends an object whose members `write` appends; there is one at least.
#[inline]
pub(super) fn write_object(text: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    text.push(b'{');
    write(text);
    text.truncate(text.len() - COMMA.len());
    text.push(b'}');
}

/// Appends a member and a comma. `key`: from [`key!`].
#[inline]
pub(super) fn write_member(text: &mut Vec<u8>, key: &str, value: &impl Serialize) {
    text.extend_from_slice(key.as_bytes());
    value.serialize(&mut Serializer::with_formatter(&mut *text, Spaced)).expect("a summary is JSON");
    text.extend_from_slice(COMMA);
}

/// Appends the members of a value that is an object, and a comma.
pub(super) fn write_members(text: &mut Vec<u8>, value: &impl Serialize) {
    let begin = text.len();
    value.serialize(&mut Serializer::with_formatter(&mut *text, Spaced)).expect("a summary is JSON");
    text.remove(begin);
    text.pop();
    text.extend_from_slice(COMMA);
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { writer.write_all(COMMA) }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.begin_array_value(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(b": ")
    }
}
