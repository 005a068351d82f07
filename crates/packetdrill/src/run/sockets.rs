//! The sockets of a script's application, and a call that waits for one.

use units::{Duration, Time};

use super::clock::TimeRange;
use crate::script::Call;

/// A file descriptor.
#[derive(Clone, Debug, Default)]
pub(super) struct Socket {
    pub role: Role,
    pub nonblocking: bool,
    /// `TCP_NODELAY`, if set.
    pub nodelay: Option<bool>,
    /// `TCP_CORK`
    pub cork: bool,
    /// `TCP_USER_TIMEOUT`
    pub user_timeout: Option<Duration>,
    /// `SO_LINGER` with a timeout of 0: closing resets the connection.
    pub resets: bool,
    /// `TCP_MAXSEG`
    pub max_segment: Option<i64>,
    /// `SO_SNDBUF`, doubled as the kernel stores it.
    pub send_buffer: Option<u64>,
    pub written: u64,
    pub no_more_writes: bool,
    pub no_more_reads: bool,
    /// `TCP_FASTOPEN` of a socket that listens, `TCP_FASTOPEN_CONNECT` of one that does not.
    pub fast: bool,
    /// `TCP_INQ`: what is left to read is told with what is read.
    pub tells_left: bool,
    /// `SO_ZEROCOPY`; the ends of what was sent without a copy and not told of yet, and how many were told of.
    pub zero_copy: bool,
    pub uncopied: Vec<u64>,
    pub freed: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Fresh,
    Listening,
    /// `connect` has returned, and the SYN goes with what is written first.
    Deferred,
    Connected,
    Closed,
}

/// A call that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Blocked {
    pub line: u32,
    pub call: Call,
    pub wait: Wait,
    pub range: TimeRange,
}

/// What follows the data of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteEnd {
    Nothing,
    /// More data (`MSG_MORE`).
    More,
    /// Another record (`MSG_EOR`).
    Record,
}

/// The event for which a call waits.
#[derive(Clone, Debug)]
pub(super) enum Wait {
    /// The script's name of the new descriptor.
    Accept {
        fd: Option<i64>,
    },
    Connect,
    /// Written before the connection is open.
    Opened {
        total: u64,
    },
    Read {
        fd: i64,
        most: u64,
    },
    /// `recvmsg`; `after` is what must be left to read then.
    Receive {
        fd: i64,
        most: u64,
        after: Option<i64>,
    },
    Write {
        fd: i64,
        left: u64,
        total: u64,
        end: WriteEnd,
    },
    Poll {
        fd: i64,
        asked: Vec<String>,
        expected: Option<Vec<String>>,
        until: Option<Time>,
    },
}
