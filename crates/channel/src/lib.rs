//! The radio channel of the last hop: what signal-to-noise ratio a burst meets, and what a decoder makes of it.
//!
//! A scenario names a channel ([`ChannelConfig`]); loading it reads its files and finds its parameters ([`ChannelModel`]);
//! each user gets an instance with random streams of its own ([`Channel`]). [`ChannelModel::transmission_law`] tells a link
//! what its transmissions may expect, [`measure`] and [`generate`] show what the channel does.

use std::fmt;

use rand::Rng;
use units::{Db, Duration, Time};

mod bernoulli;
mod clear;
pub mod code;
mod geometry;
mod level;
mod link_budget;
mod lms;
mod normal;
mod p681;
pub mod qpsk;
mod rain;
mod registry;
mod stats;
#[cfg(test)]
mod testing;
mod trace;

pub use bernoulli::Bernoulli;
pub use clear::Clear;
pub use geometry::Geometry;
pub use link_budget::LinkBudget;
pub use lms::{Environment, Lms};
pub use p681::{P681, P681Environment};
pub use rain::{FixedRain, Rain, RainByElevation};
pub use registry::{ChannelConfig, LoadError};
pub use stats::{ChannelStats, FadeStats, Fading, Lag, Percentile, Row, StateShare, generate, measure};
pub use trace::{Trace, TraceError};

/// A channel to one user. Each user has an instance of its own.
pub trait Channel: Send {
    /// The symbol energy to noise density (Es/N0) that a burst sent at `now` meets.
    ///
    /// A burst is short against the fading, so it sees one value. Calls never go back in time. A channel that erases a
    /// burst answers [`ERASED`], as does one that follows the orbit while no satellite serves; a clear one [`CLEAR`]. Random channels may draw at each call: call once for a burst.
    fn burst_snr(&mut self, now: Time) -> Db;

    /// The attenuation at `now` relative to an unobstructed line of sight, for records and plots; `None` if the channel
    /// has no such thing. Reading it changes no later [`Channel::burst_snr`].
    fn attenuation(&mut self, now: Time) -> Option<Db>;

    /// The Es/N0 that a perfect estimate would tell at `now`, erasures aside. Reading it changes no later
    /// [`Channel::burst_snr`].
    fn estimated_snr(&mut self, now: Time) -> Db;

    /// What the model knows of itself at `now`, for statistics. Reading it changes no later [`Channel::burst_snr`].
    fn observe(&mut self, now: Time) -> Observation {
        Observation { attenuation: self.attenuation(now), ..Observation::default() }
    }
}

/// A look inside a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// As [`Channel::attenuation`].
    pub attenuation: Option<Db>,
    /// The name of the propagation state.
    pub state: Option<&'static str>,
    /// The shadowing process, with mean 0 and variance 1.
    pub shadowing: Option<f64>,
    /// The multipath process (in phase, in quadrature), with mean power 1.
    pub multipath: Option<[f64; 2]>,
}

/// A channel whose parameters are checked and whose files are read: what the channels of many users are made from.
pub trait ChannelModel: Send + Sync + fmt::Debug {
    /// The channel of the user with this number, from 0, with random streams from `streams`.
    fn build(&self, user: u64, streams: &mut MakeRng<'_>) -> Box<dyn Channel>;

    /// The joint law of the mutual information of `transmissions` transmissions of one packet, `spacing` apart, for a packet
    /// sent at any time. It draws from streams of its own: `streams` may be those of a user.
    fn transmission_law(&self, spacing: Duration, transmissions: usize, streams: &mut MakeRng<'_>) -> TransmissionLaw;

    /// What the law depends on besides the arguments, as text: models with the same text have the same law. `None` if it is not
    /// worth keeping, or cannot be told in a few words.
    fn law_identity(&self) -> Option<String> {
        None
    }

    /// How often the channel changes: the step at which nothing of it is missed. `None` if it has no such step.
    fn sampling_interval(&self) -> Option<Duration>;

    /// What a reader should check before trusting the results of a run with this many users.
    fn warnings(&self, _users: u64) -> Vec<String> {
        Vec::new()
    }

    /// The Es/N0 of an unobstructed line of sight, if there is noise at all; where it changes as the satellite moves, the mean of
    /// its decibels over the run.
    fn reference_snr(&self) -> Option<Db> {
        None
    }

    /// The maximum Doppler shift in hertz, if the user moves.
    fn doppler_hz(&self) -> Option<f64> {
        None
    }

    /// The speed of the user in metres per second, if it moves.
    fn speed_mps(&self) -> Option<f64> {
        None
    }
}

/// Hands out random streams: a generator for each purpose ("states", "shadowing", "multipath", "erasures", and the same with
/// "law-" in front), independent of the others, so that no process of a channel disturbs another's draws.
pub type MakeRng<'a> = dyn FnMut(&'static str) -> Box<dyn Rng + Send> + 'a;

/// The signal-to-noise ratio of a burst that arrives as noise alone.
pub const ERASED: Db = Db::new(-300.0);
/// The signal-to-noise ratio of a channel without noise.
pub const CLEAR: Db = Db::new(300.0);

/// The joint law of the mutual information met by the transmissions of one packet.
///
/// Row `i` of `samples` holds, for one packet, the mutual information per coded bit (0 to 1) of each of its possible
/// transmissions, which follow each other at the spacing that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct TransmissionLaw {
    /// Number of transmissions, the length of a row.
    pub transmissions: usize,
    /// Rows one after the other.
    pub samples: Vec<f32>,
}
