//! The parts that both versions of BBR share.

use units::Duration;

use super::{AckSample, CongestionState, RateSample, Start, Window};

/// The least window of BBR: four segments.
pub(super) const MIN_WINDOW: u32 = 4;
/// The path is full when the rate has grown by less than a quarter in each of three round trips.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// The rate stays one percent below the estimate, so that queues drain.
pub(super) const MARGIN: f64 = 0.99;

/// The rate at which segments leave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacing {
    /// Segments per second.
    pub rate: f64,
    /// Whether it was set from a measured round-trip time.
    seen_rtt: bool,
}

impl Pacing {
    /// A window in each round-trip time, times `gain`; in a millisecond before one is measured.
    pub fn begin(&mut self, window: u32, srtt: Duration, gain: f64) {
        let rtt = if srtt.is_zero() { Duration::from_millis(1) } else { srtt };
        self.seen_rtt = !srtt.is_zero();
        self.rate = f64::from(window) / rtt.as_secs_f64() * gain;
    }

    /// Whether the first round-trip time is measured now.
    pub fn awaits(&self, srtt: Duration) -> bool {
        !self.seen_rtt && !srtt.is_zero()
    }

    /// The rate follows the estimate of the bandwidth; until the path is known to be `full`, upwards only.
    pub fn follow(&mut self, bandwidth: f64, gain: f64, full: bool) {
        let rate = bandwidth * gain * MARGIN;
        if full || rate > self.rate {
            self.rate = rate;
        }
    }

    /// Bits of payload per second.
    pub fn bits(&self, start: &Start) -> f64 {
        self.rate * 8.0 * f64::from(start.mss)
    }
}

/// Whether the rate still grows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    pub bandwidth: f64,
    pub rounds: u32,
}

impl FullPipe {
    /// A round trip with this bandwidth is over. Returns whether the path is full.
    pub fn end_round(&mut self, bandwidth: f64) -> bool {
        if bandwidth >= self.bandwidth * FULL_GROWTH {
            *self = FullPipe { bandwidth, rounds: 0 };
            return false;
        }
        self.rounds += 1;
        self.rounds >= FULL_ROUNDS
    }
}

/// The segments that were sent while a probe of the round-trip time kept the window small: samples of them are too low.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limited {
    /// The totals that were delivered when they were sent, from the first to the second.
    totals: Option<(u64, u64)>,
}

impl Limited {
    /// What is sent from now on, until more than what is in flight is delivered, is limited (MarkConnectionAppLimited
    /// of draft-ietf-ccwg-bbr, `tp->app_limited` of Linux).
    pub fn begin(&mut self, delivered: u64, in_flight: u32) {
        let from =
            self.totals.filter(|&(from, until)| (from..=until).contains(&delivered)).map_or(delivered, |it| it.0);
        self.totals = Some((from, delivered + u64::from(in_flight)));
    }

    /// Whether the segment of a sample was sent so, or the application limited it.
    pub fn holds(&self, rate: &RateSample) -> bool {
        rate.app_limited || self.totals.is_some_and(|(from, until)| (from..=until).contains(&rate.prior_delivered))
    }
}

/// The window before a recovery or a probe of the round-trip time.
#[derive(Clone, Copy, Debug)]
pub(super) struct BeforeRecovery {
    pub state: CongestionState,
    pub window: u32,
}

impl BeforeRecovery {
    pub fn new() -> BeforeRecovery {
        BeforeRecovery { state: CongestionState::Open, window: 0 }
    }

    /// A recovery or a probe begins, perhaps within another.
    pub fn save(&mut self, window: u32, probes_rtt: bool) {
        let kept = retransmits(self.state) || probes_rtt;
        self.window = if kept { self.window.max(window) } else { window };
    }
}

/// The window opens by what is delivered: up to `most` once the path is `full`; before, while it is below that or the
/// initial window is not delivered.
pub(super) fn approach(window: &mut Window, sample: &AckSample, most: u32, full: bool, start: &Start) {
    if full {
        window.size = window.size.saturating_add(sample.delivered).min(most);
    } else if window.size < most || sample.delivered_total < u64::from(start.window) {
        window.grow(sample.delivered);
    }
    window.size = window.size.max(MIN_WINDOW);
}

/// Whether a retransmission is in flight.
pub(super) fn retransmits(state: CongestionState) -> bool {
    matches!(state, CongestionState::Recovery | CongestionState::Loss)
}

/// The delivery rate of an acknowledgment's sample, with its time.
pub(super) fn measured(sample: &AckSample) -> Option<(&RateSample, Duration)> {
    let rate = sample.rate.as_ref()?;
    Some((rate, rate.interval.filter(|interval| !interval.is_zero())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MarkConnectionAppLimited: P.is_app_limited of what was sent before a probe of the round-trip time is false.
    #[test]
    fn a_probe_of_the_round_trip_time_limits_what_is_sent_in_it() {
        let mut limited = Limited::default();
        let limits = |limited: &Limited| {
            let is_limited = |total: &u64| {
                limited.holds(&RateSample {
                    delivered: 1,
                    lost: 0,
                    prior_delivered: *total,
                    tx_in_flight: 1,
                    interval: None,
                    app_limited: false,
                    retransmitted: false,
                })
            };
            let totals: Vec<u64> = (0..3000).filter(is_limited).collect();
            totals.first().copied().zip(totals.last().copied())
        };
        assert_eq!(limits(&limited), None);
        let cases = [(1000, 50, (1000, 1050)), (1040, 20, (1000, 1060)), (2000, 0, (2000, 2000))];
        for (delivered, in_flight, totals) in cases {
            limited.begin(delivered, in_flight);
            assert_eq!(limits(&limited), Some(totals));
        }
    }
}
