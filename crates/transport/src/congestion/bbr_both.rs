//! The parts that both versions of BBR share.

use units::Duration;

use super::{AckSample, CongestionState, RateSample, Start, Window};

/// The window that stays: four segments.
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
    /// A round trip with this bandwidth is over: whether the path is full.
    pub fn has_ended(&mut self, bandwidth: f64) -> bool {
        if bandwidth >= self.bandwidth * FULL_GROWTH {
            *self = FullPipe { bandwidth, rounds: 0 };
            return false;
        }
        self.rounds += 1;
        self.rounds >= FULL_ROUNDS
    }
}

/// The window before a recovery or a probe of the round-trip time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub state: CongestionState,
    pub window: u32,
}

impl Before {
    pub fn new() -> Before {
        Before { state: CongestionState::Open, window: 0 }
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

/// The rate of a sample with its time.
pub(super) fn measured(sample: &AckSample) -> Option<(&RateSample, Duration)> {
    let rate = sample.rate.as_ref()?;
    Some((rate, rate.interval.filter(|interval| !interval.is_zero())?))
}
