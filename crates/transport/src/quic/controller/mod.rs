//! Our congestion controllers behind the library's trait, and the library's own beside them.
//!
//! The library counts bytes and reports each packet; ours count segments, which here are packets, and take each
//! acknowledgment ([`AckSample`]) and each other event ([`Event`]). What a TCP sender does beside its
//! controller stands here for QUIC: a reduction begins with the first loss of a packet that was sent after the one
//! before began, takes the window to the threshold at once, and ends when a packet sent since has arrived (RFC 9002
//! section 7.3.2); persistent congestion (section 7.6) is a time-out.

mod log;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration as StdDuration, Instant};

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};
use units::Time;

use super::clock::{Clock, ours};
use super::config::{Controllers, LEAST_WINDOW, QuicConfig};
use super::frames::PacketKind;
use super::qlog::{Metrics, Qlog};
use super::rate::{SentPacket, SentPackets};
use super::rtt::Rtt;
use crate::congestion::{AckSample, Cause, Congestion, CongestionController, Event, Needs, Standard, Start};
use crate::state::CongestionState;

/// The facts for which a controller is made.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub config: QuicConfig,
    /// Bytes of a full UDP payload.
    pub mtu: u32,
    pub entropy: u64,
    pub clock: Clock,
}

/// A controller and its sender's state: shared by the connection, which reports to it, and the end, which asks.
pub(super) struct Core {
    facts: Facts,
    control: Control,
    pub packets: SentPackets,
    /// Bytes of a packet on average, as UDP payload: full ones where streams are sent.
    packet_bytes: f64,
    news: News,
    /// When the last reduction began: losses and marks of packets sent before do not begin another, even after its end.
    reduced_at: Option<Time>,
    /// The state while it lasts: until a packet sent since has arrived.
    recovery: Option<CongestionState>,
    /// The window and the threshold before the last reduction, by which it is undone.
    prior: Option<(u32, u32)>,
    established: bool,
    /// Packets with marks by the last acknowledgment, and those that were reported to the controller.
    marks: [u64; 2],
    pub rtt: Rtt,
    /// Reductions for losses and for persistent congestion.
    pub reductions: u64,
    pub timeouts: u64,
    pub log: Option<Box<Qlog>>,
    /// When the packet that is being read arrived.
    pub now: Time,
    /// By the last acknowledgment, the application may have had nothing to send.
    app_limited: bool,
    /// The library has a path for this controller already.
    has_path: bool,
}

enum Control {
    Own { controller: Box<dyn CongestionController>, needs: Needs, takes_marks: bool },
    Noq(Box<dyn Controller>),
}

/// The news that an acknowledgment of QUIC has brought so far.
#[derive(Default)]
struct News {
    delivered: u32,
    lost: u32,
    in_flight_before: u32,
    newest: Option<SentPacket>,
}

/// The weight of the last packet in the average size of those that carry datagrams.
const SHARE_OF_NEW: f64 = 1.0 / 16.0;

/// Where the library's pacer lets everything through.
const UNPACED: u64 = 1 << 50;

impl Core {
    pub fn new(facts: Facts) -> Core {
        Core {
            control: Control::new(&facts),
            rtt: Rtt::new(facts.config.max_ack_delay),
            packet_bytes: f64::from(facts.mtu),
            facts,
            packets: SentPackets::new(),
            news: News::default(),
            reduced_at: None,
            recovery: None,
            prior: None,
            established: false,
            marks: [0; 2],
            reductions: 0,
            timeouts: 0,
            log: None,
            now: Time::ZERO,
            app_limited: false,
            has_path: false,
        }
    }

    /// Goes on counting where the controller of the connection before has stopped.
    pub fn follow(&mut self, before: &mut Core) {
        self.rtt.follow(&before.rtt);
        (self.reductions, self.timeouts) = (before.reductions, before.timeouts);
        self.log = before.log.take();
    }

    /// The connection goes on over another path, of which nothing is known (RFC 9000 section 9.4).
    pub fn begin_anew(&mut self) {
        self.control = Control::new(&self.facts);
        self.packets = SentPackets::new();
        (self.news, self.established) = (News::default(), false);
        (self.reduced_at, self.recovery, self.prior) = (None, None, None);
        self.rtt.begin_anew();
    }

    /// Logs what has changed; `in_flight` bytes are in flight.
    fn log_metrics(&mut self, now: Time, in_flight: u64) {
        let Some(mut log) = self.log.take() else { return };
        let mtu = u64::from(self.facts.mtu);
        log.metrics(
            now,
            Metrics {
                latest: self.rtt.latest,
                smoothed: self.rtt.smoothed.unwrap_or_default(),
                min: self.rtt.min.unwrap_or_default(),
                variation: self.rtt.variation,
                window_bytes: u64::from(self.window()) * mtu,
                threshold_bytes: self.threshold().map(|packets| u64::from(packets) * mtu),
                in_flight_bytes: in_flight,
                in_flight_packets: self.packets.in_flight,
            },
        );
        let grows_fast = self.threshold().is_none_or(|threshold| self.window() < threshold);
        let state = match self.state() {
            CongestionState::Open if grows_fast => "slow_start",
            CongestionState::Open => "congestion_avoidance",
            _ => "recovery",
        };
        log.state(now, if self.app_limited && state != "recovery" { "application_limited" } else { state });
        self.log = Some(log);
    }

    /// The window in packets.
    pub fn window(&self) -> u32 {
        match &self.control {
            Control::Own { controller, .. } => controller.window().size.max(LEAST_WINDOW),
            Control::Noq(theirs) => (theirs.window() / u64::from(self.facts.mtu)) as u32,
        }
    }

    /// The slow start threshold in packets, if there is one.
    pub fn threshold(&self) -> Option<u32> {
        let most = crate::congestion::Window::NO_THRESHOLD;
        match &self.control {
            Control::Own { controller, .. } => Some(controller.window().threshold).filter(|packets| *packets != most),
            Control::Noq(theirs) => {
                let packets = theirs.metrics().ssthresh? / u64::from(self.facts.mtu);
                Some(packets as u32).filter(|_| packets < u64::from(most))
            }
        }
    }

    pub fn state(&self) -> CongestionState {
        self.recovery.unwrap_or(CongestionState::Open)
    }

    /// When [`Core::handle_timeout`] is to be called.
    pub fn timer(&self) -> Time {
        match &self.control {
            Control::Own { controller, needs, .. } if needs.timer => controller.poll_timeout().unwrap_or(Time::MAX),
            _ => Time::MAX,
        }
    }

    pub fn handle_timeout(&mut self, now: Time) {
        if self.timer() <= now {
            self.tell(now, Event::Timeout { in_flight: self.packets.in_flight });
            self.log_metrics(now, self.packets.bytes_in_flight);
        }
    }

    /// The other end has counted so many packets with marks.
    pub fn count_marks(&mut self, marked: u64) {
        self.marks[0] = self.marks[0].max(marked);
    }

    /// The window as the library has it, in bytes: it lets a packet out where a full one has room.
    fn window_bytes(&self) -> u64 {
        let others = u64::from(self.window().saturating_sub(1));
        (others as f64 * self.packet_bytes) as u64 + u64::from(self.facts.mtu)
    }

    /// The rate at which packets are spaced, in bytes per second; `None` leaves it to the library.
    fn pacing_rate(&self) -> Option<u64> {
        match &self.control {
            Control::Own { controller, needs, .. } if needs.paces && controller.pacing_rate().is_some() => {
                // A controller's rate is one of full packets.
                let share = self.packet_bytes / f64::from(self.facts.mtu);
                controller.pacing_rate().map(|rate| ((rate.as_bps() as f64 * share) as u64 / 8).max(1))
            }
            _ => (!self.facts.config.pacing).then_some(UNPACED),
        }
    }

    fn tell(&mut self, now: Time, event: Event) {
        if let Control::Own { controller, .. } = &mut self.control {
            controller.on_event(now, &event);
        }
    }

    fn needs(&self) -> Needs {
        match &self.control {
            Control::Own { needs, .. } => *needs,
            Control::Noq(_) => Needs::default(),
        }
    }

    fn sent(&mut self, now: Time, number: u64, bytes: u16) {
        if self.facts.config.datagrams {
            self.packet_bytes += (f64::from(bytes) - self.packet_bytes) * SHARE_OF_NEW;
        }
        if self.packets.in_flight == 0 {
            let (app_limited, last_sent) = (self.packets.is_app_limited(), self.packets.last_sent);
            self.tell(now, Event::Starts { app_limited, last_sent });
        }
        self.packets.send(now, number, bytes);
        if self.needs().sent {
            self.tell(now, Event::Sent { in_flight: self.packets.in_flight });
        }
    }

    fn acked(&mut self, number: u64, bytes: u16, at: Time) {
        if self.news.delivered == 0 {
            self.news.in_flight_before = self.packets.in_flight;
        }
        self.news.delivered += 1;
        let newest = self.packets.deliver(number, bytes, at);
        if newest.is_some_and(|sent| self.news.newest.is_none_or(|known| sent.at >= known.at)) {
            self.news.newest = newest;
        }
    }

    /// A packet is taken for lost: one in flight, or one with acknowledgments alone, of which no controller knows.
    fn lost(&mut self, now: Time, number: u64, bytes: u16) -> Option<PacketKind> {
        let (kind, lost) = self.packets.lose(number, bytes)?;
        self.news.lost += 1;
        if self.needs().rates {
            self.tell(now, Event::Lost(lost));
        }
        Some(kind)
    }

    /// An acknowledgment is over: `in_flight` bytes are left, the application may have had nothing more to send, and
    /// `largest` is the largest packet of its space that has been acknowledged.
    fn end_acks(&mut self, now: Time, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.packets.forget_to(in_flight);
        let News { delivered, lost, in_flight_before, newest } = std::mem::take(&mut self.news);
        let rtt = if delivered > 0 { self.rtt.sample(now, largest) } else { None };
        let Some(newest) = newest else { return };
        let (srtt, min_rtt) = (self.rtt.smoothed.unwrap_or_default(), self.rtt.min.unwrap_or_default());
        if self.rtt.smoothed.is_some() && !std::mem::replace(&mut self.established, true) {
            self.tell(now, Event::Established { srtt });
        }
        if self.recovery.is_some() && self.reduced_at.is_none_or(|at| newest.at > at) {
            self.recovery = None;
            self.tell(now, Event::Recovered);
        }
        let rate = self.needs().rates.then(|| self.packets.sample(now, &newest, min_rtt));
        let (una, nxt) = self.packets.span();
        let [counted, reported] = &mut self.marks;
        let marked = (*counted - std::mem::replace(reported, *counted)) as u32;
        let state = self.state();
        if let Control::Own { controller, takes_marks, .. } = &mut self.control {
            let marked = if *takes_marks { marked } else { 0 };
            let window_limited =
                self.packets.usage.is_window_limited(controller.window(), *takes_marks, self.rtt.latest);
            controller.on_ack(&AckSample {
                now,
                acked: delivered,
                delivered,
                lost,
                delivered_total: self.packets.delivered,
                lost_total: self.packets.lost,
                in_flight_before,
                in_flight: self.packets.in_flight,
                una,
                nxt,
                rtt,
                srtt,
                min_rtt,
                rate,
                may_grow: state == CongestionState::Open,
                window_limited: !app_limited && window_limited,
                window_full: self.packets.usage.is_full(),
                state,
                ece: marked > 0,
                marked,
                marked_bytes: u64::from(marked) * u64::from(self.facts.mtu),
                paced: self.facts.config.pacing,
                mss: self.facts.mtu,
            });
        }
        if app_limited {
            self.packets.on_app_limited();
        }
    }

    /// Packets are lost or marked, of which the newest was sent at `sent`.
    fn congested(&mut self, now: Time, sent: Time, persistent: bool, marked: bool) {
        let is_new = self.reduced_at.is_none_or(|at| sent > at);
        let Control::Own { controller, needs, takes_marks } = &mut self.control else {
            if is_new {
                let state = if marked { CongestionState::Cwr } else { CongestionState::Recovery };
                (self.reduced_at, self.recovery) = (Some(now), Some(state));
                self.count(persistent, marked);
            }
            return;
        };
        if marked && *takes_marks || !is_new && !persistent {
            return;
        }
        let drives = needs.drives;
        let (cause, state) = match (persistent, marked) {
            (true, _) => (Cause::Timeout, CongestionState::Loss),
            (false, true) => (Cause::Mark, CongestionState::Cwr),
            (false, false) => (Cause::Loss, CongestionState::Recovery),
        };
        // Persistent congestion within a reduction leaves the threshold as it is (RFC 9002 appendix B.8). The RFC
        // forgets then when the reduction began; here its beginning is now, so that losses from before do not take
        // the threshold down to half of two packets.
        if is_new {
            let window = *controller.window();
            self.prior = Some((window.size, window.threshold));
            let congestion = Congestion {
                now,
                cause,
                from: window.size,
                in_flight: self.packets.in_flight,
                srtt: self.rtt.smoothed.unwrap_or_default(),
                min_rtt: self.rtt.min.unwrap_or_default(),
                mss: self.facts.mtu,
            };
            controller.on_event(now, &Event::Congestion(congestion));
        }
        if persistent {
            controller.window_mut().collapse(LEAST_WINDOW);
            controller.on_event(now, &Event::TimedOut);
        } else if !drives {
            let window = controller.window_mut();
            window.size = window.size.min(window.threshold).max(LEAST_WINDOW);
        }
        (self.reduced_at, self.recovery) = (Some(now), Some(state));
        self.count(persistent, marked);
    }

    fn count(&mut self, persistent: bool, marked: bool) {
        if persistent {
            self.timeouts += 1;
        } else if !marked {
            self.reductions += 1;
        }
    }

    /// All packets that were taken for lost have arrived after all.
    fn undo(&mut self, now: Time) {
        let Some((size, threshold)) = self.prior.take() else { return };
        let Control::Own { controller, needs, .. } = &mut self.control else { return };
        if !needs.drives {
            let window = controller.window_mut();
            window.size = window.size.max(size);
            window.threshold = window.threshold.max(threshold);
        }
        (self.reduced_at, self.recovery) = (None, None);
        controller.on_event(now, &Event::Undone);
    }
}

impl Control {
    fn new(facts: &Facts) -> Control {
        let Facts { config, mtu, entropy, clock } = facts;
        let bytes = u64::from(config.initial_window) * u64::from(*mtu);
        let (now, payload) = (clock.instant(Time::ZERO), *mtu as u16);
        if config.controllers == Controllers::Own {
            let start = Start {
                mss: *mtu,
                window: config.initial_window,
                counting_limit: u32::MAX,
                entropy: *entropy,
                by_acknowledgment: false,
                of_linux_2_6_22: false,
                timestamps: false,
            };
            let entry = config.congestion.entry();
            let controller = entry.build(start);
            let takes_marks = config.sends_ect() && entry.marks().is_some();
            return Control::Own { needs: controller.needs(), controller, takes_marks };
        }
        Control::Noq(if config.congestion.entry().standard() == Some(Standard::Cubic) {
            let mut theirs = CubicConfig::default();
            theirs.initial_window(bytes);
            Arc::new(theirs).build(now, payload)
        } else {
            let mut theirs = NewRenoConfig::default();
            theirs.initial_window(bytes);
            Arc::new(theirs).build(now, payload)
        })
    }
}

/// The library's handle of a [`Core`].
#[derive(Clone)]
pub(super) struct SharedController(pub Arc<Mutex<Core>>);

impl SharedController {
    pub fn new(core: Core) -> SharedController {
        SharedController(Arc::new(Mutex::new(core)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands on to the library's own controller, if it is that.
    fn theirs(core: &mut Core, tell: impl FnOnce(&mut dyn Controller)) {
        if let Control::Noq(theirs) = &mut core.control {
            tell(&mut **theirs);
        }
    }
}

impl fmt::Debug for SharedController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("window", &self.lock().window()).finish_non_exhaustive()
    }
}

impl ControllerFactory for SharedController {
    /// Builds the controller of the first path, or of one to another address to which the connection has moved.
    fn build(self: Arc<Self>, _now: Instant, _current_mtu: u16) -> Box<dyn Controller> {
        let mut core = self.lock();
        if std::mem::replace(&mut core.has_path, true) {
            core.begin_anew();
        }
        drop(core);
        Box::new(SharedController::clone(&self))
    }
}

impl Controller for SharedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        SharedController::theirs(&mut self.lock(), |theirs| theirs.on_sent(now, bytes, largest_pn));
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let mut core = self.lock();
        let at = core.facts.clock.time(now);
        core.sent(at, pn, bytes);
        SharedController::theirs(&mut core, |theirs| theirs.on_packet_sent(now, bytes, pn));
    }

    fn on_cwnd_limited(&mut self) {
        let mut core = self.lock();
        core.packets.fill_window();
        SharedController::theirs(&mut core, |theirs| theirs.on_cwnd_limited());
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, rtt: &RttEstimator) {
        let mut core = self.lock();
        let at = core.facts.clock.time(sent);
        core.acked(pn, bytes as u16, at);
        core.packets.usage.srtt = ours(rtt.get());
        SharedController::theirs(&mut core, |theirs| theirs.on_ack(now, sent, bytes, pn, app_limited, rtt));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        let mut core = self.lock();
        let at = core.facts.clock.time(now);
        core.end_acks(at, in_flight, app_limited, largest);
        SharedController::theirs(&mut core, |theirs| theirs.on_end_acks(now, in_flight, app_limited, largest));
        core.app_limited = app_limited;
        core.log_metrics(at, in_flight);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        let mut core = self.lock();
        let clock = core.facts.clock;
        core.congested(clock.time(now), clock.time(sent), is_persistent_congestion, is_ecn);
        SharedController::theirs(&mut core, |theirs| {
            theirs.on_congestion_event(now, sent, is_persistent_congestion, is_ecn, lost_bytes, largest_lost_pn);
        });
        let (at, in_flight) = (clock.time(now), core.packets.bytes_in_flight);
        core.log_metrics(at, in_flight);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        let mut core = self.lock();
        let at = core.facts.clock.time(now);
        let kind = core.lost(at, pn, lost_bytes);
        if let Some(log) = &mut core.log {
            log.lost(at, pn, lost_bytes, kind);
        }
        SharedController::theirs(&mut core, |theirs| theirs.on_packet_lost(lost_bytes, pn, now));
    }

    fn on_spurious_congestion_event(&mut self) {
        let mut core = self.lock();
        let (now, in_flight) = (core.now, core.packets.bytes_in_flight);
        core.undo(now);
        SharedController::theirs(&mut core, |theirs| theirs.on_spurious_congestion_event());
        core.log_metrics(now, in_flight);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        SharedController::theirs(&mut self.lock(), |theirs| theirs.on_mtu_update(new_mtu));
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: StdDuration) {
        SharedController::theirs(&mut self.lock(), |theirs| theirs.on_ack_frequency_update(threshold, max_ack_delay));
    }

    fn window(&self) -> u64 {
        let core = self.lock();
        match &core.control {
            Control::Noq(theirs) => theirs.window(),
            // What a controller holds back waits until something in flight has arrived.
            Control::Own { controller, .. } if controller.window().holds => 1,
            Control::Own { .. } => core.window_bytes(),
        }
    }

    fn metrics(&self) -> ControllerMetrics {
        let core = self.lock();
        let mut metrics = ControllerMetrics::default();
        if let Control::Noq(theirs) = &core.control {
            metrics = theirs.metrics();
            metrics.pacing_rate = metrics.pacing_rate.or(core.pacing_rate());
            return metrics;
        }
        metrics.congestion_window = core.window_bytes();
        metrics.ssthresh = core.threshold().map(|packets| u64::from(packets) * u64::from(core.facts.mtu));
        metrics.pacing_rate = core.pacing_rate();
        metrics
    }

    /// Returns the controller of a path to another port of the address: that of the same path (RFC 9000 section 9.4).
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests;
