//! Two ways to talk to a connection: a script that plays the peer packet by packet, and a pair over pipes with a fate
//! for every segment.

pub mod hostile;

use std::collections::BTreeMap;

use rangemap::RangeSet;
use transport::{
    CongestionConfig, Connection, Flags, Info, NewRenoConfig, SackBlocks, Segment, Settings, State, SynOptions,
};
use transport::{TcpConfig, Transmit};
use units::{Bytes, Duration, Time};

pub const MSS: u64 = 1000;

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

/// NewReno with segments of 1000 bytes, SACK and no timestamps.
pub fn settings() -> Settings {
    let config = TcpConfig {
        congestion: CongestionConfig::NewReno(NewRenoConfig::default()),
        mss: Some(Bytes::new(MSS)),
        timestamps: Some(false),
        ..TcpConfig::default()
    };
    config.resolve(1500)
}

pub fn no_sack() -> Settings {
    Settings { sack: false, ..settings() }
}

/// A connection whose peer is the test. All its answers are texts: `1:1001`, `1:1001 again`, `ack 1 sack 1001:2001`.
pub struct Script {
    pub connection: Connection,
    pub now: Time,
    pub last: Option<Segment>,
}

impl Script {
    /// A client after a handshake of `rtt`, with `bytes` to send.
    pub fn sender(settings: Settings, rtt: Duration, bytes: u64) -> Script {
        let (sack, timestamps) = (settings.sack, settings.timestamps);
        let mut connection = Connection::connect(settings, Time::ZERO, 0);
        connection.write(Time::ZERO, bytes);
        let syn = connection.poll_transmit(Time::ZERO).expect("a SYN").segment;
        assert!(syn.flags.has(Flags::SYN) && connection.poll_transmit(Time::ZERO).is_none());
        let now = Time::ZERO + rtt;
        connection.handle_segment(now, &syn_ack(sack, timestamps.then_some((1, 1))));
        assert_eq!(connection.info().state, State::Established);
        Script { connection, now, last: None }
    }

    /// A server that has seen the handshake.
    pub fn receiver(settings: Settings) -> Script {
        let timestamps = settings.timestamps;
        let stamps = timestamps.then_some((0, 0));
        let mut connection = Connection::listen(settings, 0);
        let options = SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true, fast_open: None };
        let syn =
            Segment { flags: Flags::SYN, window: 65_535, syn: Some(options), timestamps: stamps, ..Segment::default() };
        connection.handle_segment(Time::ZERO, &syn);
        let syn_ack = connection.poll_transmit(Time::ZERO).expect("a SYN-ACK").segment;
        assert!(syn_ack.flags.has(Flags::SYN | Flags::ACK) && syn_ack.ack == 1);
        let ack =
            Segment { seq: 1, ack: 1, flags: Flags::ACK, window: 65_535, timestamps: stamps, ..Segment::default() };
        connection.handle_segment(Time::ZERO, &ack);
        assert_eq!(connection.info().state, State::Established);
        Script { connection, now: Time::ZERO, last: None }
    }

    /// The application writes.
    pub fn write(&mut self, bytes: u64) {
        self.connection.write(self.now, bytes);
    }

    pub fn after(&mut self, millis: u64) -> &mut Script {
        self.now += ms(millis);
        self
    }

    /// Everything that goes out now.
    pub fn sends(&mut self) -> Vec<String> {
        let mut sent = Vec::new();
        while let Some(transmit) = self.connection.poll_transmit(self.now) {
            self.last = Some(transmit.segment);
            sent.push(text(&transmit));
        }
        self.connection.check();
        sent
    }

    /// How many segments go out now.
    pub fn count(&mut self) -> usize {
        self.sends().len()
    }

    pub fn handle(&mut self, segment: Segment) -> Vec<String> {
        self.connection.handle_segment(self.now, &segment);
        self.connection.check();
        self.sends()
    }

    /// The peer acknowledges; what goes out then.
    pub fn ack(&mut self, ack: u64, sack: &[(u64, u64)]) -> Vec<String> {
        self.ack_with_window(ack, sack, 65_535)
    }

    pub fn ack_with_window(&mut self, ack: u64, sack: &[(u64, u64)], window: u64) -> Vec<String> {
        let sack: SackBlocks = sack.iter().copied().collect();
        self.handle(Segment { seq: 1, ack, window, flags: Flags::ACK, sack, ..Segment::default() })
    }

    /// The peer's data arrive; what is answered.
    pub fn data(&mut self, seq: u64, len: u32) -> Vec<String> {
        self.handle(Segment { seq, ack: 1, window: 65_535, len, flags: Flags::ACK, ..Segment::default() })
    }

    /// As [`Script::data`] with a TSval; the TSecr of the answer.
    pub fn stamped(&mut self, seq: u64, len: u32, value: u32) -> Option<u32> {
        let timestamps = Some((value, 0));
        self.last = None;
        self.handle(Segment { seq, ack: 1, window: 65_535, len, flags: Flags::ACK, timestamps, ..Segment::default() });
        self.last.map(|segment| segment.timestamps.expect("timestamps").1)
    }

    /// Waits for the next timer, in ms from now, and what goes out then.
    pub fn timeout(&mut self) -> (u64, Vec<String>) {
        let at = self.connection.poll_timeout().expect("a timer");
        let waited = at.since(self.now).as_nanos() / 1_000_000;
        self.now = at;
        self.connection.handle_timeout(at);
        (waited, self.sends())
    }

    pub fn window(&self) -> f64 {
        f64::from(self.connection.window())
    }
}

/// Segments in flight.
pub fn in_flight(info: &Info) -> u32 {
    info.unacked + info.retransmitted - info.sacked - info.lost
}

/// The SYN-ACK of a peer with a large window.
pub fn syn_ack(sack: bool, timestamps: Option<(u32, u32)>) -> Segment {
    let options = SynOptions { mss: 1460, window_scale: Some(10), sack_permitted: sack, fast_open: None };
    Segment {
        ack: 1,
        flags: Flags::SYN | Flags::ACK,
        window: 65_535,
        syn: Some(options),
        timestamps,
        ..Segment::default()
    }
}

pub fn text(transmit: &Transmit) -> String {
    let segment = &transmit.segment;
    let mut words = Vec::new();
    if segment.flags.has(Flags::SYN) {
        words.push("syn".to_owned());
    }
    if segment.len > 0 {
        words.push(format!("{}:{}", segment.seq, segment.seq + u64::from(segment.len)));
    }
    if segment.flags.has(Flags::FIN) {
        words.push("fin".to_owned());
    }
    if words.is_empty() {
        words.push(format!("ack {}", segment.ack));
        if !segment.sack.is_empty() {
            words.push("sack".to_owned());
        }
        words.extend(segment.sack.as_slice().iter().map(|(start, end)| format!("{start}:{end}")));
    }
    if transmit.sent_before > 0 {
        words.push("again".to_owned());
    }
    words.join(" ")
}

/// Which end of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Client,
    Server,
}

/// What happens to a segment in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    Late(Duration),
    Twice(Duration),
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    pub from: End,
    pub transmit: Transmit,
}

/// A segment with payload that is no dummy.
pub fn is_data(transmit: &Transmit) -> bool {
    transmit.segment.len > 0 && !transmit.segment.flags.has(Flags::DUMMY)
}

/// Client and server over pipes of fixed delay.
pub struct Pair<F> {
    pub client: Connection,
    pub server: Connection,
    pub now: Time,
    pub log: Vec<Sent>,
    /// What the client was told to have arrived.
    told: RangeSet<u64>,
    told_ack: u64,
    delay: Duration,
    fate: F,
    steps_at_once: u32,
    in_flight: BTreeMap<(Time, u64), (End, Segment)>,
}

impl<F: FnMut(&Sent) -> Fate> Pair<F> {
    pub fn new(client: Settings, server: Settings, delay: Duration, fate: F) -> Pair<F> {
        let client = Connection::connect(client, Time::ZERO, 0);
        let server = Connection::listen(server, 0);
        let (log, in_flight) = (Vec::new(), BTreeMap::new());
        Pair {
            client,
            server,
            now: Time::ZERO,
            log,
            told: RangeSet::new(),
            told_ack: 0,
            delay,
            fate,
            steps_at_once: 0,
            in_flight,
        }
    }

    fn pump(&mut self) {
        for from in [End::Client, End::Server] {
            let (end, to) = match from {
                End::Client => (&mut self.client, End::Server),
                End::Server => (&mut self.server, End::Client),
            };
            while let Some(transmit) = end.poll_transmit(self.now) {
                let sent = Sent { at: self.now, from, transmit };
                if from == End::Client && is_data(&transmit) {
                    let range = transmit.segment.seq..transmit.segment.seq + u64::from(transmit.segment.len);
                    assert!(!self.told.overlaps(&range), "{range:?} is sent though it has arrived");
                }
                self.log.push(sent);
                let number = self.log.len() as u64 * 2;
                let arrival = self.now + self.delay;
                let extra = match (self.fate)(&sent) {
                    Fate::Drop => continue,
                    Fate::Pass => Duration::ZERO,
                    Fate::Late(extra) => extra,
                    Fate::Twice(extra) => {
                        self.in_flight.insert((arrival, number + 1), (to, transmit.segment));
                        extra
                    }
                };
                self.in_flight.insert((arrival + extra, number), (to, transmit.segment));
            }
            end.check();
        }
    }

    /// Goes to the next arrival or timer; false if there is none until `end`.
    pub fn step(&mut self, end: Time) -> bool {
        self.pump();
        let arrival = self.in_flight.first_key_value().map(|(key, _)| key.0);
        let timers = [self.client.poll_timeout(), self.server.poll_timeout()];
        let Some(next) = timers.into_iter().flatten().chain(arrival).min().filter(|&next| next <= end) else {
            self.now = self.now.max(end);
            return false;
        };
        assert!(next >= self.now, "time runs backwards");
        self.steps_at_once = if next > self.now { 0 } else { self.steps_at_once + 1 };
        assert!(self.steps_at_once < 100_000, "time stands still at {next}: {:?}", self.client.info());
        self.now = next;
        if arrival == Some(next) {
            let (_, (to, segment)) = self.in_flight.pop_first().expect("an arrival");
            match to {
                End::Client => {
                    if segment.ack >= self.told_ack {
                        self.told_ack = segment.ack;
                        self.told.extend(segment.sack.as_slice().iter().map(|block| block.0..block.1));
                    }
                    self.client.handle_segment(next, &segment);
                }
                End::Server => self.server.handle_segment(next, &segment),
            }
        } else {
            self.client.handle_timeout(next);
            self.server.handle_timeout(next);
        }
        self.client.check();
        self.server.check();
        self.pump();
        true
    }

    pub fn run_until(&mut self, end: Time) {
        while self.step(end) {}
    }

    /// The client's segments with data.
    pub fn data(&self) -> impl Iterator<Item = &Sent> {
        self.log.iter().filter(|sent| sent.from == End::Client && is_data(&sent.transmit))
    }
}
