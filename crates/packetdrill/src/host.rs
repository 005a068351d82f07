//! The endpoint under test with its clock and the segments it has sent: the only place that calls the connection.

use std::collections::VecDeque;
use std::sync::Arc;

use transport::{Connection, Cookie, Info, PeerMemory, Segment, Settings, State, SynOptions};
use units::{Duration, Time};

/// A segment that the connection under test sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it was sent.
    pub at: Time,
    /// The segment.
    pub segment: Segment,
    /// The number of earlier transmissions of the segment's data.
    pub sent_before: u32,
}

/// The connection's timer is due repeatedly at the same instant.
#[derive(Clone, Copy, Debug)]
pub struct Stuck(pub Time);

/// A connection in virtual time.
pub struct Host {
    connection: Connection,
    sent: VecDeque<Sent>,
    ours: Option<SynOptions>,
    peers: Option<SynOptions>,
}

/// More wake-ups at one instant are a livelock.
const MAX_WAKES: u32 = 10_000;
/// An arbitrary number: it sets the phase of controllers that have one.
const ENTROPY: u64 = 1;

impl Host {
    /// A connection that waits for a SYN.
    pub fn passive(settings: Arc<Settings>) -> Host {
        Host::new(Connection::listen(settings, ENTROPY))
    }

    /// A connection that sends a SYN at once.
    pub fn active(settings: Arc<Settings>, now: Time) -> Host {
        let mut host = Host::new(Connection::connect(settings, now, ENTROPY));
        host.collect(now);
        host
    }

    /// A connection that sends a SYN at once, with as many of `bytes` bytes as go with it: all are written, or only
    /// those (`at_once`). Returns how many go with the SYN too.
    pub fn fast(settings: Arc<Settings>, now: Time, memory: PeerMemory, bytes: u64, at_once: bool) -> (Host, u64) {
        let mut connection = Connection::connect(settings, now, ENTROPY);
        connection.recall(memory);
        let first = bytes.min(connection.syn_room().into());
        connection.write(now, if at_once { first } else { bytes });
        let mut host = Host::new(connection);
        host.collect(now);
        (host, first)
    }

    /// The cookie that a peer of a listening connection gets.
    pub fn give(&mut self, cookie: Cookie) {
        self.connection.give(cookie);
    }

    /// Forgets the peer's cookie and segment size.
    pub fn forget(&mut self) {
        self.connection.recall(PeerMemory::default());
    }

    /// Returns the memory of the peer's cookie and segment size, if Fast Open is in use.
    pub fn memory(&self) -> Option<PeerMemory> {
        self.connection.memory()
    }

    /// Whether the application can use the connection.
    pub fn is_open(&self) -> bool {
        let state = self.connection.state();
        let opening = matches!(state, State::Listen | State::SynSent | State::SynReceived);
        !opening || self.connection.is_open_early()
    }

    fn new(mut connection: Connection) -> Host {
        connection.hold_reads();
        Host { connection, sent: VecDeque::new(), ours: None, peers: None }
    }

    /// Hands a segment to the connection.
    pub fn inject(&mut self, now: Time, segment: &Segment) {
        if segment.syn.is_some() {
            self.peers = segment.syn;
        }
        self.connection.handle_segment(now, segment);
        self.collect(now);
    }

    /// The next wake-up.
    pub fn wake(&self) -> Option<Time> {
        self.connection.poll_timeout()
    }

    /// The wake-up is due; `now` may be later than its time.
    pub fn fire(&mut self, now: Time) {
        self.connection.handle_timeout(now);
        self.collect(now);
    }

    /// Wakes the connection at all its wake-ups up to `until`; with `stop_at_sent`, until it has sent a segment.
    /// Returns the time of the last wake-up.
    ///
    /// # Errors
    /// The instant of a livelock.
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

    /// Removes the oldest segment that the connection under test sent.
    pub fn take_sent(&mut self) -> Option<Sent> {
        self.sent.pop_front()
    }

    /// The oldest segment that was sent, without removing it.
    pub fn peek_sent(&self) -> Option<&Sent> {
        self.sent.front()
    }

    /// The application writes.
    pub fn write(&mut self, now: Time, bytes: u64) {
        self.connection.write(now, bytes);
        self.collect(now);
    }

    /// The application writes with `MSG_MORE`.
    pub fn write_more(&mut self, now: Time, bytes: u64) {
        self.connection.write_more(now, bytes);
        self.collect(now);
    }

    /// The application writes with `MSG_EOR`.
    pub fn write_record(&mut self, now: Time, bytes: u64) {
        self.connection.write_record(now, bytes);
        self.collect(now);
    }

    /// The application reads up to `bytes` bytes; returns how many it got.
    pub fn read(&mut self, now: Time, bytes: u64) -> u64 {
        let got = self.connection.read(bytes);
        self.collect(now);
        got
    }

    /// The bytes that the application can read.
    pub fn readable(&self) -> u64 {
        self.connection.readable()
    }

    /// The application closes the connection for writing.
    pub fn close(&mut self, now: Time) {
        self.connection.close();
        self.collect(now);
    }

    /// The application closes the connection.
    pub fn abandon(&mut self, now: Time) {
        self.connection.abandon();
        self.collect(now);
    }

    /// The application aborts the connection with a reset.
    pub fn abort(&mut self, now: Time) {
        self.connection.abort();
        self.collect(now);
    }

    /// The inverse of `TCP_NODELAY`.
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

    /// Whether `TCP_USER_TIMEOUT` has ended the connection.
    pub fn timed_out(&self) -> bool {
        self.connection.timed_out()
    }

    /// The state of the connection.
    pub fn info(&self) -> Info {
        self.connection.info()
    }

    /// Bytes that the peer has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.connection.counters().bytes_acked
    }

    /// The options of our SYN, once it was sent.
    pub fn ours(&self) -> Option<SynOptions> {
        self.ours
    }

    /// The shift of the peer's window field.
    pub fn peers_shift(&self) -> u8 {
        self.scaling().map_or(0, |(_, peers)| peers)
    }

    /// The shift of our window field.
    pub fn our_shift(&self) -> u8 {
        self.scaling().map_or(0, |(ours, _)| ours)
    }

    /// RFC 7323 section 2.2: windows are scaled only if both SYNs have the option.
    fn scaling(&self) -> Option<(u8, u8)> {
        Some((self.ours?.window_scale?, self.peers?.window_scale?))
    }

    fn collect(&mut self, now: Time) {
        while let Some(transmit) = self.connection.poll_transmit(now) {
            if transmit.segment.syn.is_some() {
                self.ours = transmit.segment.syn;
            }
            self.sent.push_back(Sent { at: now, segment: transmit.segment, sent_before: transmit.sent_before });
        }
    }
}
