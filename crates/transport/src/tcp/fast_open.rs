//! TCP Fast Open (RFC 7413), as Linux does it: data in the SYN for a server that has given a cookie before.
//!
//! What is simplified, and who could notice: a cookie is a number and a length, not the server's cipher text, and never
//! expires; a server always has room in its queue of connections that are half open; a client does not give up Fast
//! Open for a while after time-outs (Linux' detection of middleboxes that swallow such SYNs), but each connection falls
//! back by itself.

use super::config::{FastOpenMode, Settings};

/// The option of a SYN or SYN-ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastOpenOption {
    /// The cookie that the server has given or gives; without it the client asks for one.
    pub cookie: Option<Cookie>,
    /// In the shared experimental option (RFC 6994), as before RFC 7413.
    pub experimental: bool,
}

/// The proof that a client can be reached at its address: the server gives it, and the client shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// The number that stands for the cookie's contents.
    pub name: u32,
    /// The length, 4 to 16 bytes and even.
    pub bytes: u8,
}

impl Cookie {
    /// The cookie of a host that gives all others the same one: 8 bytes, as in Linux.
    pub const COMMON: Cookie = Cookie { name: 0, bytes: 8 };

    /// Whether RFC 7413 section 4.1.1 allows the length.
    fn is_valid(self) -> bool {
        (4..=16).contains(&self.bytes) && self.bytes.is_multiple_of(2)
    }
}

impl FastOpenOption {
    /// Returns the bytes of the option in a header, padded to a multiple of four.
    pub fn padded_bytes(self) -> u32 {
        let magic = if self.experimental { 2 } else { 0 };
        (2 + magic + self.cookie.map_or(0, |cookie| u32::from(cookie.bytes))).next_multiple_of(4)
    }
}

/// A client's memory of a server between connections (RFC 7413 section 4.1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerMemory {
    /// The cookie, and whether it came in the experimental option.
    cookie: Option<(Cookie, bool)>,
    /// The largest segment that the server takes.
    mss: Option<u16>,
    /// A request without an answer is repeated in the experimental option, once.
    experimental: Experiment,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Experiment {
    #[default]
    Untried,
    Next,
    Tried,
}

impl PeerMemory {
    /// Returns the memory after a connection with a server that gives [`Cookie::COMMON`] and takes segments of `mss`
    /// bytes.
    pub fn visited(mss: u16) -> PeerMemory {
        PeerMemory { cookie: Some((Cookie::COMMON, false)), mss: Some(mss), experimental: Experiment::Untried }
    }

    /// Whether it has a cookie.
    pub fn has_cookie(&self) -> bool {
        self.cookie.is_some()
    }
}

/// The state of Fast Open in a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct FastOpen {
    pub memory: PeerMemory,
    /// The cookie that this end gives its peer.
    pub cookie: Cookie,
    /// The SYN-ACK gives it, in the option in which the peer asked.
    pub gives: Option<FastOpenOption>,
    /// Bytes of data in the SYN that was sent or taken.
    pub syn_data: u32,
    /// Whether the data of the SYN were acknowledged with it, or taken.
    pub succeeded: bool,
    /// The option of the SYN that was sent.
    pub sent: Option<FastOpenOption>,
}

/// Room for options that a middlebox may add, which data of a SYN leave free.
const OPTIONS: u32 = 40;

impl FastOpen {
    fn new() -> FastOpen {
        FastOpen {
            memory: PeerMemory::default(),
            cookie: Cookie::COMMON,
            gives: None,
            syn_data: 0,
            succeeded: false,
            sent: None,
        }
    }

    /// Returns the state of Fast Open, if it is in use.
    pub fn of(settings: &Settings) -> Option<Box<FastOpen>> {
        let memory = match settings.fast_open {
            FastOpenMode::Off => return None,
            FastOpenMode::Cached => PeerMemory::visited(settings.advertised_mss().min(65_535) as u16),
            FastOpenMode::Cookie | FastOpenMode::Bare => PeerMemory::default(),
        };
        Some(Box::new(FastOpen { memory, ..FastOpen::new() }))
    }

    /// The data that a SYN can carry, where our packets take `own` bytes of payload; `bare` without a cookie.
    pub fn room(&self, own: u32, bare: bool) -> u32 {
        if !bare && !self.memory.has_cookie() {
            return 0;
        }
        self.memory.mss.map_or(own, |mss| own.min(mss.into())).saturating_sub(OPTIONS)
    }

    /// The option of the first SYN: the cookie, or a request.
    pub fn syn_option(&mut self) -> FastOpenOption {
        let option = match self.memory.cookie {
            Some((cookie, experimental)) => FastOpenOption { cookie: Some(cookie), experimental },
            None => FastOpenOption { cookie: None, experimental: self.memory.experimental == Experiment::Next },
        };
        self.sent = Some(option);
        option
    }

    /// The server's view of a SYN with so many bytes of data: whether they are taken before the handshake is over. A
    /// request, and a cookie that is not ours, are answered with ours.
    pub fn admits(&mut self, option: Option<FastOpenOption>, len: u32, bare: bool) -> bool {
        let Some(option) = option else { return bare && len > 0 };
        let admitted = bare || option.cookie == Some(self.cookie);
        if !admitted && option.cookie.is_none_or(Cookie::is_valid) {
            self.gives = Some(FastOpenOption { cookie: Some(self.cookie), ..option });
        }
        admitted
    }

    /// The client's view of a SYN-ACK, whose SYN was `retransmitted` or not: what it remembers for the next connection.
    pub fn learn(&mut self, option: Option<FastOpenOption>, mss: u16, retransmitted: bool) {
        self.memory.mss = Some(mss);
        let given = option.and_then(|option| Some((option.cookie.filter(|cookie| cookie.is_valid())?, option)));
        if let Some((cookie, option)) = given.filter(|_| self.sent.is_some()) {
            self.memory.cookie = Some((cookie, option.experimental));
        } else if let Some(sent) = self.sent.filter(|sent| sent.cookie.is_none() && !retransmitted) {
            self.memory.experimental = match (sent.experimental, self.memory.experimental) {
                (false, Experiment::Untried) => Experiment::Next,
                _ => Experiment::Tried,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Cookie = Cookie { name: 7, bytes: 8 };

    fn option(cookie: Option<Cookie>) -> FastOpenOption {
        FastOpenOption { cookie, experimental: false }
    }

    #[test]
    fn a_server_takes_data_for_its_own_cookie_only() {
        let answer = |asked, len, bare| {
            let mut server = FastOpen { cookie: OURS, ..FastOpen::new() };
            (server.admits(asked, len, bare), server.gives)
        };
        assert_eq!(answer(Some(option(Some(OURS))), 100, false), (true, None));
        assert_eq!(answer(Some(option(Some(OURS))), 0, false), (true, None));
        assert_eq!(answer(Some(option(None)), 0, false), (false, Some(option(Some(OURS)))));
        assert_eq!(answer(Some(option(Some(Cookie::COMMON))), 100, false), (false, Some(option(Some(OURS)))));
        assert_eq!(answer(Some(option(Some(Cookie { name: 7, bytes: 3 }))), 100, false), (false, None));
        assert_eq!(answer(None, 100, false), (false, None));
        assert_eq!(answer(None, 100, true), (true, None));
    }

    #[test]
    fn a_client_asks_once_in_the_old_option_and_keeps_what_it_was_given() {
        let mut client = FastOpen::new();
        assert_eq!((client.room(1460, false), client.room(1460, true)), (0, 1420));
        let mut asked = Vec::new();
        for _ in 0..4 {
            let option = client.syn_option();
            asked.push(option.experimental);
            client.learn(None, 1000, false);
        }
        assert_eq!(asked, [false, true, false, false]);
        client.syn_option();
        client.learn(Some(option(Some(OURS))), 1000, false);
        assert_eq!((client.syn_option(), client.room(1460, false)), (option(Some(OURS)), 960));
        client.learn(None, 1000, true);
        assert!(client.memory.has_cookie());
    }

    #[test]
    fn an_option_fills_whole_words() {
        let bytes = |length, experimental| {
            let cookie = (length > 0).then_some(Cookie { name: 0, bytes: length });
            FastOpenOption { cookie, experimental }.padded_bytes()
        };
        assert_eq!([bytes(0, false), bytes(6, false), bytes(8, false), bytes(8, true)], [4, 8, 12, 12]);
    }
}
