//! The model of the path: its bandwidth, its round-trip time, and the volumes that it holds.

use units::{Duration, Time};

use super::super::AckSample;
use super::super::bbr_both::{Limited, MIN_WINDOW, measured};
use super::super::filter::MaxFilter;

/// The least share of a bound that a round trip with loss leaves (Beta).
pub(super) const BETA: f64 = 0.7;
/// The share of the safe volume that is left free (Headroom).
const HEADROOM: f64 = 0.15;
/// A volume without bound.
pub(super) const NO_BOUND: u32 = u32::MAX;

/// Bandwidths are in segments per second, volumes in segments.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Round trips, counted by deliveries; whether one began with this acknowledgment; the delivered total that ends
    /// it.
    pub(super) rounds: u64,
    pub(super) round_start: bool,
    round_end: u64,
    /// The largest delivery rate of this and the last cycle (max_bw).
    max_bandwidth: MaxFilter<2>,
    cycles: u64,
    /// The bandwidth that is used: the smaller one of max_bw and bw_shortterm (bw).
    pub(super) bandwidth: f64,
    pub(super) bandwidth_shortterm: f64,
    pub(super) shortterm: u32,
    pub(super) longterm: u32,
    pub(super) min_rtt: Option<Duration>,
    pub(super) min_rtt_at: Time,
    /// The largest rate and volume delivered in this round trip of the loss signals.
    bandwidth_latest: f64,
    pub(super) inflight_latest: u32,
    pub(super) loss_in_round: bool,
    pub(super) loss_round_start: bool,
    loss_round_end: u64,
    pub(super) delivered: u64,
    pub(super) limited: Limited,
    extra: MaxFilter<10>,
    extra_since: Time,
    extra_delivered: u64,
    extra_latest: (u64, u32),
    startup: bool,
}

impl Model {
    pub(super) fn new() -> Model {
        Model {
            rounds: 0,
            round_start: false,
            round_end: 0,
            max_bandwidth: MaxFilter::new(),
            cycles: 0,
            bandwidth: 0.0,
            bandwidth_shortterm: f64::INFINITY,
            shortterm: NO_BOUND,
            longterm: NO_BOUND,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            bandwidth_latest: 0.0,
            inflight_latest: 0,
            loss_in_round: false,
            loss_round_start: false,
            loss_round_end: 0,
            delivered: 0,
            limited: Limited::default(),
            extra: MaxFilter::new(),
            extra_since: Time::ZERO,
            extra_delivered: 0,
            extra_latest: (0, 0),
            startup: true,
        }
    }

    pub(super) fn max_bandwidth(&self) -> f64 {
        self.max_bandwidth.max()
    }

    /// Takes the delivery rate of an acknowledgment into the model, and counts round trips
    /// (UpdateLatestDeliverySignals, UpdateMaxBw, UpdateRound).
    pub(super) fn begin_ack(&mut self, sample: &AckSample) {
        self.delivered = sample.delivered_total;
        self.loss_round_start = false;
        self.round_start = false;
        let Some((rate, interval)) = measured(sample) else { return };
        self.inflight_latest = self.inflight_latest.max(rate.delivered);
        if rate.prior_delivered >= self.loss_round_end {
            self.loss_round_end = self.delivered;
            self.loss_round_start = true;
        }
        if rate.prior_delivered >= self.round_end {
            self.start_round();
            self.rounds += 1;
            self.round_start = true;
        }
        let bandwidth = f64::from(rate.delivered) / interval.as_secs_f64();
        self.bandwidth_latest = self.bandwidth_latest.max(bandwidth);
        if bandwidth >= self.max_bandwidth() || !self.limited.holds(rate) {
            self.max_bandwidth.update(self.cycles, bandwidth);
        }
    }

    /// Begins the signals of the next round trip and bounds the bandwidth (AdvanceLatestDeliverySignals,
    /// BoundBWForModel).
    pub(super) fn end_ack(&mut self, sample: &AckSample) {
        if self.loss_round_start {
            self.bandwidth_latest =
                measured(sample).map_or(0.0, |(rate, interval)| f64::from(rate.delivered) / interval.as_secs_f64());
            self.inflight_latest = sample.rate.map_or(0, |rate| rate.delivered);
        }
        self.bandwidth = self.max_bandwidth().min(self.bandwidth_shortterm);
    }

    pub(super) fn start_round(&mut self) {
        self.round_end = self.delivered;
    }

    pub(super) fn advance_cycle(&mut self) {
        self.cycles += 1;
        self.max_bandwidth.advance(self.cycles);
    }

    /// Lowers the short-term bounds after a round trip with loss (InitLowerBounds, LossLowerBounds).
    pub(super) fn lower_bounds(&mut self, window: u32) {
        if self.bandwidth_shortterm == f64::INFINITY {
            self.bandwidth_shortterm = self.max_bandwidth();
        }
        if self.shortterm == NO_BOUND {
            self.shortterm = window;
        }
        self.bandwidth_shortterm = self.bandwidth_latest.max(BETA * self.bandwidth_shortterm);
        self.shortterm = self.inflight_latest.max((BETA * f64::from(self.shortterm)) as u32);
    }

    /// Lifts the short-term bounds (ResetShortTermModel).
    pub(super) fn forget_short_term(&mut self) {
        self.bandwidth_shortterm = f64::INFINITY;
        self.shortterm = NO_BOUND;
    }

    /// Forgets losses, rates and volumes of this round trip (ResetCongestionSignals).
    pub(super) fn forget_signals(&mut self) {
        self.loss_in_round = false;
        self.bandwidth_latest = 0.0;
        self.inflight_latest = 0;
    }

    /// Begins a round trip of the loss signals at its first loss (NoteLoss).
    pub(super) fn begin_loss_round(&mut self) {
        self.loss_round_end = self.delivered;
        self.loss_in_round = true;
    }

    /// Returns a multiple of the bandwidth-delay product, the initial window before a round-trip time was measured
    /// (BDPMultiple).
    pub(super) fn product(&self, gain: f64, initial: u32) -> u32 {
        self.product_of(self.bandwidth, gain, initial)
    }

    pub(super) fn product_of(&self, bandwidth: f64, gain: f64, initial: u32) -> u32 {
        let Some(rtt) = self.min_rtt else { return initial };
        (gain * bandwidth * rtt.as_secs_f64()).ceil() as u32
    }

    /// Returns the safe volume without the share that is left free (InflightWithHeadroom).
    pub(super) fn with_headroom(&self) -> u32 {
        if self.longterm == NO_BOUND {
            return NO_BOUND;
        }
        let headroom = (HEADROOM * f64::from(self.longterm)).max(1.0);
        ((f64::from(self.longterm) - headroom).max(0.0) as u32).max(MIN_WINDOW)
    }

    /// Measures how far acknowledgments come in bursts (UpdateACKAggregation).
    pub(super) fn update_aggregation(&mut self, sample: &AckSample, window: u32, full: bool) {
        let mut expected = (self.bandwidth * sample.now.since(self.extra_since).as_secs_f64()) as u64;
        if self.extra_delivered <= expected {
            self.restart_aggregation(sample.now);
            expected = 0;
        }
        self.extra_delivered += u64::from(sample.delivered);
        let extra = self.extra_delivered.saturating_sub(expected).min(u64::from(window)) as u32;
        self.startup = !full;
        self.extra.update(self.rounds, f64::from(extra));
        let (round, latest) = self.extra_latest;
        self.extra_latest = (self.rounds, if round == self.rounds { latest.max(extra) } else { extra });
    }

    pub(super) fn restart_aggregation(&mut self, now: Time) {
        self.extra_delivered = 0;
        self.extra_since = now;
    }

    /// Returns the most segments acknowledged beyond the bandwidth: of one round trip until the path was full, of ten
    /// then.
    pub(super) fn extra_acked(&self) -> u32 {
        if self.startup { self.extra_latest.1 } else { self.extra.max() as u32 }
    }
}
