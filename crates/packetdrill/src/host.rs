//! The machine under test with its clock and what it has sent: the one place where the connection is called.

use std::collections::VecDeque;
use std::sync::Arc;

use transport::{Connection, Info, Segment, Settings, SynOptions};
use units::{Duration, Time};

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When.
    pub at: Time,
    /// The segment.
    pub segment: Segment,
    /// How often its data had been sent before.
    pub transmission: u32,
}

/// A connection's timer is due again and again at the same instant.
#[derive(Clone, Copy, Debug)]
pub struct Stuck(pub Time);

/// A connection in virtual time.
pub struct Host {
    connection: Connection,
    sent: VecDeque<Sent>,
    ours: Option<SynOptions>,
    peers: Option<SynOptions>,
}

/// Wake-ups at one instant that no machine needs.
const MAX_WAKES: u32 = 10_000;
/// Any number: it sets the phase of controllers that have one.
const ENTROPY: u64 = 1;

impl Host {
    /// Waits for a SYN.
    pub fn passive(settings: Arc<Settings>) -> Host {
        Host::new(Connection::listen(settings, ENTROPY))
    }

    /// Sends a SYN at once.
    pub fn active(settings: Arc<Settings>, now: Time) -> Host {
        let mut host = Host::new(Connection::connect(settings, now, ENTROPY));
        host.collect(now);
        host
    }

    fn new(mut connection: Connection) -> Host {
        connection.hold_reads();
        Host { connection, sent: VecDeque::new(), ours: None, peers: None }
    }

    /// A segment arrives.
    pub fn inject(&mut self, now: Time, segment: &Segment) {
        if segment.syn.is_some() {
            self.peers = segment.syn;
        }
        self.connection.handle_segment(now, segment);
        self.collect(now);
    }

    /// When the machine wants to be woken.
    pub fn wake(&self) -> Option<Time> {
        self.connection.poll_timeout()
    }

    /// Its time has come; `now` may be later than it asked for.
    pub fn fire(&mut self, now: Time) {
        self.connection.handle_timeout(now);
        self.collect(now);
    }

    /// Wakes the machine whenever it wants up to `until`, but only until it has sent something if `stop_at_sent`; returns the
    /// time of the last wake-up.
    ///
    /// # Errors
    /// The instant at which it wants to be woken for ever.
    pub fn advance(&mut self, now: Time, until: Time, stop_at_sent: bool) -> Result<Time, Stuck> {
        let mut last = now;
        let mut wakes = 0;
        while let Some(wake) = self.wake().filter(|wake| *wake <= until) {
            if stop_at_sent && !self.sent.is_empty() {
                break;
            }
            let at = wake.max(last);
            wakes = if at == last { wakes + 1 } else { 0 };
            if wakes > MAX_WAKES {
                return Err(Stuck(at));
            }
            last = at;
            self.fire(at);
        }
        Ok(last)
    }

    /// The oldest segment that was sent and not taken yet.
    pub fn take_sent(&mut self) -> Option<Sent> {
        self.sent.pop_front()
    }

    /// The same, left where it is.
    pub fn peek_sent(&self) -> Option<&Sent> {
        self.sent.front()
    }

    /// The application writes.
    pub fn write(&mut self, now: Time, bytes: u64) {
        self.connection.write(now, bytes);
        self.collect(now);
    }

    /// The application writes, and says that more follows: `MSG_MORE`.
    pub fn write_more(&mut self, now: Time, bytes: u64) {
        self.connection.write_more(now, bytes);
        self.collect(now);
    }

    /// The application reads; returns what it got.
    pub fn read(&mut self, now: Time, bytes: u64) -> u64 {
        let got = self.connection.read(bytes);
        self.collect(now);
        got
    }

    /// What the application could read.
    pub fn readable(&self) -> u64 {
        self.connection.readable()
    }

    /// The application will write no more.
    pub fn close(&mut self, now: Time) {
        self.connection.close();
        self.collect(now);
    }

    /// The application neither writes nor reads any more.
    pub fn abandon(&mut self, now: Time) {
        self.connection.abandon();
        self.collect(now);
    }

    /// The application ends the connection with a reset.
    pub fn abort(&mut self, now: Time) {
        self.connection.abort();
        self.collect(now);
    }

    /// `TCP_NODELAY`, the other way round.
    pub fn set_nagle(&mut self, now: Time, on: bool) {
        self.connection.set_nagle(on);
        self.collect(now);
    }

    /// `TCP_CORK`
    pub fn set_cork(&mut self, now: Time, on: bool) {
        self.connection.set_cork(on);
        self.collect(now);
    }

    /// `TCP_USER_TIMEOUT`
    pub fn set_user_timeout(&mut self, timeout: Option<Duration>) {
        self.connection.set_user_timeout(timeout);
    }

    /// Whether that has ended the connection.
    pub fn timed_out(&self) -> bool {
        self.connection.timed_out()
    }

    /// The connection as it is.
    pub fn info(&self) -> Info {
        self.connection.info()
    }

    /// Bytes that the peer has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.connection.counters().bytes_acked
    }

    /// What our SYN offered, once it was sent.
    pub fn ours(&self) -> Option<SynOptions> {
        self.ours
    }

    /// By how much the peer's window field is to be shifted.
    pub fn peers_shift(&self) -> u8 {
        self.scaling().map_or(0, |(_, peers)| peers)
    }

    /// By how much ours is.
    pub fn our_shift(&self) -> u8 {
        self.scaling().map_or(0, |(ours, _)| ours)
    }

    /// RFC 7323 section 2.2: both SYNs must have offered it.
    fn scaling(&self) -> Option<(u8, u8)> {
        Some((self.ours?.window_scale?, self.peers?.window_scale?))
    }

    fn collect(&mut self, now: Time) {
        while let Some(transmit) = self.connection.poll_transmit(now) {
            if transmit.segment.syn.is_some() {
                self.ours = transmit.segment.syn;
            }
            self.sent.push_back(Sent { at: now, segment: transmit.segment, transmission: transmit.transmission });
        }
    }
}
