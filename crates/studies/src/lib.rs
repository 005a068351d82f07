//! Questions that need no run: about a constellation, a channel, the return link and the last hop, each by itself.
//!
//! A question that is answered at once is a function of its options, and has a line in [`ask()`]. One that takes long
//! is a struct, which computes a part at each call until it is done. The Python binding asks this crate directly; runs
//! never do.

pub mod access;
mod ask;
mod bounds;
pub mod capacity;
mod channel;
pub mod constellation;
mod path;

pub use ask::{Answer, ask};
