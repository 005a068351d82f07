//! A script's connections are opened: for a SYN, by a SYN, or by data that go with one.

use transport::{PeerMemory, State};

use super::arguments::Returned;
use super::failure::Failure;
use super::sockets::{Role, Socket, Wait};
use super::stamps::Stamps;
use super::stop::{Stop, fail};
use super::{Runner, Stack};
use crate::host::Host;
use crate::script::{Call, Expr, Packet};

impl Runner {
    /// A socket listens: a connection waits for a SYN.
    pub(super) fn open_passively(&mut self) -> Result<(), Stop> {
        let socket = self.sockets.listener().cloned().unwrap_or_default();
        let fast = self.stack.fast_open.for_server(socket.fast);
        let settings = self.stack_of(&socket).settings(false, fast).map_err(Stop::Fail)?;
        let mut host = Host::passive(settings);
        host.give(self.cookies.of_peer(self.stack.fast_open.key));
        socket.configure(&mut host, self.clock.now);
        self.replace(host);
        Ok(())
    }

    fn stack_of(&self, socket: &Socket) -> Stack {
        socket.max_segment.map_or_else(|| self.stack.clone(), |bytes| self.stack.with_segments(bytes))
    }

    /// After the connection is closed, a SYN opens another one.
    pub(super) fn listen_again(&mut self, packet: &Packet) -> Result<(), Stop> {
        let over = self.host.as_ref().is_some_and(|host| host.info().state == State::Closed);
        let listening = self.sockets.listener().is_some();
        if over && listening && packet.flags.syn && !packet.flags.ack {
            self.open_passively()?;
        }
        Ok(())
    }

    /// Sends a SYN, unless one was sent.
    pub(super) fn connect(&mut self, call: &Call) -> Result<(), Stop> {
        let fd = self.sockets.descriptor(call)?;
        let now = self.clock.now;
        let socket = self.sockets.at(fd)?;
        if socket.role == Role::Connected {
            return Ok(());
        }
        socket.role = Role::Connected;
        let socket = socket.clone();
        let settings = self.stack_of(&socket).settings(true, false).map_err(Stop::Fail)?;
        let mut host = Host::active(settings, now);
        socket.configure(&mut host, now);
        self.replace(host);
        self.accepted = true;
        Ok(())
    }

    /// `sendto` with `MSG_FASTOPEN`, or the first write after a `connect` that only took note.
    pub(super) fn send_fast(&mut self, fd: i64, bytes: u64, at_once: bool) -> Result<Result<Wait, Returned>, Stop> {
        if !self.stack.fast_open.for_clients() {
            return Ok(Err((-1, Some("EOPNOTSUPP"))));
        }
        let now = self.clock.now;
        let socket = self.sockets.at(fd)?;
        socket.role = Role::Connected;
        let socket = socket.clone();
        let settings = self.stack_of(&socket).settings(true, true).map_err(Stop::Fail)?;
        let (mut host, first) = Host::fast(settings, now, self.memory(), bytes, at_once);
        socket.configure(&mut host, now);
        self.replace(host);
        self.accepted = true;
        let written = if at_once { first } else { bytes };
        self.sockets.at(fd)?.written += written;
        if at_once {
            return Ok(Err(if first > 0 { (first as i64, None) } else { (-1, Some("EINPROGRESS")) }));
        }
        Ok(Ok(Wait::Opened { total: bytes }))
    }

    /// `connect` with `TCP_FASTOPEN_CONNECT`: what it returns at once, if it does.
    pub(super) fn connect_fast(&mut self, call: &Call) -> Result<Option<Returned>, Stop> {
        let fd = self.sockets.descriptor(call)?;
        let socket = self.sockets.at(fd)?;
        if !socket.fast || socket.role != Role::Fresh {
            return Ok(None);
        }
        if !self.stack.fast_open.for_clients() {
            return Ok(None);
        }
        if self.memory().has_cookie() {
            self.sockets.at(fd)?.role = Role::Deferred;
            return Ok(Some((0, None)));
        }
        let nonblocking = self.sockets.at(fd)?.nonblocking;
        match self.send_fast(fd, 0, nonblocking)? {
            Err(returned) => Ok(Some(returned)),
            Ok(_) => Ok(None),
        }
    }

    /// `TCP_FASTOPEN` with the length of a queue, or `TCP_FASTOPEN_CONNECT`.
    pub(super) fn set_fast(&mut self, fd: i64, on: bool) -> Result<(), Stop> {
        let socket = self.sockets.at(fd)?;
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
        if self.sockets.at(fd)?.role == Role::Listening {
            self.open_passively()?;
        }
        Ok((0, None))
    }

    /// Returns the memory of the peer that the connection before has left.
    fn memory(&self) -> PeerMemory {
        self.host.as_ref().and_then(Host::memory).unwrap_or(self.memory)
    }

    /// Another connection takes the place of the one before, which leaves what it has learnt.
    fn replace(&mut self, host: Host) {
        self.memory = self.memory();
        self.host = Some(host);
        self.accepted = false;
        self.failure = Failure::default();
        self.peers_start = None;
        self.stamps = Stamps::default();
    }
}
