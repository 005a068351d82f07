//! The send half: what may be sent when.
//!
//! The rules are those of Linux 6.18 in our words, each behind its switch of the profile; with all switches off what is left is
//! RFC 5681, RFC 6582, RFC 6675 and RFC 6298. `transmit` sends, `ack` reads what an acknowledgment says, `recovery` draws the
//! conclusions, `reduction` moves the window, `timers` waits.

mod ack;
mod check;
mod pacing;
mod rack;
mod ranges;
mod rate;
mod recovery;
mod reduction;
mod rtt;
mod scoreboard;
mod slot;
mod timers;
mod transmit;

use std::sync::Arc;

use units::{Duration, Time};

use super::config::{ByteCounting, Dupthresh, Settings};
use super::info::{Counters, Info};
use super::segment::SackBlocks;
use crate::congestion::{CongestionController, Event, Needs, Start, Window};
use crate::probes::Probes;
use crate::state::CongestionState;
use pacing::Pacing;
use rack::Rack;
use rate::RateSampler;
pub(super) use rtt::Rtt;
use scoreboard::{Order, Scoreboard};
use timers::{Timer, TimerKind};
pub(super) use transmit::Outgoing;

/// Everything about the way out.
pub(super) struct Sender {
    settings: Arc<Settings>,
    board: Scoreboard,
    rtt: Rtt,
    controller: Box<dyn CongestionController>,
    needs: Needs,
    probes: Probes,
    entropy: u64,
    sampler: RateSampler,
    rack: Rack,
    pacing: Pacing,
    /// Largest payload that the path and the peer take.
    mss: u64,
    sack: bool,
    timestamps: bool,
    initial_window: u32,

    /// Offset after the last byte that the application wrote.
    end: u64,
    /// A FIN follows the last byte.
    fin: Fin,
    hold: Hold,
    /// Offset after the last segment that was not full.
    small_end: u64,
    wait: Wait,
    /// Right edge of the peer's window, and the segment that said so (RFC 9293 SND.WL1, SND.WL2).
    edge: u64,
    edge_from: (u64, u64),
    /// The largest window that the peer offered.
    largest_window: u64,
    ecn: EcnState,

    state: CongestionState,
    /// What was sent when the last reduction began: losses below it belong to that one.
    high_seq: u64,
    /// Segments by which data may come out of order without being taken for lost, and how often that was seen.
    reordering: u32,
    reordering_seen: u32,
    undo: Undo,
    prr: Prr,
    /// Whether the time-out under way may turn out to be spurious (RFC 5682).
    frto: bool,
    tlp: Tlp,
    /// What the last acknowledgment allows.
    rexmit: Rexmit,
    /// What goes out next, whatever the window says.
    forced: Forced,

    timer: Timer,
    /// Time-outs in a row without an acknowledgment that advanced.
    timeouts: u32,
    /// Window probes in a row without an answer.
    window_probes: u32,
    /// A segment is to be cut to the window that there is: the persist timer overrides silly window avoidance.
    cut: bool,

    usage: Usage,
    delivered: u64,
    retransmitted: u64,
    /// Duplicates that the peer reported.
    duplicates: u64,
    fast_recoveries: u64,
    /// The rescue retransmission of this recovery was used (RFC 6675 RescueRxt).
    rescued: bool,
    /// Of the acknowledgment at hand: its round-trip time, and whether it told of a lost retransmission.
    latest_rtt: Option<Duration>,
    lost_again: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    None,
    Wanted,
    Sent,
}

/// What holds back a segment that is not full.
#[derive(Clone, Copy, Debug, Default)]
struct Hold {
    /// Nagle's algorithm.
    nagle: bool,
    /// The application holds back all that is not full (`TCP_CORK`), or says with what it wrote last that more is to come.
    cork: bool,
    more: bool,
    /// What was written by now goes nevertheless.
    pushed: bool,
}

/// For how long the application lets its data wait (RFC 5482), and since when they have.
#[derive(Clone, Copy, Debug)]
struct Wait {
    limit: Option<Duration>,
    /// When the oldest data went out, were held back, or the last progress was made; [`Time::MAX`] when nothing waits.
    since: Time,
    /// SND.UNA then.
    una: u64,
}

impl Default for Wait {
    fn default() -> Wait {
        Wait { limit: None, since: Time::MAX, una: 1 }
    }
}

/// RFC 3168 at the sender.
#[derive(Clone, Copy, Debug, Default)]
struct EcnState {
    on: bool,
    /// The next new segment says that the window was reduced.
    cwr_due: bool,
}

/// What is needed to take a reduction back.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    /// SND.UNA when the reduction began; `None` when it cannot be undone.
    marker: Option<u64>,
    /// Retransmissions that no duplicate was reported of; `None` before the first.
    retransmissions: Option<u32>,
    /// Timestamp of the first retransmission; 0 if there was none.
    stamp: u32,
    /// The window and the threshold before; a threshold of `None` forbids the undo.
    window: u32,
    threshold: Option<u32>,
}

/// Proportional rate reduction (RFC 6937): segments delivered and sent since it began.
#[derive(Clone, Copy, Debug, Default)]
struct Prr {
    delivered: u32,
    out: u32,
}

/// The tail loss probe under way: SND.NXT after it, and whether it was a retransmission.
#[derive(Clone, Copy, Debug, Default)]
struct Tlp {
    high: Option<u64>,
    retransmission: bool,
}

/// What may be sent besides new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rexmit {
    /// No retransmission.
    None,
    /// What is lost.
    Lost,
    /// New data first, to find out whether a time-out was spurious (RFC 5682 step 2b).
    New,
}

/// What goes out whatever the window says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forced {
    Nothing,
    /// The oldest segment.
    Head,
    /// The first segment that is lost.
    FirstLost,
    /// A tail loss probe.
    Tail,
    /// A probe of the peer's window.
    WindowProbe,
}

/// How much of the window is used (RFC 7661, as in Linux).
#[derive(Clone, Copy, Debug)]
struct Usage {
    /// Segments of new data sent since the last pause, and whether a tail probe is among them.
    burst: u32,
    probing: bool,
    /// Whether the window was full in this round trip, the most that was outstanding, and where the round trip ends.
    limited: bool,
    most_out: u32,
    until: u64,
    /// The most that was outstanding since the window was full last, and when that was.
    used: u32,
    full_at: Time,
    last_sent: Option<Time>,
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
    /// It echoes a congestion mark.
    pub ece: bool,
}

impl Sender {
    /// The send half when the SYN, at offset 0, is the only thing sent.
    pub(super) fn new(settings: &Arc<Settings>, entropy: u64) -> Sender {
        let mss = u64::from(settings.mss);
        let initial_window = settings.initial_window;
        let start =
            Start { mss: settings.mss, window: initial_window, counting_limit: counting_limit(settings), entropy };
        let controller = settings.congestion.build(start);
        Sender {
            board: Scoreboard::new(1, mss, order(settings)),
            rtt: Rtt::new(settings),
            needs: controller.needs(),
            probes: Probes::default(),
            controller,
            entropy,
            sampler: RateSampler::new(),
            rack: Rack::new(),
            pacing: Pacing::default(),
            mss,
            sack: settings.sack,
            timestamps: settings.timestamps,
            initial_window,
            end: 1,
            fin: Fin::None,
            hold: Hold { nagle: settings.nagle, ..Hold::default() },
            small_end: 0,
            wait: Wait::default(),
            edge: 1,
            edge_from: (0, 0),
            largest_window: 0,
            ecn: EcnState::default(),
            state: CongestionState::Open,
            high_seq: 1,
            reordering: initial_reordering(settings),
            reordering_seen: 0,
            undo: Undo::default(),
            prr: Prr::default(),
            frto: false,
            tlp: Tlp::default(),
            rexmit: Rexmit::None,
            forced: Forced::Nothing,
            timer: Timer::default(),
            timeouts: 0,
            window_probes: 0,
            cut: false,
            usage: Usage {
                burst: 0,
                probing: false,
                limited: false,
                most_out: 0,
                until: 1,
                used: 0,
                full_at: Time::ZERO,
                last_sent: None,
            },
            delivered: 0,
            retransmitted: 0,
            duplicates: 0,
            fast_recoveries: 0,
            rescued: false,
            latest_rtt: None,
            lost_again: false,
            settings: Arc::clone(settings),
        }
    }

    /// What the handshake settled. A lost SYN makes the initial window one segment (RFC 5681 section 3.1).
    pub(super) fn open(&mut self, now: Time, agreed: &Agreed) {
        let initial_window = if agreed.syn_lost { 1 } else { self.settings.initial_window };
        if (agreed.mss, initial_window) != (self.mss, self.initial_window) {
            let start = Start {
                mss: agreed.mss as u32,
                window: initial_window,
                counting_limit: counting_limit(&self.settings),
                entropy: self.entropy,
            };
            self.controller = self.settings.congestion.build(start);
            self.board = Scoreboard::new(1, agreed.mss, order(&self.settings));
        }
        (self.mss, self.initial_window) = (agreed.mss, initial_window);
        (self.sack, self.timestamps) = (agreed.sack, agreed.timestamps);
        self.ecn.on = agreed.ecn;
        self.delivered = 1; // the SYN
        self.wait.since = Time::MAX;
        self.usage.full_at = now;
        if let Some(rtt) = agreed.rtt {
            self.rtt.note_min(now, rtt);
            self.rtt.measured(rtt, 1, 1);
        }
        self.tell(now, &Event::Established { srtt: self.rtt.srtt() });
    }

    /// The application has `bytes` more. After an idle time the window starts over (RFC 5681 section 4.1): as in Linux (RFC 2861) it
    /// halves for each time-out that has passed, down to the initial window.
    pub(super) fn write(&mut self, now: Time, bytes: u64) {
        if self.fin != Fin::None || bytes == 0 {
            return;
        }
        if !self.board.outstanding() {
            self.restart_after_idle(now);
        }
        let waiting = self.end.saturating_sub(self.board.nxt());
        let counts = self.board.counts();
        if self.needs.rates && waiting < self.mss && self.has_room() && counts.lost <= counts.resent {
            self.sampler.on_app_limited(self.delivered, self.board.in_flight());
        }
        self.end = self.end.saturating_add(bytes);
        (self.hold.more, self.hold.pushed) = (false, false);
    }

    /// More follows what was written last: what does not fill a segment waits for it, until the peer is heard.
    pub(super) fn expect_more(&mut self) {
        self.hold.more = true;
    }

    fn restart_after_idle(&mut self, now: Time) {
        let Some(last) = self.usage.last_sent else { return };
        let (idle, rto) = (now.since(last), self.rtt.rto());
        if !self.settings.slow_start_after_idle || self.needs.drives || idle <= rto {
            return;
        }
        let restart = self.initial_window.min(self.cwnd().size);
        let halvings = ((idle.as_nanos() - 1) / rto.as_nanos().max(1)).min(31);
        let threshold = self.threshold_now();
        let window = self.controller.window_mut();
        (window.size, window.threshold) = ((window.size >> halvings).max(restart), threshold);
        (self.usage.full_at, self.usage.used) = (now, 0);
        self.tell(now, &Event::Restarted);
    }

    /// The application has written all: a FIN follows.
    pub(super) fn close(&mut self) {
        if self.fin == Fin::None {
            self.fin = Fin::Wanted;
        }
    }

    /// Switching Nagle's algorithm off lets go what waits, corked or not.
    pub(super) fn set_nagle(&mut self, on: bool) {
        self.hold.nagle = on;
        self.hold.pushed = !on;
    }

    pub(super) fn set_cork(&mut self, on: bool) {
        self.hold.cork = on;
    }

    /// The window of a SYN or of the acknowledgment of ours.
    pub(super) fn start_window(&mut self, seq: u64, ack: u64, window: u64) {
        self.edge = ack.max(1).saturating_add(window);
        self.edge_from = (seq, ack);
        self.largest_window = self.largest_window.max(window);
    }

    /// Whether the FIN was sent and acknowledged.
    pub(super) fn fin_acknowledged(&self) -> bool {
        self.fin == Fin::Sent && !self.board.outstanding()
    }

    /// Whether the FIN was sent.
    pub(super) fn fin_sent(&self) -> bool {
        self.fin == Fin::Sent
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

    /// A dummy segment was acknowledged.
    pub(super) fn handle_dummy_ack(&mut self, now: Time) {
        self.tell(now, &Event::ProbeAcked { state: self.state });
    }

    pub(super) fn rtt(&mut self) -> &mut Rtt {
        &mut self.rtt
    }

    /// Brings the counters that are kept here up to date.
    #[inline]
    pub(super) fn count(&self, counters: &mut Counters) {
        counters.dupack_events = self.fast_recoveries;
    }

    /// Fills in what the send half knows.
    pub(super) fn describe(&self, info: &mut Info) {
        let known = |duration: Duration| Some(duration).filter(|d| !d.is_zero());
        let counts = self.board.counts();
        info.congestion_state = self.state;
        info.window = self.cwnd().size;
        info.slow_start_threshold = Some(self.cwnd().threshold).filter(|&t| t != Window::NO_THRESHOLD);
        info.srtt = known(self.rtt.srtt());
        info.rttvar = known(self.rtt.srtt()).map(|_| self.rtt.rttvar());
        info.rto = self.rtt.rto();
        info.min_rtt = known(self.rtt.min());
        (info.una, info.nxt) = (self.board.una(), self.board.nxt());
        info.unacked = self.board.out();
        info.sacked = counts.sacked;
        info.lost = counts.lost;
        info.retransmitted = counts.resent;
        info.reordering = self.reordering;
        info.reordering_seen = self.reordering_seen;
        info.total_retransmitted = self.retransmitted;
        info.delivered = self.delivered;
        info.backoff = self.rtt.backoff();
        info.consecutive_timeouts = self.timeouts;
        info.probes = self.window_probes;
        info.pacing_rate = self.is_paced().then(|| self.pacing_rate());
        info.unsent_bytes = self.end.saturating_sub(self.board.nxt());
        info.mss = self.mss as u32;
    }

    #[inline]
    pub(super) fn window(&self) -> u32 {
        self.cwnd().size
    }

    /// The controller's window.
    #[inline]
    fn cwnd(&self) -> &Window {
        self.controller.window()
    }

    /// Tells the controller what happened.
    fn tell(&mut self, now: Time, event: &Event) {
        self.controller.on_event(now, event);
        if self.needs.probes {
            self.probes.request(now, &self.controller.poll_probes());
        }
    }

    pub(super) fn check(&self) {
        self.board.check(!self.sack);
        assert!(self.cwnd().size >= 1, "a window below a segment");
        assert!(self.cwnd().threshold >= 2, "a threshold below two segments");
        let guarded = !matches!(self.timer.kind, TimerKind::None | TimerKind::Persist);
        assert_eq!(self.board.outstanding(), guarded, "timer {:?}", self.timer);
    }
}

/// What a handshake settles.
pub(super) struct Agreed {
    pub mss: u64,
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    pub syn_lost: bool,
    /// The round-trip time of the handshake, if it tells one.
    pub rtt: Option<Duration>,
}

fn counting_limit(settings: &Settings) -> u32 {
    match settings.abc {
        ByteCounting::AtMost(segments) => segments,
        ByteCounting::All => u32::MAX,
    }
}

/// Whose order of sending tells of losses.
fn order(settings: &Settings) -> Order {
    match (settings.rack, settings.fack) {
        (true, _) => Order::Sent,
        (false, true) => Order::Resent,
        (false, false) => Order::Unknown,
    }
}

fn initial_reordering(settings: &Settings) -> u32 {
    match settings.dupthresh {
        Dupthresh::Fixed(segments) => segments,
        Dupthresh::Adaptive => 3,
    }
}

/// TSval: milliseconds, as RFC 7323 section 5.4 allows, from 1 on since 0 echoes nothing.
#[inline]
pub(super) fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000 + 1) as u32
}

/// Whether timestamp `a` is older than `b`, modulo 2^32.
#[inline]
pub(super) fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
