//! A connection: handshake, the two halves, and teardown (RFC 9293).
//!
//! After each `handle_*` or application call, `poll_transmit` is to be called until it gives nothing, and the connection woken at
//! `poll_timeout`. Simplified, beside what the module says: a connection never gives up retransmitting, and resets only when its
//! application leaves data unread or aborts.

use std::sync::Arc;

use units::{Duration, Ecn, Time};

use super::config::Settings;
use super::info::{CongestionState, Counters, Info, State};
use super::recv::Receiver;
use super::segment::{Flags, SackBlocks, Segment, SynOptions};
use super::send::{Ack, Agreed, Outgoing, Sender, timestamp};

/// One end of a TCP connection.
pub struct Connection {
    settings: Arc<Settings>,
    state: State,
    handshake: Handshake,
    /// Timestamps are in use.
    timestamps: bool,
    /// Congestion marks are in use (RFC 3168).
    ecn: bool,
    send: Sender,
    recv: Receiver,
    /// Either side reset the connection; if it was ours, the reset is to be sent.
    reset: bool,
    reset_due: bool,
    /// Dummy segments (TCP Peach) that arrived and are not acknowledged yet.
    dummies_to_acknowledge: u32,
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

/// The SYN or SYN-ACK on its way, and what the peer's said.
#[derive(Debug)]
struct Handshake {
    /// It is to be sent (again).
    due: bool,
    timer: Time,
    /// Expiries of the timer.
    expiries: u32,
    /// How often it was sent.
    sent: u32,
    sent_at: Time,
    peer: Option<SynOptions>,
    /// The peer's SYN asked for congestion marks, and we do so too.
    ece: bool,
}

/// RFC 6298 (5.7): the time-out for data after a SYN was lost.
const RTO_AFTER_SYN_LOSS: Duration = Duration::from_secs(3);
/// The largest window without scaling.
const UNSCALED: u64 = 65_535;
/// Bytes of the timestamps option, which the maximum segment size of a SYN does not count (RFC 6691).
const TIMESTAMPS: u32 = 12;

impl Connection {
    /// Opens a connection: a SYN goes out first. `entropy` is a number that differs between the connections of a run, for
    /// controllers with a random phase.
    pub fn connect(settings: impl Into<Arc<Settings>>, now: Time, entropy: u64) -> Connection {
        let mut connection = Connection::new(settings.into(), State::SynSent, now, entropy);
        connection.handshake.due = true;
        connection
    }

    /// Waits for a connection.
    pub fn listen(settings: impl Into<Arc<Settings>>, entropy: u64) -> Connection {
        Connection::new(settings.into(), State::Listen, Time::ZERO, entropy)
    }

    fn new(settings: Arc<Settings>, state: State, now: Time, entropy: u64) -> Connection {
        Connection {
            state,
            handshake: Handshake {
                due: false,
                timer: Time::MAX,
                expiries: 0,
                sent: 0,
                sent_at: now,
                peer: None,
                ece: false,
            },
            timestamps: settings.timestamps,
            ecn: false,
            send: Sender::new(&settings, entropy),
            recv: Receiver::new(&settings),
            reset: false,
            reset_due: false,
            dummies_to_acknowledge: 0,
            counters: Counters::default(),
            settings,
        }
    }

    /// A segment arrived.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        self.counters.segments_received += 1;
        match self.state {
            State::Listen => self.handle_syn(now, segment),
            State::SynSent => self.handle_syn_ack(now, segment),
            State::SynReceived => {
                if segment.flags.has(Flags::SYN) {
                    self.handshake.due = true; // our SYN-ACK was lost
                } else if segment.flags.has(Flags::ACK) && segment.ack >= 1 {
                    self.establish(now);
                    self.handle_established(now, segment);
                }
            }
            _ if self.reset => {}
            _ => self.handle_established(now, segment),
        }
    }

    /// The earliest of [`Connection::poll_timeout`] is reached.
    pub fn handle_timeout(&mut self, now: Time) {
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
        match self.state {
            State::Listen => return None,
            State::SynSent | State::SynReceived => return self.poll_handshake(now),
            _ if self.reset => return self.poll_reset(now),
            _ => {}
        }
        if !self.recv.ack_alone()
            && let Some(outgoing) = self.send.poll(now)
        {
            return Some(self.transmit(now, &outgoing));
        }
        if self.recv.ack_due() {
            return Some(self.acknowledgment(now));
        }
        if self.dummies_to_acknowledge > 0 {
            self.dummies_to_acknowledge -= 1;
            let mut segment = self.segment(now, self.send.nxt(), Flags::ACK | Flags::DUMMY);
            segment.window = self.recv.window();
            self.counters.segments_sent += 1;
            return Some(Transmit { segment, transmission: 0 });
        }
        None
    }

    /// When [`Connection::handle_timeout`] is to be called next.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        let next = self.send.timer().min(self.recv.timer()).min(self.handshake.timer);
        (next != Time::MAX).then_some(next)
    }

    /// The application has `bytes` more to send.
    pub fn write(&mut self, now: Time, bytes: u64) {
        self.send.write(now, bytes);
    }

    /// The application never runs out of data.
    pub fn write_for_ever(&mut self, now: Time) {
        self.send.write(now, u64::MAX);
    }

    /// Whether small writes wait while others are unacknowledged (RFC 9293 section 3.7.4).
    pub fn set_nagle(&mut self, on: bool) {
        self.send.set_nagle(on);
    }

    /// From now on the receiving application reads only by [`Connection::read`]; before it reads at once.
    pub fn hold_reads(&mut self) {
        self.recv.hold_reads();
    }

    /// The application reads up to `bytes`; how many it got. The window offered may open.
    pub fn read(&mut self, bytes: u64) -> u64 {
        self.recv.read(bytes)
    }

    /// In-order bytes that wait for [`Connection::read`].
    #[inline]
    pub fn readable(&self) -> u64 {
        self.recv.readable()
    }

    /// The application has written all: a FIN follows. If it leaves data unread the connection is reset instead (RFC 1122 section
    /// 4.2.2.13).
    pub fn close(&mut self) {
        if self.recv.readable() > 0 {
            return self.abort();
        }
        self.send.close();
    }

    /// Ends the connection at once; the peer gets a reset.
    pub fn abort(&mut self) {
        let synchronized = !matches!(self.state, State::Listen | State::SynSent | State::Closed);
        self.give_up();
        self.reset_due = synchronized;
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
    pub fn window_segments(&self) -> f64 {
        self.send.window_segments()
    }

    /// Recomputes what is kept step by step; for tests, as it takes time in proportion to the window.
    ///
    /// # Panics
    /// If the two differ.
    #[doc(hidden)]
    pub fn check(&self) {
        if !self.reset {
            self.send.check();
        }
    }

    fn handle_syn(&mut self, now: Time, segment: &Segment) {
        let Some(options) = segment.syn.filter(|_| !segment.flags.has(Flags::ACK)) else { return };
        // RFC 3168 section 6.1.1: a SYN asks with both bits.
        self.handshake.ece = self.settings.ecn && segment.flags.has(Flags::ECE) && segment.flags.has(Flags::CWR);
        self.ecn = self.handshake.ece;
        self.accept_options(now, segment, options);
        self.send.start_window(segment.seq, 0, segment.window);
        self.state = State::SynReceived;
        self.handshake.due = true;
    }

    fn handle_syn_ack(&mut self, now: Time, segment: &Segment) {
        if segment.flags.has(Flags::RST) && segment.ack == 1 {
            return self.give_up();
        }
        let Some(options) = segment.syn.filter(|_| segment.flags.has(Flags::ACK) && segment.ack == 1) else { return };
        self.ecn = self.settings.ecn && segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::CWR);
        self.accept_options(now, segment, options);
        self.send.start_window(segment.seq, segment.ack, segment.window);
        self.establish(now);
        self.recv.acknowledge();
    }

    /// What the two SYNs agree on.
    fn accept_options(&mut self, now: Time, segment: &Segment, options: SynOptions) {
        self.handshake.peer = Some(options);
        self.timestamps &= segment.timestamps.is_some();
        let (window, unit) = match options.window_scale {
            Some(_) => (self.settings.receive_buffer.get(), 1 << self.window_shift()),
            None => (self.settings.receive_buffer.get().min(UNSCALED), 1),
        };
        let timestamp = segment.timestamps.filter(|_| self.timestamps).map(|stamps| stamps.0);
        self.recv.open(now, (window, unit), timestamp, self.ecn);
    }

    /// RFC 7323 section 2.3: so many that the receive buffer fits 16 bits.
    fn window_shift(&self) -> u8 {
        let bits = u64::BITS - self.settings.receive_buffer.get().leading_zeros();
        let shift = bits.saturating_sub(16);
        shift.min(14) as u8
    }

    /// Our SYN is acknowledged.
    fn establish(&mut self, now: Time) {
        let Some(peer) = self.handshake.peer else { return };
        // A segment takes up the room that the timestamps would have had, if the peer does not want them.
        let (own, options) = if self.timestamps { (self.settings.mss, TIMESTAMPS) } else { (self.advertised_mss(), 0) };
        let mss = u32::from(peer.mss).saturating_sub(options).min(own).max(1);
        let syn_lost = self.handshake.expiries > 0;
        self.send.open(
            now,
            &Agreed {
                mss: u64::from(mss),
                sack: self.settings.sack && peer.sack_permitted,
                timestamps: self.timestamps,
                ecn: self.ecn,
                syn_lost,
                // Karn: which of several SYNs was answered is not known.
                rtt: (self.handshake.sent == 1).then(|| now.since(self.handshake.sent_at)),
            },
        );
        if syn_lost {
            self.send.rtt().restart(RTO_AFTER_SYN_LOSS);
        }
        self.recv.establish(self.send.rtt().rto());
        self.handshake.timer = Time::MAX;
        self.handshake.due = false;
        self.state = State::Established;
    }

    /// RFC 6691: timestamps do not count.
    fn advertised_mss(&self) -> u32 {
        self.settings.mss + if self.settings.timestamps { TIMESTAMPS } else { 0 }
    }

    fn poll_reset(&mut self, now: Time) -> Option<Transmit> {
        if !std::mem::take(&mut self.reset_due) {
            return None;
        }
        self.counters.segments_sent += 1;
        Some(Transmit { segment: self.segment(now, self.send.nxt(), Flags::RST | Flags::ACK), transmission: 0 })
    }

    fn poll_handshake(&mut self, now: Time) -> Option<Transmit> {
        if !self.handshake.due {
            return None;
        }
        let peer = self.handshake.peer;
        let mut flags = Flags::SYN;
        if peer.is_some() {
            flags |= Flags::ACK;
            if self.handshake.ece {
                flags |= Flags::ECE;
            }
        } else if self.settings.ecn && self.handshake.expiries == 0 {
            flags |= Flags::ECE | Flags::CWR;
        }
        // A SYN-ACK repeats the options that both want (RFC 7323 sections 2.2 and 3.2); its window is not scaled yet.
        let offer_scale = peer.is_none_or(|peer| peer.window_scale.is_some());
        let mut segment = self.segment(now, 0, flags);
        segment.window = self.settings.receive_buffer.get().min(UNSCALED);
        segment.syn = Some(SynOptions {
            mss: self.advertised_mss().min(65_535) as u16,
            window_scale: offer_scale.then(|| self.window_shift()),
            sack_permitted: self.settings.sack && peer.is_none_or(|peer| peer.sack_permitted),
        });
        self.handshake.due = false;
        self.handshake.sent += 1;
        self.handshake.sent_at = now;
        let rto = self.settings.initial_rto * (1 << self.handshake.expiries.min(16));
        self.handshake.timer = now + rto.min(self.settings.max_rto);
        self.counters.segments_sent += 1;
        Some(Transmit { segment, transmission: self.handshake.sent - 1 })
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
        if segment.ecn == Ecn::Ce {
            self.counters.marks_received += 1;
        }
        let ack = Ack {
            seq: segment.seq,
            ack: segment.ack,
            window: segment.window,
            sack: &segment.sack,
            echo: segment.timestamps.map(|stamps| stamps.1).filter(|_| self.timestamps),
            bare: segment.end() == segment.seq,
            ece: segment.flags.has(Flags::ECE),
        };
        self.send.handle_ack(now, &ack, &mut self.counters);
        self.send.count(&mut self.counters);
        if segment.len > 0 || segment.flags.has(Flags::FIN) {
            self.recv.handle_data(now, segment);
        }
        if self.send.fin_sent() || self.recv.finished() {
            self.follow_teardown();
        }
    }

    /// A dummy segment of TCP Peach is acknowledged at once, and its acknowledgment told to the controller.
    #[cold]
    fn handle_dummy(&mut self, now: Time, segment: &Segment) {
        if segment.len > 0 {
            self.dummies_to_acknowledge += 1;
        } else {
            self.send.handle_dummy_ack(now);
        }
    }

    fn give_up(&mut self) {
        self.state = State::Closed;
        self.reset = true;
        self.handshake.timer = Time::MAX;
        self.send.stop();
        self.recv.on_acknowledged();
    }

    /// The state follows from which FINs were sent, received and acknowledged.
    #[cold]
    fn follow_teardown(&mut self) {
        self.state = match (self.send.fin_sent(), self.send.fin_acknowledged(), self.recv.finished()) {
            (false, _, false) => State::Established,
            (false, _, true) => State::CloseWait,
            (true, false, false) => State::FinWait1,
            (true, true, false) => State::FinWait2,
            (true, false, true) if matches!(self.state, State::CloseWait | State::LastAck) => State::LastAck,
            (true, false, true) => State::Closing,
            (true, true, true) => State::Closed,
        };
    }

    #[inline]
    fn transmit(&mut self, now: Time, outgoing: &Outgoing) -> Transmit {
        let (seq, len, fin, transmission, push, cwr) = match *outgoing {
            Outgoing::Data { seq, len, fin, transmission, push, cwr } => (seq, len, fin, transmission, push, cwr),
            Outgoing::Probe { seq } => (seq, 0, false, 0, false, false),
            Outgoing::Dummy { seq, len } => return self.dummy(now, seq, len),
        };
        let mut flags = Flags::ACK;
        for (set, flag) in [(fin, Flags::FIN), (push && len > 0, Flags::PSH), (cwr, Flags::CWR)] {
            if set {
                flags |= flag;
            }
        }
        let mut segment = self.segment(now, seq, flags);
        segment.len = len;
        if self.ecn && len > 0 && transmission == 0 {
            segment.ecn = Ecn::Ect0; // RFC 3168 section 6.1.5: not on retransmissions
        }
        self.recv.on_acknowledged();
        if len > 0 {
            self.recv.on_data_sent(now);
        }
        let counters = &mut self.counters;
        counters.segments_sent += 1;
        counters.data_segments_sent += u64::from(len > 0);
        counters.data_bytes_sent += u64::from(len);
        counters.retransmitted_segments += u64::from(transmission > 0);
        if fin {
            self.follow_teardown();
        }
        Transmit { segment, transmission }
    }

    /// A dummy segment: a copy that only its mark tells from data.
    #[cold]
    fn dummy(&mut self, now: Time, seq: u64, len: u32) -> Transmit {
        let mut segment = self.segment(now, seq, Flags::ACK | Flags::DUMMY);
        segment.len = len;
        self.counters.segments_sent += 1;
        Transmit { segment, transmission: 0 }
    }

    fn acknowledgment(&mut self, now: Time) -> Transmit {
        let mut segment = self.segment(now, self.send.nxt(), Flags::ACK);
        if self.send.sack() {
            segment.sack = self.recv.sack();
        }
        self.recv.on_acknowledged();
        self.counters.segments_sent += 1;
        self.counters.acks_sent += 1;
        Transmit { segment, transmission: 0 }
    }

    #[inline]
    fn segment(&self, now: Time, seq: u64, flags: Flags) -> Segment {
        let flags = if self.recv.echoes_mark() { flags | Flags::ECE } else { flags };
        Segment {
            seq,
            ack: self.recv.next(),
            window: self.recv.window(),
            len: 0,
            flags,
            ecn: Ecn::NotEct,
            timestamps: if self.timestamps { Some((timestamp(now), self.recv.echo())) } else { None },
            sack: SackBlocks::default(),
            syn: None,
        }
    }
}
