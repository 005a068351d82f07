//! Cookies of TCP Fast Open in a script.

use std::hash::Hasher;
// SipHash-2-4 of the standard library, which only warns of hash tables.
#[allow(deprecated)]
use std::hash::SipHasher;
use std::net::Ipv4Addr;

use transport::{Cookie, FastOpenOption};

use crate::script::TcpOption;

/// Cookies of a script: the connection knows each by its place in the list.
#[derive(Debug, Default)]
pub(super) struct Cookies {
    digits: Vec<String>,
    /// The addresses that the script gives its host and the peer.
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
        let cookie_index = self.digits.iter().position(|known| known == digits);
        let name = cookie_index.unwrap_or_else(|| {
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

    /// Returns the cookie that a kernel gives the peer (`net/ipv4/tcp_fastopen.c`): SipHash of both addresses, the
    /// peer's first.
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
