//! The sockets of a script's application, and a call that waits for one.

use std::collections::BTreeMap;

use units::{Duration, Time};

use super::clock::TimeRange;
use super::stop::{Stop, fail};
use crate::host::Host;
use crate::script::{Call, Expr};

/// The descriptors of the application.
#[derive(Default)]
pub(super) struct Sockets {
    pub open: BTreeMap<i64, Socket>,
}

impl Sockets {
    /// The descriptor on which a call acts.
    pub fn descriptor(&self, call: &Call) -> Result<i64, Stop> {
        match call.args.first() {
            Some(Expr::Int(fd)) if self.open.contains_key(fd) => Ok(*fd),
            Some(Expr::Int(fd)) => fail(format!("{} of the descriptor {fd}, which is not open", call.name)),
            _ => fail(format!("expected a descriptor as the first argument of {}", call.name)),
        }
    }

    /// The socket of an open descriptor.
    pub fn at(&mut self, fd: i64) -> Result<&mut Socket, Stop> {
        self.open.get_mut(&fd).ok_or_else(|| Stop::Fail(format!("the descriptor {fd} is not open")))
    }

    /// The socket that listens.
    pub fn listener(&self) -> Option<&Socket> {
        self.open.values().find(|socket| socket.role == Role::Listening)
    }

    /// A new descriptor for the accepted connection, with the options of the listening socket. A script may give it
    /// any number that is not the socket's which listens.
    pub fn accept(&mut self, named: Option<i64>) -> i64 {
        let listens = |fd: &i64| self.open.get(fd).is_some_and(|socket| socket.role == Role::Listening);
        let named = named.filter(|fd| *fd > 2 && !listens(fd));
        let fd = named.or_else(|| (3..).find(|fd| !self.open.contains_key(fd))).unwrap_or(3);
        let listener = self.listener().cloned().unwrap_or_default();
        self.open.insert(fd, Socket { role: Role::Connected, nonblocking: false, ..listener });
        fd
    }
}

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
    /// `TCP_INQ`: a read returns the bytes left beside the data.
    pub tells_left: bool,
    /// `SO_ZEROCOPY`; the ends of data sent without a copy whose completion was not reported yet, and the number
    /// reported.
    pub zero_copy: bool,
    pub uncopied: Vec<u64>,
    pub freed: i64,
}

impl Socket {
    /// Applies the options that were set before there was a connection.
    pub fn configure(&self, host: &mut Host, now: Time) {
        if let Some(on) = self.nodelay {
            host.set_nagle(now, !on);
        }
        host.set_cork(now, self.cork);
        host.set_user_timeout(self.user_timeout);
    }
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

/// A system call of the script that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Blocked {
    pub line: u32,
    pub call: Call,
    pub wait: Wait,
    pub range: TimeRange,
}

/// The end of a call's data.
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
