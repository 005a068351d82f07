//! The send half: what may be sent when.
//!
//! The rules are those of Linux 6.18 in our words, each behind its switch of the profile; with all switches off what is
//! left is RFC 5681, RFC 6582, RFC 6675 and RFC 6298. Each file or folder owns one thing: the byte stream of the
//! application, the window of the peer, the scoreboard, the congestion window with its controller, timers. These know
//! nothing of the [`Sender`], which holds them. Others are methods of the sender, and let these act on one another:
//!
//! - `timers::timeout` follows a timer that expired.
//! - `ns2` takes an acknowledgment by ns-2's rules, `ack` by the others.
//! - `recovery` moves between the states of loss recovery: reductions begin, end, and are taken back.
//! - `loss` finds what is lost.
//! - `transmit` sends what goes next, `pacing` spaces it.
//! - `timers` starts timers.
//!
//! Their methods call those of the same file and of files further down this list.

mod ack;
mod byte_stream;
mod cwnd;
mod loss;
mod news;
mod ns2;
mod outgoing;
mod pacing;
mod peer;
mod rate;
mod recovery;
mod rtt;
mod scoreboard;
mod timers;
mod timestamp;
mod transmit;
mod wait;

use std::collections::VecDeque;
use std::sync::Arc;

use units::{Duration, Time};

use super::accecn::AccurateCounts;
use super::config::{EcnMode, Settings};
use super::info::{Counters, Info};
use super::option::AccEcnOption;
use super::segment::{SackBlocks, is_before};
use crate::congestion::{Event, Window};
use crate::state::SenderSample;
use byte_stream::ByteStream;
use cwnd::{CongestionWindow, Control};
use loss::rack::Rack;
use loss::reordering::Reordering;
use ns2::scoreboard::Ns2;
pub(super) use outgoing::Outgoing;
pub(crate) use outgoing::{Full, NextFull};
use pacing::burst::Burst;
use pacing::gap::Pacing;
use pacing::group::Group;
use peer::PeerWindow;
use rate::RateSampler;
use recovery::episode::{Recovery, Rexmit, TailProbe};
use recovery::undo::Undo;
pub(super) use rtt::Rtt;
use scoreboard::{Order, Scoreboard};
use timers::timer::{Timer, TimerKind};
pub(super) use timestamp::{echo_age, timestamp};
use wait::Wait;

/// The send half of a connection, its fields in the order of memory: see [`super::Connection`].
#[repr(C)]
pub(super) struct Sender {
    byte_stream: ByteStream,
    timer: Timer,
    wait: Wait,
    peer: PeerWindow,
    burst: Burst,
    group: Group,
    /// Whether the congestion window alone decides when new data are sent: the controller has neither a pacing rate nor
    /// probes.
    asks_window_only: bool,
    agreed: Agreed,
    /// Recovery by ns-2's rules.
    ns2: Option<Box<Ns2>>,
    board: Scoreboard,
    totals: Totals,
    settings: Arc<Settings>,
    /// Losses are detected by time.
    rack: Option<Box<Rack>>,
    /// For controllers that ask for delivery rates.
    sampler: Option<Box<RateSampler>>,
    recovery: Recovery,
    tail: TailProbe,
    cwnd: CongestionWindow,
    rtt: Rtt,
    /// Offsets after which the application wants a segment to end (`MSG_EOR`), those not reached yet.
    #[expect(clippy::box_collection, reason = "few connections have records")]
    records: Option<Box<VecDeque<u64>>>,
    pacing: Pacing,
    undo: Undo,
    reordering: Reordering,
    entropy: u64,
}

/// The options that both ends of a connection agreed on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreed {
    /// Largest payload that the path and the peer take.
    pub mss: u64,
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: EcnMode,
    /// Data may go before our SYN-ACK is acknowledged (TCP Fast Open).
    pub early: bool,
}

/// How a connection was opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub agreed: Agreed,
    /// Our SYN arrived with a congestion mark, by accurate feedback.
    pub syn_marked: bool,
    /// The SYN was lost: the initial window is one segment (RFC 5681 section 3.1).
    pub syn_lost: bool,
    /// The round-trip time of the handshake, if it gave one.
    pub rtt: Option<Duration>,
    /// The offset that the answer to our SYN acknowledges, and the offset after the data that our SYN carried.
    pub una: u64,
    pub syn_end: u64,
}

/// Segments since the connection opened.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    /// Known to be delivered, the SYN and duplicates that the peer reported included.
    delivered: u64,
    retransmitted: u64,
    /// Duplicates that the peer reported.
    duplicates: u64,
}

/// An acknowledgment as the send half reads it.
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
    /// The acknowledgment echoes a congestion mark.
    pub ece: bool,
    /// With accurate feedback: the count of marks in the header, and the option.
    pub marks: Option<(u8, Option<&'a AccEcnOption>)>,
}

impl Sender {
    /// The send half when the SYN, at offset 0, is the only thing sent.
    pub(super) fn new(settings: &Arc<Settings>, entropy: u64) -> Sender {
        let agreed = Agreed {
            mss: u64::from(settings.mss),
            sack: settings.sack,
            timestamps: settings.timestamps,
            ecn: EcnMode::Off,
            early: false,
        };
        let cwnd = CongestionWindow::new(settings, settings.mss, settings.initial_window, entropy);
        let control = &cwnd.control;
        let paced = settings.pacing || settings.initial_spreading || control.paces();
        Sender {
            agreed,
            entropy,
            byte_stream: ByteStream::new(settings.nagle),
            records: None,
            peer: PeerWindow::new(),
            board: scoreboard(settings, control, 1, agreed.mss),
            rtt: Rtt::new(settings),
            rack: settings.rack.then(|| Box::new(Rack::new())),
            sampler: control.wants_rates().then(|| Box::new(RateSampler::new())),
            cwnd,
            burst: Burst::default(),
            pacing: Pacing::new(paced),
            group: Group::default(),
            recovery: Recovery::new(),
            reordering: Reordering::new(settings.dupthresh),
            undo: Undo::default(),
            tail: TailProbe::default(),
            timer: Timer::default(),
            wait: Wait::new(),
            totals: Totals::default(),
            ns2: None,
            asks_window_only: false,
            settings: Arc::clone(settings),
        }
    }

    /// Takes over what the handshake settled.
    pub(super) fn open(&mut self, now: Time, opening: &Opening) {
        let Opening { agreed, syn_marked, syn_lost, rtt, una, syn_end } = *opening;
        let other = agreed.mss != self.agreed.mss || syn_lost && self.settings.initial_window != 1;
        if other {
            // A lost SYN makes the initial window one segment (RFC 5681 section 3.1).
            let initial = if syn_lost { 1 } else { self.settings.initial_window };
            self.cwnd.settle(agreed.mss as u32, initial, self.entropy);
        }
        if other || una > 1 {
            self.board = scoreboard(&self.settings, &self.cwnd.control, una, agreed.mss);
        }
        self.agreed = agreed;
        self.cwnd.ecn.on = agreed.ecn == EcnMode::Classic;
        self.cwnd.ecn.accurate = (agreed.ecn == EcnMode::Accurate).then(|| Box::new(AccurateCounts::new(syn_marked)));
        self.cwnd.ecn.scalable = self.cwnd.ecn.accurate.is_some() && self.settings.congestion.entry().marks().is_some();
        let as_ns2 = agreed.sack && self.settings.recovers_as_ns2() && !self.cwnd.control.drives();
        self.ns2 = as_ns2.then(Box::default);
        self.asks_window_only = !(self.pacing.on || self.cwnd.control.is_asked());
        self.totals.delivered = u64::from(!agreed.early); // the SYN
        self.wait.stop();
        if let Some(rtt) = rtt {
            self.rtt.note_min(now, rtt);
            self.rtt.measured(rtt, una, una);
        }
        self.cwnd.establish(now, self.rtt.srtt());
        if una < syn_end {
            self.repeat_syn_data(now, syn_end);
        }
    }

    /// Begins the scoreboard with the SYN, which was not sent yet.
    pub(super) fn begin_with_syn(&mut self) {
        self.board = scoreboard(&self.settings, &self.cwnd.control, 0, self.agreed.mss);
        self.totals.delivered = 0;
    }

    /// Our SYN-ACK is acknowledged, and data may have gone with it. If it was sent `again`, the first one was lost and
    /// the peer had no connection to take data.
    pub(super) fn confirm(&mut self, now: Time, rtt: Option<Duration>, again: bool) {
        self.agreed.early = false;
        self.totals.delivered += 1;
        if let Some(rtt) = rtt {
            self.rtt.note_min(now, rtt);
            self.rtt.measured(rtt, self.board.una(), self.board.nxt());
        }
        if again {
            self.repeat_early(now);
        }
        if self.board.outstanding() {
            self.rearm_rto(now);
        }
    }

    /// Data of our SYN, up to `syn_end`, that were not taken go again at once, which is no sign of congestion
    /// (`tcp_non_congestion_loss_retransmit`).
    fn repeat_syn_data(&mut self, now: Time, syn_end: u64) {
        while self.board.nxt() < syn_end {
            let len = (syn_end - self.board.nxt()).min(self.agreed.mss);
            let in_flight = self.board.in_flight();
            let slot = self.board.send(now, len, false, self.totals.delivered);
            if slot.end() >= self.byte_stream.end() {
                self.board.push_last();
            }
            if self.sampler.is_some() {
                self.keep_state(now, self.board.numbers().end - 1, in_flight, in_flight == 0);
            }
        }
        for number in self.board.numbers() {
            self.lose(now, number);
        }
        self.cwnd.await_loss();
        self.recovery.high_seq = self.board.nxt();
        self.recovery.rexmit = Rexmit::Lost;
        self.start_rto(now);
    }

    /// Bytes that were written and not sent.
    pub(super) fn unsent(&self) -> u64 {
        self.byte_stream.waiting(self.board.nxt())
    }

    /// An acknowledgment, of nothing beyond SND.NXT.
    #[inline(always)]
    pub(super) fn handle_ack(&mut self, now: Time, ack: &Ack, counters: &mut Counters) {
        if self.ns2.is_some() {
            self.handle_as_ns2(now, ack, counters);
        } else {
            self.handle_as_linux(now, ack, counters);
        }
    }

    /// Takes an acknowledgment without blocks or marks, if it advances, at an end that [`Sender::is_plain`]. Returns
    /// whether it was one; otherwise nothing has changed.
    #[inline(always)]
    pub(super) fn handle_plain(&mut self, now: Time, ack: &Ack, counters: &mut Counters) -> bool {
        debug_assert!(self.is_plain());
        if ack.ack <= self.board.una() || ack.ack > self.board.nxt() {
            return false;
        }
        let Some(first) = self.board.first_up_to(ack.ack) else { return false };
        self.timer.window_probes = 0;
        self.timer.timeouts = 0;
        self.update_window(now, ack);
        if self.ns2.is_some() {
            // A call needs it in memory. Only this copy is there.
            self.advance_as_ns2(now, &Ack { ..*ack }, first, counters);
        } else if self.rack.is_none() && self.sampler.is_none() {
            self.advance::<true>(now, ack, first, counters);
        } else {
            self.advance::<false>(now, ack, first, counters);
        }
        self.heard(now);
        true
    }

    /// As [`Sender::handle_plain`], at an end with nothing to send, of an acknowledgment that says nothing new.
    #[inline(always)]
    pub(super) fn handle_at_rest(&mut self, now: Time, ack: &Ack) -> bool {
        debug_assert!(self.is_quiet());
        if ack.ack != self.board.una() {
            return false;
        }
        self.timer.window_probes = 0;
        self.update_window(now, ack);
        self.heard(now);
        true
    }

    /// The application has `bytes` more.
    pub(super) fn write(&mut self, now: Time, bytes: u64) {
        if !self.byte_stream.is_open() || bytes == 0 {
            return;
        }
        if let Some(last) = self.burst.last_sent
            && !self.board.outstanding()
        {
            self.cwnd.restart_after_idle(now, now.since(last), self.rtt.rto(), self.ns2.is_some());
        }
        let waiting = self.byte_stream.waiting(self.board.nxt());
        let counts = self.board.counts();
        let starved = waiting < self.agreed.mss && self.has_room() && counts.lost <= counts.retransmitted;
        if let Some(sampler) = &mut self.sampler
            && starved
        {
            sampler.on_app_limited(self.totals.delivered, self.board.in_flight());
        }
        self.byte_stream.write(bytes);
    }

    /// More data follow those written last: a rest that does not fill a segment waits for them, until a segment of the
    /// peer arrives.
    pub(super) fn expect_more(&mut self) {
        self.byte_stream.expect_more();
    }

    /// A record ends with the data written last: no segment has data of two records.
    pub(super) fn end_record(&mut self) {
        self.records.get_or_insert_default().push_back(self.byte_stream.end());
    }

    /// The application has written all: a FIN follows.
    pub(super) fn close(&mut self) {
        self.byte_stream.close();
    }

    /// Switching Nagle's algorithm off sends the data that wait, corked or not.
    pub(super) fn set_nagle(&mut self, on: bool) {
        self.byte_stream.set_nagle(on);
    }

    pub(super) fn set_cork(&mut self, on: bool) {
        self.byte_stream.set_cork(on);
    }

    /// The window of a SYN or of the acknowledgment of ours.
    pub(super) fn start_window(&mut self, seq: u64, ack: u64, window: u64) {
        self.peer.start(seq, ack, window);
    }

    /// Whether the FIN was sent and acknowledged.
    pub(super) fn fin_acknowledged(&self) -> bool {
        self.byte_stream.fin_sent() && !self.board.outstanding()
    }

    /// The FIN is acknowledged: gives back what was kept of segments.
    pub(super) fn release(&mut self) {
        self.board.release();
    }

    /// Whether the FIN was sent.
    #[inline]
    pub(super) fn fin_sent(&self) -> bool {
        self.byte_stream.fin_sent()
    }

    /// Payload bytes of a full segment.
    #[inline]
    pub(super) fn mss(&self) -> u32 {
        self.agreed.mss as u32
    }

    /// Next offset to be sent.
    #[inline]
    pub(super) fn nxt(&self) -> u64 {
        self.board.nxt()
    }

    /// Whether both sides use SACK.
    #[inline]
    pub(super) fn sack(&self) -> bool {
        self.agreed.sack
    }

    /// A probe was acknowledged.
    pub(super) fn handle_probe_ack(&mut self, now: Time) {
        self.cwnd.control.tell(now, &Event::ProbeAcked { state: self.cwnd.state() });
    }

    pub(super) fn rtt(&mut self) -> &mut Rtt {
        &mut self.rtt
    }

    /// Brings the counters that are kept here up to date.
    #[inline]
    pub(super) fn count(&self, counters: &mut Counters) {
        counters.dupack_events = self.recovery.count;
    }

    /// The state for time series.
    pub(super) fn state_now(&self) -> SenderSample {
        let window = self.cwnd.window();
        SenderSample {
            window: window.size,
            slow_start_threshold: Some(window.threshold).filter(|&threshold| threshold != Window::NO_THRESHOLD),
            in_flight: self.board.in_flight(),
            srtt: Some(self.rtt.srtt()).filter(|srtt| !srtt.is_zero()),
            rto: self.rtt.rto(),
        }
    }

    /// Fills in what the send half knows.
    pub(super) fn describe(&self, info: &mut Info) {
        let counts = self.board.counts();
        let SenderSample { window, slow_start_threshold, srtt, rto, .. } = self.state_now();
        info.congestion_state = self.cwnd.state();
        (info.window, info.slow_start_threshold) = (window, slow_start_threshold);
        (info.srtt, info.rto) = (srtt, rto);
        info.rttvar = srtt.map(|_| self.rtt.rttvar());
        info.min_rtt = Some(self.rtt.min()).filter(|min| !min.is_zero());
        (info.una, info.nxt) = (self.board.una(), self.board.nxt());
        info.unacked = self.board.out();
        info.sacked = counts.sacked;
        info.lost = counts.lost;
        info.retransmitted = counts.retransmitted;
        info.reordering = self.reordering.degree();
        info.reordering_seen = self.reordering.seen();
        info.total_retransmitted = self.totals.retransmitted;
        info.delivered = self.totals.delivered;
        info.delivered_marked = self.cwnd.ecn.accurate.as_ref().map_or(0, |accurate| accurate.total);
        info.backoff = self.rtt.backoff();
        info.consecutive_timeouts = self.timer.timeouts;
        info.probes = self.timer.window_probes;
        info.pacing_rate = self.is_paced().then(|| self.pacing_rate());
        info.unsent_bytes = self.byte_stream.waiting(self.board.nxt());
        info.mss = self.agreed.mss as u32;
    }

    /// Our SYN-ACK arrived with a congestion mark.
    pub(super) fn on_marked_handshake(&mut self) {
        if let Some(accurate) = &mut self.cwnd.ecn.accurate {
            accurate.on_marked_handshake();
        }
    }

    /// The congestion window in segments.
    #[inline]
    pub(super) fn window(&self) -> u32 {
        self.cwnd.window().size
    }

    pub(super) fn check(&self) {
        self.board.check(!self.agreed.sack);
        let window = self.cwnd.window();
        assert!(window.size >= 1, "a window below a segment");
        assert!(window.threshold >= 2, "a threshold below two segments");
        let guarded = !matches!(self.timer.kind, TimerKind::None | TimerKind::Persist);
        assert_eq!(self.board.outstanding(), guarded, "timer {:?}", self.timer);
    }
}

/// Returns a scoreboard of the segments from offset `start` on, with the order of sending by which losses are detected.
fn scoreboard(settings: &Settings, control: &Control, start: u64, mss: u64) -> Scoreboard {
    let as_ns2 = settings.recovers_as_ns2() && !control.drives();
    let order = match (settings.rack, settings.fack && !as_ns2) {
        (true, _) => Order::Sent,
        (false, true) => Order::Retransmitted,
        (false, false) => Order::Unknown,
    };
    Scoreboard::new(start, mss, order, control.wants_rates())
}
