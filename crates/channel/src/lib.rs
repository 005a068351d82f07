//! The radio channel of the last hop: the signal-to-noise ratio of each burst, and the mutual information for the
//! decoder.
//!
//! A scenario names a channel ([`ChannelConfig`]); loading it reads its files and finds its parameters
//! ([`ChannelModel`]); each user gets an instance with random streams of its own ([`Channel`]).
//! [`ChannelModel::transmission_law`] gives a link the law of its transmissions' mutual information; [`measure`] and
//! [`generate`] give statistics and series. A channel's `held` says how its series goes on.

pub mod code;
mod elementary;
mod geometry;
mod held;
mod level;
mod link_budget;
mod model;
mod normal;
pub mod qpsk;
mod rain;
mod stats;
mod steps;
#[cfg(test)]
mod testing;

pub use geometry::Geometry;
pub use link_budget::LinkBudget;
pub use lms::P681;
pub use model::{
    CLEAR, Channel, ChannelModel, DECIDED, ERASED, Kind, LawRequest, MakeRng, Observation, TransmissionLaw,
};
pub use rain::{FixedRain, Rain, RainByElevation};
pub use stats::{ChannelStats, FadeStats, Fading, Lag, Percentile, Row, StateShare, generate, measure};

units::registry! {
    /// The radio channel of the last hop.
    pub enum ChannelConfig: dyn Kind {
        "lms" => Lms(Lms) in lms,
        "p681" => P681(P681),
        #[default] "clear" => Clear(Clear) in clear,
        "bernoulli" => Bernoulli(Bernoulli) in bernoulli,
        "trace" => Trace(Trace) in trace,
        "outcomes" => Outcomes(Outcomes) in outcomes,
    }
}
