//! Applications above the transport: sources that open, write and close.
//!
//! A source is a machine without input or output of its own. At its wake-ups it returns the actions of the application
//! at either end of the flow, and the bytes that have arrived are handed to it. A listener rates a voice flow by the
//! packets that arrive.

mod experience;
mod kind;
mod program;
mod quantiles;
mod random;
mod size;
mod source;
mod stalls;

pub use experience::{AppSample, Experience};
pub use kind::{Kind, MakeRng, UserSource};
pub(crate) use kind::{MakeUserRng, of_each_user};
pub(crate) use program::FindProgram;
pub use program::{Acts, MakeProgram, Program, ProgramStart, Service};
pub use size::{Empirical, Exponential, Lognormal, Pareto, Size, SizeDistribution};
pub(crate) use source::MOST_CONNECTIONS;
pub use source::{Act, Action, End, Needs, Source};
pub use voice::activity::{Activity, Continuous, ExponentialOnOff, ParetoOnOff};
pub use voice::codec::Codec;
pub use voice::listener::Listener;
pub use voice::playout::{AdaptivePlayout, FixedPlayout, Playout};
pub use web::{ConstantCount, ObjectCount, ParetoCount, Requests};

units::registry! {
    /// The traffic of a flow.
    pub enum TrafficConfig: dyn Kind {
        "bulk" => Bulk(Bulk) in bulk,
        "short-flows" => ShortFlows(ShortFlows) in short_flows,
        "web" => Web(Web) in web,
        "packmime" => PackMime(PackMime) in packmime,
        "voice" => Voice(Voice) in voice,
        "dash" => Dash(Dash) in dash,
        "live" => Live(Live) in live,
        "game" => Game(Game) in game,
        "external" => External(External) in external,
        "script" => Script(Script) in script,
    }
}

#[cfg(test)]
mod tests;
