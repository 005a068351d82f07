//! The cycle of probes: for bandwidth (DOWN, CRUISE, REFILL, UP), and for the round-trip time.

use units::{Duration, Time};

use super::super::AckSample;
use super::super::bbr_both::{MIN_WINDOW, measured};
use super::super::filter::fraction;
use super::model::{BETA, NO_BOUND};
use super::{Bbr3, Bbr3State, Feedback, MIN_RTT_WINDOW, PROBE_RTT_GAIN, PROBE_RTT_INTERVAL, PROBE_RTT_TIME, too_high};

/// The most round trips between two probes: Reno would probe after as many as its window has segments.
const RENO_ROUNDS: u32 = 63;

impl Bbr3 {
    /// Moves through the cycle of probes for bandwidth (UpdateProbeBWCyclePhase).
    pub(super) fn update_cycle(&mut self, sample: &AckSample) {
        if !self.full_reached || self.adapt_long_term(sample) || !self.state.probes_bandwidth() {
            return;
        }
        let state = self.state;
        match state {
            Bbr3State::Down if self.is_time_to_probe(sample.now) => self.start_refill(),
            Bbr3State::Down if self.is_time_to_cruise(sample) => self.state = Bbr3State::Cruise,
            Bbr3State::Cruise if self.is_time_to_probe(sample.now) => self.start_refill(),
            Bbr3State::Refill if self.model.round_start => {
                self.cycle.is_probe_sample = true;
                self.start_up(sample);
            }
            Bbr3State::Up if self.is_time_to_go_down(sample) => {
                self.cycle.too_high = false;
                self.start_down(sample.now);
            }
            _ => (),
        }
    }

    /// Begins to drain the queue, and draws when the next probe comes, two to three seconds later (StartProbeBW_DOWN,
    /// PickProbeWait).
    pub(super) fn start_down(&mut self, now: Time) {
        self.model.forget_signals();
        self.cycle.up_per = NO_BOUND;
        self.cycle.rounds = u64::from(self.draw() < 0.5);
        self.cycle.wait = Duration::from_secs(2) + Duration::from_secs_f64(self.draw());
        self.cycle.since = now;
        self.cycle.feedback = Feedback::Stopping;
        self.model.start_round();
        self.state = Bbr3State::Down;
    }

    /// Begins to fill the path before a probe (StartProbeBW_REFILL).
    pub(super) fn start_refill(&mut self) {
        self.model.forget_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.precautionary = false;
        self.cycle.feedback = Feedback::Refilling;
        self.model.start_round();
        self.state = Bbr3State::Refill;
    }

    /// Begins a probe for bandwidth (StartProbeBW_UP).
    fn start_up(&mut self, sample: &AckSample) {
        self.cycle.feedback = Feedback::Starting;
        self.model.start_round();
        self.look_for_full(rate(sample));
        self.state = Bbr3State::Up;
        self.raise_slope();
    }

    fn draw(&mut self) -> f64 {
        self.cycle.drawn += 1;
        fraction(self.start.entropy, self.cycle.drawn)
    }

    /// Whether the next probe is due, on BBR's time scale or on Reno's (IsTimeToProbeBW).
    fn is_time_to_probe(&self, now: Time) -> bool {
        now > self.cycle.since + self.cycle.wait || self.cycle.rounds >= u64::from(self.target().min(RENO_ROUNDS))
    }

    /// Whether the queue is gone and there is room for others (IsTimeToCruise).
    fn is_time_to_cruise(&self, sample: &AckSample) -> bool {
        sample.in_flight <= self.model.with_headroom()
            && sample.in_flight <= self.in_flight_at(self.model.max_bandwidth(), 1.0)
    }

    /// Whether the probe ends: the bandwidth has stopped growing, or the safe volume of a careful probe is reached
    /// (IsTimeToGoDown).
    fn is_time_to_go_down(&mut self, sample: &AckSample) -> bool {
        if self.cycle.too_high && sample.in_flight >= self.model.longterm {
            self.cycle.precautionary = true;
            return true;
        }
        if sample.window_full && self.window.size >= self.model.longterm {
            self.look_for_full(rate(sample)); // the volume limits, not the path
            return false;
        }
        self.full_now
    }

    /// Adapts the safe volume (AdaptLongTermModel). Returns whether the state has changed.
    fn adapt_long_term(&mut self, sample: &AckSample) -> bool {
        if self.cycle.feedback == Feedback::Starting && self.model.round_start {
            self.cycle.feedback = Feedback::Arriving;
        }
        if self.cycle.feedback == Feedback::Stopping && self.model.round_start {
            self.cycle.is_probe_sample = false;
            self.cycle.feedback = Feedback::None;
            if self.state.probes_bandwidth() {
                if !sample.rate.as_ref().is_some_and(|rate| self.model.limited.holds(rate)) {
                    self.model.advance_cycle();
                }
                // The careful probe lost nothing: a whole one follows at once.
                if self.cycle.precautionary && !self.cycle.too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        let Some(rate) = &sample.rate else { return false };
        if too_high(rate.lost, rate.tx_in_flight) || self.model.longterm == NO_BOUND {
            return false;
        }
        self.model.longterm = self.model.longterm.max(rate.tx_in_flight);
        if self.state == Bbr3State::Up {
            self.probe_upward(sample);
        }
        false
    }

    /// Raises the safe volume, by 1, 2, 4, … segments in a round trip (ProbeInflightLongtermUpward).
    fn probe_upward(&mut self, sample: &AckSample) {
        if !sample.window_full || self.window.size < self.model.longterm {
            return;
        }
        self.cycle.up_acked = self.cycle.up_acked.saturating_add(sample.delivered);
        if self.cycle.up_acked >= self.cycle.up_per {
            self.model.longterm = self.model.longterm.saturating_add(self.cycle.up_acked / self.cycle.up_per);
            self.cycle.up_acked %= self.cycle.up_per;
        }
        if self.model.round_start {
            self.raise_slope();
        }
    }

    /// Doubles how fast the safe volume rises (RaiseInflightLongtermSlope).
    fn raise_slope(&mut self) {
        self.cycle.up_per = (self.window.size >> self.cycle.up_rounds).max(1);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
    }

    /// A probe has lost too much: the safe volume falls (HandleInflightTooHigh).
    pub(super) fn handle_too_high(&mut self, now: Time, in_flight: u32, app_limited: bool) {
        self.cycle.too_high = true;
        self.cycle.is_probe_sample = false;
        if !app_limited {
            let least = (f64::from(self.target()) * BETA) as u32;
            self.model.longterm = in_flight.max(least);
        }
        if self.state == Bbr3State::Up {
            self.before_loss.state = Some(Bbr3State::Up);
            self.start_down(now);
        }
    }

    /// Follows the shortest round-trip time (UpdateMinRTT).
    pub(super) fn update_min_rtt(&mut self, sample: &AckSample) {
        let probe = &mut self.probe_rtt;
        probe.expired = probe.at.is_some_and(|at| sample.now > at + PROBE_RTT_INTERVAL);
        if let Some(rtt) = sample.rtt
            && (probe.expired || probe.least.is_none_or(|least| rtt < least))
        {
            probe.least = Some(rtt);
            probe.at = Some(sample.now);
        }
        let expired = sample.now > self.model.min_rtt_at + MIN_RTT_WINDOW;
        if let (Some(least), Some(at)) = (probe.least, probe.at)
            && (expired || self.model.min_rtt.is_none_or(|rtt| least < rtt))
        {
            self.model.min_rtt = Some(least);
            self.model.min_rtt_at = at;
        }
    }

    /// Begins a probe of the round-trip time when one is due (CheckProbeRTT).
    pub(super) fn check_probe_rtt(&mut self, sample: &AckSample) {
        if self.state != Bbr3State::ProbeRtt && self.probe_rtt.expired && !self.idle_restart {
            self.state = Bbr3State::ProbeRtt;
            self.save_window();
            self.probe_rtt.until = None;
            self.cycle.feedback = Feedback::Stopping;
            self.model.start_round();
        }
        if self.state == Bbr3State::ProbeRtt {
            self.handle_probe_rtt(sample);
        }
        if sample.rate.is_some_and(|rate| rate.delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, sample: &AckSample) {
        self.model.limited.begin(sample.delivered_total, sample.in_flight);
        if self.probe_rtt.until.is_some() {
            self.probe_rtt.round_done |= self.model.round_start;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(sample.now);
            }
        } else if sample.in_flight <= self.probe_rtt_window() {
            self.probe_rtt.until = Some(sample.now + PROBE_RTT_TIME);
            self.probe_rtt.round_done = false;
            self.model.start_round();
        }
    }

    /// Ends the probe of the round-trip time when it is done (CheckProbeRTTDone, ExitProbeRTT).
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt.until.is_none_or(|until| now <= until) {
            return;
        }
        self.probe_rtt.at = Some(now);
        self.window.size = self.window.size.max(self.before.window);
        self.model.forget_short_term();
        if self.full_reached {
            self.start_down(now);
            self.state = Bbr3State::Cruise;
        } else {
            self.state = Bbr3State::Startup;
        }
    }

    /// Returns the window of a probe of the round-trip time (ProbeRTTCwnd).
    pub(super) fn probe_rtt_window(&self) -> u32 {
        self.model.product(PROBE_RTT_GAIN, self.start.window).max(MIN_WINDOW)
    }
}

/// Returns the delivery rate of a sample, 0 if it has none.
fn rate(sample: &AckSample) -> f64 {
    measured(sample).map_or(0.0, |(rate, interval)| f64::from(rate.delivered) / interval.as_secs_f64())
}
