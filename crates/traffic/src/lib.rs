//! What applications ask of the transport: sources that open, write and close.
//!
//! A source is a machine without input or output of its own: it is asked at its wake-ups what the application does now, at
//! either end of the flow, and told what has arrived. A listener judges what a voice flow delivers.

mod bulk;
mod packmime;
mod random;
mod short_flows;
mod size;
mod voice;
mod web;

use rand::Rng;
use units::{Bytes, Duration, FieldError, Time};

pub use bulk::Bulk;
pub use packmime::PackMime;
pub use short_flows::ShortFlows;
pub use size::{Empirical, Exponential, Lognormal, Pareto, Size, SizeDistribution};
pub use voice::activity::{Activity, Continuous, ExponentialOnOff, ParetoOnOff};
pub use voice::codec::Codec;
pub use voice::emodel;
pub use voice::listener::{Listener, VoiceQuality};
pub use voice::playout::{AdaptivePlayout, FixedPlayout, Playout};
pub use voice::{Voice, VoiceStream};
pub use web::{ConstantCount, ObjectCount, ParetoCount, Requests, Web, WebReport, WebTimes};

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
    pub enum TrafficConfig {
        "bulk" => Bulk(Bulk),
        "short-flows" => ShortFlows(ShortFlows),
        "web" => Web(Web),
        "packmime" => PackMime(PackMime),
        "voice" => Voice(Voice),
    }
}

impl TrafficConfig {
    /// The applications of the users of an entry; user k starts `offsets[k]` later. Ordered by user, except where the entry
    /// has arrivals in common. Nothing arrives once `duration`, the length of the run, is over; a longer run has the
    /// applications of a shorter one among its own. `streams` hands out random streams, and is asked once for each purpose
    /// and user.
    ///
    /// # Panics
    /// If [`TrafficConfig::check`] refuses the configuration.
    pub fn build(&self, offsets: &[Duration], duration: Duration, streams: &mut MakeRng) -> Vec<UserSource> {
        if let TrafficConfig::PackMime(packmime) = self {
            return packmime.build(offsets, duration, streams);
        }
        let mut applications = Vec::with_capacity(offsets.len());
        for (user, &offset) in (0..).zip(offsets) {
            let mut add = |source| applications.push(UserSource { user, source });
            let mut own = |purpose| streams(purpose, user);
            match self {
                TrafficConfig::Bulk(bulk) => add(Box::new(bulk.build(offset)) as Box<dyn Source>),
                TrafficConfig::ShortFlows(flows) => {
                    flows.build(offset, duration, &mut own).into_iter().for_each(|flow| add(Box::new(flow)));
                }
                TrafficConfig::Web(web) => add(Box::new(web.build(offset, &mut own))),
                TrafficConfig::Voice(voice) => add(Box::new(voice.build(offset, &mut own))),
                TrafficConfig::PackMime(_) => unreachable!("its users are built together"),
            }
        }
        applications
    }

    /// Whether the values make sense, each and together.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        match self {
            TrafficConfig::Bulk(_) => Ok(()),
            TrafficConfig::ShortFlows(flows) => flows.check(),
            TrafficConfig::Web(web) => web.check(),
            TrafficConfig::PackMime(packmime) => packmime.check(),
            TrafficConfig::Voice(voice) => voice.check(),
        }
    }

    /// How many flows (connections) an entry of so many users is expected to have in a run of `duration`.
    pub fn expected_flows(&self, users: u32, duration: Duration) -> f64 {
        let of_a_user = match self {
            TrafficConfig::ShortFlows(flows) => flows.expected(duration),
            TrafficConfig::Web(web) => f64::from(web.connections),
            TrafficConfig::PackMime(packmime) => return packmime.expected(duration),
            _ => 1.0,
        };
        f64::from(users) * of_a_user
    }

    /// Who listens at the user's end, for voice.
    pub fn listener(&self) -> Option<Listener> {
        match self {
            TrafficConfig::Voice(voice) => Some(voice.listener()),
            _ => None,
        }
    }

    /// What it needs of its transport.
    pub fn needs(&self) -> Needs {
        match self {
            TrafficConfig::Bulk(_) | TrafficConfig::ShortFlows(_) => Needs::Stream,
            TrafficConfig::Web(_) | TrafficConfig::PackMime(_) => Needs::Exchange,
            TrafficConfig::Voice(voice) => Needs::Datagrams { packet: voice.stream().packet.get() as u32 },
        }
    }
}

#[cfg(test)]
mod tests;
