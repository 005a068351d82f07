//! Discrete events that know no network: who wakes next, keyed random streams, and the digest of a run.

mod agenda;
mod digest;
mod streams;

pub use agenda::{Agenda, Livelock, MachineId};
pub use digest::Digest;
pub use streams::{Generator, Streams};
