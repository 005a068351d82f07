//! What can be asked without a run: a constellation, a channel, the return link and the last hop, each by itself.
//!
//! What is answered at once is a function of its question, and has a line in [`ask()`]. What takes long is a struct
//! that is asked to go on until it is done. The Python binding asks this crate directly; runs never do.

pub mod access;
mod ask;
mod bounds;
pub mod capacity;
mod channel;
pub mod constellation;
mod path;

pub use ask::{Answer, ask};
