//! The core for a page: a scenario's text and files go in, and progress, a summary and tables come out.
//!
//! `host` answers requests; `abi` hands them over. A request is a JSON object, perhaps followed by bytes (a scenario's
//! text, a file); an answer is JSON, or `pack`ed: a length, JSON, then columns of numbers. Nothing here computes.

mod abi;
mod host;
mod pack;
mod text;

pub use host::{Host, Refusal};
