//! TCP Peach (Akyildiz, Morabito and Palazzo, IEEE/ACM Transactions on Networking 9, 2001): dummy segments of low
//! priority find out what the path has room for. Sudden start takes the place of slow start, rapid recovery follows a
//! fast recovery.
//!
//! A dummy carries a copy of data and the lowest priority; it is of use where queues drop it first. On a path without
//! priorities it takes room from data, and every one that arrives counts as free capacity. Simplified: the values of
//! the counters of rapid recovery are taken from what they are for: as many dummies as there were segments in the
//! window, of which the first half opens nothing. Sudden start ends where its window does, not where the receiver's is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Time};

use super::{
    AckSample, Cause, Congestion, CongestionController, CongestionState, Event, Kind, Needs, ProbeRequest, Spread,
    Start, Window, window_share,
};

/// Dummy segments of low priority in place of slow start, and to distinguish link errors from congestion (Akyildiz et
/// al.).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PeachConfig {
    /// The window up to which sudden start tries the path, in segments, 1 to 10,000: that many segments and dummies go
    /// in the first round trip. In the original the receiver's window.
    #[schemars(range(min = 1, max = 10_000))]
    pub rwnd: u32,
}

impl Default for PeachConfig {
    fn default() -> PeachConfig {
        PeachConfig { rwnd: 64 }
    }
}

impl Kind for PeachConfig {
    fn check(&self) -> Result<(), FieldError> {
        if !(1..=10_000).contains(&self.rwnd) {
            return Err(FieldError::new("rwnd", format!("{} is not from 1 to 10000 segments", self.rwnd)));
        }
        Ok(())
    }

    fn sends_probes(&self) -> bool {
        true
    }

    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        Box::new(Peach::new(self, start))
    }
}

/// The Peach controller. Its dummies are the sender's probes.
#[derive(Clone, Debug)]
pub struct Peach {
    window: Window,
    config: PeachConfig,
    srtt: Duration,
    /// Whether the next segment begins a sudden start, as soon as a round-trip time is known.
    sudden: bool,
    /// The changes of the dummies that are still to be sent.
    request: ProbeRequest,
    /// Dummies that rapid recovery may still send: one for each segment delivered (adsn).
    allowed: u32,
    /// Acknowledgments of dummies that still open nothing (wdsn).
    ignored: u32,
    /// The window that dummy segments may open.
    ceiling: u32,
    /// Segments by which dummies have opened the window, while the recovery still holds it.
    earned: u32,
}

impl Peach {
    /// A controller at the start of a connection.
    pub fn new(config: &PeachConfig, start: Start) -> Peach {
        Peach {
            window: start.window(),
            config: config.clone(),
            srtt: Duration::ZERO,
            sudden: true,
            request: ProbeRequest::default(),
            allowed: 0,
            ignored: 0,
            ceiling: config.rwnd,
            earned: 0,
        }
    }

    /// Sudden start: the rest of the window as dummies, evenly over a round-trip time.
    fn start_suddenly(&mut self) {
        self.sudden = false;
        let gap = (self.srtt / u64::from(self.config.rwnd)).max(Duration::from_nanos(1));
        let count = self.config.rwnd.saturating_sub(self.window.size);
        self.request = ProbeRequest { drop_due: true, spread: Some(Spread { count, gap }), add: 0 };
        (self.allowed, self.ignored, self.earned) = (0, 0, 0);
        self.ceiling = self.config.rwnd;
    }

    /// Rapid recovery: half the window, and dummies to find the other half.
    fn reduce(&mut self, congestion: &Congestion) {
        let half = window_share(congestion.from, 0.5);
        self.request.spread = Some(Spread::default());
        if congestion.cause == Cause::Loss {
            self.ceiling = self.window.size;
            self.allowed = self.window.size;
            self.ignored = half;
            self.earned = 0;
        }
        self.window.threshold = half;
    }

    /// A dummy segment was acknowledged: the path had room for one more.
    fn on_dummy_ack(&mut self, state: CongestionState) {
        if self.ignored > 0 {
            self.ignored -= 1;
        } else if matches!(state, CongestionState::Recovery | CongestionState::Cwr) {
            self.earned = self.earned.saturating_add(1);
        } else {
            self.open(1);
        }
    }

    fn open(&mut self, segments: u32) {
        let room = self.ceiling.saturating_sub(self.window.size);
        self.window.grow(segments.min(room));
    }
}

impl CongestionController for Peach {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { probes: true, ..Needs::default() }
    }

    fn on_ack(&mut self, sample: &AckSample) {
        self.srtt = sample.srtt;
        if self.sudden && !self.srtt.is_zero() {
            self.start_suddenly();
        }
        if self.allowed > 0 {
            let dummies = sample.delivered.min(self.allowed);
            self.allowed -= dummies;
            self.request.add = self.request.add.saturating_add(dummies);
        }
        // Congestion avoidance, always.
        if sample.may_grow && sample.window_limited {
            self.window.add_one_per(self.window.size, sample.delivered);
        }
    }

    fn on_event(&mut self, _now: Time, event: &Event) {
        match *event {
            Event::Established { srtt } => self.srtt = srtt,
            Event::Starts { .. } => {
                self.request.drop_due = true;
                if self.sudden && !self.srtt.is_zero() {
                    self.start_suddenly();
                }
            }
            Event::Congestion(congestion) => self.reduce(&congestion),
            Event::TimedOut => self.start_suddenly(),
            Event::Recovered => {
                let earned = std::mem::take(&mut self.earned);
                self.open(earned);
            }
            Event::Undone => {
                self.request.drop_due = true;
                (self.allowed, self.ignored, self.earned) = (0, 0, 0);
            }
            Event::Restarted => self.sudden = true,
            Event::ProbeAcked { state } => self.on_dummy_ack(state),
            Event::Sent { .. } | Event::Lost(_) | Event::Timeout { .. } => (),
        }
    }

    fn poll_probes(&mut self) -> ProbeRequest {
        std::mem::take(&mut self.request)
    }
}
