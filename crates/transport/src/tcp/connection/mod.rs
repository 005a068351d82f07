//! A connection: handshake, the two halves, and teardown (RFC 9293).
//!
//! After each `handle_*` or application call, `poll_transmit` is to be called until it gives nothing, and the
//! connection woken at `poll_timeout`. Simplified, beside what the module says: a connection never gives up
//! retransmitting unless its application sets a user timeout.
//!
//! Its methods call one way: those of this file over plain, poll, opening, early, teardown and status, each over the
//! ones named after it. The SYN in flight, the feedback of marks and a reset that is due are owners of their own.

mod early;
mod handshake;
mod marks;
mod opening;
mod plain;
mod poll;
mod prediction;
mod reset;
mod status;
mod teardown;

use std::sync::Arc;

use units::{Duration, Time};

use self::handshake::Handshake;
use self::marks::Marks;
use self::prediction::Prediction;
use self::reset::Reset;
use super::accecn::ace;
use super::config::{EcnMode, Settings};
use super::fast_open::FastOpen;
use super::info::{Counters, InPlace, Info, State};
use super::recv::Receiver;
use super::segment::{Flags, Segment};
use super::send::{Ack, Sender};
use crate::state::{CongestionState, SenderSample};

/// One end of a TCP connection.
///
/// Here, in [`Receiver`] and in [`Sender`] the fields stand in the order of memory. What each segment of an end with
/// nothing to send touches lies together: the end of `recv`, the fields to `counters`, and the beginning of `send`.
#[repr(C)]
pub struct Connection {
    recv: Receiver,
    marks: Marks,
    /// Until the connection is open.
    handshake: Option<Box<Handshake>>,
    /// Dummy segments (TCP Peach) that arrived and are not acknowledged yet.
    probes_to_acknowledge: u32,
    state: State,
    /// Found out by [`Connection::predict`]. Whatever may change what it stands for forgets it: other segments, timers,
    /// what the application writes or closes, and what is sent the general way. Nagle's algorithm, the cork and the
    /// user timeout decide nothing about plain segments, and reads are no matter where the application reads at once.
    prediction: Prediction,
    /// Timestamps are in use.
    timestamps: bool,
    /// The connection has ended: by a reset of either side, by a time-out, or by the last acknowledgment.
    gone: bool,
    /// The application neither writes nor reads any more.
    abandoned: bool,
    /// No segment is predicted: a test compares with the general way.
    goes_generally: bool,
    counters: Counters,
    send: Sender,
    settings: Arc<Settings>,
    /// TCP Fast Open, if it is in use.
    fast_open: Option<Box<FastOpen>>,
    reset_due: Option<Box<Reset>>,
    /// The user timeout ended it.
    timed_out: bool,
}

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// How often these data were sent before; 0 for bare acknowledgments.
    pub sent_before: u32,
}

impl Connection {
    /// Opens a connection: a SYN goes out first. `entropy` is a number that differs between the connections of a run,
    /// for controllers with a random phase.
    pub fn connect(settings: impl Into<Arc<Settings>>, now: Time, entropy: u64) -> Connection {
        let mut connection = Connection::new(settings.into(), State::SynSent, now, entropy);
        connection.handshake().due = true;
        connection
    }

    /// Waits for a connection.
    pub fn listen(settings: impl Into<Arc<Settings>>, entropy: u64) -> Connection {
        Connection::new(settings.into(), State::Listen, Time::ZERO, entropy)
    }

    /// Both ends of a connection that was opened just before `now`, the end that connected first. The handshake took no
    /// time, was not sent, and gave no measurement of the round trip; with [`Settings::syn`] each end has a SYN
    /// to send.
    pub fn pair(settings: impl Into<Arc<Settings>>, now: Time, entropy: [u64; 2]) -> [Connection; 2] {
        let settings = settings.into();
        let opens = Connection::connect(Arc::clone(&settings), now, entropy[0]);
        let mut ends = [opens, Connection::listen(settings, entropy[1])];
        Connection::shake_hands(ends.each_mut(), now);
        ends
    }

    /// As [`Connection::pair`], of an end that connects and one that listens, neither of which has sent anything.
    pub(crate) fn shake_hands(mut ends: [&mut Connection; 2], now: Time) {
        for step in 0..3 {
            let [one, other] = &mut ends;
            let (from, to) = if step % 2 == 0 { (one, other) } else { (other, one) };
            let transmit = from.poll_transmit(now).expect("a handshake has three segments");
            if let Some(handshake) = &mut from.handshake {
                handshake.sent += 1; // as after a repetition: Karn's rule keeps its time out of the estimate
            }
            to.handle_segment(now, &transmit.segment);
        }
        for end in ends {
            end.counters = Counters::default();
            if end.settings.syn {
                end.send.begin_with_syn();
                end.recv.await_syn();
            }
        }
    }

    fn new(settings: Arc<Settings>, state: State, now: Time, entropy: u64) -> Connection {
        Connection {
            state,
            handshake: Some(Box::new(Handshake::new(now))),
            timestamps: settings.timestamps,
            marks: Marks::off(),
            send: Sender::new(&settings, entropy),
            recv: Receiver::new(&settings),
            fast_open: FastOpen::of(&settings),
            gone: false,
            timed_out: false,
            abandoned: false,
            goes_generally: false,
            reset_due: None,
            probes_to_acknowledge: 0,
            prediction: Prediction::Unknown,
            counters: Counters::default(),
            settings,
        }
    }

    /// A segment arrived.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        if !self.handle_plain(now, segment) {
            self.handle_other(now, segment);
        }
    }

    /// Answers [`super::Arrival::Data`] in place of `segment`.
    #[inline(always)]
    pub(crate) fn answer_data(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        if self.take_at_rest(now, segment) {
            self.acknowledge_in_place(now, segment)
        } else {
            self.answer_other(now, segment)
        }
    }

    /// Answers a segment that the end [`Connection::expects_beyond`], in its place.
    #[inline(always)]
    pub(crate) fn answer_beyond(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        if self.take_beyond(now, segment) {
            self.acknowledge_beyond_in_place(now, segment)
        } else {
            self.answer_other(now, segment)
        }
    }

    /// Answers [`super::Arrival::Other`] in place of `segment`, as [`Connection::handle_segment`] and the first
    /// [`Connection::poll_segment`] after it do. [`Connection::send_in_place`] has what may follow.
    #[inline(always)]
    pub(crate) fn answer_other(&mut self, now: Time, segment: &mut Segment) -> InPlace {
        self.handle_other(now, segment);
        self.poll_in_place(now, segment)
    }

    /// As [`Connection::handle_segment`], of a segment that [`Connection::handle_plain`] does not take.
    #[inline]
    fn handle_other(&mut self, now: Time, segment: &Segment) {
        self.prediction = Prediction::Unknown;
        self.counters.segments_received += 1;
        if self.is_synchronized() {
            self.handle_established(now, segment);
        } else {
            self.handle_unsynchronized(now, segment);
        }
    }

    /// A segment before the connection is open, or after it is over.
    #[cold]
    fn handle_unsynchronized(&mut self, now: Time, segment: &Segment) {
        match self.state {
            State::Listen => self.handle_syn(now, segment),
            State::SynSent => self.handle_syn_ack(now, segment),
            State::SynReceived => {
                if segment.flags.has(Flags::SYN) {
                    self.handshake().due = true; // our SYN-ACK was lost
                } else if self.is_open_early() && segment.flags.has(Flags::RST) {
                    self.handle_established(now, segment);
                } else if segment.flags.has(Flags::ACK) && segment.ack >= 1 {
                    self.establish(now, segment);
                    if self.marks.read_handshake_echo(segment) {
                        self.send.on_marked_handshake();
                    }
                    self.handle_established(now, segment);
                }
            }
            _ => self.reset(Reset::answer_to(segment)),
        }
    }

    /// The earliest of [`Connection::poll_timeout`] is reached.
    pub fn handle_timeout(&mut self, now: Time) {
        self.prediction = Prediction::Unknown;
        if self.send.gives_up_at() <= now {
            self.timed_out = true;
            return self.give_up();
        }
        if let Some(handshake) = &mut self.handshake {
            self.counters.syn_timeouts += u64::from(handshake.handle_timeout(now));
        }
        self.recv.handle_timeout(now);
        self.send.handle_timeout(now, &mut self.counters);
        self.send.count(&mut self.counters);
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
        let next = self.send.timer().min(self.recv.timer());
        self.handshake.as_ref().map_or(next, |handshake| next.min(handshake.timer))
    }

    /// The application has `bytes` more to send.
    pub fn write(&mut self, now: Time, bytes: u64) {
        self.prediction = Prediction::Unknown;
        self.send.write(now, bytes);
    }

    /// The application has `bytes` more, and says that others follow at once (`MSG_MORE`): a rest
    /// that does not fill a segment waits. It is sent with the next [`Connection::write`], when a segment of the peer
    /// arrives, or, with nothing in flight, after a time-out.
    pub fn write_more(&mut self, now: Time, bytes: u64) {
        self.write(now, bytes);
        self.send.expect_more();
    }

    /// The application has `bytes` more, with which a record ends (`MSG_EOR`): no segment has data of two
    /// records.
    pub fn write_record(&mut self, now: Time, bytes: u64) {
        self.write(now, bytes);
        self.send.end_record();
    }

    /// The application never runs out of data.
    pub fn write_for_ever(&mut self, now: Time) {
        self.write(now, u64::MAX);
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
        self.prediction = Prediction::Unknown;
        self.recv.hold_reads();
    }

    /// As [`Connection::hold_reads`], before the handshake, for an application that hands on data on arrival, and reads
    /// what is gone: the window is what is left of `buffer` bytes, which stand in for [`Settings::receive_buffer`], and
    /// acknowledgments are those of an application that reads on arrival.
    pub fn relay(&mut self, buffer: u64) {
        self.prediction = Prediction::Unknown;
        self.recv.relay(buffer);
    }

    /// The application reads up to `bytes`. Returns the bytes read. The advertised window may open.
    pub fn read(&mut self, bytes: u64) -> u64 {
        self.recv.read(bytes)
    }

    /// Returns the in-order bytes that wait for [`Connection::read`].
    #[inline]
    pub fn readable(&self) -> u64 {
        self.recv.readable()
    }

    /// Returns the bytes of in-order payload that have arrived.
    #[inline]
    pub fn delivered_bytes(&self) -> u64 {
        self.recv.delivered()
    }

    /// Whether the byte at this offset (data begin at 1) has arrived.
    pub fn has_received(&self, seq: u64) -> bool {
        self.recv.has(seq)
    }

    /// The end of what has arrived in order, the FIN included.
    pub(crate) fn received_to(&self) -> u64 {
        self.recv.next()
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

    /// Returns the state of the sender at this moment.
    pub fn sample(&self) -> SenderSample {
        self.send.state_now()
    }

    /// Returns the counters.
    #[inline]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The congestion window in segments.
    #[inline]
    pub fn window(&self) -> u32 {
        self.send.window()
    }

    /// State of the connection.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// From now on all segments go the general way; for tests.
    #[doc(hidden)]
    pub fn go_generally(&mut self) {
        (self.goes_generally, self.prediction) = (true, Prediction::Unknown);
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

    #[inline(never)]
    fn handle_established(&mut self, now: Time, segment: &Segment) {
        let end = segment.end();
        if segment.flags.of(Flags::RST | Flags::DUMMY | Flags::ACK) != Flags::ACK {
            return self.handle_rare(now, segment, end);
        }
        if !self.recv.accepts(now, segment, end) {
            return;
        }
        if segment.ack > self.send.nxt() {
            return self.recv.acknowledge(); // of something that was never sent: answered, and not looked at further
        }
        let alert = self.marks.accurate.as_mut().is_some_and(|feedback| feedback.on_segment(segment.ecn, segment.len));
        let ack = Ack {
            seq: segment.seq,
            ack: segment.ack,
            window: segment.window,
            sack: &segment.sack,
            echo: segment.timestamps.map(|stamps| stamps.1).filter(|_| self.timestamps),
            bare: end == segment.seq,
            ece: self.marks.mode == EcnMode::Classic && segment.flags.has(Flags::ECE),
            marks: self.marks.accurate.as_ref().map(|_| (ace(segment.flags), segment.accecn.as_ref())),
        };
        self.send.handle_ack(now, &ack, &mut self.counters);
        self.send.heard(now);
        self.send.count(&mut self.counters);
        if self.abandoned && self.brings_data(segment) {
            self.give_up();
            self.reset(Reset::answer_to(segment));
            return;
        }
        if end > segment.seq {
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

    /// A reset, a dummy segment, or one that acknowledges nothing, which RFC 9293 section 3.10.7.4 drops.
    ///
    /// Nothing of a dummy is taken: it may come before or after the data that it copies. Its timestamp would make data
    /// that it overtook look old (PAWS), and it is no duplicate to report.
    #[cold]
    fn handle_rare(&mut self, now: Time, segment: &Segment, end: u64) {
        if segment.flags.has(Flags::DUMMY) && !segment.flags.has(Flags::RST) {
            self.handle_dummy(now, segment);
        } else if self.recv.accepts(now, segment, end) && segment.flags.has(Flags::RST) {
            self.give_up();
        }
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
}
