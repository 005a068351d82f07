//! BBR, version 1 (Cardwell et al., ACM Queue 14, 2016; draft-cardwell-iccrg-bbr-congestion-control-00), as Linux 6 has
//! it: with the allowance for aggregated acknowledgments.
//!
//! Simplified: traffic policers are not distinguished from congestion (Linux looks for one where losses recur at a
//! steady rate), so behind one BBR keeps probing above the policed rate. What is in flight is not reckoned at the
//! instant of departure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Duration, Time};

use super::bbr_both::{BeforeRecovery, FullPipe, Limited, MARGIN, MIN_WINDOW, Pacing, approach, measured, retransmits};
use super::filter::{MaxFilter, fraction};
use super::{AckSample, CongestionController, CongestionState, Event, Kind, Needs, Start, Window, bit_rate};

/// A model of the path's bandwidth and round-trip time that paces segments; losses do not slow it (version 1, as in
/// Linux).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BbrConfig {}

impl Kind for BbrConfig {
    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        Box::new(Bbr::new(start))
    }
}

/// 2 / ln 2: the smallest gain with which the rate can double each round trip.
const HIGH_GAIN: f64 = 2.885;
/// Gains of the eight round trips of a probing cycle.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Twice what the path holds, for delayed and aggregated acknowledgments.
const WINDOW_GAIN: f64 = 2.0;
/// Round trips over which the largest delivery rate is the bandwidth.
const BANDWIDTH_ROUNDS: usize = 10;
/// The shortest round-trip time is looked for anew after so long.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// How long BBR keeps the window at its least to probe the round-trip time.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Aggregation is remembered for five to ten round trips, and allowed for up to a tenth of a second's worth.
const AGGREGATION_ROUNDS: u32 = 5;
const MAX_AGGREGATION: f64 = 0.1;
/// After so many segments the measurement of aggregation begins anew.
const AGGREGATION_RESET: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BbrMode {
    /// The rate grows until the path is full.
    Startup,
    /// The queue that the startup left is drained.
    Drain,
    /// Around the bandwidth, with a gain of the cycle.
    ProbeBw,
    /// Four segments, to see the round-trip time without a queue.
    ProbeRtt,
}

/// The BBR controller. Bandwidths are in segments per second.
#[derive(Clone, Debug)]
pub struct Bbr {
    window: Window,
    start: Start,
    pub(super) mode: BbrMode,
    bandwidth: MaxFilter<BANDWIDTH_ROUNDS>,
    min_rtt: Option<Duration>,
    min_rtt_at: Option<Time>,
    rounds: u64,
    /// The delivered total at which the round ends.
    round_end: u64,
    round_start: bool,
    pacing_gain: f64,
    window_gain: f64,
    pacing: Pacing,
    full_pipe: FullPipe,
    full: bool,
    phase: usize,
    phase_at: Time,
    /// Random numbers drawn.
    drawn: u64,
    /// The round-trip time is probed until then, once what is in flight has fallen, and for a round trip at least.
    probe_rtt_until: Option<Time>,
    probe_rtt_round: bool,
    limited: Limited,
    idle_restart: bool,
    conserves: bool,
    before: BeforeRecovery,
    aggregation: Aggregation,
}

impl Bbr {
    /// A controller at the start of a connection.
    pub fn new(start: Start) -> Bbr {
        let mut bbr = Bbr {
            window: start.window(),
            start,
            mode: BbrMode::Startup,
            bandwidth: MaxFilter::new(),
            min_rtt: None,
            min_rtt_at: None,
            rounds: 0,
            round_end: 0,
            round_start: false,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            pacing: Pacing::default(),
            full_pipe: FullPipe::default(),
            full: false,
            phase: 0,
            phase_at: Time::ZERO,
            drawn: 0,
            probe_rtt_until: None,
            probe_rtt_round: false,
            limited: Limited::default(),
            idle_restart: false,
            conserves: false,
            before: BeforeRecovery::new(),
            aggregation: Aggregation::default(),
        };
        bbr.initial_pacing(start.window, Duration::ZERO);
        bbr
    }

    fn initial_pacing(&mut self, window: u32, srtt: Duration) {
        self.pacing.begin(window, srtt, HIGH_GAIN);
        self.pacing.rate *= MARGIN;
    }

    fn update_model(&mut self, sample: &AckSample) {
        self.update_bandwidth(sample);
        if self.round_start {
            self.aggregation.on_round();
        }
        if let Some(rate) = &sample.rate
            && rate.interval.is_some()
        {
            self.aggregation.on_ack(sample, self.bandwidth.max(), self.window.size);
        }
        self.update_phase(sample);
        self.check_full(sample);
        self.check_drain(sample);
        self.update_min_rtt(sample);
        (self.pacing_gain, self.window_gain) = match self.mode {
            BbrMode::Startup => (HIGH_GAIN, HIGH_GAIN),
            BbrMode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            BbrMode::ProbeBw => (CYCLE[self.phase], WINDOW_GAIN),
            BbrMode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// The bandwidth is the largest delivery rate of ten round trips. A limited sample counts only if it is no smaller.
    /// The filter forgets when it takes a sample, so that limited round trips lower nothing.
    fn update_bandwidth(&mut self, sample: &AckSample) {
        self.round_start = false;
        let Some((rate, interval)) = measured(sample) else { return };
        if rate.prior_delivered >= self.round_end {
            self.round_end = sample.delivered_total;
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        let bandwidth = f64::from(rate.delivered) / interval.as_secs_f64();
        if !self.limited.holds(rate) || bandwidth >= self.bandwidth.max() {
            self.bandwidth.update(self.rounds, bandwidth);
        }
    }

    /// A phase of the cycle lasts a round-trip time; the one that probes goes on until the path holds more or loses
    /// something, and the one that drains ends early when the queue is gone.
    fn update_phase(&mut self, sample: &AckSample) {
        if self.mode != BbrMode::ProbeBw {
            return;
        }
        let elapsed = self.min_rtt.is_none_or(|rtt| sample.now.since(self.phase_at) > rtt);
        let before = sample.in_flight_before;
        let over = match CYCLE[self.phase] {
            1.0 => elapsed,
            gain if gain > 1.0 => elapsed && (sample.lost > 0 || before >= self.in_flight_at(gain)),
            _ => elapsed || before <= self.in_flight_at(1.0),
        };
        if over {
            self.next_phase(sample.now);
        }
    }

    fn next_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_at = now;
    }

    fn check_full(&mut self, sample: &AckSample) {
        let limited = sample.rate.as_ref().is_some_and(|rate| self.limited.holds(rate));
        if self.full || !self.round_start || limited {
            return;
        }
        self.full = self.full_pipe.end_round(self.bandwidth.max());
    }

    fn check_drain(&mut self, sample: &AckSample) {
        if self.mode == BbrMode::Startup && self.full {
            self.mode = BbrMode::Drain;
            self.window.threshold = self.in_flight_at(1.0).max(2);
        }
        if self.mode == BbrMode::Drain && sample.in_flight <= self.in_flight_at(1.0) {
            self.enter_probe_bw(sample.now);
        }
    }

    /// The cycle begins at any phase but the one that drains.
    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = BbrMode::ProbeBw;
        self.drawn += 1;
        self.phase = CYCLE.len() - 1 - (fraction(self.start.entropy, self.drawn) * 7.0) as usize;
        self.next_phase(now);
    }

    fn update_min_rtt(&mut self, sample: &AckSample) {
        let expired = self.min_rtt_at.is_some_and(|at| sample.now > at + MIN_RTT_WINDOW);
        if let Some(rtt) = sample.rtt
            && (expired || self.min_rtt.is_none_or(|least| rtt < least))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = Some(sample.now);
        }
        if expired && !self.idle_restart && self.mode != BbrMode::ProbeRtt {
            self.mode = BbrMode::ProbeRtt;
            self.save_window();
            self.probe_rtt_until = None;
        }
        if self.mode == BbrMode::ProbeRtt {
            self.probe_rtt(sample);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, sample: &AckSample) {
        self.limited.begin(sample.delivered_total, sample.in_flight);
        if self.probe_rtt_until.is_some() {
            self.probe_rtt_round |= self.round_start;
            if self.probe_rtt_round {
                self.check_probe_rtt_done(sample.now);
            }
        } else if sample.in_flight <= MIN_WINDOW {
            self.probe_rtt_until = Some(sample.now + PROBE_RTT_TIME);
            self.probe_rtt_round = false;
            self.round_end = sample.delivered_total;
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.min_rtt_at = Some(now);
        self.window.size = self.window.size.max(self.before.window);
        if self.full {
            self.enter_probe_bw(now);
        } else {
            self.mode = BbrMode::Startup;
        }
    }

    fn set_pacing(&mut self, gain: f64) {
        self.pacing.follow(self.bandwidth.max(), gain, self.full);
    }

    fn set_window(&mut self, sample: &AckSample) {
        if sample.delivered > 0 && !self.recover(sample) {
            let target = self.quantize(self.product(self.window_gain).saturating_add(self.aggregated()));
            approach(&mut self.window, sample, target, self.full, &self.start);
        }
        if self.mode == BbrMode::ProbeRtt {
            self.window.size = self.window.size.min(MIN_WINDOW);
        }
    }

    /// The window in a recovery and after it; whether this is all. In its first round trip a segment is sent for each
    /// delivered.
    fn recover(&mut self, sample: &AckSample) -> bool {
        let state = sample.state;
        let previous = std::mem::replace(&mut self.before.state, state);
        self.window.size = self.window.size.saturating_sub(sample.lost).max(1);
        let conserving = sample.in_flight.saturating_add(sample.delivered);
        if state == CongestionState::Recovery && previous != CongestionState::Recovery {
            self.conserves = true;
            self.round_end = sample.delivered_total;
            self.window.size = conserving;
        } else if retransmits(previous) && !retransmits(state) {
            self.window.size = self.window.size.max(self.before.window);
            self.conserves = false;
        }
        if self.conserves {
            self.window.size = self.window.size.max(conserving);
        }
        self.conserves
    }

    fn save_window(&mut self) {
        self.before.save(self.window.size, self.mode == BbrMode::ProbeRtt);
    }

    /// Returns the path's bandwidth-delay product times `gain`; the initial window before a round-trip time was
    /// measured.
    fn product(&self, gain: f64) -> u32 {
        let Some(rtt) = self.min_rtt else { return self.start.window };
        (self.bandwidth.max() * rtt.as_secs_f64() * gain).ceil() as u32
    }

    /// Allows for the bursts that a sender hands to its network card, and for delayed acknowledgments: Linux' budget.
    fn quantize(&self, segments: u32) -> u32 {
        let least = if self.bits() < 1_200_000.0 { 1.0 } else { 2.0 };
        let burst = (self.bits() / 8.0 / 1024.0 / f64::from(self.start.mss.max(1))).floor();
        let even = segments.saturating_add(3 * burst.clamp(least, 127.0) as u32).saturating_add(1) & !1;
        even.saturating_add(if self.mode == BbrMode::ProbeBw && self.phase == 0 { 2 } else { 0 })
    }

    fn in_flight_at(&self, gain: f64) -> u32 {
        self.quantize(self.product(gain))
    }

    fn aggregated(&self) -> u32 {
        if !self.full {
            return 0;
        }
        self.aggregation.max().min((self.bandwidth.max() * MAX_AGGREGATION) as u32)
    }

    fn bits(&self) -> f64 {
        self.pacing.bits(&self.start)
    }
}

impl CongestionController for Bbr {
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
        self.update_model(sample);
        if self.pacing.awaits(sample.srtt) {
            self.initial_pacing(self.window.size, sample.srtt);
        }
        self.set_pacing(self.pacing_gain);
        self.set_window(sample);
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        match *event {
            Event::Established { srtt } => {
                self.initial_pacing(self.window.size, srtt);
                self.min_rtt_at = Some(now);
                self.min_rtt = (!srtt.is_zero()).then_some(srtt);
            }
            Event::Starts { app_limited: true, .. } => {
                self.idle_restart = true;
                self.aggregation.restart(now);
                match self.mode {
                    BbrMode::ProbeBw => self.set_pacing(1.0),
                    BbrMode::ProbeRtt => self.check_probe_rtt_done(now),
                    BbrMode::Startup | BbrMode::Drain => (),
                }
            }
            // A loss changes no threshold.
            Event::Congestion(_) => self.save_window(),
            Event::TimedOut => {
                self.before.state = CongestionState::Loss;
                self.full_pipe.bandwidth = 0.0;
            }
            Event::Undone => self.full_pipe = FullPipe::default(),
            _ => (),
        }
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        Some(bit_rate(self.bits()))
    }
}

/// Segments acknowledged beyond what the bandwidth explains.
#[derive(Clone, Debug, Default)]
struct Aggregation {
    since: Time,
    acked: u64,
    /// The largest of this and of the last few round trips.
    extra: [u32; 2],
    rounds: u32,
}

impl Aggregation {
    fn restart(&mut self, now: Time) {
        self.since = now;
        self.acked = 0;
    }

    fn on_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= AGGREGATION_ROUNDS {
            self.rounds = 0;
            self.extra = [0, self.extra[0]];
        }
    }

    fn on_ack(&mut self, sample: &AckSample, bandwidth: f64, window: u32) {
        let mut expected = (bandwidth * sample.now.since(self.since).as_secs_f64()) as u64;
        if self.acked <= expected || self.acked + u64::from(sample.delivered) >= AGGREGATION_RESET {
            self.restart(sample.now);
            expected = 0;
        }
        self.acked += u64::from(sample.delivered);
        let extra = self.acked.saturating_sub(expected).min(u64::from(window)) as u32;
        self.extra[0] = self.extra[0].max(extra);
    }

    fn max(&self) -> u32 {
        self.extra[0].max(self.extra[1])
    }
}
