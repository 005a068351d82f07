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
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Fresh,
    Listening,
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

/// The event for which a call waits.
#[derive(Clone, Debug)]
pub(super) enum Wait {
    Accept,
    Connect,
    Read { fd: i64, most: u64 },
    Write { fd: i64, left: u64, total: u64, more: bool },
    Poll { fd: i64, asked: Vec<String>, expected: Option<Vec<String>>, until: Option<Time> },
}
