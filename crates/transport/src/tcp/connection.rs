//! A connection: handshake, the two halves, and teardown (RFC 9293).
//!
//! After each `handle_*` or application call, `poll_transmit` is to be called until it gives nothing, and the connection woken at
//! `poll_timeout`. Simplified, beside what the module says: a connection never gives up retransmitting, never sends a reset, and
//! has no Nagle algorithm (what the application writes at once goes at once).

use units::{Duration, Time};

use super::config::Settings;
use super::info::{CongestionState, Counters, Info, State};
use super::recv::Receiver;
use super::segment::{Flags, SackBlocks, Segment, SynOptions};
use super::send::{Ack, Outgoing, Sender, timestamp};

/// One end of a TCP connection.
pub struct Connection {
    settings: Settings,
    state: State,
    handshake: Handshake,
    /// Timestamps are in use.
    timestamps: bool,
    send: Sender,
    recv: Receiver,
    /// The peer reset the connection.
    reset: bool,
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
}

/// RFC 6298 (5.7): the time-out for data after a SYN was lost.
const RTO_AFTER_SYN_LOSS: Duration = Duration::from_secs(3);
/// The largest window without scaling.
const UNSCALED: u64 = 65_535;
/// Bytes of the timestamps option, which the maximum segment size of a SYN does not count (RFC 6691).
const TIMESTAMPS: u32 = 12;

impl Connection {
    /// Opens a connection: a SYN goes out first.
    pub fn connect(settings: Settings, now: Time) -> Connection {
        let mut connection = Connection::new(settings, State::SynSent, now);
        connection.handshake.due = true;
        connection
    }

    /// Waits for a connection.
    pub fn listen(settings: Settings) -> Connection {
        Connection::new(settings, State::Listen, Time::ZERO)
    }

    fn new(settings: Settings, state: State, now: Time) -> Connection {
        Connection {
            state,
            handshake: Handshake { due: false, timer: Time::MAX, expiries: 0, sent: 0, sent_at: now, peer: None },
            timestamps: settings.timestamps,
            send: Sender::new(&settings),
            recv: Receiver::new(settings.receive_buffer, settings.delayed_ack),
            reset: false,
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
    }

    /// The next segment to be sent, if any may go now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        match self.state {
            State::Listen => return None,
            State::SynSent | State::SynReceived => return self.poll_handshake(now),
            _ if self.reset => return None,
            _ => {}
        }
        if !self.recv.ack_alone()
            && let Some(outgoing) = self.send.poll(now)
        {
            return Some(self.transmit(now, &outgoing));
        }
        self.recv.ack_due().then(|| self.acknowledgment(now))
    }

    /// When [`Connection::handle_timeout`] is to be called next.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        let next = self.send.timer().min(self.recv.timer()).min(self.handshake.timer);
        (next != Time::MAX).then_some(next)
    }

    /// The application has `bytes` more to send.
    pub fn write(&mut self, bytes: u64) {
        self.send.write(bytes);
    }

    /// The application never runs out of data.
    pub fn write_for_ever(&mut self) {
        self.send.write_for_ever();
    }

    /// The application has written all: a FIN follows.
    pub fn close(&mut self) {
        self.send.close();
    }

    /// In-order payload that the receiving application has taken: it reads at once.
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
            window_bytes: 0,
            slow_start_threshold: None,
            srtt: None,
            rttvar: None,
            rto: Duration::ZERO,
            min_rtt: None,
            in_flight_bytes: 0,
            outstanding_bytes: 0,
            unsent_bytes: 0,
            sacked_bytes: 0,
            lost_bytes: 0,
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
        self.accept_options(now, segment, options);
        self.send.start_window(segment.seq, 0, segment.window);
        self.state = State::SynReceived;
        self.handshake.due = true;
    }

    fn handle_syn_ack(&mut self, now: Time, segment: &Segment) {
        if segment.flags.has(Flags::RST) && segment.ack == 1 {
            return self.abort();
        }
        let Some(options) = segment.syn.filter(|_| segment.flags.has(Flags::ACK) && segment.ack == 1) else { return };
        self.accept_options(now, segment, options);
        self.send.start_window(segment.seq, segment.ack, segment.window);
        self.establish(now);
        self.recv.acknowledge();
    }

    /// What the two SYNs agree on.
    fn accept_options(&mut self, now: Time, segment: &Segment, options: SynOptions) {
        self.handshake.peer = Some(options);
        self.timestamps &= segment.timestamps.is_some();
        let window = match options.window_scale {
            Some(_) => {
                let shift = self.window_shift();
                self.settings.receive_buffer >> shift << shift
            }
            None => self.settings.receive_buffer.min(UNSCALED),
        };
        self.recv.open(now, window, segment.timestamps.filter(|_| self.timestamps).map(|stamps| stamps.0));
    }

    /// RFC 7323 section 2.3: so many that the receive buffer fits 16 bits.
    fn window_shift(&self) -> u8 {
        let bits = u64::BITS - self.settings.receive_buffer.leading_zeros();
        let shift = bits.saturating_sub(16);
        shift.min(14) as u8
    }

    /// Our SYN is acknowledged.
    fn establish(&mut self, now: Time) {
        let Some(peer) = self.handshake.peer else { return };
        let options = if self.timestamps { TIMESTAMPS } else { 0 };
        let mss = u32::from(peer.mss).saturating_sub(options).min(self.settings.mss).max(1);
        let syn_lost = self.handshake.expiries > 0;
        self.send.open(&self.settings, u64::from(mss), self.settings.sack && peer.sack_permitted, syn_lost);
        if syn_lost {
            self.send.rtt().restart(RTO_AFTER_SYN_LOSS);
        } else if self.handshake.sent == 1 {
            self.send.rtt().measured(now.since(self.handshake.sent_at));
        }
        self.handshake.timer = Time::MAX;
        self.handshake.due = false;
        self.state = State::Established;
    }

    fn poll_handshake(&mut self, now: Time) -> Option<Transmit> {
        if !self.handshake.due {
            return None;
        }
        let peer = self.handshake.peer;
        let mut flags = Flags::SYN;
        if peer.is_some() {
            flags |= Flags::ACK;
        }
        // A SYN-ACK repeats the options that both want (RFC 7323 sections 2.2 and 3.2); its window is not scaled yet.
        let offer_scale = peer.is_none_or(|peer| peer.window_scale.is_some());
        let mss = self.settings.mss + if self.settings.timestamps { TIMESTAMPS } else { 0 };
        let mut segment = self.segment(now, 0, flags);
        segment.window = self.settings.receive_buffer.min(UNSCALED);
        segment.syn = Some(SynOptions {
            mss: mss.min(65_535) as u16,
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
            return self.abort();
        }
        if segment.flags.has(Flags::ACK) {
            let ack = Ack {
                seq: segment.seq,
                ack: segment.ack,
                window: segment.window,
                sack: &segment.sack,
                echo: segment.timestamps.map(|stamps| stamps.1),
                bare: segment.end() == segment.seq,
            };
            self.send.handle_ack(now, &ack, &mut self.counters);
        }
        if segment.len > 0 || segment.flags.has(Flags::FIN) {
            self.recv.handle_data(now, segment);
        }
        if self.send.fin_sent() || self.recv.finished() {
            self.follow_teardown();
        }
    }

    fn abort(&mut self) {
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
        let (seq, len, fin, transmission) = match *outgoing {
            Outgoing::Data { seq, len, fin, transmission } => (seq, len, fin, transmission),
            Outgoing::Probe { seq } => (seq, 0, false, 0),
        };
        let flags = if fin { Flags::ACK | Flags::FIN } else { Flags::ACK };
        let mut segment = self.segment(now, seq, flags);
        segment.len = len;
        self.recv.on_acknowledged();
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
        Segment {
            seq,
            ack: self.recv.next(),
            window: self.recv.window(),
            len: 0,
            flags,
            timestamps: if self.timestamps { Some((timestamp(now), self.recv.echo())) } else { None },
            sack: SackBlocks::default(),
            syn: None,
        }
    }
}
