//! Quantities with units: the ground floor of the house.
//!
//! Inside the simulator a rate is a [`BitRate`] and a delay is a [`Duration`], never a bare number. In a scenario a
//! quantity is a string with its unit, `"50 Mbit/s"`, `"40 ms"`, `"10 dB"`; each type knows how to read and write itself,
//! says in its JSON schema what it accepts, and explains what it refuses.

mod quantity;
mod registry;
mod text;
mod time;

pub use quantity::{Angle, BitRate, Bytes, Db, Frequency, Length, Probability, Speed};
pub use text::{ParseQuantityError, Quantity};
pub use time::{Duration, Time};

/// What the macros of this crate need by path.
#[doc(hidden)]
pub mod __private {
    pub use schemars;
    pub use serde;
}
