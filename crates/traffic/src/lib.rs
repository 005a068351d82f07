//! Applications above the transport: sources that open, write and close.
//!
//! A source is a machine without input or output of its own. At its wake-ups it returns the actions of the application
//! at either end of the flow, and it is told which bytes have arrived. A listener rates a voice flow by the packets
//! that arrive.

mod experience;
mod quantiles;
mod random;
mod size;
mod stalls;

use rand::Rng;
use units::{Bytes, Duration, FieldError, Time};

pub use experience::{AppSample, Experience, GameReport, LiveReport, VideoReport};
pub use size::{Empirical, Exponential, Lognormal, Pareto, Size, SizeDistribution};
pub use voice::VoiceStream;
pub use voice::activity::{Activity, Continuous, ExponentialOnOff, ParetoOnOff};
pub use voice::codec::Codec;
pub use voice::emodel;
pub use voice::listener::{Listener, VoiceQuality};
pub use voice::playout::{AdaptivePlayout, FixedPlayout, Playout};
pub use web::{ConstantCount, ObjectCount, ParetoCount, Requests, WebReport, WebTimes};

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The end on the ground.
    Server,
    /// The end behind the last hop.
    User,
}

/// What an application does to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opens the connection; datagrams may be written from then on.
    Open,
    /// Writes this many bytes. For datagrams: one datagram with this payload.
    Write(Bytes),
    /// Writes without end.
    WriteForEver,
    /// Closes: nothing more is written.
    Close,
}

/// The transport service that a kind of traffic needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A byte stream from the server to the user.
    Stream,
    /// A byte stream in both directions: the bytes that arrive at one end determine what the other end writes
    /// ([`Source::handle_delivered`]).
    Exchange,
    /// Datagrams: each write arrives whole and on its own, or not at all.
    Datagrams {
        /// The largest, with IP and UDP headers, in bytes.
        packet: u32,
    },
    /// Writes that fit a packet, from the server to the user, in a byte stream or as datagrams; the application at the
    /// user's end is told of what arrives.
    Media {
        /// The largest as a datagram, with IP and UDP headers, in bytes.
        packet: u32,
    },
    /// Datagrams in both directions, of which the application at either end is told.
    Messages {
        /// The largest, with IP and UDP headers, in bytes.
        packet: u32,
    },
    /// Packets from outside, which need nothing.
    Outside,
}

impl Needs {
    /// The largest datagram with its headers, and the option that limits it; `None` where there are none.
    pub fn packet(self) -> Option<(u32, &'static str)> {
        match self {
            Needs::Datagrams { packet } | Needs::Media { packet } => Some((packet, "packet")),
            Needs::Messages { packet } => Some((packet, "down.size")),
            Needs::Stream | Needs::Exchange | Needs::Outside => None,
        }
    }
}

/// The most connections of an application: a bit of a word stands for each.
pub const MOST_CONNECTIONS: u32 = u64::BITS;

/// An action of an application on one of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// The connection, counted from 0.
    pub connection: u32,
    /// The end of the connection that acts.
    pub end: End,
    /// The action.
    pub action: Action,
}

impl Act {
    /// On the first connection, which for most applications is the only one.
    pub(crate) fn on_first(end: End, action: Action) -> Act {
        Act { connection: 0, end, action }
    }
}

/// The model of one application, with both its ends. Each of its connections is a flow.
pub trait Source: Send {
    /// The number of connections that it may use, at most [`MOST_CONNECTIONS`]; constant. A connection that is never
    /// opened carries nothing.
    fn connections(&self) -> u32 {
        1
    }

    /// The next action that is due at `now`; call until `None`.
    fn poll_action(&mut self, now: Time) -> Option<Act>;

    /// The instant of the next action; `None` if there is none, or none before something is delivered.
    fn poll_timeout(&self) -> Option<Time>;

    /// The application at `end` of a connection has received `bytes` in order since the connection began (byte streams
    /// only). Actions in response are due at once: call [`Source::poll_action`] again.
    fn handle_delivered(&mut self, _now: Time, _connection: u32, _end: End, _bytes: u64) {}

    /// Datagram `number`, counted from 0 in the order of the writes of the other end, has reached the application at
    /// `end`; it was sent at `sent`. Only where applications read datagrams, by their [`Needs`]. Actions in response
    /// are due at once.
    fn handle_datagram(&mut self, _now: Time, _connection: u32, _end: End, _number: u64, _sent: Time) {}

    /// The times of web pages, requests and responses; `None` for other traffic.
    fn web_times(&self) -> Option<&WebTimes> {
        None
    }

    /// Counts, means and quantiles of these times.
    fn report(&self) -> Option<WebReport> {
        self.web_times().map(WebTimes::report)
    }

    /// What its user experienced until `now`, of traffic that has a measure of that. `lost`: packets with data from the
    /// server, and datagrams from the user, that the network lost.
    fn experience(&self, _now: Time, _lost: [u64; 2]) -> Experience {
        Experience::default()
    }

    /// Its state at `now` for time series.
    fn sample(&self, _now: Time) -> AppSample {
        AppSample::NONE
    }
}

/// A source and its user.
pub struct UserSource {
    /// The user's number within the entry.
    pub user: u32,
    /// The source.
    pub source: Box<dyn Source>,
}

/// Makes the random generator of a purpose for a user of the entry (by number).
pub type MakeRng<'a> = dyn FnMut(&'static str, u32) -> Box<dyn Rng + Send> + 'a;

/// Makes the random generator of a purpose for one user.
pub(crate) type MakeUserRng<'a> = dyn FnMut(&'static str) -> Box<dyn Rng + Send> + 'a;

units::registry! {
    /// What a flow carries.
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

/// The options of a kind of traffic, from which its applications are built.
pub trait Kind {
    /// Whether the values make sense, each and together.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// The applications of the users of an entry; user k starts `offsets[k]` later. Ordered by user, except where the entry
    /// has arrivals in common. Nothing arrives once `duration`, the length of the run, is over; a longer run has the
    /// applications of a shorter one among its own. `streams` hands out random streams, and is asked once for each purpose
    /// and user. [`Kind::check`] has passed.
    fn build(&self, offsets: &[Duration], duration: Duration, streams: &mut MakeRng) -> Vec<UserSource>;

    /// How many flows (connections) an entry of so many users is expected to have in a run of `duration`.
    fn expected_flows(&self, users: u32, _duration: Duration) -> f64 {
        f64::from(users)
    }

    /// The listener at the user's end, for voice.
    fn listener(&self) -> Option<Listener> {
        None
    }

    /// What it needs of its transport.
    fn needs(&self) -> Needs;

    /// Whether the code that it names, if any, is among what scripts have registered.
    ///
    /// # Errors
    /// Nobody has registered it.
    fn check_registered(&self, _registered: &[String]) -> Result<(), FieldError> {
        Ok(())
    }

    /// Takes what makes the applications of the code that it names, if any: to be called before [`Kind::build`].
    ///
    /// # Errors
    /// `find` knows none.
    fn supply(&mut self, _find: &mut script::FindProgram<'_>) -> Result<(), FieldError> {
        Ok(())
    }
}

/// The applications of users who have nothing in common: `sources` makes those of one who starts `offset` later.
pub(crate) fn of_each_user<S: Source + 'static, I: IntoIterator<Item = S>>(
    offsets: &[Duration],
    streams: &mut MakeRng,
    mut sources: impl FnMut(Duration, &mut MakeUserRng) -> I,
) -> Vec<UserSource> {
    let mut applications = Vec::with_capacity(offsets.len());
    for (user, &offset) in (0..).zip(offsets) {
        let sources = sources(offset, &mut |purpose| streams(purpose, user));
        applications.extend(sources.into_iter().map(|source| UserSource { user, source: Box::new(source) }));
    }
    applications
}

#[cfg(test)]
mod tests;
