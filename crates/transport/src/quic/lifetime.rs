//! The life of a flow's connections: how they end before their application does, and where they go.

use std::collections::BTreeMap;
use std::fmt;

use units::{Duration, Time};

/// The connections of a flow one after the other, as one end has seen them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lifetime {
    /// The first connection that ended before its application did.
    pub ended: Option<Ended>,
    /// The number of connections that ended, without those that timed out when their application was done.
    pub ends: u64,
    /// The last connection has ended so, and something was left to send or to arrive.
    pub is_cut_off: bool,
    /// Connections that the application opened after one had ended.
    pub reopened: u64,
    /// When the last of the reopened connections was opened.
    pub(super) reopened_at: Option<Time>,
    /// From the opening of each to the first data that arrived at the end that opened it, all together.
    pub resumption: Duration,
    /// How many of the reopened connections have had data.
    pub resumptions: u64,
    /// Addresses of the other end that this end has validated after a change (RFC 9000 section 9.3).
    pub migrations: u64,
}

/// The end of a connection, by its library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When this end knew.
    pub at: Time,
    /// Why.
    pub cause: EndCause,
    /// The end of the connection in the library's words.
    pub words: String,
    /// Whether the other end said that the connection is over.
    pub by_peer: bool,
}

/// Why a connection ended. Displayed as the word that summaries have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// Nothing arrived for the idle time-out.
    IdleTimeout,
    /// The client has opened another before this end knew that the last is over.
    Replaced,
    /// An application closed the connection.
    Closed,
    /// The other end knows nothing of it (RFC 9000 section 10.3).
    StatelessReset,
    /// The other end speaks no version of QUIC in common.
    VersionMismatch,
    /// No identifiers of connections were left.
    NoIdentifiers,
    /// The library's own limits.
    InternalError,
    /// Another error of RFC 9000 section 20.1, as `flow-control-error`.
    Error(String),
}

impl fmt::Display for EndCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EndCause::IdleTimeout => "idle-timeout",
            EndCause::Replaced => "replaced",
            EndCause::Closed => "closed",
            EndCause::StatelessReset => "stateless-reset",
            EndCause::VersionMismatch => "version-mismatch",
            EndCause::NoIdentifiers => "no-identifiers",
            EndCause::InternalError => "internal-error",
            EndCause::Error(code) => code,
        })
    }
}

impl Lifetime {
    /// Returns the end of a connection that was known first, at either end.
    pub fn first_end(ends: [&Lifetime; 2]) -> Option<&Ended> {
        ends.into_iter().filter_map(|end| end.ended.as_ref()).min_by_key(|ended| ended.at)
    }
}

#[cfg(not(target_family = "wasm"))]
impl Lifetime {
    /// A connection ends; `is_before_time`: the application was not done. Where it was, an idle time-out is how every
    /// connection ends. `is_cut_off`: something is left that nobody goes on with.
    pub(super) fn end(&mut self, ended: Ended, is_before_time: bool, is_cut_off: bool) {
        self.is_cut_off = is_cut_off;
        if is_before_time || ended.cause != EndCause::IdleTimeout {
            self.ends += 1;
            self.ended.get_or_insert(ended);
        }
    }

    /// The application opens another.
    pub(super) fn reopen(&mut self, now: Time) {
        self.reopened += 1;
        self.is_cut_off = false;
        self.reopened_at = Some(now);
    }

    /// Data arrive.
    pub(super) fn resume(&mut self, now: Time) {
        if let Some(at) = self.reopened_at.take() {
            self.resumption += now.since(at);
            self.resumptions += 1;
        }
    }
}

/// The client's request with a connection that it opens after one has ended: which streams go on, and where. Streams
/// are named by their identifiers in the first connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// The number of the connection; the first has 0, and no request.
    pub connection: u32,
    /// The streams that are opened first, in this order: they carry on one each.
    pub(super) carried: Vec<u64>,
    /// The next stream that is a new one.
    pub(super) next: u64,
    /// By stream, the bytes that have arrived in order at the client: the server sends the rest.
    pub(super) has: BTreeMap<u64, u64>,
    /// By stream, the offset from which the client sends, if not from its beginning.
    pub(super) from: BTreeMap<u64, u64>,
}

#[cfg(not(target_family = "wasm"))]
impl Resume {
    /// The stream that `id` stands for in this connection. One that the server opens is the first.
    pub(super) fn stream(&self, id: u64) -> u64 {
        if id & 1 == 1 {
            return 0;
        }
        let index = id / 4;
        let beyond = || self.next + 4 * (index - self.carried.len() as u64);
        self.carried.get(index as usize).copied().unwrap_or_else(beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_keep_their_names_over_connections() {
        let first = Resume::default();
        assert_eq!([0, 1, 4, 8].map(|id| first.stream(id)), [0, 0, 4, 8]);
        let second = Resume { carried: vec![8, 16], next: 20, ..Resume::default() };
        assert_eq!([0, 4, 8, 12].map(|id| second.stream(id)), [8, 16, 20, 24]);
    }
}
