//! The system calls of a script's application.

use transport::State;
use units::Time;

use super::sockets::{Blocked, Role, Socket, Wait, WriteEnd};
use super::stop::{Stop, fail, skip};
use super::{Runner, Stack};
use crate::host::Host;
use crate::script::{Call, Event, Expr, Packet};

/// The return value of a call, and the name of the error.
pub(super) type Returned = (i64, Option<&'static str>);

/// O_RDWR and O_NONBLOCK as numbers.
const READ_WRITE: i64 = 0x2;
const NONBLOCK: i64 = 0x800;
/// Flags of `send`, `sendto` and `sendmsg`.
const WRITE_FLAGS: [&str; 6] = ["MSG_NOSIGNAL", "MSG_DONTWAIT", "MSG_MORE", "MSG_EOR", "MSG_FASTOPEN", "MSG_ZEROCOPY"];
/// MSG_FASTOPEN as a number.
const FASTOPEN: i64 = 0x2000_0000;

impl Runner {
    pub(super) fn call(&mut self, call: &Call, event: &Event) -> Result<(), Stop> {
        self.unblock()?;
        let wait = match call.name.as_str() {
            "socket" => return self.socket(call),
            "bind" => return returns(call, (0, None)),
            "listen" => return self.listen(call),
            "accept" | "accept4" => Wait::Accept { fd: if let Expr::Int(fd) = call.result { Some(fd) } else { None } },
            "connect" => {
                if let Some(returned) = self.connect_fast(call)? {
                    return returns(call, returned);
                }
                self.connect(call)?;
                Wait::Connect
            }
            "write" | "send" | "sendto" | "sendmsg" => match self.write(call)? {
                Ok(wait) => wait,
                Err(returned) => return returns(call, returned),
            },
            "read" | "recv" | "recvfrom" => {
                let fd = self.descriptor(call)?;
                Wait::Read { fd, most: number(call, 2)? as u64 }
            }
            "recvmsg" => match self.receive(call)? {
                Ok(wait) => wait,
                Err(returned) => return returns(call, returned),
            },
            "poll" => self.poll(call)?,
            "close" => return self.close(call),
            "shutdown" => return self.shutdown(call),
            "setsockopt" => return self.set_option(call),
            "getsockopt" => return self.option_value(call),
            "fcntl" => return self.control(call),
            "ioctl" => return self.inquire(call),
            name => return skip(format!("call {name}")),
        };
        self.wait_for(call, event, wait)
    }

    /// Returns at once if the call can; leaves it blocked if the script says that it blocks.
    fn wait_for(&mut self, call: &Call, event: &Event, mut wait: Wait) -> Result<(), Stop> {
        let now = self.clock.now;
        let range = call.until.map(|until| self.clock.end_of_call(now, event.when, until));
        match (self.try_wait(&mut wait)?, range) {
            (Some(returned), None) => returns(call, returned),
            (Some(returned), Some(range)) => {
                range.check(&format!("the return of {}", call.name), now)?;
                returns(call, returned)
            }
            (None, Some(range)) => {
                self.blocked = Some(Blocked { line: event.line, call: call.clone(), wait, range });
                Ok(())
            }
            (None, None) => {
                let returned = match wait {
                    Wait::Connect => (-1, Some("EINPROGRESS")),
                    Wait::Write { left, total, .. } if left < total => ((total - left) as i64, None),
                    _ => (-1, Some("EAGAIN")),
                };
                if !self.sockets.values().any(|socket| socket.nonblocking) {
                    return fail(format!("{} blocks, which the script does not expect", call.name));
                }
                returns(call, returned)
            }
        }
    }

    /// When the timeout of a blocked call expires.
    pub(super) fn call_timeout(&self) -> Option<Time> {
        match &self.blocked.as_ref()?.wait {
            Wait::Poll { until, .. } => until.filter(|at| *at > self.clock.now),
            _ => None,
        }
    }

    /// Lets a blocked call return if it can.
    pub(super) fn try_blocked(&mut self) -> Result<(), Stop> {
        let Some(mut blocked) = self.blocked.take() else { return Ok(()) };
        let Some(returned) = self.try_wait(&mut blocked.wait)? else {
            self.blocked = Some(blocked);
            return Ok(());
        };
        blocked.range.check(&format!("the return of {} (line {})", blocked.call.name, blocked.line), self.clock.now)?;
        returns(&blocked.call, returned)
    }

    /// Waits until no call is blocked.
    pub(super) fn unblock(&mut self) -> Result<(), Stop> {
        while let Some(blocked) = &self.blocked {
            let (latest, name, line) = (blocked.range.latest(), blocked.call.name.clone(), blocked.line);
            match self.next_wake(latest) {
                Some(next) => self.step(next, false)?,
                None => return fail(format!("{name} (line {line}) does not return until {}", blocked.range.text())),
            }
        }
        Ok(())
    }

    pub(super) fn try_wait(&mut self, wait: &mut Wait) -> Result<Option<Returned>, Stop> {
        let now = self.clock.now;
        let failed = self.failure().is_some();
        let state = self.host.as_ref().map(|host| host.info().state);
        let open = self.host.as_ref().is_some_and(Host::is_open);
        match wait {
            Wait::Opened { .. } if failed => Ok(Some((-1, self.take_failure()))),
            Wait::Opened { total } if open => Ok(Some((*total as i64, None))),
            Wait::Opened { .. } => Ok(None),
            Wait::Accept { fd } if open && !self.accepted => {
                self.accepted = true;
                let fd = self.accept(*fd);
                Ok(Some((fd, None)))
            }
            Wait::Accept { .. } => Ok(None),
            Wait::Connect if failed => Ok(Some((-1, self.take_failure()))),
            Wait::Connect => Ok(open.then_some((0, None))),
            Wait::Read { fd, most } => {
                let socket = self.sockets.get(fd).cloned().unwrap_or_default();
                let Some(host) = self.host.as_mut() else { return Ok(Some((-1, Some("ENOTCONN")))) };
                if host.readable() > 0 {
                    return Ok(Some((host.read(now, *most) as i64, None)));
                }
                if let Some(failure) = self.take_failure() {
                    return Ok(Some((-1, Some(failure))));
                }
                Ok((peer_finished(state) || socket.no_more_reads).then_some((0, None)))
            }
            Wait::Receive { fd, most, after } => self.try_receive(*fd, *most, *after),
            Wait::Write { fd, left, total, end } => {
                if failed {
                    return Ok(Some((-1, Some(self.take_failure().unwrap_or("EPIPE")))));
                }
                let Some(host) = self.host.as_mut() else { return Ok(Some((-1, Some("EPIPE")))) };
                if !open {
                    return Ok(None);
                }
                let Some(socket) = self.sockets.get_mut(fd) else { return Ok(Some((-1, Some("EBADF")))) };
                let waiting = socket.written.saturating_sub(host.acknowledged());
                let room = socket.send_buffer.map_or(u64::MAX, |buffer| buffer.saturating_sub(waiting));
                let taken = room.min(*left);
                if taken > 0 {
                    socket.written += taken;
                    *left -= taken;
                    match end {
                        WriteEnd::More => host.write_more(now, taken),
                        WriteEnd::Record if *left == 0 => host.write_record(now, taken),
                        _ => host.write(now, taken),
                    }
                }
                Ok((*left == 0).then_some((*total as i64, None)))
            }
            Wait::Poll { fd, asked, expected, until } => {
                let (fd, asked, expected, until) = (*fd, asked.clone(), expected.clone(), *until);
                let ready: Vec<String> = self.ready(fd).into_iter().filter(|event| asked.contains(event)).collect();
                if ready.is_empty() {
                    return Ok(until.is_some_and(|until| until <= now).then_some((0, None)));
                }
                match expected {
                    Some(expected) if !is_permutation(&expected, &ready) => {
                        fail(format!("expected the events {}, found {}", expected.join("|"), ready.join("|")))
                    }
                    _ => Ok(Some((1, None))),
                }
            }
        }
    }

    /// The events of `poll` for a descriptor, in the order of their names.
    fn ready(&self, fd: i64) -> Vec<String> {
        let socket = self.sockets.get(&fd).cloned().unwrap_or_default();
        if socket.role == Role::Deferred {
            return vec!["POLLOUT".into()]; // what is written opens it
        }
        let Some(host) = &self.host else { return Vec::new() };
        let state = host.info().state;
        let open = host.is_open();
        let events = if socket.role == Role::Listening {
            vec![("POLLIN", open && !self.accepted)]
        } else {
            let finished = peer_finished(Some(state));
            let room =
                socket.send_buffer.is_none_or(|buffer| socket.written.saturating_sub(host.acknowledged()) < buffer);
            vec![
                ("POLLIN", host.readable() > 0 || finished),
                ("POLLOUT", open && room || self.failure().is_some()),
                ("POLLERR", self.failure().is_some()),
                ("POLLHUP", self.failure().is_some() || state == State::Closed),
                ("POLLRDHUP", finished),
            ]
        };
        events.into_iter().filter(|(_, ready)| *ready).map(|(name, _)| name.to_owned()).collect()
    }

    /// A new descriptor for the accepted connection, with the options of the listening socket. A script may give it
    /// any number that is not the socket's which listens.
    fn accept(&mut self, named: Option<i64>) -> i64 {
        let listens = |fd: &i64| self.sockets.get(fd).is_some_and(|socket| socket.role == Role::Listening);
        let named = named.filter(|fd| *fd > 2 && !listens(fd));
        let fd = named.or_else(|| (3..).find(|fd| !self.sockets.contains_key(fd))).unwrap_or(3);
        let listener = self.listener().cloned().unwrap_or_default();
        self.sockets.insert(fd, Socket { role: Role::Connected, nonblocking: false, ..listener });
        fd
    }

    fn listener(&self) -> Option<&Socket> {
        self.sockets.values().find(|socket| socket.role == Role::Listening)
    }

    /// The error with which the connection failed.
    fn failure(&self) -> Option<&'static str> {
        let timed_out = self.host.as_ref().is_some_and(Host::timed_out);
        match (self.reset, timed_out) {
            (true, _) if self.refused => Some("ECONNREFUSED"),
            (true, _) => Some("ECONNRESET"),
            (_, true) => Some("ETIMEDOUT"),
            _ => None,
        }
    }

    /// The same, unless it was returned before.
    pub(super) fn take_failure(&mut self) -> Option<&'static str> {
        let failure = self.failure().filter(|_| !self.told);
        self.told |= failure.is_some();
        failure
    }

    fn socket(&mut self, call: &Call) -> Result<(), Stop> {
        if call
            .args
            .iter()
            .any(|arg| matches!(arg, Expr::Symbols(names) if names.iter().any(|name| name == "SOCK_DGRAM")))
        {
            return skip("datagram socket");
        }
        let Expr::Int(fd) = call.result else {
            return fail("expected the number of a descriptor as the result of socket");
        };
        self.sockets.insert(fd, Socket::default());
        Ok(())
    }

    fn listen(&mut self, call: &Call) -> Result<(), Stop> {
        let fd = self.descriptor(call)?;
        self.socket_mut(fd)?.role = Role::Listening;
        self.open_passively()?;
        returns(call, (0, None))
    }

    pub(super) fn open_passively(&mut self) -> Result<(), Stop> {
        let socket = self.listener().cloned().unwrap_or_default();
        let fast = self.stack.fast_open.for_server(socket.fast);
        let settings = self.stack_of(&socket).settings(false, fast).map_err(Stop::Fail)?;
        let mut host = Host::passive(settings);
        host.give(self.cookies.of_peer(self.stack.fast_open.key));
        socket.configure(&mut host, self.clock.now);
        self.replace(host);
        Ok(())
    }

    pub(super) fn stack_of(&self, socket: &Socket) -> Stack {
        socket.max_segment.map_or_else(|| self.stack.clone(), |bytes| self.stack.with_segments(bytes))
    }

    /// After the connection is closed, a SYN opens another one.
    pub(super) fn listen_again(&mut self, packet: &Packet) -> Result<(), Stop> {
        let over = self.host.as_ref().is_some_and(|host| host.info().state == State::Closed);
        let listening = self.sockets.values().any(|socket| socket.role == Role::Listening);
        if over && listening && packet.flags.syn && !packet.flags.ack {
            self.open_passively()?;
        }
        Ok(())
    }

    /// Sends a SYN, unless one was sent.
    fn connect(&mut self, call: &Call) -> Result<(), Stop> {
        let fd = self.descriptor(call)?;
        let now = self.clock.now;
        let socket = self.socket_mut(fd)?;
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

    fn write(&mut self, call: &Call) -> Result<Result<Wait, Returned>, Stop> {
        let fd = self.descriptor(call)?;
        let (total, flags) = match call.name.as_str() {
            "sendmsg" if has_control(call) => return skip("msg_control"),
            "sendmsg" => (message_bytes(call)?, call.args.get(2)),
            _ => (number(call, 2)?, call.args.get(3)),
        };
        let mut opens = matches!(flags, Some(Expr::Int(bits)) if bits & FASTOPEN != 0);
        let flags = if let Some(Expr::Symbols(flags)) = flags { flags.as_slice() } else { &[] };
        opens |= flags.iter().any(|flag| flag == "MSG_FASTOPEN");
        if let Some(flag) = flags.iter().find(|flag| !WRITE_FLAGS.contains(&flag.as_str())) {
            return skip(format!("flag {flag}"));
        }
        if matches!(call.args.get(1), Some(Expr::Symbols(names)) if names == &["NULL"]) {
            return Ok(Err((-1, Some("EFAULT"))));
        }
        let socket = self.socket_mut(fd)?;
        if socket.no_more_writes || socket.role == Role::Closed {
            return Ok(Err((-1, Some("EPIPE"))));
        }
        let total = u64::try_from(total).map_err(|_| Stop::Fail(format!("expected bytes to write, found {total}")))?;
        let has = |name: &str| flags.iter().any(|flag| flag == name);
        let end = match (has("MSG_MORE"), has("MSG_EOR")) {
            (_, true) => WriteEnd::Record,
            (true, _) => WriteEnd::More,
            _ => WriteEnd::Nothing,
        };
        let uncopied = socket.zero_copy && has("MSG_ZEROCOPY");
        let at_once = socket.nonblocking || flags.iter().any(|flag| flag == "MSG_DONTWAIT");
        if uncopied && (opens || socket.role == Role::Connected) {
            socket.uncopied.push(socket.written + total);
        }
        let role = socket.role;
        let opening = self.host.as_ref().is_some_and(|host| host.info().state == State::SynSent);
        match role {
            Role::Fresh if opens => return self.send_fast(fd, total, at_once),
            Role::Deferred => return self.send_fast(fd, total, at_once),
            Role::Connected if opens && opening => return Ok(Err((-1, Some("EALREADY")))),
            Role::Connected if at_once && opening => return Ok(Err((-1, Some("EAGAIN")))),
            _ => {}
        }
        Ok(Ok(Wait::Write { fd, left: total, total, end }))
    }

    fn poll(&mut self, call: &Call) -> Result<Wait, Stop> {
        let Some(Expr::List(list)) = call.args.first() else { return fail("expected a list of descriptors in poll") };
        let [Expr::Struct(members)] = list.as_slice() else { return skip("poll of several descriptors") };
        let names = |member: &str| {
            members.iter().find(|(name, _)| name == member).map(|(_, value)| match value {
                Expr::Symbols(names) => names.clone(),
                _ => Vec::new(),
            })
        };
        let Some((_, Expr::Int(fd))) = members.iter().find(|(name, _)| name == "fd") else {
            return fail("expected a member fd in poll");
        };
        let asked = names("events").unwrap_or_default();
        let expected = names("revents").filter(|names| !names.is_empty());
        let timeout = number(call, 2)?;
        let until = u64::try_from(timeout).ok().map(|ms| self.clock.now + units::Duration::from_millis(ms));
        Ok(Wait::Poll { fd: *fd, asked, expected, until })
    }

    fn close(&mut self, call: &Call) -> Result<(), Stop> {
        let fd = self.descriptor(call)?;
        let now = self.clock.now;
        let socket = self.socket_mut(fd)?;
        let (connected, resets) = (socket.role == Role::Connected, socket.resets);
        let listening = socket.role == Role::Listening;
        socket.role = Role::Closed;
        socket.no_more_writes = true;
        let waits = listening && !self.accepted && self.host.as_ref().is_some_and(Host::is_open);
        match &mut self.host {
            Some(host) if connected && resets || waits => host.abort(now),
            Some(host) if connected => host.abandon(now),
            _ => {}
        }
        returns(call, (0, None))
    }

    fn shutdown(&mut self, call: &Call) -> Result<(), Stop> {
        let fd = self.descriptor(call)?;
        let now = self.clock.now;
        let (read, write) = match symbol(call, 1)? {
            "SHUT_RD" => (true, false),
            "SHUT_WR" => (false, true),
            "SHUT_RDWR" => (true, true),
            other => return fail(format!("expected SHUT_RD, SHUT_WR or SHUT_RDWR, found {other}")),
        };
        let socket = self.socket_mut(fd)?;
        socket.no_more_reads |= read;
        let finish = write && !socket.no_more_writes;
        socket.no_more_writes |= write;
        if finish && let Some(host) = &mut self.host {
            host.close(now);
        }
        returns(call, (0, None))
    }

    fn control(&mut self, call: &Call) -> Result<(), Stop> {
        let fd = self.descriptor(call)?;
        let command = symbol(call, 1)?.to_owned();
        let flags = match call.args.get(2) {
            Some(Expr::Symbols(names)) => Some(names.iter().any(|name| name == "O_NONBLOCK")),
            Some(Expr::Int(number)) => Some(number & NONBLOCK != 0),
            _ => None,
        };
        let socket = self.socket_mut(fd)?;
        match (command.as_str(), flags) {
            ("F_SETFL", Some(nonblocking)) => socket.nonblocking = nonblocking,
            ("F_GETFL", _) => {
                let flags = READ_WRITE | if socket.nonblocking { NONBLOCK } else { 0 };
                return returns(call, (flags, None));
            }
            _ => return skip(format!("fcntl {command}")),
        }
        returns(call, (0, None))
    }

    fn inquire(&mut self, call: &Call) -> Result<(), Stop> {
        let fd = self.descriptor(call)?;
        let what = symbol(call, 1)?.to_owned();
        let expected = listed(call, 2)?;
        let written = self.socket_mut(fd)?.written;
        let Some(host) = &self.host else { return fail("ioctl without a connection") };
        let value = match what.as_str() {
            "SIOCINQ" | "FIONREAD" => host.readable() as i64,
            "SIOCOUTQ" => written.saturating_sub(host.acknowledged()) as i64,
            other => return skip(format!("ioctl {other}")),
        };
        if value != expected {
            return fail(format!("expected {what} {expected}, found {value}"));
        }
        returns(call, (0, None))
    }

    pub(super) fn descriptor(&self, call: &Call) -> Result<i64, Stop> {
        match call.args.first() {
            Some(Expr::Int(fd)) if self.sockets.contains_key(fd) => Ok(*fd),
            Some(Expr::Int(fd)) => fail(format!("{} of the descriptor {fd}, which is not open", call.name)),
            _ => fail(format!("expected a descriptor as the first argument of {}", call.name)),
        }
    }

    pub(super) fn socket_mut(&mut self, fd: i64) -> Result<&mut Socket, Stop> {
        self.sockets.get_mut(&fd).ok_or_else(|| Stop::Fail(format!("the descriptor {fd} is not open")))
    }
}

fn is_permutation(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().all(|name| other.contains(name))
}

/// Whether the peer has sent its FIN.
pub(super) fn peer_finished(state: Option<State>) -> bool {
    matches!(state, Some(State::CloseWait | State::Closing | State::LastAck | State::Closed))
}

/// Compares the return value of a call with the script's.
pub(super) fn returns(call: &Call, (result, error): Returned) -> Result<(), Stop> {
    let found = match error {
        Some(error) => format!("{result} {error}"),
        None => result.to_string(),
    };
    let right = match call.result {
        Expr::Whatever => true,
        Expr::Int(expected) => expected == result && (call.errno.is_none() || call.errno.as_deref() == error),
        _ => return fail(format!("expected a number as the result of {}", call.name)),
    };
    if right {
        return Ok(());
    }
    let expected = match (&call.result, &call.errno) {
        (Expr::Int(number), Some(error)) => format!("{number} {error}"),
        (Expr::Int(number), None) => number.to_string(),
        _ => "a number".into(),
    };
    fail(format!("expected {} to return {expected}, it returned {found}", call.name))
}

/// Whether a message says something beside its data.
fn has_control(call: &Call) -> bool {
    let Some(Expr::Struct(members)) = call.args.get(1) else { return false };
    members.iter().any(|(name, _)| name == "msg_control")
}

/// Bytes of all parts of the message of `sendmsg`.
pub(super) fn message_bytes(call: &Call) -> Result<i64, Stop> {
    let Some(Expr::Struct(members)) = call.args.get(1) else { return fail("expected a message in sendmsg") };
    let parts = members.iter().find(|(name, _)| name == "msg_iov");
    let Some((_, Expr::List(parts))) = parts else { return fail("expected a list msg_iov in sendmsg") };
    let bytes = |part: &Expr| match part {
        Expr::Struct(part) => match part.as_slice() {
            [_, (_, Expr::Int(bytes))] => Some(*bytes),
            _ => None,
        },
        _ => None,
    };
    let total = parts.iter().try_fold(0_i64, |total, part| total.checked_add(bytes(part)?));
    total.map_or_else(|| fail("expected parts {data, bytes} in msg_iov"), Ok)
}

fn number(call: &Call, at: usize) -> Result<i64, Stop> {
    match call.args.get(at) {
        Some(Expr::Int(number)) => Ok(*number),
        _ => fail(format!("expected a number as argument {} of {}", at + 1, call.name)),
    }
}

/// The number of a member.
pub(super) fn number_in(members: &[(String, Expr)], name: &str) -> Result<i64, Stop> {
    match members.iter().find(|(member, _)| member == name) {
        Some((_, Expr::Int(number))) => Ok(*number),
        _ => fail(format!("expected a number {name}")),
    }
}

pub(super) fn symbol(call: &Call, at: usize) -> Result<&str, Stop> {
    match call.args.get(at) {
        Some(Expr::Symbols(names)) if names.len() == 1 => Ok(&names[0]),
        _ => fail(format!("expected a symbol as argument {} of {}", at + 1, call.name)),
    }
}

/// The number in `[number]`, or the number alone.
pub(super) fn listed(call: &Call, at: usize) -> Result<i64, Stop> {
    let Some(Expr::List(list)) = call.args.get(at) else { return number(call, at) };
    match list.as_slice() {
        [Expr::Int(number)] => Ok(*number),
        _ => fail(format!("expected one number in argument {} of {}", at + 1, call.name)),
    }
}
