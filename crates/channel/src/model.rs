//! What every channel is to the others: its options ([`Kind`]), its model ([`ChannelModel`]) and its instances
//! ([`Channel`]).

use std::fmt;
use std::sync::Arc;

use rand::Rng;
use units::{Db, Duration, FieldError, Files, Frequency, Time};

use crate::geometry::Geometry;

/// The options of a channel, from which its model is built.
pub trait Kind {
    /// Checks the values, each and together; no file is opened.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError>;

    /// Looks up the parameters and reads the files. `geometry` is how the serving
    /// satellite is seen, for channels that follow it.
    ///
    /// # Errors
    /// As [`Kind::check`], or says which file and line cannot be used, or which field follows the orbit without a
    /// satellite to follow.
    fn load(
        &self,
        files: &mut dyn Files,
        geometry: Option<&Arc<Geometry>>,
    ) -> Result<Box<dyn ChannelModel>, FieldError>;

    /// Whether the channel depends on where the serving satellite is: then it cannot be loaded without a geometry.
    fn follows_orbit(&self) -> bool {
        false
    }

    /// The carrier frequency, if it matters to the channel or is told.
    fn carrier(&self) -> Option<Frequency> {
        None
    }

    /// The symbols per second of its link budget, if it has one.
    fn symbol_rate(&self) -> Option<Frequency> {
        None
    }

    /// The names of the files that it needs.
    fn files_mut(&mut self) -> Vec<&mut String> {
        Vec::new()
    }
}

/// A channel to one user. Each user has an instance of its own.
pub trait Channel: Send {
    /// The symbol energy to noise density (Es/N0) of a burst sent at `now`.
    ///
    /// A burst is short against the fading, so it has one value. Calls never go back in time. The value is [`ERASED`]
    /// if the burst is erased, or if no satellite serves, and [`CLEAR`] without noise. Call once for a burst: a random
    /// channel without an attenuation may draw at each call, and one that is held by bursts goes a step further.
    fn burst_snr(&mut self, now: Time) -> Db;

    /// The attenuation at `now` relative to an unobstructed line of sight, for records and plots; `None` if the channel
    /// has no attenuation. The call changes no later [`Channel::burst_snr`].
    fn attenuation(&mut self, now: Time) -> Option<Db>;

    /// The Es/N0 that a perfect estimator measures at `now`, without erasures. The call changes no later
    /// [`Channel::burst_snr`].
    fn estimated_snr(&mut self, now: Time) -> Db;

    /// Whether every burst meets [`CLEAR`].
    fn is_clear(&self) -> bool {
        false
    }

    /// Whether the channel tells the fate of packets ([`Channel::decoded_after`]) in place of the decoder; constant.
    fn decides(&self) -> bool {
        false
    }

    /// The number of transmissions after which a packet is decoded that is first sent at `now`, 0 for never; only of a
    /// channel that [`Channel::decides`]. The call changes no other.
    fn decoded_after(&mut self, now: Time) -> u32 {
        unreachable!("the decoder decides at {now:?}");
    }

    /// The state of the model at `now`, for statistics. The call changes no later [`Channel::burst_snr`].
    fn observe(&mut self, now: Time) -> Observation {
        Observation { attenuation: self.attenuation(now), ..Observation::default() }
    }
}

/// The state of a channel's model at an instant.
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

/// A channel with its parameters checked and its files read, from which the channels of users are made.
pub trait ChannelModel: Send + Sync + fmt::Debug {
    /// The channel of the user with this number, from 0, with random streams from `streams`.
    fn build(&self, user: u64, streams: &mut MakeRng<'_>) -> Box<dyn Channel>;

    /// The joint law of the mutual information of the transmissions of one packet, for a packet sent at any time. It
    /// draws from streams of its own purposes: `streams` may be those of a user.
    fn transmission_law(&self, request: LawRequest, streams: &mut MakeRng<'_>) -> TransmissionLaw;

    /// All parameters of the law besides the arguments, as text: models with the same text have the same law. `None` if
    /// the law is not worth caching, or its parameters have no short text.
    fn law_identity(&self) -> Option<String> {
        None
    }

    /// The same channel as it goes on with the clock, where bursts take it further (`held`).
    fn over_time(&self) -> Option<&dyn ChannelModel> {
        None
    }

    /// The step at which sampling misses no change of the channel; `None` if there is no such step.
    fn sampling_interval(&self) -> Option<Duration>;

    /// What to check before trusting the results of a run with this many users.
    fn warnings(&self, _users: u64) -> Vec<String> {
        Vec::new()
    }

    /// The Es/N0 of an unobstructed line of sight; `None` without noise. Where it follows the satellite, the mean of
    /// its decibels over the run.
    fn reference_snr(&self) -> Option<Db> {
        None
    }

    /// Whether the Es/N0 of a line of sight changes in the run: [`ChannelModel::reference_snr`] is a mean.
    fn reference_varies(&self) -> bool {
        false
    }

    /// The maximum Doppler shift in hertz; `None` if the user does not move.
    fn doppler_hz(&self) -> Option<f64> {
        None
    }

    /// The speed of the user in metres per second; `None` if it does not move.
    fn speed_mps(&self) -> Option<f64> {
        None
    }

    /// The memory that the channel of a user takes, about: bytes.
    fn user_bytes(&self) -> u64 {
        512
    }
}

/// Makes the random generator of a purpose ("states", "shadowing", "multipath", "erasures", and the same with "law-" in
/// front). The generators are independent, so that no process of a channel shifts another's draws.
pub type MakeRng<'a> = dyn FnMut(&'static str) -> Box<dyn Rng + Send> + 'a;

/// The signal-to-noise ratio of an erased burst.
pub const ERASED: Db = Db::new(-300.0);
/// The signal-to-noise ratio of a channel without noise.
pub const CLEAR: Db = Db::new(300.0);
/// In place of the signal-to-noise ratio of a burst with which the channel lets a packet be decoded, whatever the burst
/// carries.
pub const DECIDED: Db = Db::new(600.0);

/// What is asked of the law of a packet's transmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LawRequest {
    /// Transmissions of a packet, for all of which random numbers are drawn.
    pub drawn: usize,
    /// How many of them are read, from the first on: at least one, at most all.
    pub read: usize,
    /// Time from one transmission to the next.
    pub spacing: Duration,
}

impl LawRequest {
    /// All of so many transmissions.
    pub fn all(transmissions: usize, spacing: Duration) -> LawRequest {
        LawRequest { drawn: transmissions, read: transmissions, spacing }
    }
}

/// The joint law of the mutual information of the transmissions of one packet.
///
/// Row `i` of `samples` holds, for one packet, the mutual information per coded bit (0 to 1) of each of its
/// transmissions that are read, which are the requested spacing apart.
#[derive(Clone, Debug, PartialEq)]
pub struct TransmissionLaw {
    /// Number of transmissions that are read, the length of a row.
    pub transmissions: usize,
    /// The law's rows of mutual information, one packet after the other.
    pub samples: Vec<f32>,
}
