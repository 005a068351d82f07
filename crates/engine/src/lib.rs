//! Discrete events without any network: the agenda of wake-ups, keyed random streams, and the digest of a run.

mod agenda;
mod digest;
mod streams;

pub use agenda::{Agenda, Livelock, MachineId};
pub use digest::Digest;
pub use streams::{Generator, Streams};
