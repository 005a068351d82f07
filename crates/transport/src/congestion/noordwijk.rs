//! TCP Noordwijk (Roseti and Kristiansen, ICSSC 2008): bursts instead of a window, their size and distance from how far
//! the acknowledgments of a burst lie apart. For links with capacity on demand (DVB-RCS) between performance enhancing
//! proxies.
//!
//! Simplified: a burst goes when there is something to send, full or not; the shortest round-trip time is that of the
//! connection (the ns-3 implementation forgets it after each burst). Lost segments are found as the profile finds them,
//! and retransmitted between bursts.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Time};

use super::{AckSample, CongestionController, CongestionState, Event, Kind, Needs, Start, Window};

/// Bursts of segments, their size and distance from the dispersion of their acknowledgments (Roseti and Kristiansen).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NoordwijkConfig {
    /// B0: segments of a burst at the start, and at most; 1 to 10,000.
    #[schemars(range(min = 1, max = 10_000))]
    pub burst: u32,
    /// The time from burst to burst before a measurement.
    pub interval: Duration,
    /// beta: how much longer than the shortest a round-trip time may be before bursts become smaller.
    pub threshold: Duration,
    /// S: bursts from one adjustment to the next, at least 1.
    #[schemars(range(min = 1))]
    pub stability: u32,
}

impl Default for NoordwijkConfig {
    fn default() -> NoordwijkConfig {
        NoordwijkConfig {
            burst: 20,
            interval: Duration::from_millis(500),
            threshold: Duration::from_millis(200),
            stability: 2,
        }
    }
}

impl Kind for NoordwijkConfig {
    fn check(&self) -> Result<(), FieldError> {
        if !(1..=10_000).contains(&self.burst) {
            return Err(FieldError::new("burst", format!("{} is not from 1 to 10000 segments", self.burst)));
        }
        if self.interval < Duration::from_millis(1) {
            return Err(FieldError::new("interval", format!("{} is less than 1 ms", self.interval)));
        }
        if self.stability == 0 {
            return Err(FieldError::new("stability", "0 is not at least 1 burst"));
        }
        Ok(())
    }

    fn has_timer(&self) -> bool {
        true
    }

    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        Box::new(Noordwijk::new(self, start))
    }
}

/// Up to this size a burst is small, and the next comes after twice the time (lambda).
const SMALL_BURST: u32 = 3;
/// Bursts never come faster.
const LEAST_INTERVAL: Duration = Duration::from_micros(10);
/// Doublings of the interval after timeouts that follow each other.
const MAX_DOUBLINGS: u32 = 6;

/// The Noordwijk controller.
#[derive(Clone, Debug)]
pub struct Noordwijk {
    window: Window,
    config: NoordwijkConfig,
    /// B: segments of the next burst.
    burst: u32,
    /// The time from the burst's first segment to the next burst.
    interval: Duration,
    /// Segments that the burst in progress may still send; 0 between bursts.
    allowance: u32,
    /// Segments that the burst has sent.
    sent: u32,
    /// The sizes of bursts not yet acknowledged, the oldest first.
    bursts: VecDeque<u32>,
    /// When the next burst begins, once this one has.
    next: Option<Time>,
    min_rtt: Option<Duration>,
    train: Train,
    /// delta: how far apart the acknowledgments of a burst were.
    each: Duration,
    /// Trains since the last adjustment.
    trains: u32,
    /// Lost segments that may be retransmitted between bursts, and those taken for lost since the last train.
    retransmissions: u32,
    lost: u32,
    timeouts: u32,
}

/// The acknowledgments of a burst.
#[derive(Clone, Copy, Debug, Default)]
struct Train {
    first: Option<Time>,
    acked: u32,
    rtt: Duration,
    /// Retransmissions were in flight: the time between its acknowledgments is not that of the path's rate.
    retransmitted: bool,
}

impl Noordwijk {
    /// A controller at the start of a connection.
    pub fn new(config: &NoordwijkConfig, start: Start) -> Noordwijk {
        Noordwijk {
            window: start.window(),
            config: config.clone(),
            burst: config.burst,
            interval: config.interval,
            allowance: config.burst,
            sent: 0,
            bursts: VecDeque::new(),
            next: None,
            min_rtt: None,
            train: Train::default(),
            each: Duration::ZERO,
            trains: 0,
            retransmissions: 0,
            lost: 0,
            timeouts: 0,
        }
    }

    /// Segments of the next burst.
    pub fn burst(&self) -> u32 {
        self.burst
    }

    /// The time from burst to burst.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The window lets go what the burst may still send, and retransmissions.
    fn set_window(&mut self, in_flight: u32) {
        self.window.size = in_flight.saturating_add(self.allowance).saturating_add(self.retransmissions).max(1);
        self.window.holds = self.allowance == 0;
    }

    /// The last acknowledgment of a burst of `size` segments came, `dispersion` after its first.
    fn finish_train(&mut self, size: u32, dispersion: Duration) {
        let Train { rtt, retransmitted, .. } = std::mem::take(&mut self.train);
        self.trains += 1;
        if self.trains >= self.config.stability {
            self.trains = 0;
            if !dispersion.is_zero() && !retransmitted {
                self.each = dispersion / u64::from(size);
            }
            let excess = rtt.saturating_sub(self.min_rtt.unwrap_or(rtt));
            if excess > self.config.threshold {
                self.adjust(dispersion, excess);
            } else {
                self.track();
            }
        }
        self.burst = self.burst.saturating_sub(self.lost).max(1);
        self.lost = 0;
    }

    /// Rate adjustment: B = B / (1 + dRTT / D), and B0 delta from burst to burst, twice that for small ones.
    fn adjust(&mut self, dispersion: Duration, excess: Duration) {
        let share = dispersion.as_secs_f64() / (dispersion + excess).as_secs_f64();
        self.burst = ((f64::from(self.burst) * share) as u32).max(1);
        self.set_interval(if self.burst > SMALL_BURST { 1 } else { 2 });
    }

    /// Rate tracking: B = B + (B0 - B) / 2, and B0 delta from burst to burst.
    fn track(&mut self) {
        self.burst += (self.config.burst - self.burst).div_ceil(2);
        self.set_interval(1);
    }

    /// lambda B0 delta, once there is one.
    fn set_interval(&mut self, lambda: u64) {
        if !self.each.is_zero() {
            self.interval = (self.each * u64::from(self.config.burst) * lambda).max(LEAST_INTERVAL);
        }
    }

    /// Deliveries, in the order of the bursts.
    fn count(&mut self, sample: &AckSample) {
        let mut left = sample.delivered;
        while left > 0 {
            let Some(&size) = self.bursts.front() else { return };
            let first = *self.train.first.get_or_insert(sample.now);
            let counted = left.min(size - self.train.acked);
            left -= counted;
            self.train.acked += counted;
            if self.train.acked == size {
                self.bursts.pop_front();
                self.finish_train(size, sample.now.since(first));
            }
        }
    }

    /// The burst in progress has ended.
    fn end_burst(&mut self) {
        self.allowance = 0;
        if self.sent > 0 {
            self.bursts.push_back(std::mem::take(&mut self.sent));
        }
    }

    fn on_sent(&mut self, now: Time, in_flight: u32) {
        // What is lost goes first, and outside of bursts.
        if self.retransmissions > 0 {
            self.retransmissions -= 1;
        } else if self.allowance > 0 {
            if self.sent == 0 {
                self.next = Some(now + self.interval);
            }
            self.sent += 1;
            self.allowance -= 1;
            if self.allowance == 0 {
                self.end_burst();
            }
        }
        self.set_window(in_flight);
    }

    /// A burst may go.
    fn begin_burst(&mut self, now: Time, in_flight: u32) {
        if self.next.is_none_or(|next| next > now) {
            return;
        }
        self.next = None;
        self.end_burst();
        self.allowance = self.burst;
        self.set_window(in_flight);
    }

    fn forget_trains(&mut self) {
        self.train = Train::default();
        self.bursts.clear();
        (self.sent, self.lost) = (0, 0);
    }
}

impl CongestionController for Noordwijk {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { drives: true, sent: true, timer: true, ..Needs::default() }
    }

    fn on_ack(&mut self, sample: &AckSample) {
        if sample.acked > 0 {
            self.timeouts = 0;
        }
        if let Some(rtt) = sample.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            self.train.rtt = rtt;
        }
        self.train.retransmitted |= sample.lost > 0 || sample.state != CongestionState::Open;
        self.lost = self.lost.saturating_add(sample.lost);
        self.retransmissions = self.retransmissions.saturating_add(sample.lost);
        self.count(sample);
        if sample.in_flight == 0 && self.allowance == 0 {
            self.forget_trains();
        }
        self.set_window(sample.in_flight);
    }

    /// Noordwijk has no threshold: a loss makes bursts smaller.
    fn on_event(&mut self, now: Time, event: &Event) {
        match *event {
            Event::Established { .. } => self.set_window(0),
            Event::Starts { .. } if self.sent == 0 && self.allowance > 0 => self.set_window(0),
            Event::Sent { in_flight } => self.on_sent(now, in_flight),
            // The values of the start, and twice the time if it happens again.
            Event::TimedOut => {
                self.burst = self.config.burst;
                self.interval = self.config.interval * (1 << self.timeouts.min(MAX_DOUBLINGS));
                self.timeouts = self.timeouts.saturating_add(1);
                self.forget_trains();
                (self.trains, self.retransmissions, self.allowance) = (0, 0, 0);
                self.window.holds = true;
                self.next = Some(now + self.interval);
            }
            Event::Timeout { in_flight } => self.begin_burst(now, in_flight),
            _ => (),
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next
    }
}
