//! A connection: handshake, the two halves, and teardown (RFC 9293).
//!
//! After each `handle_*` or application call, `poll_transmit` is to be called until it gives nothing, and the
//! connection woken at `poll_timeout`. Simplified, beside what the module says: a connection never gives up
//! retransmitting unless its application sets a user timeout.

mod early;
mod handshake;
mod plain;
mod reset;

use std::sync::Arc;

use units::{Duration, Ecn, Time};

use super::accecn::{AccEcn, ace};
use super::config::{EcnMode, Settings};
use super::fast_open::FastOpen;
use super::info::{Counters, Info, State};
use super::recv::Receiver;
use super::segment::{Flags, Segment, SynOptions};
use super::send::{Ack, Outgoing, Sender, timestamp};
use crate::state::CongestionState;

/// One end of a TCP connection.
pub struct Connection {
    settings: Arc<Settings>,
    state: State,
    handshake: Handshake,
    /// Timestamps are in use.
    timestamps: bool,
    /// The feedback of congestion marks in use.
    ecn: EcnMode,
    /// Accurate feedback to the peer, if that is in use.
    accurate: Option<Box<AccEcn>>,
    /// The codepoint of data, and whether retransmissions have it too.
    capable: Ecn,
    capable_again: bool,
    send: Sender,
    recv: Receiver,
    /// TCP Fast Open, if it is in use.
    fast_open: Option<Box<FastOpen>>,
    /// The connection has ended: by a reset of either side, by a time-out, or by the last acknowledgment.
    gone: bool,
    /// The user timeout ended it.
    timed_out: bool,
    /// The application neither writes nor reads any more.
    abandoned: bool,
    reset_due: Option<Reset>,
    /// Dummy segments (TCP Peach) that arrived and are not acknowledged yet.
    probes_to_acknowledge: u32,
    counters: Counters,
}

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// How often these data were sent before; 0 for bare acknowledgments.
    pub transmission: u32,
}

/// The SYN or SYN-ACK in flight, and what the peer's said.
#[derive(Debug)]
struct Handshake {
    /// It is to be sent (again).
    due: bool,
    /// Our SYN-ACK is not acknowledged, and data may go nevertheless (TCP Fast Open).
    early: bool,
    timer: Time,
    /// Expiries of the timer.
    expiries: u32,
    /// How often it was sent.
    sent: u32,
    sent_at: Time,
    /// The timestamp of the first.
    first_stamp: u32,
    peer: Option<SynOptions>,
}

/// A reset that is to be sent (RFC 9293 section 3.5.2).
#[derive(Clone, Copy, Debug)]
enum Reset {
    /// The application ends the connection.
    Abort,
    /// The answer to a segment that belongs to no connection: `seq` is the offset that the segment acknowledges; if it
    /// acknowledges none, `ack` is the offset after it.
    To { seq: u64, ack: Option<u64> },
}

impl Connection {
    /// Opens a connection: a SYN goes out first. `entropy` is a number that differs between the connections of a run,
    /// for controllers with a random phase.
    pub fn connect(settings: impl Into<Arc<Settings>>, now: Time, entropy: u64) -> Connection {
        let mut connection = Connection::new(settings.into(), State::SynSent, now, entropy);
        connection.fast_open = Connection::fast_open(connection.settings.fast_open, connection.advertised_mss());
        connection.handshake.due = true;
        connection
    }

    /// Waits for a connection.
    pub fn listen(settings: impl Into<Arc<Settings>>, entropy: u64) -> Connection {
        let mut connection = Connection::new(settings.into(), State::Listen, Time::ZERO, entropy);
        connection.fast_open = Connection::fast_open(connection.settings.fast_open, connection.advertised_mss());
        connection
    }

    fn new(settings: Arc<Settings>, state: State, now: Time, entropy: u64) -> Connection {
        Connection {
            state,
            handshake: Handshake {
                due: false,
                early: false,
                timer: Time::MAX,
                expiries: 0,
                sent: 0,
                sent_at: now,
                first_stamp: 0,
                peer: None,
            },
            timestamps: settings.timestamps,
            ecn: EcnMode::Off,
            accurate: None,
            capable: Ecn::NotEct,
            capable_again: false,
            send: Sender::new(&settings, entropy),
            recv: Receiver::new(&settings),
            fast_open: None,
            gone: false,
            timed_out: false,
            abandoned: false,
            reset_due: None,
            probes_to_acknowledge: 0,
            counters: Counters::default(),
            settings,
        }
    }

    /// A segment arrived.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        if self.handle_plain(now, segment) {
            return;
        }
        self.counters.segments_received += 1;
        match self.state {
            State::Listen => self.handle_syn(now, segment),
            State::SynSent => self.handle_syn_ack(now, segment),
            State::SynReceived => {
                if segment.flags.has(Flags::SYN) {
                    self.handshake.due = true; // our SYN-ACK was lost
                } else if self.handshake.early && segment.flags.has(Flags::RST) {
                    self.handle_established(now, segment);
                } else if segment.flags.has(Flags::ACK) && segment.ack >= 1 {
                    self.establish(now, segment);
                    self.read_handshake_echo(segment);
                    self.handle_established(now, segment);
                }
            }
            _ if self.gone => self.refuse(segment),
            _ => self.handle_established(now, segment),
        }
    }

    /// The earliest of [`Connection::poll_timeout`] is reached.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.send.gives_up_at() <= now {
            self.timed_out = true;
            return self.give_up();
        }
        if self.handshake.timer <= now {
            self.handshake.timer = Time::MAX;
            self.handshake.expiries += 1;
            self.handshake.due = true;
            self.counters.syn_timeouts += 1;
        }
        self.recv.handle_timeout(now);
        self.send.handle_timeout(now, &mut self.counters);
        self.send.count(&mut self.counters);
    }

    /// The next segment to be sent, if any may go now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let mut segment = Segment::default();
        let transmission = self.poll_segment(now, &mut segment)?;
        Some(Transmit { segment, transmission })
    }

    /// As [`Connection::poll_transmit`], written in place of `segment`; how often its data were sent before.
    #[inline]
    pub fn poll_segment(&mut self, now: Time, segment: &mut Segment) -> Option<u32> {
        if self.gone || matches!(self.state, State::Listen | State::SynSent | State::SynReceived) {
            let polled = self.poll_unsynchronized(now, segment);
            if polled.is_some() || !self.handshake.early || self.gone {
                return polled;
            }
        }
        // RFC 9768 section 3.2.2.1: the third segment of the handshake goes alone.
        let echoes = self.accurate.as_ref().is_some_and(|feedback| feedback.handshake.is_some());
        if !(echoes || self.recv.ack_alone())
            && let Some(outgoing) = self.send.poll(now)
        {
            return Some(self.transmit(now, &outgoing, segment));
        }
        if self.recv.ack_due() {
            self.acknowledge(now, segment);
            return Some(0);
        }
        if self.probes_to_acknowledge > 0 {
            self.probes_to_acknowledge -= 1;
            self.fill(now, segment, self.send.nxt(), Flags::ACK | Flags::DUMMY);
            self.counters.segments_sent += 1;
            return Some(0);
        }
        None
    }

    #[cold]
    fn poll_unsynchronized(&mut self, now: Time, segment: &mut Segment) -> Option<u32> {
        let reset = self.poll_reset(now);
        let handshakes = matches!(self.state, State::SynSent | State::SynReceived);
        let transmit = if handshakes { reset.or_else(|| self.poll_handshake(now)) } else { reset }?;
        *segment = transmit.segment;
        Some(transmit.transmission)
    }

    /// Whether [`Connection::poll_transmit`] would give nothing after the segment polled last: an end that only
    /// receives has acknowledged, or the congestion window of an end that sends is full.
    #[inline(always)]
    pub fn rests(&mut self, now: Time) -> bool {
        self.state == State::Established
            && !self.recv.ack_due()
            && self.probes_to_acknowledge == 0
            && self.send.rests(now)
    }

    /// When [`Connection::handle_timeout`] is to be called next.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        let next = self.next_timeout();
        (next != Time::MAX).then_some(next)
    }

    /// As [`Connection::poll_timeout`]; [`Time::MAX`] for never.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.send.timer().min(self.recv.timer()).min(self.handshake.timer)
    }

    /// The application has `bytes` more to send.
    pub fn write(&mut self, now: Time, bytes: u64) {
        self.send.write(now, bytes);
    }

    /// The application has `bytes` more, and says that others follow at once (`MSG_MORE`): a rest
    /// that does not fill a segment waits. It is sent with the next [`Connection::write`], when a segment of the peer
    /// arrives, or, with nothing in flight, after a time-out.
    pub fn write_more(&mut self, now: Time, bytes: u64) {
        self.send.write(now, bytes);
        self.send.expect_more();
    }

    /// The application has `bytes` more, with which a record ends (`MSG_EOR`): no segment has data of two
    /// records.
    pub fn write_record(&mut self, now: Time, bytes: u64) {
        self.send.write(now, bytes);
        self.send.end_record();
    }

    /// The application never runs out of data.
    pub fn write_for_ever(&mut self, now: Time) {
        self.send.write(now, u64::MAX);
    }

    /// Switches Nagle's algorithm: small writes wait while other small segments are unacknowledged (RFC 9293 section
    /// 3.7.4). Switching it off sends the data that wait now, corked or not.
    pub fn set_nagle(&mut self, on: bool) {
        self.send.set_nagle(on);
    }

    /// Switches `TCP_CORK`: data that do not fill a segment are held back. A FIN sends them, and so does the
    /// retransmission time-out when nothing is in flight.
    pub fn set_cork(&mut self, on: bool) {
        self.send.set_cork(on);
    }

    /// The connection ends when sent data, or its SYN, stay unacknowledged for `timeout`, or when the peer's window
    /// stays closed for `timeout` (RFC 5482). The time counts from the sending or, if later, from the last progress.
    /// With `None`, the default, the connection never ends so.
    pub fn set_user_timeout(&mut self, timeout: Option<Duration>) {
        self.send.set_user_timeout(timeout);
    }

    /// Whether the user timeout has ended the connection.
    pub fn timed_out(&self) -> bool {
        self.timed_out
    }

    /// From now on the receiving application reads only by [`Connection::read`]. Until then it reads data on arrival.
    pub fn hold_reads(&mut self) {
        self.recv.hold_reads();
    }

    /// The application reads up to `bytes`. Returns the bytes read. The advertised window may open.
    pub fn read(&mut self, bytes: u64) -> u64 {
        self.recv.read(bytes)
    }

    /// In-order bytes that wait for [`Connection::read`].
    #[inline]
    pub fn readable(&self) -> u64 {
        self.recv.readable()
    }

    /// The application has written all: a FIN follows. It still reads.
    pub fn close(&mut self) {
        self.send.close();
    }

    /// The application has exited: it has written all, and reads no more. Unread data and data that arrive later are
    /// answered by a reset, so that the peer knows that they were lost (RFC 9293 section 3.6.1, SHLD-3). A
    /// connection that is not open yet is forgotten (section 3.10.4).
    pub fn abandon(&mut self) {
        match self.state {
            State::Listen | State::SynSent => self.give_up(),
            _ if self.recv.readable() > 0 => self.abort(),
            _ => {
                self.abandoned = true;
                self.send.close();
            }
        }
    }

    /// Ends the connection at once; the peer gets a reset.
    pub fn abort(&mut self) {
        let synchronized = !matches!(self.state, State::Listen | State::SynSent | State::Closed);
        self.give_up();
        self.reset_due = synchronized.then_some(Reset::Abort);
    }

    /// In-order payload that has arrived.
    #[inline]
    pub fn delivered_bytes(&self) -> u64 {
        self.recv.delivered()
    }

    /// Whether the byte at this offset (data begin at 1) has arrived.
    pub fn has_received(&self, seq: u64) -> bool {
        self.recv.has(seq)
    }

    /// The connection at this moment.
    pub fn info(&self) -> Info {
        let mut info = Info {
            state: self.state,
            congestion_state: CongestionState::Open,
            window: 0,
            slow_start_threshold: None,
            una: 0,
            nxt: 0,
            unacked: 0,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            reordering: 0,
            reordering_seen: 0,
            total_retransmitted: 0,
            delivered: 0,
            delivered_marked: 0,
            backoff: 0,
            consecutive_timeouts: 0,
            probes: 0,
            srtt: None,
            rttvar: None,
            rto: Duration::ZERO,
            min_rtt: None,
            pacing_rate: None,
            unsent_bytes: 0,
            mss: 0,
            syn_data: self.opened_fast(),
        };
        self.send.describe(&mut info);
        info
    }

    /// What has happened so far.
    #[inline]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The congestion window in segments.
    #[inline]
    pub fn window(&self) -> u32 {
        self.send.window()
    }

    /// As [`Connection::window`].
    #[inline]
    pub fn window_segments(&self) -> f64 {
        f64::from(self.window())
    }

    /// State of the connection.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Recomputes what is kept step by step; for tests, as it takes time in proportion to the window.
    ///
    /// # Panics
    /// If the two differ.
    #[doc(hidden)]
    pub fn check(&self) {
        if !self.gone {
            self.send.check();
        }
    }

    fn handle_established(&mut self, now: Time, segment: &Segment) {
        if !self.recv.accepts(now, segment) {
            return;
        }
        if segment.flags.has(Flags::RST) {
            return self.give_up();
        }
        if segment.flags.has(Flags::DUMMY) {
            return self.handle_dummy(now, segment);
        }
        if !segment.flags.has(Flags::ACK) {
            return; // RFC 9293 section 3.10.7.4
        }
        if segment.ack > self.send.nxt() {
            return self.recv.acknowledge(); // of something that was never sent: answered, and not looked at further
        }
        let alert = self.accurate.as_mut().is_some_and(|feedback| feedback.on_segment(segment.ecn, segment.len));
        let ack = Ack {
            seq: segment.seq,
            ack: segment.ack,
            window: segment.window,
            sack: &segment.sack,
            echo: segment.timestamps.map(|stamps| stamps.1).filter(|_| self.timestamps),
            bare: segment.end() == segment.seq,
            ece: self.ecn == EcnMode::Classic && segment.flags.has(Flags::ECE),
            marks: self.accurate.as_ref().map(|_| (ace(segment.flags), segment.accecn.as_ref())),
        };
        self.send.handle_ack(now, &ack, &mut self.counters);
        self.send.heard(now);
        self.send.count(&mut self.counters);
        if self.abandoned && self.brings_data(segment) {
            self.give_up();
            return self.refuse(segment);
        }
        if segment.end() > segment.seq {
            self.recv.handle_data(now, segment, self.send.fin_sent());
            if alert {
                self.recv.acknowledge();
            }
        }
        if self.send.fin_sent() || self.recv.finished() {
            self.follow_teardown();
        }
    }

    /// Whether a segment has data that did not arrive before.
    #[cold]
    fn brings_data(&self, segment: &Segment) -> bool {
        let end = segment.seq.saturating_add(u64::from(segment.len));
        segment.len > 0 && end > self.recv.next() && !self.recv.finished()
    }

    /// A dummy segment of TCP Peach is acknowledged at once; the controller gets the acknowledgment of one.
    #[cold]
    fn handle_dummy(&mut self, now: Time, segment: &Segment) {
        if segment.len > 0 {
            self.probes_to_acknowledge += 1;
        } else {
            self.send.handle_probe_ack(now);
        }
    }

    fn give_up(&mut self) {
        self.state = State::Closed;
        self.gone = true;
        self.handshake.timer = Time::MAX;
        self.send.stop();
        self.recv.on_acknowledged();
    }

    /// The state follows from which FINs were sent, received and acknowledged.
    #[cold]
    fn follow_teardown(&mut self) {
        if self.handshake.early {
            return; // as in Linux the handshake ends first
        }
        let before = self.state;
        self.state = match (self.send.fin_sent(), self.send.fin_acknowledged(), self.recv.finished()) {
            (false, _, false) => State::Established,
            (false, _, true) => State::CloseWait,
            (true, false, false) => State::FinWait1,
            (true, true, false) => State::FinWait2,
            (true, false, true) if matches!(before, State::CloseWait | State::LastAck) => State::LastAck,
            (true, false, true) => State::Closing,
            (true, true, true) => State::Closed,
        };
        if matches!(self.state, State::FinWait2 | State::Closed) {
            self.send.release();
        }
        // The end that closed first waits for a repeated FIN of the peer (TIME-WAIT); the other end does not.
        self.gone |= before == State::LastAck && self.state == State::Closed;
    }

    /// Writes the segment that the send half polled. Returns how often its data were sent before.
    #[inline]
    fn transmit(&mut self, now: Time, outgoing: &Outgoing, segment: &mut Segment) -> u32 {
        let (seq, len, fin, transmission, push, cwr) = match *outgoing {
            Outgoing::Data { seq, len, fin, transmission, push, cwr } => (seq, len, fin, transmission, push, cwr),
            Outgoing::Probe { seq } => (seq, 0, false, 0, false, false),
            Outgoing::Dummy { seq, len } => return self.low_priority_probe(now, seq, len, segment),
        };
        let mut flags = Flags::ACK;
        let syn = seq == 0 && matches!(outgoing, Outgoing::Data { .. });
        for (set, flag) in [(syn, Flags::SYN), (fin, Flags::FIN), (push && len > 0, Flags::PSH), (cwr, Flags::CWR)] {
            if set {
                flags |= flag;
            }
        }
        self.fill(now, segment, seq, flags);
        segment.len = len;
        if len > 0 && (transmission == 0 || self.capable_again) {
            segment.ecn = self.capable; // RFC 3168 section 6.1.5: not on retransmissions; RFC 9331 section 4.1: on all
        }
        if let Some(feedback) = &mut self.accurate {
            segment.flags |= feedback.on_sent(false);
        }
        self.on_sent(now, len);
        self.counters.retransmitted_segments += u64::from(transmission > 0);
        if fin {
            self.follow_teardown();
        }
        transmission
    }

    /// A segment of the send half went out, with `len` bytes and an acknowledgment.
    #[inline(always)]
    fn on_sent(&mut self, now: Time, len: u32) {
        self.recv.on_acknowledged();
        if len > 0 {
            self.recv.on_data_sent(now);
        }
        self.counters.segments_sent += 1;
        self.counters.data_segments_sent += u64::from(len > 0);
        self.counters.data_bytes_sent += u64::from(len);
    }

    /// A dummy segment of TCP Peach: a copy of data with the flag `DUMMY`.
    #[cold]
    fn low_priority_probe(&mut self, now: Time, seq: u64, len: u32, segment: &mut Segment) -> u32 {
        self.fill(now, segment, seq, Flags::ACK | Flags::DUMMY);
        segment.len = len;
        self.counters.segments_sent += 1;
        0
    }

    #[inline(always)]
    fn acknowledge(&mut self, now: Time, segment: &mut Segment) {
        self.fill(now, segment, self.send.nxt(), Flags::ACK);
        if self.send.sack() {
            self.recv.write_sack(&mut segment.sack);
        }
        if let Some(feedback) = &mut self.accurate {
            segment.flags |= feedback.on_sent(segment.sack.is_empty());
            segment.accecn = feedback.option(segment.option_room());
        }
        self.recv.on_acknowledged();
        self.counters.segments_sent += 1;
    }

    fn segment(&self, now: Time, seq: u64, flags: Flags) -> Segment {
        let mut segment = Segment::default();
        self.fill(now, &mut segment, seq, flags);
        segment
    }

    /// Writes the fields that every segment has.
    #[inline(always)]
    fn fill(&self, now: Time, segment: &mut Segment, seq: u64, flags: Flags) {
        segment.seq = seq;
        segment.ack = self.recv.next();
        segment.window = self.recv.window();
        segment.len = 0;
        segment.flags = if self.recv.echoes_mark() { flags | Flags::ECE } else { flags };
        segment.ecn = Ecn::NotEct;
        segment.timestamps = if self.timestamps { Some((timestamp(now), self.recv.echo())) } else { None };
        segment.sack.clear();
        segment.syn = None;
        segment.accecn = None;
    }
}
