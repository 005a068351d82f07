//! TCP Peach (Akyildiz, Morabito and Palazzo, IEEE/ACM Transactions on Networking 9, 2001): dummy segments of low priority find out
//! what the path has room for. Sudden start takes the place of slow start, rapid recovery follows a fast recovery.
//!
//! A dummy carries a copy of data and the lowest priority; it is of use where queues drop it first. On a path without priorities it
//! takes room from data, and every one that arrives counts as free capacity. Simplified: the values of the counters of rapid recovery
//! are taken from what they are for: as many dummies as there were segments in the window, of which the first half opens nothing.
//! Sudden start ends where its window does, not where the receiver's is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Time};

use super::{
    AckSample, Cause, Congestion, CongestionController, CongestionState, Event, Options, Start, Window, share,
};

/// Dummy segments of low priority in place of slow start, and to tell link errors from congestion (Akyildiz et al.).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PeachConfig {
    /// The window up to which sudden start tries the path, in segments, 1 to 10,000: that many segments and dummies go in the first
    /// round trip. In the original the receiver's window.
    #[schemars(range(min = 1, max = 10_000))]
    pub rwnd: u32,
}

impl Default for PeachConfig {
    fn default() -> PeachConfig {
        PeachConfig { rwnd: 64 }
    }
}

impl Options for PeachConfig {
    fn check(&self) -> Result<(), FieldError> {
        if !(1..=10_000).contains(&self.rwnd) {
            return Err(FieldError::new("rwnd", format!("{} is not from 1 to 10000 segments", self.rwnd)));
        }
        Ok(())
    }

    fn build(&self, _start: Start) -> Box<dyn CongestionController> {
        Box::new(Peach::new(self))
    }
}

/// The Peach controller.
#[derive(Clone, Debug)]
pub struct Peach {
    config: PeachConfig,
    srtt: Duration,
    /// Whether the next segment begins a sudden start, as soon as a round-trip time is known.
    sudden: bool,
    /// Dummies of the sudden start still to be sent, when the next, and how far apart.
    left: u32,
    next: Time,
    gap: Duration,
    /// Dummies to be sent now.
    due: u32,
    /// Dummies that rapid recovery may still send: one for each segment delivered (adsn).
    allowed: u32,
    /// Their acknowledgments that still open nothing (wdsn).
    ignored: u32,
    /// The window that dummies may open.
    ceiling: u32,
    /// What they have opened while the recovery still holds the window.
    earned: u32,
}

impl Peach {
    /// A controller at the start of a connection.
    pub fn new(config: &PeachConfig) -> Peach {
        Peach {
            config: config.clone(),
            srtt: Duration::ZERO,
            sudden: true,
            left: 0,
            next: Time::ZERO,
            gap: Duration::ZERO,
            due: 0,
            allowed: 0,
            ignored: 0,
            ceiling: config.rwnd,
            earned: 0,
        }
    }

    /// Sudden start: the rest of the window as dummies, evenly over a round-trip time.
    fn start_suddenly(&mut self, window: &Window, now: Time) {
        self.sudden = false;
        self.left = self.config.rwnd.saturating_sub(window.size);
        self.gap = (self.srtt / u64::from(self.config.rwnd)).max(Duration::from_nanos(1));
        self.next = now + self.gap;
        (self.due, self.allowed, self.ignored, self.earned) = (0, 0, 0, 0);
        self.ceiling = self.config.rwnd;
    }

    fn open(&mut self, window: &mut Window, segments: u32) {
        let room = self.ceiling.saturating_sub(window.size);
        window.grow(segments.min(room));
    }
}

impl CongestionController for Peach {
    /// Congestion avoidance, always.
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        if sample.window_limited {
            window.add_one_per(window.size, sample.delivered);
        }
    }

    /// Rapid recovery: half the window, and dummies to find the other half.
    fn threshold(&mut self, window: &Window, congestion: &Congestion) -> u32 {
        let half = share(congestion.from, 0.5);
        self.left = 0;
        if congestion.cause == Cause::Loss {
            self.ceiling = window.size;
            self.allowed = window.size;
            self.ignored = half;
            self.earned = 0;
        }
        half
    }

    fn on_established(&mut self, _window: &mut Window, _now: Time, srtt: Duration) {
        self.srtt = srtt;
    }

    fn on_measure(&mut self, window: &mut Window, sample: &AckSample) {
        self.srtt = sample.srtt;
        if self.sudden && !self.srtt.is_zero() {
            self.start_suddenly(window, sample.now);
        }
        if self.allowed > 0 {
            let dummies = sample.delivered.min(self.allowed);
            self.allowed -= dummies;
            self.due = self.due.saturating_add(dummies);
        }
    }

    fn on_event(&mut self, window: &mut Window, now: Time, event: Event) {
        match event {
            Event::Starts { .. } => {
                self.due = 0;
                if self.sudden && !self.srtt.is_zero() {
                    self.start_suddenly(window, now);
                }
            }
            Event::TimedOut => self.start_suddenly(window, now),
            Event::Recovered => {
                let earned = std::mem::take(&mut self.earned);
                self.open(window, earned);
            }
            Event::Undone => (self.due, self.allowed, self.ignored, self.earned) = (0, 0, 0, 0),
            Event::Restarted => self.sudden = true,
        }
    }

    /// One for each dummy of the sudden start that is due, and of rapid recovery.
    fn poll_dummy(&mut self, _window: &Window, _now: Time) -> bool {
        let due = self.due > 0;
        self.due = self.due.saturating_sub(1);
        due
    }

    /// The path had room for one more.
    fn on_dummy_ack(&mut self, window: &mut Window, _now: Time, state: CongestionState) {
        if self.ignored > 0 {
            self.ignored -= 1;
        } else if matches!(state, CongestionState::Recovery | CongestionState::Cwr) {
            self.earned = self.earned.saturating_add(1);
        } else {
            self.open(window, 1);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.left > 0).then_some(self.next)
    }

    fn handle_timeout(&mut self, _window: &mut Window, now: Time, _in_flight: u32) {
        while self.left > 0 && self.next <= now {
            self.left -= 1;
            self.due = self.due.saturating_add(1);
            self.next += self.gap;
        }
    }
}
