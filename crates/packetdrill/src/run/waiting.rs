//! Time passes: the connection is woken, and calls return when they can.

use transport::State;
use units::Time;

use super::Runner;
use super::arguments::{Returned, returns};
use super::sockets::{Role, Wait, WriteEnd};
use super::stop::{Stop, fail};
use crate::host::{Host, Sent};

impl Runner {
    /// Advances time to `until`.
    pub(super) fn advance(&mut self, until: Time) -> Result<(), Stop> {
        while let Some(next) = self.next_wake(until) {
            self.step(next, false)?;
        }
        self.clock.now = self.clock.now.max(until);
        Ok(())
    }

    /// Wakes the connection up to `until`, or until it has sent a segment, and lets a blocked call return.
    fn step(&mut self, until: Time, stop_at_sent: bool) -> Result<(), Stop> {
        let mut at = until.max(self.clock.now);
        if let Some(host) = &mut self.host {
            host.advance(self.clock.now, until, stop_at_sent)?;
            if let Some(sent) = host.peek_sent().filter(|_| stop_at_sent) {
                at = sent.at.max(self.clock.now);
            }
        }
        self.clock.now = at;
        self.try_blocked()
    }

    /// The next segment that the connection sends, not later than `until`, without removing it.
    pub(super) fn await_sent(&mut self, until: Time) -> Result<Option<Sent>, Stop> {
        loop {
            let Some(host) = &self.host else { return Ok(None) };
            if let Some(sent) = host.peek_sent() {
                return Ok(Some(*sent));
            }
            let Some(next) = self.next_wake(until) else { return Ok(None) };
            self.step(next, true)?;
        }
    }

    /// Removes and returns the next segment, not later than `until`.
    pub(super) fn next_sent(&mut self, until: Time) -> Result<Option<Sent>, Stop> {
        let sent = self.await_sent(until)?;
        if sent.is_some()
            && let Some(host) = &mut self.host
        {
            host.take_sent();
        }
        Ok(sent)
    }

    /// The next wake-up or timeout of a call, if not later than `until`.
    fn next_wake(&self, until: Time) -> Option<Time> {
        let wake = self.host.as_ref().and_then(Host::wake);
        [wake, self.call_timeout()].into_iter().flatten().min().filter(|at| *at <= until)
    }

    /// When the timeout of a blocked call expires.
    fn call_timeout(&self) -> Option<Time> {
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

    /// The result of a blocked call, if it can return.
    pub(super) fn try_wait(&mut self, wait: &mut Wait) -> Result<Option<Returned>, Stop> {
        let now = self.clock.now;
        let failed = self.failure.name(self.host.as_ref()).is_some();
        let state = self.host.as_ref().map(|host| host.info().state);
        let open = self.host.as_ref().is_some_and(Host::is_open);
        match wait {
            Wait::Opened { .. } if failed => Ok(Some((-1, self.failure.take(self.host.as_ref())))),
            Wait::Opened { total } if open => Ok(Some((*total as i64, None))),
            Wait::Opened { .. } => Ok(None),
            Wait::Accept { fd } if open && !self.accepted => {
                self.accepted = true;
                let fd = self.sockets.accept(*fd);
                Ok(Some((fd, None)))
            }
            Wait::Accept { .. } => Ok(None),
            Wait::Connect if failed => Ok(Some((-1, self.failure.take(self.host.as_ref())))),
            Wait::Connect => Ok(open.then_some((0, None))),
            Wait::Read { fd, most } => {
                let socket = self.sockets.open.get(fd).cloned().unwrap_or_default();
                let Some(host) = self.host.as_mut() else { return Ok(Some((-1, Some("ENOTCONN")))) };
                if host.readable() > 0 {
                    return Ok(Some((host.read(now, *most) as i64, None)));
                }
                if let Some(failure) = self.failure.take(self.host.as_ref()) {
                    return Ok(Some((-1, Some(failure))));
                }
                Ok((peer_finished(state) || socket.no_more_reads).then_some((0, None)))
            }
            Wait::Receive { fd, most, after } => self.try_receive(*fd, *most, *after),
            Wait::Write { fd, left, total, end } => {
                if failed {
                    return Ok(Some((-1, Some(self.failure.take(self.host.as_ref()).unwrap_or("EPIPE")))));
                }
                let Some(host) = self.host.as_mut() else { return Ok(Some((-1, Some("EPIPE")))) };
                if !open {
                    return Ok(None);
                }
                let Some(socket) = self.sockets.open.get_mut(fd) else { return Ok(Some((-1, Some("EBADF")))) };
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
        let socket = self.sockets.open.get(&fd).cloned().unwrap_or_default();
        if socket.role == Role::Deferred {
            return vec!["POLLOUT".into()]; // what is written opens it
        }
        let Some(host) = &self.host else { return Vec::new() };
        let state = host.info().state;
        let open = host.is_open();
        let failed = self.failure.name(Some(host)).is_some();
        let events = if socket.role == Role::Listening {
            vec![("POLLIN", open && !self.accepted)]
        } else {
            let finished = peer_finished(Some(state));
            let room =
                socket.send_buffer.is_none_or(|buffer| socket.written.saturating_sub(host.acknowledged()) < buffer);
            vec![
                ("POLLIN", host.readable() > 0 || finished),
                ("POLLOUT", open && room || failed),
                ("POLLERR", failed),
                ("POLLHUP", failed || state == State::Closed),
                ("POLLRDHUP", finished),
            ]
        };
        events.into_iter().filter(|(_, ready)| *ready).map(|(name, _)| name.to_owned()).collect()
    }

    /// Reads, and compares the bytes left with the number that the script expects beside the data.
    fn try_receive(&mut self, fd: i64, most: u64, after: Option<i64>) -> Result<Option<Returned>, Stop> {
        let returned = self.try_wait(&mut Wait::Read { fd, most })?;
        let left = self.left_to_read();
        match (after, &returned) {
            (Some(expected), Some((bytes, None))) if *bytes > 0 && expected != left => {
                fail(format!("expected TCP_CM_INQ {expected}, found {left}"))
            }
            _ => Ok(returned),
        }
    }

    /// Returns the bytes left after a read, as `TCP_INQ` counts them: a FIN is one more (`tcp_inq_hint`).
    fn left_to_read(&self) -> i64 {
        let Some(host) = &self.host else { return 0 };
        let readable = host.readable() as i64;
        if readable == 0 && peer_finished(Some(host.info().state)) { 1 } else { readable }
    }
}

fn is_permutation(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().all(|name| other.contains(name))
}

/// Whether the peer has sent its FIN.
fn peer_finished(state: Option<State>) -> bool {
    matches!(state, Some(State::CloseWait | State::Closing | State::LastAck | State::Closed))
}
