//! The send half: what may be sent when, and the retransmission and persist timers.

mod recovery;
mod rtt;
mod scoreboard;

use units::{Duration, Time};

use super::config::Settings;
use super::info::{CongestionState, Counters, Info};
use super::segment::SackBlocks;
use crate::congestion::{AckSample, CongestionController, Start};

pub(super) use rtt::Rtt;
use scoreboard::{News, Scoreboard, Slot};

/// Everything about the way out.
pub(super) struct Sender {
    board: Scoreboard,
    rtt: Rtt,
    controller: Box<dyn CongestionController>,
    /// Largest payload that the path and the peer take.
    mss: u64,
    sack: bool,
    limited_transmit: bool,
    dupthresh: u32,
    initial_window: u64,

    /// Offset after the last byte that the application wrote.
    end: u64,
    /// A FIN follows the last byte.
    fin: Fin,
    /// Right edge of the peer's window, and the segment that said so (RFC 9293 SND.WL1, SND.WL2).
    edge: u64,
    edge_from: (u64, u64),
    /// The largest window that the peer offered.
    largest_window: u64,

    state: CongestionState,
    /// Duplicate acknowledgments since the cumulative one last advanced.
    dupacks: u32,
    /// What was sent when the last recovery began: losses below it belong to that one (RFC 6675 RecoveryPoint, RFC 6582 recover).
    recovery_point: u64,
    /// The rescue retransmission of this recovery was used (RFC 6675 RescueRxt).
    rescued: bool,
    /// By how much duplicate acknowledgments extend the window without SACK (RFC 6582); negative after a partial one.
    inflation: i64,
    /// This recovery has seen a partial acknowledgment (RFC 6582 section 3.2 step 3 restarts the timer on the first only).
    partial: bool,
    /// The oldest segment goes again, whatever the window says.
    resend_front: bool,

    timer: Time,
    timer_kind: TimerKind,
    /// SND.UNA at the last expiry.
    expired_at: Option<u64>,
    /// A window probe is to be sent.
    probe: bool,
    /// A segment is to be cut to the window that there is: the persist timer overrides silly window avoidance.
    cut: bool,

    last_sent: Option<Time>,
    /// Whether the window, not the application or the peer, held back data last.
    window_limited: bool,
    delivered: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    None,
    Wanted,
    Sent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerKind {
    Retransmission,
    Persist,
}

/// What goes out next.
pub(super) enum Outgoing {
    Data {
        seq: u64,
        len: u32,
        fin: bool,
        transmission: u32,
    },
    /// A segment without data before the window, which the peer must answer.
    Probe {
        seq: u64,
    },
}

/// What an acknowledgment says of our data.
#[derive(Clone, Copy)]
pub(super) struct Ack<'a> {
    pub seq: u64,
    pub ack: u64,
    pub window: u64,
    pub sack: &'a SackBlocks,
    /// The timestamp that it echoes, with timestamps in use.
    pub echo: Option<u32>,
    /// Whether the segment carries neither data nor SYN nor FIN.
    pub bare: bool,
}

impl Sender {
    /// The send half when the SYN, at offset 0, is the only thing sent.
    pub(super) fn new(settings: &Settings) -> Sender {
        let mss = u64::from(settings.mss);
        Sender {
            board: Scoreboard::new(1, mss, settings.dupthresh),
            rtt: Rtt::new(settings.initial_rto, settings.min_rto, settings.max_rto),
            controller: settings.congestion.build(Start { segment: mss, window: settings.initial_window }),
            mss,
            sack: settings.sack,
            limited_transmit: settings.limited_transmit,
            dupthresh: settings.dupthresh,
            initial_window: settings.initial_window,
            end: 1,
            fin: Fin::None,
            edge: 1,
            edge_from: (0, 0),
            largest_window: 0,
            state: CongestionState::Open,
            dupacks: 0,
            recovery_point: 0,
            rescued: false,
            inflation: 0,
            partial: false,
            resend_front: false,
            timer: Time::MAX,
            timer_kind: TimerKind::Retransmission,
            expired_at: None,
            probe: false,
            cut: false,
            last_sent: None,
            window_limited: false,
            delivered: 0,
        }
    }

    /// The handshake settled the segment size, SACK and the window. A lost SYN makes the initial window one segment
    /// (RFC 5681 section 3.1).
    pub(super) fn open(&mut self, settings: &Settings, mss: u64, sack: bool, syn_lost: bool) {
        let segments = settings.initial_window / u64::from(settings.mss);
        let initial_window = if syn_lost { mss } else { segments * mss };
        if (mss, initial_window) != (self.mss, self.initial_window) {
            self.controller = settings.congestion.build(Start { segment: mss, window: initial_window });
            self.board = Scoreboard::new(1, mss, self.dupthresh);
        }
        (self.mss, self.initial_window, self.sack) = (mss, initial_window, sack);
    }

    pub(super) fn write(&mut self, bytes: u64) {
        if self.fin == Fin::None {
            self.end = self.end.saturating_add(bytes);
        }
    }

    pub(super) fn write_for_ever(&mut self) {
        self.write(u64::MAX);
    }

    pub(super) fn close(&mut self) {
        if self.fin == Fin::None {
            self.fin = Fin::Wanted;
        }
    }

    /// The window of a SYN or of the acknowledgment of ours.
    pub(super) fn start_window(&mut self, seq: u64, ack: u64, window: u64) {
        self.edge = ack.max(1) + window;
        self.edge_from = (seq, ack);
        self.largest_window = self.largest_window.max(window);
    }

    /// What goes out next, if anything may.
    #[inline]
    pub(super) fn poll(&mut self, now: Time) -> Option<Outgoing> {
        // A side that only receives is asked after each segment.
        if self.is_quiet() { None } else { self.poll_data(now) }
    }

    /// Whether there is nothing to send and nothing on its way.
    #[inline]
    fn is_quiet(&self) -> bool {
        !self.board.outstanding() && self.end <= self.board.nxt() && self.fin != Fin::Wanted
    }

    fn poll_data(&mut self, now: Time) -> Option<Outgoing> {
        if self.probe {
            self.probe = false;
            return Some(Outgoing::Probe { seq: self.board.una() - 1 });
        }
        if self.resend_front {
            self.resend_front = false;
            if let Some(number) = self.board.front_waits() {
                return Some(self.resend(now, number));
            }
        }
        if !self.board.outstanding() {
            self.restart_after_idle(now);
        }
        let room = self.room();
        if room < self.mss as i64 {
            self.window_limited = self.end > self.board.nxt() || self.board.lost_bytes() > 0;
            return None;
        }
        self.window_limited = false;
        if let Some(number) = self.next_lost() {
            return Some(self.resend(now, number));
        }
        self.next_new(now).or_else(|| self.next_speculative(now))
    }

    /// Bytes that the congestion window has left; negative if it is overdrawn.
    #[inline]
    fn room(&self) -> i64 {
        let window = self.controller.window() as i64;
        let outstanding = (self.board.nxt() - self.board.una()) as i64;
        if self.state == CongestionState::Open {
            return window - self.board.pipe() as i64;
        }
        if self.state == CongestionState::Loss || self.sack && (self.limited_transmit || self.in_recovery()) {
            return window - self.board.pipe() as i64;
        }
        window + self.inflation - outstanding
    }

    /// New data, or the FIN, as far as the peer's window and the application let it.
    #[inline]
    fn next_new(&mut self, now: Time) -> Option<Outgoing> {
        let nxt = self.board.nxt();
        let waiting = self.end.saturating_sub(nxt); // beyond the end once the FIN is sent
        if waiting == 0 {
            let fin = self.fin == Fin::Wanted;
            return if fin { Some(self.send(now, 0, true)) } else { None };
        }
        let mut len = waiting.min(self.mss);
        let usable = self.edge.saturating_sub(nxt);
        if usable < len {
            // RFC 9293 section 3.8.6.2.1: a segment is cut only if the window was never larger, or nothing else gets it going.
            if usable == 0 || !(self.cut || usable >= self.largest_window / 2) {
                self.start_persist(now);
                return None;
            }
            len = usable;
        }
        self.cut = false;
        let fin = self.fin == Fin::Wanted && len == waiting;
        Some(self.send(now, len, fin))
    }

    #[inline]
    fn send(&mut self, now: Time, len: u64, fin: bool) -> Outgoing {
        if fin {
            self.fin = Fin::Sent;
        }
        let slot = self.board.send(now, len, fin);
        self.sent(now, slot)
    }

    fn resend(&mut self, now: Time, number: u64) -> Outgoing {
        let slot = self.board.resend(now, number);
        // The careful variant of RFC 6675 section 6, for the segment that the timer waits for. RFC 6582 restarts it once only.
        if slot.seq == self.board.una() && (self.sack || !self.partial) {
            self.start_timer(now);
        }
        self.sent(now, slot)
    }

    #[inline]
    fn sent(&mut self, now: Time, slot: Slot) -> Outgoing {
        self.last_sent = Some(now);
        if self.timer == Time::MAX || self.timer_kind == TimerKind::Persist {
            self.start_timer(now); // RFC 6298 (5.1)
        }
        Outgoing::Data {
            seq: slot.seq,
            len: u32::from(slot.len),
            fin: slot.fin(),
            transmission: u32::from(slot.transmissions) - 1,
        }
    }

    /// RFC 5681 section 4.1: after an RTO without sending, the window starts over.
    #[cold]
    fn restart_after_idle(&mut self, now: Time) {
        let idle = self.last_sent.is_some_and(|sent| now.since(sent) > self.rtt.rto());
        if idle && self.end > self.board.nxt() {
            self.controller.on_idle(now, self.initial_window);
            self.last_sent = Some(now);
        }
    }

    /// An acknowledgment of something between SND.UNA and SND.NXT, or with a new window.
    pub(super) fn handle_ack(&mut self, now: Time, ack: &Ack, counters: &mut Counters) {
        let una = self.board.una();
        if ack.ack < una || ack.ack > self.board.nxt() {
            return;
        }
        let advanced = ack.ack > una;
        if !advanced && self.is_quiet() {
            self.update_window(now, ack);
            return;
        }
        let window_changed = self.update_window(now, ack);
        let in_flight_before = self.board.pipe();
        let mut news = News::default();
        if advanced {
            self.board.advance(ack.ack, &mut news);
        }
        if self.sack && !ack.sack.is_empty() {
            self.board.sack(ack.sack, &mut news);
            self.board.detect_losses();
        }
        let rtt = self.measure(now, &news, ack.echo.filter(|_| advanced), counters);
        if advanced {
            self.on_advance(now);
        }
        self.delivered += news.delivered;
        counters.bytes_acked += news.acked;
        if news.delivered > 0 || news.acked > 0 {
            self.controller.on_ack(&AckSample {
                now,
                acked: news.acked,
                delivered: news.delivered,
                delivered_total: self.delivered,
                in_flight_before,
                in_flight: self.board.pipe(),
                rtt,
                srtt: self.rtt.srtt(),
                min_rtt: self.rtt.min(),
                window_limited: self.window_limited,
                in_recovery: self.in_recovery(),
            });
        }
        // RFC 6675 section 2 with SACK, RFC 5681 section 2 without
        let duplicate =
            if self.sack { news.sacked } else { !advanced && ack.bare && !window_changed && self.board.outstanding() };
        if advanced || duplicate || self.state != CongestionState::Open {
            self.follow_recovery(now, advanced, duplicate, &news, counters);
        }
    }

    /// RFC 9293 section 3.10.7.4: the window is taken from the newest segment. Whether it changed.
    #[inline]
    fn update_window(&mut self, now: Time, ack: &Ack) -> bool {
        let (seq, last_ack) = self.edge_from;
        if ack.seq < seq || ack.seq == seq && ack.ack < last_ack {
            return false;
        }
        let changed = self.edge != last_ack + ack.window;
        self.edge = ack.ack + ack.window;
        self.edge_from = (ack.seq, ack.ack);
        self.largest_window = self.largest_window.max(ack.window);
        if self.timer_kind == TimerKind::Persist && self.timer != Time::MAX {
            self.follow_persist(now);
        }
        changed
    }

    /// A round-trip time, if the acknowledgment tells one.
    ///
    /// Segments sent only once are timed by when they were sent; by Karn's rule others are not, but the echoed timestamp of the
    /// acknowledgment tells (RFC 7323 section 4.1). The estimator takes the oldest segment, so that delayed acknowledgments count
    /// in, the controller the newest.
    #[inline]
    fn measure(&mut self, now: Time, news: &News, echo: Option<u32>, counters: &mut Counters) -> Option<Duration> {
        let (oldest, newest) = match (news.sent, echo) {
            (Some((first, last)), _) if !news.resent => (now.since(first), now.since(last)),
            (_, Some(echo)) => {
                let age = echo_age(now, echo)?;
                (age, age)
            }
            _ => return None,
        };
        self.rtt.measured(oldest);
        counters.rtt_samples += 1;
        counters.rtt_sum += newest;
        Some(newest)
    }

    /// The cumulative acknowledgment advanced (RFC 6298 (5.2), (5.3)).
    #[inline]
    fn on_advance(&mut self, now: Time) {
        self.expired_at = None;
        if !self.board.outstanding() {
            self.timer = Time::MAX;
        } else if self.sack || !self.in_recovery() || !self.partial {
            self.start_timer(now);
        }
    }

    #[inline]
    fn start_timer(&mut self, now: Time) {
        self.timer = now + self.rtt.rto();
        self.timer_kind = TimerKind::Retransmission;
    }

    /// The peer's window holds back data: if nothing is on its way that would be answered, the persist timer runs.
    #[cold]
    fn start_persist(&mut self, now: Time) {
        if !self.board.outstanding() && self.timer == Time::MAX {
            self.timer = now + self.rtt.rto();
            self.timer_kind = TimerKind::Persist;
        }
    }

    /// The peer answered a probe: the window is open again, or the next probe comes later.
    #[cold]
    fn follow_persist(&mut self, now: Time) {
        let usable = self.edge.saturating_sub(self.board.nxt());
        let wanted = self.end.saturating_sub(self.board.nxt()).min(self.mss);
        if usable >= wanted || usable >= self.largest_window / 2 && usable > 0 {
            self.timer = Time::MAX;
            self.rtt.forget_backoff();
        } else if self.timer <= now {
            self.timer = now + self.rtt.rto();
        }
    }

    /// When [`Sender::handle_timeout`] is to be called; [`Time::MAX`] for never.
    #[inline]
    pub(super) fn timer(&self) -> Time {
        self.timer
    }

    pub(super) fn handle_timeout(&mut self, now: Time, counters: &mut Counters) {
        if self.timer > now {
            return;
        }
        match self.timer_kind {
            TimerKind::Retransmission => self.expire(now, counters),
            TimerKind::Persist => {
                self.rtt.back_off();
                self.timer = now + self.rtt.rto();
                self.cut = self.edge > self.board.nxt();
                self.probe = !self.cut;
                counters.window_probes += u64::from(self.probe);
            }
        }
    }

    /// Ends all timers: the connection is over.
    pub(super) fn stop(&mut self) {
        self.timer = Time::MAX;
        self.probe = false;
    }

    /// Whether the FIN was sent and acknowledged.
    pub(super) fn fin_acknowledged(&self) -> bool {
        self.fin == Fin::Sent && !self.board.outstanding()
    }

    /// Whether the FIN was sent.
    pub(super) fn fin_sent(&self) -> bool {
        self.fin == Fin::Sent
    }

    #[inline]
    fn in_recovery(&self) -> bool {
        self.state == CongestionState::Recovery
    }

    /// Next offset to be sent.
    #[inline]
    pub(super) fn nxt(&self) -> u64 {
        self.board.nxt()
    }

    /// Whether both sides use SACK.
    #[inline]
    pub(super) fn sack(&self) -> bool {
        self.sack
    }

    pub(super) fn rtt(&mut self) -> &mut Rtt {
        &mut self.rtt
    }

    /// Fills in what the send half knows.
    pub(super) fn describe(&self, info: &mut Info) {
        let threshold = self.controller.slow_start_threshold();
        let known = |duration: Duration| Some(duration).filter(|d| !d.is_zero());
        info.congestion_state = self.state;
        info.window_bytes = self.controller.window();
        info.slow_start_threshold = Some(threshold).filter(|&t| t != u64::MAX);
        info.srtt = known(self.rtt.srtt());
        info.rttvar = known(self.rtt.srtt()).map(|_| self.rtt.rttvar());
        info.rto = self.rtt.rto();
        info.min_rtt = known(self.rtt.min());
        info.in_flight_bytes = self.board.pipe();
        info.outstanding_bytes = self.board.nxt() - self.board.una();
        info.unsent_bytes = self.end.saturating_sub(self.board.nxt());
        info.sacked_bytes = self.board.sacked_bytes();
        info.lost_bytes = self.board.lost_bytes();
        info.mss = self.mss as u32;
    }

    #[inline]
    pub(super) fn window_segments(&self) -> f64 {
        self.controller.window() as f64 / self.mss as f64
    }

    pub(super) fn check(&self) {
        self.board.check();
        assert!(self.controller.window() >= self.mss, "a window below a segment");
        assert_eq!(
            self.board.outstanding(),
            self.timer != Time::MAX && self.timer_kind == TimerKind::Retransmission,
            "timer"
        );
        assert!(self.in_recovery() || self.timer_kind == TimerKind::Persist || self.inflation <= 2 * self.mss as i64);
    }
}

/// TSval: milliseconds, as RFC 7323 section 5.4 allows, from 1 on since 0 echoes nothing.
#[inline]
pub(super) fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000 + 1) as u32
}

/// How long ago a timestamp that is echoed was sent, at least the clock's tick.
fn echo_age(now: Time, echo: u32) -> Option<Duration> {
    (echo != 0).then(|| Duration::from_millis(u64::from(timestamp(now).wrapping_sub(echo)).max(1)))
}
