//! What applications ask of the transport: sources that open, write and close.
//!
//! A source is a machine without input or output of its own: it is asked at its wake-ups what the application does now, at
//! either end of the flow, and told what has arrived. A listener judges what a voice flow delivers.

mod random;
mod size;

use rand::Rng;
use units::{Bytes, Duration, FieldError, Time};

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
    /// The one on the ground, behind the satellites.
    Server,
    /// The one behind the last hop.
    User,
}

/// What an application does to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opens the connection. On datagrams: begins.
    Open,
    /// Hands over this much to send. On datagrams it is one datagram with this many bytes of payload.
    Write(Bytes),
    /// Has always more to send.
    WriteForEver,
    /// Has nothing more to send.
    Close,
}

/// What a kind of traffic needs of its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Bytes from the server to the user, in order and all of them.
    Stream,
    /// The same both ways: what arrives at one end decides what the other does ([`Source::handle_delivered`]).
    Exchange,
    /// Datagrams: each write arrives whole and at once, or not at all.
    Datagrams {
        /// The largest, with IP and UDP headers, in bytes.
        packet: u32,
    },
}

/// The most connections of an application: those that act at once are told apart by the bits of a word.
pub const MOST_CONNECTIONS: u32 = u64::BITS;

/// One thing that an application does on one of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// Which of its connections, counted from 0.
    pub connection: u32,
    /// The end of the connection that does it.
    pub end: End,
    /// What it does.
    pub action: Action,
}

impl Act {
    /// On the first connection, the only one that most have.
    pub(crate) fn on_first(end: End, action: Action) -> Act {
        Act { connection: 0, end, action }
    }
}

/// One application, both its ends. Each of its connections is a flow.
pub trait Source: Send {
    /// How many connections it may use, at most [`MOST_CONNECTIONS`], known from the start. One that is never opened carries
    /// nothing.
    fn connections(&self) -> u32 {
        1
    }

    /// The next thing that is due at `now`; call until `None`.
    fn poll_action(&mut self, now: Time) -> Option<Act>;

    /// When the application acts next by itself; `None` for never again, or not before something is delivered.
    fn poll_timeout(&self) -> Option<Time>;

    /// The application at `end` of a connection has received `bytes` in order since the connection began (streams only). What
    /// it does about it is due at once: ask [`Source::poll_action`] again.
    fn handle_delivered(&mut self, _now: Time, _connection: u32, _end: End, _bytes: u64) {}

    /// What a user of the web measured; `None` for other traffic.
    fn web_times(&self) -> Option<&WebTimes> {
        None
    }

    /// The same as counts, means and quantiles.
    fn report(&self) -> Option<WebReport> {
        self.web_times().map(WebTimes::report)
    }
}

/// One application and whose it is.
pub struct UserSource {
    /// The user's place in the entry.
    pub user: u32,
    /// What it does.
    pub source: Box<dyn Source>,
}

/// Hands out the random stream of a purpose of a user of the entry (by place).
pub type MakeRng<'a> = dyn FnMut(&'static str, u32) -> Box<dyn Rng + Send> + 'a;

/// Hands out the random stream of a purpose of one user.
pub(crate) type MakeUserRng<'a> = dyn FnMut(&'static str) -> Box<dyn Rng + Send> + 'a;

units::registry! {
    /// What a flow carries.
    pub enum TrafficConfig: dyn Kind {
        "bulk" => Bulk(Bulk) in bulk,
        "short-flows" => ShortFlows(ShortFlows) in short_flows,
        "web" => Web(Web) in web,
        "packmime" => PackMime(PackMime) in packmime,
        "voice" => Voice(Voice) in voice,
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
