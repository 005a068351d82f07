//! What applications ask of the transport: sources that open, write and close.
//!
//! A source is a machine without input or output of its own: it is asked at its wake-ups what the application does now, at
//! either end of the flow, and told what has arrived. A listener judges what a voice flow delivers.

mod bulk;
mod random;
mod short_flows;
mod size;
mod voice;
mod web;

use rand::Rng;
use units::{Bytes, Duration, FieldError, Time};

pub use bulk::Bulk;
pub use short_flows::ShortFlows;
pub use size::{Empirical, Exponential, Lognormal, Pareto, Size, SizeDistribution};
pub use voice::activity::{Activity, Continuous, ExponentialOnOff, ParetoOnOff};
pub use voice::codec::Codec;
pub use voice::emodel;
pub use voice::listener::{Listener, VoiceQuality};
pub use voice::playout::{AdaptivePlayout, FixedPlayout, Playout};
pub use voice::{Voice, VoiceStream};
pub use web::{ConstantCount, ObjectCount, ParetoCount, Requests, Web, WebReport};

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

/// The application of one flow, both its ends.
pub trait Source: Send {
    /// The next thing that is due at `now`, and the end that does it; call until `None`.
    fn poll_action(&mut self, now: Time) -> Option<(End, Action)>;

    /// When the application acts next by itself; `None` for never again, or not before something is delivered.
    fn poll_timeout(&self) -> Option<Time>;

    /// The application at `end` has received `bytes` in order since the flow began (streams only). What it does about it is
    /// due at once: ask [`Source::poll_action`] again.
    fn handle_delivered(&mut self, _now: Time, _end: End, _bytes: u64) {}

    /// What the application itself measured, if anything.
    fn report(&self) -> Option<WebReport> {
        None
    }
}

/// Hands out the random stream of a purpose.
pub type Streams<'a> = dyn FnMut(&'static str) -> Box<dyn Rng + Send> + 'a;

units::registry! {
    /// What a flow carries.
    pub enum TrafficConfig {
        "bulk" => Bulk(Bulk),
        "short-flows" => ShortFlows(ShortFlows),
        "web" => Web(Web),
        "voice" => Voice(Voice),
    }
}

impl TrafficConfig {
    /// The applications of one user, one for each flow (Poisson arrivals make many), each started `offset` later than its
    /// `start`. Nothing arrives once `duration`, the length of the run, is over. `streams` hands out the random stream of
    /// each purpose, and is asked once for each.
    ///
    /// # Panics
    /// If [`TrafficConfig::check`] refuses the configuration.
    pub fn build(&self, offset: Duration, duration: Duration, streams: &mut Streams) -> Vec<Box<dyn Source>> {
        match self {
            TrafficConfig::Bulk(bulk) => vec![Box::new(bulk.build(offset))],
            TrafficConfig::ShortFlows(flows) => flows.build(offset, duration, streams),
            TrafficConfig::Web(web) => vec![Box::new(web.build(offset, streams))],
            TrafficConfig::Voice(voice) => vec![Box::new(voice.build(offset, streams))],
        }
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
            TrafficConfig::Voice(voice) => voice.check(),
        }
    }

    /// How many flows one user is expected to get in a run of `duration`.
    pub fn expected_flows(&self, duration: Duration) -> f64 {
        match self {
            TrafficConfig::ShortFlows(flows) => flows.expected(duration),
            _ => 1.0,
        }
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
            TrafficConfig::Web(_) => Needs::Exchange,
            TrafficConfig::Voice(voice) => Needs::Datagrams { packet: voice.stream().packet.get() as u32 },
        }
    }
}

#[cfg(test)]
mod tests;
