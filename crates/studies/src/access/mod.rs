//! Random access by itself: packet loss against load by simulation, and random beside dedicated access in closed form.
//!
//! Both take a scenario's `access` table and leave everything else of it aside: no path, no transport, no traffic.

mod analysis;
pub(crate) mod equations;
mod plr;
mod schemes;
#[cfg(test)]
mod tests;

pub use self::analysis::{AnalysisOptions, AnalysisReport, RetransmissionRow, SchemeThroughput, UsersRow};
pub use self::plr::{PlrMethod, PlrOptions, PlrReport, PlrRow, PlrStudy};
