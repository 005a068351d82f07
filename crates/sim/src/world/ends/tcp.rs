//! The two ends of a TCP connection.

use std::sync::Arc;

use traffic::{Action, End};
use transport::{Connection, Counters, Segment, Settings, State};
use units::Time;

use crate::packet::{Payload, Way};
use crate::record::series::FlowSample;

/// Both ends of a connection; there are none before it is opened.
pub(in crate::world) struct TcpEnds {
    settings: Arc<Settings>,
    entropy: [u64; 2],
    /// The user keeps data until they are read.
    holds_reads: bool,
    server: Option<Box<Connection>>,
    user: Option<Box<Connection>>,
}

impl TcpEnds {
    /// A connection that either end may open. `entropy`: two numbers of its own.
    pub(in crate::world) fn new(settings: Arc<Settings>, entropy: [u64; 2]) -> TcpEnds {
        TcpEnds { settings, entropy, holds_reads: false, server: None, user: None }
    }

    /// As [`TcpEnds::new`] with a user that keeps data until [`TcpEnds::read`] takes them.
    pub(in crate::world) fn with_held_reads(settings: Arc<Settings>, entropy: [u64; 2]) -> TcpEnds {
        TcpEnds { holds_reads: true, ..TcpEnds::new(settings, entropy) }
    }

    /// The application at `end` does something.
    pub(in crate::world) fn act(&mut self, now: Time, end: End, action: Action) {
        let way = Way::of(end);
        match action {
            Action::Open => self.open(now, way),
            Action::Write(bytes) => self.opened(way).write(now, bytes.get()),
            Action::WriteForEver => self.opened(way).write_for_ever(now),
            Action::Close => self.opened(way).close(),
        }
    }

    /// The end whose packets go `way` connects, the other one listens.
    fn open(&mut self, now: Time, way: Way) {
        let settings = || Arc::clone(&self.settings);
        let [server, user] = self.entropy;
        let entropy = if way == Way::Forward { [server, user] } else { [user, server] };
        let [first, second] = if self.settings.handshake {
            [Connection::connect(settings(), now, entropy[0]), Connection::listen(settings(), entropy[1])]
        } else {
            Connection::pair(settings(), now, entropy)
        };
        let (server, mut user) = if way == Way::Forward { (first, second) } else { (second, first) };
        if self.holds_reads {
            user.hold_reads();
        }
        (self.server, self.user) = (Some(Box::new(server)), Some(Box::new(user)));
    }

    /// The application at the user's end takes this much.
    pub(in crate::world) fn read(&mut self, bytes: u64) {
        let got = self.opened(Way::Backward).read(bytes);
        debug_assert_eq!(got, bytes, "it takes what is there");
    }

    /// A segment that went `way` arrives.
    #[inline]
    pub(in crate::world) fn handle_segment(&mut self, now: Time, way: Way, segment: &Segment) {
        if let Some(end) = self.end_mut(way.back()) {
            end.handle_segment(now, segment);
        }
    }

    pub(in crate::world) fn handle_timeout(&mut self, now: Time, way: Way) {
        if let Some(end) = self.end_mut(way) {
            end.handle_timeout(now);
        }
    }

    #[inline]
    pub(in crate::world) fn poll_transmit(&mut self, now: Time, way: Way) -> Option<(Payload, u32)> {
        let transmit = self.end_mut(way)?.poll_transmit(now)?;
        Some((Payload::Tcp(transmit.segment), transmit.transmission))
    }

    #[inline]
    pub(in crate::world) fn poll_timeout(&self, way: Way) -> Option<Time> {
        self.end(way)?.poll_timeout()
    }

    #[inline]
    pub(in crate::world) fn delivered_bytes(&self, way: Way) -> u64 {
        self.end(way.back()).map_or(0, Connection::delivered_bytes)
    }

    /// As [`super::Ends::position`]. Data begin at 1, after the SYN.
    pub(super) fn position(&self, segment: &Segment, way: Way) -> u64 {
        let offset = if segment.len > 0 || way == Way::Forward { segment.seq } else { segment.seq.max(segment.ack) };
        offset.saturating_sub(1) / u64::from(self.settings.mss)
    }

    /// Data that the server knows to have arrived.
    pub(in crate::world) fn acknowledged_bytes(&self) -> u64 {
        self.end(Way::Forward).map_or(0, |server| server.counters().bytes_acked)
    }

    pub(super) fn has_received(&self, sequence: u64) -> bool {
        self.end(Way::Backward).is_some_and(|user| user.has_received(sequence))
    }

    /// Whether the user has heard of the server.
    pub(in crate::world) fn has_been_opened(&self) -> bool {
        self.end(Way::Backward).is_some_and(|user| user.info().state != State::Listen)
    }

    pub(in crate::world) fn has_been_closed(&self) -> bool {
        let state = self.end(Way::Backward).map(|user| user.info().state);
        matches!(state, Some(State::CloseWait | State::LastAck | State::Closed))
    }

    pub(super) fn has_finished(&self) -> bool {
        let state = self.end(Way::Forward).map(|server| server.info().state);
        matches!(state, Some(State::FinWait2 | State::Closed))
    }

    pub(in crate::world) fn counters(&self) -> Counters {
        self.end(Way::Forward).map(|server| *server.counters()).unwrap_or_default()
    }

    #[inline]
    pub(super) fn window_packets(&self) -> Option<f64> {
        Some(self.end(Way::Forward)?.window_segments())
    }

    /// The server's state, without what the caller knows.
    pub(super) fn sample(&self) -> FlowSample {
        let Some(server) = self.end(Way::Forward) else { return FlowSample::without_window() };
        let retransmitted_packets = server.counters().retransmitted_segments;
        if self.has_finished() {
            return FlowSample { retransmitted_packets, ..FlowSample::without_window() };
        }
        let info = server.info();
        let in_flight = (info.unacked + info.retransmitted).saturating_sub(info.sacked + info.lost);
        FlowSample {
            cwnd_packets: info.window as f32,
            ssthresh_packets: info.slow_start_threshold.map_or(f32::NAN, |threshold| threshold as f32),
            srtt_s: info.srtt.map_or(f32::NAN, |srtt| srtt.as_secs_f64() as f32),
            rto_s: info.rto.as_secs_f64() as f32,
            in_flight_packets: in_flight as f32,
            retransmitted_packets,
            ..FlowSample::default()
        }
    }

    fn opened(&mut self, way: Way) -> &mut Connection {
        self.end_mut(way).expect("a source opens first")
    }

    #[inline]
    fn end(&self, way: Way) -> Option<&Connection> {
        match way {
            Way::Forward => self.server.as_deref(),
            Way::Backward => self.user.as_deref(),
        }
    }

    #[inline]
    fn end_mut(&mut self, way: Way) -> Option<&mut Connection> {
        match way {
            Way::Forward => self.server.as_deref_mut(),
            Way::Backward => self.user.as_deref_mut(),
        }
    }
}
