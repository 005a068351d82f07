//! A connection as one end of a flow.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use units::{Duration, FieldError, Time};

use super::over::Over;
use super::unopened::Unopened;
use super::{
    Act, Answer, EndOptions, Endpoint, Input, Kind, Payload, Prompt, Reply, ReportedWake, SendPacket, Service,
    Transport,
};
use crate::congestion::FindControl;
use crate::state::SenderSample;
pub use crate::tcp::TcpConfig;
use crate::tcp::{
    Arrival, Connection, Counters, EcnMode, InPlace, Info, MAX_WINDOW, NextFull, PeerMemory, Segment, Settings, State,
    shortest_wait,
};

impl Kind for TcpConfig {
    fn check(&self) -> Result<(), FieldError> {
        TcpConfig::check(self)
    }

    fn services(&self) -> &'static [Service] {
        &[Service::ByteStream]
    }

    fn full_packet(&self, default_packet: u32) -> Option<(u32, &'static str)> {
        Some((self.packet_bytes(default_packet), "mss"))
    }

    fn sends_ect(&self) -> bool {
        TcpConfig::resolve(self, 0).ecn != EcnMode::Off // whatever the packet's size
    }

    fn resolve(&mut self, default_packet: u32) {
        *self = self.resolved(default_packet);
    }

    fn check_registered(&self, controllers: &[String]) -> Result<(), FieldError> {
        self.congestion.check_registered(controllers)
    }

    fn build(&self, default_packet: u32) -> Arc<dyn Transport> {
        Arc::new(Tcp { settings: Arc::new(TcpConfig::resolve(self, default_packet)) })
    }
}

/// The connections of the flows of an entry.
#[derive(Debug)]
struct Tcp {
    settings: Arc<Settings>,
}

impl Transport for Tcp {
    fn congestion(&self) -> Option<Cow<'static, str>> {
        let congestion = &self.settings.congestion;
        let name = congestion.entry().name().map(|name| Cow::Owned(name.to_owned()));
        Some(name.unwrap_or(Cow::Borrowed(congestion.kind())))
    }

    fn supplied(&self, find: &mut FindControl<'_>) -> Result<Option<Arc<dyn Transport>>, FieldError> {
        let congestion = self.settings.congestion.supplied(find)?;
        Ok(Some(Arc::new(Tcp { settings: Arc::new(Settings { congestion, ..Settings::clone(&self.settings) }) })))
    }

    fn payload_bytes(&self) -> u32 {
        self.settings.mss
    }

    /// Returns the shorter of two: what the handshake waits for, and what a delayed acknowledgment does.
    fn shortest_timer(&self) -> Option<Duration> {
        if self.settings.congestion.entry().has_timer() {
            return None;
        }
        let handshake = self.settings.initial_rto.min(self.settings.max_rto);
        Some(shortest_wait(&self.settings).map_or(handshake, |wait| wait.min(handshake)))
    }

    fn unopened_end(&self) -> Box<dyn Endpoint> {
        Box::new(Unopened)
    }

    fn open(&self, now: Time, options: [EndOptions; 2]) -> Option<[Box<dyn Endpoint>; 2]> {
        let [opens, accepts] = TcpEnd::pair(&self.settings, now, options);
        Some([opens, accepts])
    }

    /// Returns the range of windows: at least a segment, at most what RFC 7323 section 2.3 can offer.
    fn windows(&self) -> Option<RangeInclusive<u64>> {
        Some(u64::from(self.settings.mss)..=MAX_WINDOW)
    }
}

/// One end of a TCP connection.
pub struct TcpEnd {
    connection: Connection,
    reported: ReportedWake,
    /// The congestion window that was last reported to the caller.
    window: u32,
}

impl TcpEnd {
    /// Returns both ends of a connection: the one that opens it, then the other.
    pub fn pair(settings: &Arc<Settings>, now: Time, options: [EndOptions; 2]) -> [Box<TcpEnd>; 2] {
        let [opens, accepts] = options.map(|options| options.entropy);
        let boxed = |connection| Box::new(TcpEnd { connection, reported: ReportedWake::NEVER, window: 0 });
        let mut ends = [
            boxed(Connection::connect(Arc::clone(settings), now, opens)),
            boxed(Connection::listen(Arc::clone(settings), accepts)),
        ];
        for (end, EndOptions { holds, .. }) in ends.iter_mut().zip(options) {
            if let Some(buffer) = holds {
                end.connection.relay(buffer.get());
            }
        }
        if !settings.handshake {
            Connection::shake_hands(ends.each_mut().map(|end| &mut end.connection), now);
        }
        ends
    }

    /// From now on all segments go the general way, for tests.
    #[doc(hidden)]
    pub fn go_generally(&mut self) {
        self.connection.go_generally();
    }

    /// The connection of this end at this moment, for tests.
    #[doc(hidden)]
    pub fn info(&self) -> Info {
        self.connection.info()
    }
}

impl Endpoint for TcpEnd {
    fn act(&mut self, now: Time, act: Act) {
        let TcpEnd { connection, .. } = self;
        match act {
            Act::Offer { .. } => {}
            Act::WriteStream { .. } => unreachable!("a scenario refuses many streams over one"),
            Act::Write(bytes) => connection.write(now, bytes.get()),
            Act::WriteForEver => connection.write_for_ever(now),
            Act::Close => connection.close(),
            Act::Read(bytes) => {
                let got = connection.read(bytes.get());
                debug_assert_eq!(got, bytes.get(), "an application reads what is there");
            }
        }
    }

    fn recall(&mut self, memory: PeerMemory) {
        self.connection.recall(memory);
    }

    fn memory(&self) -> Option<PeerMemory> {
        self.connection.memory()
    }

    fn handle(&mut self, now: Time, input: Input<'_>, blank: &mut Payload, send: &mut SendPacket<'_>) -> Answer {
        let TcpEnd { connection, reported, .. } = self;
        match input {
            Input::Packet(Payload::Tcp(segment)) => connection.handle_segment(now, segment),
            Input::Packet(_) => unreachable!("a packet of another transport"),
            Input::Timeout => {
                reported.expire();
                connection.handle_timeout(now);
            }
            Input::Acted => {}
        }
        while let Some(sent_before) = connection.poll_segment(now, room_in(blank)) {
            send(blank, sent_before);
            if connection.rests(now) {
                break;
            }
        }
        self.poll_state()
    }

    fn answer(&mut self, now: Time, prompt: Prompt, payload: &mut Payload) -> Reply {
        match (prompt, payload) {
            (Prompt::Packet, Payload::Tcp(segment)) => match self.connection.arrival(segment) {
                Arrival::Data => self.answer_data(now, segment),
                Arrival::Acknowledgment => self.answer_ack(now, segment),
                Arrival::Other => self.answer_other(now, segment),
            },
            (Prompt::More, payload) => self.send_further(now, payload),
            _ => Reply::Refused,
        }
    }

    fn poll_state(&mut self) -> Answer {
        self.window = self.connection.window();
        Answer {
            delivered: self.connection.delivered_bytes(),
            window: Some(self.window),
            over: self.connection.has_finished(),
            wake: self.reported.report(self.connection.next_timeout()),
        }
    }

    fn postpone(&mut self, now: Time) -> Option<Time> {
        self.reported.postpone(now, self.connection.next_timeout())
    }

    fn acknowledged_bytes(&self) -> u64 {
        self.connection.counters().bytes_acked
    }

    fn has_received(&self, sequence: u64) -> bool {
        self.connection.has_received(sequence)
    }

    fn is_open(&self) -> bool {
        self.connection.state() != State::Listen
    }

    fn has_been_closed(&self) -> bool {
        self.connection.has_been_closed()
    }

    fn has_finished(&self) -> bool {
        self.connection.has_finished()
    }

    fn remains(&self) -> Option<Box<dyn Endpoint>> {
        let TcpEnd { connection, .. } = self;
        if connection.next_timeout() < Time::MAX || connection.memory().is_some() {
            return None;
        }
        Some(Box::new(Over {
            counters: *connection.counters(),
            received: connection.received_to(),
            opened: true,
            closed: connection.has_been_closed(),
            finished: connection.has_finished(),
            lifetime: None,
        }))
    }

    fn counters(&self) -> Counters {
        *self.connection.counters()
    }

    fn sample(&self) -> Option<SenderSample> {
        Some(self.connection.sample())
    }
}

/// The ways of [`TcpEnd::answer`], each a function of its own, so that what it needs stays in registers. That of an
/// acknowledgment takes the steps of [`Connection::send_in_place`] itself: a result that is handed on and told apart
/// here takes a jump table.
impl TcpEnd {
    #[inline(never)]
    fn answer_data(&mut self, now: Time, segment: &mut Segment) -> Reply {
        let answered = self.connection.answer_data(now, segment);
        self.reply(answered)
    }

    /// Answers data behind those that arrived last beyond a hole.
    #[inline(always)]
    fn answer_beyond(&mut self, now: Time, segment: &mut Segment) -> Reply {
        let answered = self.connection.answer_beyond(now, segment);
        self.reply(answered)
    }

    #[inline(never)]
    fn answer_ack(&mut self, now: Time, segment: &mut Segment) -> Reply {
        if !self.connection.take_plain(now, segment) {
            return self.answer_generally(now, segment);
        }
        match self.connection.send_full(now) {
            NextFull::Goes(full) => {
                self.connection.write_full(now, segment, full);
                match full.last {
                    true if self.window == full.window && self.timer_is_known() => {
                        Reply::Sent { delivered: self.delivered() }
                    }
                    true => Reply::SentChanged { before: 0 },
                    false => Reply::First { before: 0 },
                }
            }
            NextFull::Waits => self.reply(InPlace::Nothing),
            NextFull::Unknown => self.poll(now, segment),
        }
    }

    /// Answers a segment that is not predicted, or none is yet.
    #[inline(never)]
    fn answer_other(&mut self, now: Time, segment: &mut Segment) -> Reply {
        // A segment that is not plain is not predicted, so what is expected need not be found out.
        if segment.is_plain() && self.connection.predict() {
            match self.connection.arrival(segment) {
                Arrival::Data => return self.answer_data(now, segment),
                Arrival::Acknowledgment => return self.answer_ack(now, segment),
                Arrival::Other => {}
            }
        }
        if self.connection.expects_beyond(segment) {
            return self.answer_beyond(now, segment);
        }
        if self.connection.fin_sent() {
            return Reply::Refused; // the general way tells whether this end is done
        }
        self.answer_generally(now, segment)
    }

    #[inline(never)]
    fn answer_generally(&mut self, now: Time, segment: &mut Segment) -> Reply {
        let answered = self.connection.answer_other(now, segment);
        self.reply(answered)
    }

    #[inline(never)]
    fn poll(&mut self, now: Time, segment: &mut Segment) -> Reply {
        let answered = self.connection.poll_in_place(now, segment);
        self.reply(answered)
    }

    #[inline(never)]
    fn send_further(&mut self, now: Time, payload: &mut Payload) -> Reply {
        let answered = self.connection.send_in_place(now, room_in(payload));
        self.reply(answered)
    }

    #[inline(always)]
    fn reply(&mut self, answered: InPlace) -> Reply {
        match answered {
            InPlace::First(before) => Reply::First { before: u64::from(before) },
            InPlace::Acknowledged if self.timer_is_known() => Reply::Sent { delivered: self.delivered() },
            InPlace::Acknowledged => Reply::SentChanged { before: 0 },
            InPlace::Nothing if self.state_is_known() => Reply::Quiet { delivered: self.delivered() },
            InPlace::Nothing => Reply::QuietChanged,
            InPlace::One(0) if self.state_is_known() => Reply::Sent { delivered: self.delivered() },
            InPlace::One(before) => Reply::SentChanged { before: u64::from(before) },
        }
    }

    #[inline(always)]
    fn delivered(&self) -> u64 {
        self.connection.delivered_bytes()
    }

    /// Whether the caller knows when to ask of the timer.
    #[inline(always)]
    fn timer_is_known(&self) -> bool {
        self.reported.covers(self.connection.next_timeout())
    }

    /// Whether the caller knows also the window.
    #[inline(always)]
    fn state_is_known(&self) -> bool {
        self.window == self.connection.window() && self.timer_is_known()
    }
}

/// Room for a segment.
#[inline]
fn room_in(payload: &mut Payload) -> &mut Segment {
    if !matches!(payload, Payload::Tcp(_)) {
        *payload = Payload::Tcp(Segment::default());
    }
    match payload {
        Payload::Tcp(segment) => segment,
        _ => unreachable!("a segment is there"),
    }
}
