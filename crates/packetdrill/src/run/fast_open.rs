//! TCP Fast Open in a script: cookies, and the calls that send data with a SYN.

// SipHash-2-4 of the standard library, which only warns of hash tables.
use std::hash::Hasher;
#[allow(deprecated)]
use std::hash::SipHasher;
use std::net::Ipv4Addr;

use transport::{Cookie, FastOpenOption, PeerMemory};

use super::Runner;
use super::calls::Returned;
use super::sockets::{Role, Wait};
use super::stop::{Stop, fail};
use crate::host::Host;
use crate::script::{Call, TcpOption};

/// Cookies of a script: the connection knows each by its place in the list.
#[derive(Debug, Default)]
pub(super) struct Cookies {
    digits: Vec<String>,
    /// The addresses that the script gives its machine and the peer.
    pub local: Option<Ipv4Addr>,
    pub remote: Option<Ipv4Addr>,
}

impl Cookies {
    /// The option with these digits, which may be none.
    pub fn option(&mut self, digits: &str, experimental: bool) -> FastOpenOption {
        let cookie = (!digits.is_empty()).then(|| self.cookie(digits));
        FastOpenOption { cookie, experimental }
    }

    fn cookie(&mut self, digits: &str) -> Cookie {
        let known = self.digits.iter().position(|known| known == digits);
        let name = known.unwrap_or_else(|| {
            self.digits.push(digits.to_owned());
            self.digits.len() - 1
        });
        Cookie { name: name as u32, bytes: (digits.len() / 2) as u8 }
    }

    /// An option in the notation of scripts.
    pub fn written(&self, option: FastOpenOption) -> TcpOption {
        let digits = option.cookie.and_then(|cookie| self.digits.get(cookie.name as usize)).cloned();
        let digits = digits.unwrap_or_default();
        if option.experimental { TcpOption::FastOpenExperimental(digits) } else { TcpOption::FastOpen(digits) }
    }

    /// What a kernel gives the peer (`net/ipv4/tcp_fastopen.c`): SipHash of both addresses, the peer's first.
    #[allow(deprecated)]
    pub fn of_peer(&mut self, key: (u64, u64)) -> Cookie {
        let remote = self.remote.unwrap_or(Ipv4Addr::new(192, 0, 2, 1));
        let local = self.local.unwrap_or(Ipv4Addr::new(192, 168, 0, 1));
        let mut hasher = SipHasher::new_with_keys(key.0, key.1);
        hasher.write(&[remote.octets(), local.octets()].concat());
        let digits: String = hasher.finish().to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        self.cookie(&digits)
    }
}

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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cookie that scripts of Linux expect for the addresses and the key of their preset.
    #[test]
    fn a_cookie_is_the_kernels() {
        let mut cookies = Cookies::default();
        let cookie = cookies.of_peer((0xb2b2_b2b2_a1a1_a1a1, 0xd4d4_d4d4_c3c3_c3c3));
        let written = cookies.written(FastOpenOption { cookie: Some(cookie), experimental: false });
        assert_eq!(written, TcpOption::FastOpen("3021b9d889017eeb".into()));
    }
}
