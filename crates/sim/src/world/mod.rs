//! The world of a run: all machines, and the only place that knows how they are wired.
//!
//! ```text
//! application ► endpoint ► downlink pipe ► last hop ► endpoint ► application
//!               (server)                             (user)
//! application ◄ endpoint ◄ uplink pipe ◄ return link ◄ endpoint ◄ application
//! ```
//!
//! Data take the downlink and acknowledgments the uplink, or the other way round in an upload. With a proxy the
//! application writes to a server, and a terrestrial pipe joins it to the gateway, where the proxy reads and writes the
//! connection over the satellites.

mod build;
mod connection;
mod departure;
mod flow;
mod ledger;
mod log;
mod network;
mod outside;
mod path;
mod pending_losses;
mod pipe;
mod place;
mod proxy;
mod report;
mod run;
mod schedule;
mod scripts;
#[cfg(test)]
mod tests;
mod underlay;
mod written;

pub(crate) use build::build;
pub use build::{Choosers, last_hop_streams, path_course};
pub use departure::{Departure, Fate, Offer, OfferError};
pub(crate) use run::World;
pub use scripts::{Nobody, Scripts};
