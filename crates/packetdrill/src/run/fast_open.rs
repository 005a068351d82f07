//! The calls of a script that send data with a SYN.

use transport::PeerMemory;

use super::Runner;
use super::calls::Returned;
use super::sockets::{Role, Wait};
use super::stop::{Stop, fail};
use crate::host::Host;
use crate::script::{Call, Expr};

impl Runner {
    /// `sendto` with `MSG_FASTOPEN`, or the first write after a `connect` that only took note.
    pub(super) fn send_fast(&mut self, fd: i64, bytes: u64, at_once: bool) -> Result<Result<Wait, Returned>, Stop> {
        if !self.stack.fast_open.for_clients() {
            return Ok(Err((-1, Some("EOPNOTSUPP"))));
        }
        let now = self.clock.now;
        let socket = self.socket_mut(fd)?;
        socket.role = Role::Connected;
        let socket = socket.clone();
        let settings = self.stack_of(&socket).settings(true, true).map_err(Stop::Fail)?;
        let (mut host, first) = Host::fast(settings, now, self.memory(), bytes, at_once);
        socket.configure(&mut host, now);
        self.replace(host);
        self.accepted = true;
        let written = if at_once { first } else { bytes };
        self.socket_mut(fd)?.written += written;
        if at_once {
            return Ok(Err(if first > 0 { (first as i64, None) } else { (-1, Some("EINPROGRESS")) }));
        }
        Ok(Ok(Wait::Opened { total: bytes }))
    }

    /// `connect` with `TCP_FASTOPEN_CONNECT`: what it returns at once, if it does.
    pub(super) fn connect_fast(&mut self, call: &Call) -> Result<Option<Returned>, Stop> {
        let fd = self.descriptor(call)?;
        let socket = self.socket_mut(fd)?;
        if !socket.fast || socket.role != Role::Fresh {
            return Ok(None);
        }
        if !self.stack.fast_open.for_clients() {
            return Ok(None);
        }
        if self.memory().has_cookie() {
            self.socket_mut(fd)?.role = Role::Deferred;
            return Ok(Some((0, None)));
        }
        let nonblocking = self.socket_mut(fd)?.nonblocking;
        match self.send_fast(fd, 0, nonblocking)? {
            Err(returned) => Ok(Some(returned)),
            Ok(_) => Ok(None),
        }
    }

    /// What was learnt of the peer by the connection before.
    pub(super) fn memory(&self) -> PeerMemory {
        self.host.as_ref().and_then(Host::memory).unwrap_or(self.memory)
    }

    /// Another connection takes the place of the one before, which leaves what it has learnt.
    pub(super) fn replace(&mut self, host: Host) {
        self.memory = self.memory();
        self.host = Some(host);
        (self.accepted, self.reset, self.refused, self.told) = (false, false, false, false);
        self.peers_start = None;
        self.stamps = super::stamps::Stamps::default();
    }

    /// `TCP_FASTOPEN` with the length of a queue, or `TCP_FASTOPEN_CONNECT`.
    pub(super) fn set_fast(&mut self, fd: i64, on: bool) -> Result<(), Stop> {
        let socket = self.socket_mut(fd)?;
        socket.fast = on;
        match socket.role {
            Role::Listening => self.open_passively(),
            Role::Fresh => Ok(()),
            _ => fail("TCP_FASTOPEN of a connection"),
        }
    }

    /// `TCP_FASTOPEN_KEY`: 16 bytes.
    pub(super) fn set_fast_key(&mut self, call: &Call, fd: i64) -> Result<Returned, Stop> {
        let Some(Expr::Text(key)) = call.args.get(3) else { return fail("expected a text for TCP_FASTOPEN_KEY") };
        let bytes: Vec<u8> = key.chars().map(|byte| byte as u32 as u8).collect();
        let Ok(bytes) = <[u8; 16]>::try_from(bytes) else { return Ok((-1, Some("EINVAL"))) };
        let number = |at: usize| bytes[at..at + 8].iter().rev().fold(0_u64, |n, byte| (n << 8) | u64::from(*byte));
        self.stack.fast_open.key = (number(0), number(8));
        if self.socket_mut(fd)?.role == Role::Listening {
            self.open_passively()?;
        }
        Ok((0, None))
    }
}
