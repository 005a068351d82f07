//! The interface of a source: an application's actions, its needs of the transport, and the arrivals that it sees.

use units::{Bytes, Time};

use crate::experience::{AppSample, Experience};

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The end on the ground; of an upload the one behind the last hop, which sends the data then.
    Server,
    /// The other end.
    User,
}

/// An action of an application on its connection.
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
    ByteStream,
    /// A byte stream in both directions: the bytes that arrive at one end determine what the other end writes
    /// ([`Source::handle_delivered`]).
    Exchange,
    /// Many byte streams in both directions side by side; each arrival is handed to it by itself
    /// ([`Source::handle_stream`]).
    Streams,
    /// Datagrams: each write arrives whole and on its own, or not at all.
    Datagrams {
        /// The largest, with IP and UDP headers, in bytes.
        packet: u32,
    },
    /// Writes that fit a packet, from the server to the user, in a byte stream or as datagrams; the application at the
    /// user's end sees what arrives.
    Media {
        /// The largest as a datagram, with IP and UDP headers, in bytes.
        packet: u32,
    },
    /// Datagrams in both directions; the application at either end sees those that arrive.
    Messages {
        /// The largest, with IP and UDP headers, in bytes.
        packet: u32,
        /// The option to which most of the transfer's size is due.
        option: &'static str,
    },
    /// Packets from outside, which need nothing.
    Outside,
}

impl Needs {
    /// Whether the application at the other end only takes what arrives: nothing that it does depends on it.
    pub fn only_takes(self) -> bool {
        match self {
            Needs::ByteStream | Needs::Datagrams { .. } => true,
            Needs::Exchange | Needs::Streams | Needs::Media { .. } | Needs::Messages { .. } | Needs::Outside => false,
        }
    }

    /// The largest datagram with its headers, and the option that limits it; `None` where there are none.
    pub fn packet(self) -> Option<(u32, &'static str)> {
        match self {
            Needs::Datagrams { packet } | Needs::Media { packet } => Some((packet, "packet")),
            Needs::Messages { packet, option } => Some((packet, option)),
            Needs::ByteStream | Needs::Exchange | Needs::Streams | Needs::Outside => None,
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
    /// Returns the action as an act on the first connection, which for most applications is the only one.
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

    /// The bytes of its transfer, of a source that knows them before it writes; constant.
    fn size(&self) -> Option<Bytes> {
        None
    }

    /// The next action that is due at `now`; call until `None`.
    fn poll_action(&mut self, now: Time) -> Option<Act>;

    /// If nothing is due at `now` but a datagram, which the server's end writes on the first connection: its payload,
    /// and the instant of the action after it. `None` leaves what is due to [`Source::poll_action`].
    fn poll_datagram(&mut self, _now: Time) -> Option<(Bytes, Time)> {
        None
    }

    /// The instant of the next action; `None` if there is none, or none before something is delivered.
    fn poll_timeout(&self) -> Option<Time>;

    /// The application at `end` of a connection has received `bytes` in order since the connection began (byte streams
    /// only). Actions in response are due at once: call [`Source::poll_action`] again.
    fn handle_delivered(&mut self, _now: Time, _connection: u32, _end: End, _bytes: u64) {}

    /// The application at `end` of a connection has received `bytes` in order on a stream of many since it began.
    /// Actions in response are due at once.
    fn handle_stream(&mut self, _now: Time, _connection: u32, _end: End, _stream: u32, _bytes: u64) {}

    /// Datagram `number`, counted from 0 in the order of the writes of the other end, has reached the application at
    /// `end`; it was written at `written`. Only where applications read datagrams, by their [`Needs`]. Actions in
    /// response are due at once.
    fn handle_datagram(&mut self, _now: Time, _connection: u32, _end: End, _number: u64, _written: Time) {}

    /// Returns the experience of its user until `now`, of traffic that has a measure of that. `lost`: packets with data
    /// from the server, and datagrams from the user, that the network lost.
    fn experience(&self, _now: Time, _lost: [u64; 2]) -> Option<Experience> {
        None
    }

    /// Returns the state of the application at `now`, for time series.
    fn sample(&self, _now: Time) -> AppSample {
        AppSample::NONE
    }
}
