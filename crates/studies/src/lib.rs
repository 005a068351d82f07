//! What can be asked without a run: a constellation, a channel, the return link and the last hop, each by itself.
//!
//! A study is a function of its question, or a struct that is asked to go on until it is done. The Python binding asks this
//! crate directly; runs never do.

pub mod access;
pub mod capacity;
pub mod channel;
pub mod constellation;
mod limit;
