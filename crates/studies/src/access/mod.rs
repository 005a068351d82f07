//! Random access by itself: packet loss against load by simulation, and random beside dedicated access in closed form.
//!
//! Both take a scenario's `access` table and leave everything else of it aside: no path, no transport, no traffic.

mod analysis;
mod plr;
mod schemes;
#[cfg(test)]
mod tests;

/// The equations of Kuhn et al. 2015, each by itself.
pub use ::access::analysis as equations;

pub use self::analysis::{AnalysisOptions, AnalysisReport, MethodShare, RetransmissionRow, UsersRow};
pub use self::plr::{PlrMethod, PlrOptions, PlrReport, PlrRow, PlrStudy};
