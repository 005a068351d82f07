//! BBR, version 3 (draft-ietf-ccwg-bbr, the text of August 2026). Names in parentheses are those of its pseudocode.
//!
//! Simplified: there is no response to ECN marks (the draft has none either), a host offloads nothing beyond two
//! segments or a millisecond, and the sender counts as having selective acknowledgments. The discontiguous losses that
//! end STARTUP are counted as the acknowledgments that report any, as in Linux.

mod model;
mod probe;
#[cfg(test)]
mod tests;
mod volume;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Duration, Time};

use self::model::{Model, NO_BOUND};
use super::bbr_both::{BeforeRecovery, FullPipe, MIN_WINDOW, Pacing, approach, measured, retransmits};
use super::{
    AckSample, Cause, CongestionController, CongestionState, Event, Kind, LostSegment, Needs, Start, Window, bit_rate,
};

/// The model of BBR with bounds from losses: it probes more rarely, leaves room, and shares with others (version 3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bbr3Config {}

impl Kind for Bbr3Config {
    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        Box::new(Bbr3::new(start))
    }
}

/// 4 ln 2: the smallest gain with which the rate can double each round trip (StartupPacingGain).
const STARTUP_GAIN: f64 = 2.77;
/// The pacing gain of a drain (DrainPacingGain), and the round trips after which it ends in any case.
const DRAIN_GAIN: f64 = 0.5;
const DRAIN_ROUNDS: u64 = 3;
/// The window as a multiple of the bandwidth-delay product (DefaultCwndGain), and the multiple in ProbeBW_UP.
const WINDOW_GAIN: f64 = 2.0;
const UP_WINDOW_GAIN: f64 = 2.25;
/// The share of losses that probing may cause (LossThresh).
const LOSS_THRESHOLD: f64 = 0.02;
/// The acknowledgments with losses in a round trip after which startup may end (StartupFullLossCnt).
const FULL_LOSSES: u32 = 6;
/// The probe of the round-trip time: its window's gain, its length, the time between two, and for how long a minimum
/// holds (ProbeRTTCwndGain, ProbeRTTDuration, ProbeRTTInterval, MinRTTFilterLen).
const PROBE_RTT_GAIN: f64 = 0.5;
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// The states of the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bbr3State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Bbr3State {
    fn pacing_gain(self) -> f64 {
        match self {
            Bbr3State::Startup => STARTUP_GAIN,
            Bbr3State::Drain => DRAIN_GAIN,
            Bbr3State::Down => 0.9,
            Bbr3State::Cruise | Bbr3State::Refill | Bbr3State::ProbeRtt => 1.0,
            Bbr3State::Up => 1.25,
        }
    }

    fn window_gain(self) -> f64 {
        match self {
            Bbr3State::Up => UP_WINDOW_GAIN,
            Bbr3State::ProbeRtt => PROBE_RTT_GAIN,
            _ => WINDOW_GAIN,
        }
    }

    fn probes_bandwidth(self) -> bool {
        matches!(self, Bbr3State::Down | Bbr3State::Cruise | Bbr3State::Refill | Bbr3State::Up)
    }

    /// Whether it accelerates (IsProbingBW): losses then bound the volume, not the rate.
    fn accelerates(self) -> bool {
        matches!(self, Bbr3State::Startup | Bbr3State::Refill | Bbr3State::Up)
    }
}

/// The part of a probe that acknowledgments report on (ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    None,
    Refilling,
    Starting,
    Arriving,
    Stopping,
}

/// The BBRv3 controller. Bandwidths are in segments per second, volumes in segments.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    window: Window,
    start: Start,
    pub(super) state: Bbr3State,
    model: Model,
    pacing: Pacing,
    /// Whether the path was ever full, and whether it is in this acceleration (full_bw_reached, full_bw_now).
    full_reached: bool,
    full_now: bool,
    full_pipe: FullPipe,
    drain_round: u64,
    recovery: Option<Recovery>,
    cycle: Cycle,
    idle_restart: bool,
    before: BeforeRecovery,
    probe_rtt: ProbeRtt,
    before_loss: BeforeLoss,
}

/// The cycle of probes for bandwidth.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    feedback: Feedback,
    /// Samples come from a probe that has not yet lost too much (is_bw_probe_sample).
    is_probe_sample: bool,
    /// When the cycle began, how long until the next probe, and the round trips since the last.
    since: Time,
    wait: Duration,
    rounds: u64,
    /// Random numbers drawn.
    drawn: u64,
    /// How the safe volume is raised: for how many round trips so far, segments acknowledged since it last rose, and
    /// how many of them raise it by one.
    up_rounds: u32,
    up_acked: u32,
    up_per: u32,
    /// Whether the last probe lost too much, and whether it stopped early to lose nothing (prev_probe_too_high,
    /// prev_probe_precautionary).
    too_high: bool,
    precautionary: bool,
}

/// The probe of the round-trip time.
#[derive(Clone, Copy, Debug)]
struct ProbeRtt {
    /// The shortest round-trip time since the last probe, and when it was measured (probe_rtt_min_delay,
    /// probe_rtt_min_stamp).
    least: Option<Duration>,
    at: Option<Time>,
    expired: bool,
    until: Option<Time>,
    round_done: bool,
}

/// A round trip of fast recovery.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// When recovery began, and the delivered total then or when the round trip before had passed: the round trip ends
    /// with a segment that was sent after.
    since: Time,
    delivered: u64,
    /// Acknowledgments in this round trip that reported losses.
    loss_events: u32,
}

/// The state before an episode of losses, to which the controller returns if they were spurious.
#[derive(Clone, Copy, Debug, Default)]
struct BeforeLoss {
    /// Whether the episode goes on, and whether its reduction has begun.
    goes_on: bool,
    reduces: bool,
    /// The state that the episode has ended.
    state: Option<Bbr3State>,
    bandwidth_shortterm: f64,
    shortterm: u32,
    longterm: u32,
}

impl Bbr3 {
    /// A controller at the start of a connection.
    pub fn new(start: Start) -> Bbr3 {
        let mut bbr = Bbr3 {
            window: start.window(),
            start,
            state: Bbr3State::Startup,
            model: Model::new(),
            pacing: Pacing::default(),
            full_reached: false,
            full_now: false,
            full_pipe: FullPipe::default(),
            drain_round: 0,
            recovery: None,
            cycle: Cycle {
                feedback: Feedback::None,
                is_probe_sample: false,
                since: Time::ZERO,
                wait: Duration::ZERO,
                rounds: 0,
                drawn: 0,
                up_rounds: 0,
                up_acked: 0,
                up_per: NO_BOUND,
                too_high: false,
                precautionary: false,
            },
            idle_restart: false,
            before: BeforeRecovery::new(),
            probe_rtt: ProbeRtt { least: None, at: None, expired: false, until: None, round_done: false },
            before_loss: BeforeLoss::default(),
        };
        bbr.initial_pacing(start.window, Duration::ZERO);
        bbr
    }

    /// Sets the first pacing rate (InitPacingRate).
    fn initial_pacing(&mut self, window: u32, srtt: Duration) {
        self.pacing.begin(window, srtt, STARTUP_GAIN);
    }

    /// Follows an acknowledgment with the model and the state (UpdateModelAndState).
    fn update(&mut self, sample: &AckSample) {
        self.model.begin_ack(sample);
        if self.model.round_start {
            self.cycle.rounds += 1;
        }
        if self.model.loss_round_start {
            if !self.state.accelerates() && self.model.loss_in_round {
                self.model.lower_bounds(self.window.size);
            }
            self.model.loss_in_round = false;
        }
        self.model.update_aggregation(sample, self.window.size, self.full_reached);
        self.check_full(sample);
        self.check_startup(sample);
        if self.state == Bbr3State::Drain
            && (sample.in_flight <= self.in_flight_at(self.model.bandwidth, 1.0)
                || self.model.rounds > self.drain_round + DRAIN_ROUNDS)
        {
            self.start_down(sample.now);
        }
        self.update_cycle(sample);
        self.update_min_rtt(sample);
        self.check_probe_rtt(sample);
        self.model.end_ack(sample);
    }

    /// Looks whether the bandwidth has stopped growing (CheckFullBWReached).
    fn check_full(&mut self, sample: &AckSample) {
        if self.full_now || !self.model.round_start {
            return;
        }
        let Some((rate, interval)) = measured(sample) else { return };
        if self.model.limited.holds(rate) {
            return;
        }
        let bandwidth = f64::from(rate.delivered) / interval.as_secs_f64();
        self.full_now = self.full_pipe.end_round(bandwidth);
        self.full_reached |= self.full_now;
    }

    /// Ends startup when the path is full, or when more than 2 % were lost, in at least six places, over a whole round
    /// trip of recovery (CheckStartupDone, CheckStartupHighLoss).
    fn check_startup(&mut self, sample: &AckSample) {
        let high = self.has_high_loss(sample);
        if self.state != Bbr3State::Startup {
            return;
        }
        if !self.full_reached && high {
            self.before_loss.state = Some(Bbr3State::Startup);
            self.full_reached = true;
            let held = self.model.product(1.0, self.start.window);
            self.model.longterm = held.max(self.model.inflight_latest);
        }
        if self.full_reached {
            self.state = Bbr3State::Drain;
            self.drain_round = self.model.rounds;
        }
    }

    /// Whether a round trip of recovery has passed with this acknowledgment that lost too much.
    ///
    /// QUIC's recovery ends with the first packet that was sent in it, and so with the very acknowledgment that makes
    /// the round trip whole: that one counts, though it is in recovery no more.
    fn has_high_loss(&mut self, sample: &AckSample) -> bool {
        let begun = Recovery { since: sample.now, delivered: 0, loss_events: 0 };
        let in_recovery = sample.state == CongestionState::Recovery;
        let Some(mut recovery) = self.recovery.or(in_recovery.then_some(begun)) else { return false };
        recovery.loss_events += u32::from(sample.lost > 0);
        if recovery.since == sample.now {
            // TCP tells of the recovery before the acknowledgment that shows the losses, QUIC after it.
            recovery.delivered = sample.delivered_total;
        }
        let rate = sample.rate.filter(|rate| rate.prior_delivered >= recovery.delivered);
        let high = rate.is_some_and(|rate| too_high(rate.lost, rate.tx_in_flight));
        let ends = high && recovery.loss_events >= FULL_LOSSES;
        if rate.is_some() {
            (recovery.delivered, recovery.loss_events) = (sample.delivered_total, 0);
        }
        self.recovery = in_recovery.then_some(recovery);
        ends
    }

    /// Sets the pacing rate (SetPacingRateWithGain).
    fn set_pacing(&mut self, gain: f64) {
        self.pacing.follow(self.model.bandwidth, gain, self.full_reached);
    }

    /// Sets the window (SetCwnd).
    fn set_window(&mut self, sample: &AckSample) {
        let product = self.model.product(self.state.window_gain(), self.start.window);
        let most = self.quantize(product.saturating_add(self.model.extra_acked()));
        approach(&mut self.window, sample, most, self.full_reached, &self.start);
        if self.state == Bbr3State::ProbeRtt {
            self.window.size = self.window.size.min(self.probe_rtt_window());
        }
        let bound = match self.state {
            Bbr3State::Down | Bbr3State::Refill | Bbr3State::Up => self.model.longterm,
            Bbr3State::ProbeRtt | Bbr3State::Cruise => self.model.with_headroom(),
            Bbr3State::Startup | Bbr3State::Drain => NO_BOUND,
        };
        self.window.size = self.window.size.min(bound.min(self.model.shortterm).max(MIN_WINDOW));
    }

    /// A loss or a reduction: keeps the state as it is before an episode of losses (SaveStateUponLoss).
    ///
    /// The draft calls it at the first loss in a round trip and when recovery begins. Senders tell of the losses first,
    /// and these may have ended a probe already, so that only the first of these calls saves the state before.
    fn save_before_loss(&mut self, reduces: bool) {
        self.save_window();
        // A second reduction without an acknowledgment outside of recovery in between is an episode of its own.
        if self.before_loss.goes_on && !(reduces && self.before_loss.reduces) {
            self.before_loss.reduces |= reduces;
            return;
        }
        self.before_loss = BeforeLoss {
            goes_on: true,
            reduces,
            state: None,
            bandwidth_shortterm: self.model.bandwidth_shortterm,
            shortterm: self.model.shortterm,
            longterm: self.model.longterm,
        };
    }

    /// Returns to the state before a loss that was spurious (HandleSpuriousLossDetection).
    fn on_spurious_loss(&mut self) {
        self.recovery = None;
        self.window.size = self.window.size.max(self.before.window);
        self.model.loss_in_round = false;
        self.look_for_full(0.0);
        let before = std::mem::take(&mut self.before_loss);
        self.model.bandwidth_shortterm = self.model.bandwidth_shortterm.max(before.bandwidth_shortterm);
        self.model.shortterm = self.model.shortterm.max(before.shortterm);
        self.model.longterm = self.model.longterm.max(before.longterm);
        let stays = self.state == Bbr3State::ProbeRtt;
        match before.state {
            Some(Bbr3State::Startup) if self.state != Bbr3State::Startup => {
                self.full_reached = false;
                if !stays {
                    self.state = Bbr3State::Startup;
                }
            }
            Some(Bbr3State::Up) if self.state != Bbr3State::Up && !stays => self.start_refill(),
            _ => (),
        }
    }
}

impl Bbr3 {
    /// The sender begins again after it was idle (HandleRestartFromIdle).
    fn restart_from_idle(&mut self, now: Time) {
        self.idle_restart = true;
        self.model.restart_aggregation(now);
        if self.state.probes_bandwidth() {
            self.set_pacing(1.0);
        } else if self.state == Bbr3State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    /// A segment is taken for lost (HandleLostPacket).
    fn on_lost(&mut self, now: Time, lost: &LostSegment) {
        let first = !self.model.loss_in_round;
        if first {
            self.model.begin_loss_round();
        }
        if first || !self.before_loss.goes_on {
            self.save_before_loss(false);
        }
        if !self.cycle.is_probe_sample || !too_high(lost.lost_since, lost.tx_in_flight) {
            return;
        }
        // Of the volume in flight when the segment was sent, the part with few enough losses (InflightAtLoss).
        let before = f64::from(lost.tx_in_flight.saturating_sub(1));
        let lost_before = f64::from(lost.lost_since.saturating_sub(1));
        let prefix = (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD);
        self.handle_too_high(now, (before + prefix).max(0.0) as u32, lost.app_limited);
    }
}

impl CongestionController for Bbr3 {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { drives: true, rates: true, paces: true, ..Needs::default() }
    }

    fn on_ack(&mut self, sample: &AckSample) {
        if retransmits(self.before.state) && !retransmits(sample.state) {
            self.window.size = self.window.size.max(self.before.window);
        }
        self.before.state = sample.state;
        self.before_loss.goes_on &= retransmits(sample.state);
        self.update(sample);
        if self.pacing.awaits(sample.srtt) {
            self.initial_pacing(self.window.size, sample.srtt);
        }
        self.set_pacing(self.state.pacing_gain());
        self.set_window(sample);
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        match *event {
            Event::Established { srtt } => {
                self.initial_pacing(self.window.size, srtt);
                if !srtt.is_zero() {
                    self.model.min_rtt = Some(srtt);
                    self.model.min_rtt_at = now;
                }
            }
            Event::Starts { app_limited: true, .. } => self.restart_from_idle(now),
            Event::Lost(lost) => self.on_lost(now, &lost),
            // A loss changes no threshold.
            Event::Congestion(congestion) if congestion.cause != Cause::Mark => {
                self.save_before_loss(true);
                let recovery = Recovery { since: now, delivered: self.model.delivered, loss_events: 0 };
                self.recovery = (congestion.cause == Cause::Loss).then_some(recovery);
            }
            Event::TimedOut => (self.before.state, self.recovery) = (CongestionState::Loss, None),
            Event::Undone => self.on_spurious_loss(),
            _ => (),
        }
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        Some(bit_rate(self.pacing.bits(&self.start)))
    }
}

/// Whether so many losses of a volume in flight are too many (IsInflightTooHigh).
fn too_high(lost: u32, tx_in_flight: u32) -> bool {
    f64::from(lost) > f64::from(tx_in_flight) * LOSS_THRESHOLD
}
