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

use std::collections::VecDeque;
use std::sync::Arc;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    /// Writes all that a stream of many carries this way ([`Needs::Streams`]). The user numbers them from 0.
    WriteStream {
        /// The stream.
        stream: u32,
        /// How much.
        bytes: Bytes,
    },
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
    /// Many byte streams in both directions side by side, of whose arrivals it is told one by one
    /// ([`Source::handle_stream`]).
    Streams,
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
            Needs::Stream | Needs::Exchange | Needs::Streams | Needs::Outside => None,
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

    /// The application at `end` of a connection has received `bytes` in order on a stream of many since it began.
    /// Actions in response are due at once.
    fn handle_stream(&mut self, _now: Time, _connection: u32, _end: End, _stream: u32, _bytes: u64) {}

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

/// The transport service of a script's source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// A byte stream from the server to the user.
    #[default]
    Stream,
    /// A byte stream in both directions, of whose arrivals it is told.
    Exchange,
    /// Datagrams from the server to the user.
    Datagrams,
}

/// Makes a user's program for each user of an entry.
pub type MakeProgram = Arc<dyn Fn(&ProgramStart) -> Box<dyn Program> + Send + Sync>;

/// Finds what makes the programs of a name.
pub type FindProgram<'a> = dyn FnMut(&str) -> Option<MakeProgram> + 'a;

/// What a program is made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramStart {
    /// The user's number within the entry.
    pub user: u32,
    /// When it is asked first.
    pub start: Time,
    /// The length of the run.
    pub duration: Duration,
    /// A number of the user's own random stream.
    pub entropy: u64,
}

/// A user's source.
pub trait Program: Send {
    /// The time that it asked for is there: it acts, and says when to be asked again.
    fn on_timeout(&mut self, now: Time, acts: &mut Acts) -> Option<Time>;

    /// The application at `end` of a connection has received `bytes` in order since the connection began
    /// ([`Service::Exchange`] only). `Some` moves the time of the next [`Program::on_timeout`].
    fn on_delivered(&mut self, now: Time, connection: u32, end: End, bytes: u64, acts: &mut Acts) -> Option<Time>;
}

/// The acts of a program that are due, and what it may do.
#[derive(Clone, Debug)]
pub struct Acts {
    service: Service,
    largest_datagram: u64,
    connections: Vec<Connection>,
    waiting: VecDeque<Act>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    open: bool,
    /// By end: nothing more is written.
    closed: [bool; 2],
    written: u64,
}

/// The most bytes of one connection.
pub(crate) const MOST_BYTES: u64 = 1 << 50;

impl Acts {
    /// Of a program that has done nothing yet.
    pub fn new(service: Service, connections: u32, largest_datagram: u64) -> Acts {
        let connections = vec![Connection::default(); connections as usize];
        Acts { service, largest_datagram, connections, waiting: VecDeque::new() }
    }

    /// What the source needs of its transport.
    pub fn service(&self) -> Service {
        self.service
    }

    /// Takes an act, which is due at once.
    ///
    /// # Errors
    /// An application cannot do that: why, in a line.
    pub fn push(&mut self, act: Act) -> Result<(), String> {
        let (service, count) = (self.service, self.connections.len());
        let Some(connection) = self.connections.get_mut(act.connection as usize) else {
            return Err(format!(
                "connection {} of {count}: `connections` of the scenario says how many",
                act.connection
            ));
        };
        let end = act.end as usize;
        if act.end == End::User && service != Service::Exchange {
            return Err("the user's end acts only with service = \"exchange\"".to_owned());
        }
        match act.action {
            Action::Open if connection.open => return Err(format!("connection {} is open", act.connection)),
            Action::Open => connection.open = true,
            _ if !connection.open => return Err(format!("connection {} is not open yet", act.connection)),
            _ if connection.closed[end] => return Err(format!("connection {} is closed at this end", act.connection)),
            Action::Close => connection.closed[end] = true,
            Action::WriteStream { .. } => return Err("a script's streams are connections".to_owned()),
            Action::WriteForEver if service == Service::Datagrams => {
                return Err("datagrams have an end: write one after the other".to_owned());
            }
            Action::WriteForEver => connection.written = MOST_BYTES,
            Action::Write(bytes) => {
                let most = if service == Service::Datagrams { self.largest_datagram } else { MOST_BYTES };
                if bytes.get() == 0 || bytes.get() > most {
                    return Err(format!("{} B are not from 1 to {most} B", bytes.get()));
                }
                if connection.written >= MOST_BYTES && service != Service::Datagrams {
                    return Err(format!(
                        "connection {} writes for ever, or has written all that it can",
                        act.connection
                    ));
                }
                connection.written = (connection.written + bytes.get()).min(MOST_BYTES);
            }
        }
        self.waiting.push_back(act);
        Ok(())
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

    /// The applications of the users of an entry; user k starts `offsets[k]` later. Ordered by user, except where the
    /// entry has arrivals in common. Nothing arrives once `duration`, the length of the run, is over; a longer run has
    /// the applications of a shorter one among its own. `streams` hands out random streams, and is asked once for each
    /// purpose and user. [`Kind::check`] has passed.
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
    fn supply(&mut self, _find: &mut FindProgram<'_>) -> Result<(), FieldError> {
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
