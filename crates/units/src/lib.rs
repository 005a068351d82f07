//! Quantities with units: the ground floor of the house.
//!
//! Inside the simulator a rate is a [`BitRate`] and a delay is a [`Duration`], never a bare number. In a scenario a
//! quantity is a string with its unit, `"50 Mbit/s"`, `"40 ms"`, `"10 dB"`; each type knows how to read and write itself,
//! says in its JSON schema what it accepts, and explains what it refuses.

mod ecn;
mod or_orbit;
mod quantity;
mod registry;
mod rows;
mod text;
mod time;

pub use ecn::Ecn;
pub use or_orbit::{OrOrbit, check_text};
pub use quantity::{Angle, BitRate, Bytes, Db, Frequency, Length, Probability, Speed};
pub use rows::{NumberRow, RowError, number_rows, read_text};
pub use text::{ParseQuantityError, Quantity};
pub use time::{Duration, Time};

/// Why a value of a configuration is refused. Displayed on one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FieldError {
    /// The field's path within the configuration, as `source.latitude`; empty for the configuration as a whole.
    pub field: String,
    /// What was given and what is allowed.
    pub message: String,
}

impl FieldError {
    /// An error about `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), message: message.into() }
    }

    /// The same error, of a field of `parent`.
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

/// Bytes of an IPv4 header without options and a UDP header (RFC 791, RFC 768), of which applications and transports both speak.
pub const IPV4_UDP_HEADER_BYTES: u32 = 20 + 8;

/// What the macros of this crate need by path.
#[doc(hidden)]
pub mod __private {
    pub use schemars;
    pub use serde;
}
