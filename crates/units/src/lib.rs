//! Quantities with units, on which all other crates build.
//!
//! Inside the simulator a rate is a [`BitRate`] and a delay is a [`Duration`], never a bare number. In a scenario a
//! quantity is a string with its unit, `"50 Mbit/s"`, `"40 ms"`, `"10 dB"`. Each type reads and writes itself,
//! describes the texts it accepts in its JSON schema, and explains why it refuses a text.

pub mod chance;
mod ecn;
mod files;
mod number;
mod or_orbit;
mod over_time;
pub mod plugin;
mod quantity;
mod registry;
pub mod report;
mod ring;
mod rows;
mod text;
mod time;

pub use ecn::Ecn;
pub use files::{Files, MemoryFiles, read_text};
pub use number::{higher, lower};
pub use or_orbit::{OrOrbit, OrPath, check_text};
pub use over_time::{OverTime, RateOverTime};
pub use quantity::{Angle, BitRate, Bytes, Db, DbPerKelvin, Dbw, Frequency, Length, Probability, Speed};
pub use ring::Ring;
pub use rows::{NumberRow, RowError, number_rows, numbered_lines};
pub use text::{ParseQuantityError, Quantity};
pub use time::{Duration, Time};

/// The greatest common divisor; `b` may be 0.
pub fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Speed of light in vacuum, metres per second (exact).
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// Why a value of a configuration is refused. Displayed on one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FieldError {
    /// The path of the field within the configuration, as `source.latitude`; empty for the configuration as a whole.
    pub field: String,
    /// The value that was given, and the values that are allowed.
    pub message: String,
}

impl FieldError {
    /// An error about `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), message: message.into() }
    }

    /// Refuses a count of 0.
    ///
    /// # Errors
    /// The count of `field` is 0.
    pub fn unless_positive(field: &str, count: u64) -> Result<(), FieldError> {
        if count > 0 { Ok(()) } else { Err(FieldError::new(field, "0 was given, at least 1 is needed")) }
    }

    /// Refuses an empty name of the CSV file that `field` names.
    ///
    /// # Errors
    /// The name is empty.
    pub fn unless_named(field: &str, name: &str) -> Result<(), FieldError> {
        if name.is_empty() {
            return Err(FieldError::new(field, "the name is empty: give the path of a CSV file"));
        }
        Ok(())
    }

    /// An error in the file `name` that the field `file` names.
    pub fn in_file(name: &str, (line, message): RowError) -> FieldError {
        let line = line.map(|line| format!(" line {line}")).unwrap_or_default();
        FieldError::new("file", format!("{name}{line}: {message}"))
    }

    /// Returns this error with `parent` in front of the field's path.
    pub fn within(self, parent: &str) -> FieldError {
        let field = if self.field.is_empty() { parent.to_owned() } else { format!("{parent}.{}", self.field) };
        FieldError { field, ..self }
    }
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let message = self.message.split_whitespace().collect::<Vec<_>>().join(" ");
        if self.field.is_empty() { f.write_str(&message) } else { write!(f, "{}: {message}", self.field) }
    }
}

/// Bytes of an IPv4 header without options and a UDP header (RFC 791, RFC 768), which applications and transports both
/// use.
pub const IPV4_UDP_HEADER_BYTES: u32 = 20 + 8;

/// Paths that the macros of this crate expand to.
#[doc(hidden)]
pub mod __private {
    pub use schemars;
    pub use serde;
}
