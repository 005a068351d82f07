//! The system calls of a script's application.

use transport::State;

use super::Runner;
use super::arguments::{Returned, has_control, listed, message_bytes, number, returns, symbol};
use super::sockets::{Blocked, Role, Socket, Wait, WriteEnd};
use super::stop::{Stop, fail, skip};
use crate::host::Host;
use crate::script::{Call, Event, Expr};

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
                let fd = self.sockets.descriptor(call)?;
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
                if !self.sockets.open.values().any(|socket| socket.nonblocking) {
                    return fail(format!("{} blocks, which the script does not expect", call.name));
                }
                returns(call, returned)
            }
        }
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
        self.sockets.open.insert(fd, Socket::default());
        Ok(())
    }

    fn listen(&mut self, call: &Call) -> Result<(), Stop> {
        let fd = self.sockets.descriptor(call)?;
        self.sockets.at(fd)?.role = Role::Listening;
        self.open_passively()?;
        returns(call, (0, None))
    }

    fn write(&mut self, call: &Call) -> Result<Result<Wait, Returned>, Stop> {
        let fd = self.sockets.descriptor(call)?;
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
        let socket = self.sockets.at(fd)?;
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
        let fd = self.sockets.descriptor(call)?;
        let now = self.clock.now;
        let socket = self.sockets.at(fd)?;
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
        let fd = self.sockets.descriptor(call)?;
        let now = self.clock.now;
        let (read, write) = match symbol(call, 1)? {
            "SHUT_RD" => (true, false),
            "SHUT_WR" => (false, true),
            "SHUT_RDWR" => (true, true),
            other => return fail(format!("expected SHUT_RD, SHUT_WR or SHUT_RDWR, found {other}")),
        };
        let socket = self.sockets.at(fd)?;
        socket.no_more_reads |= read;
        let finish = write && !socket.no_more_writes;
        socket.no_more_writes |= write;
        if finish && let Some(host) = &mut self.host {
            host.close(now);
        }
        returns(call, (0, None))
    }

    fn control(&mut self, call: &Call) -> Result<(), Stop> {
        let fd = self.sockets.descriptor(call)?;
        let command = symbol(call, 1)?.to_owned();
        let flags = match call.args.get(2) {
            Some(Expr::Symbols(names)) => Some(names.iter().any(|name| name == "O_NONBLOCK")),
            Some(Expr::Int(number)) => Some(number & NONBLOCK != 0),
            _ => None,
        };
        let socket = self.sockets.at(fd)?;
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
        let fd = self.sockets.descriptor(call)?;
        let what = symbol(call, 1)?.to_owned();
        let expected = listed(call, 2)?;
        let written = self.sockets.at(fd)?.written;
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
}
