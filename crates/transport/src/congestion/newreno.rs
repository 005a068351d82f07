//! NewReno: the congestion control of RFC 5681. What RFC 6582 and RFC 6675 add, which segments are lost and when a
//! recovery ends, is the connection's part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FieldError, Time};

use super::window::{Window, check_abc, check_beta};
use super::{AckSample, CongestionController, LossSample, Start};

/// Slow start, one segment more per round trip, half the window on loss (RFC 5681).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NewRenoConfig {
    /// Share of the data in flight that is kept as the window on loss, between 0 and 1; RFC 5681 keeps half.
    pub beta: f64,
    /// Segments that one acknowledgment may count for in slow start (RFC 3465 L), 1 to 1024. RFC 5681 counts one; 2
    /// makes up for delayed acknowledgments; Linux counts all. After a timeout one is counted in any case.
    pub abc: u32,
}

impl Default for NewRenoConfig {
    fn default() -> NewRenoConfig {
        NewRenoConfig { beta: 0.5, abc: 1 }
    }
}

impl NewRenoConfig {
    /// Whether the options make sense.
    ///
    /// # Errors
    ///
    /// The first option that does not, and why.
    pub fn check(&self) -> Result<(), FieldError> {
        check_beta(self.beta)?;
        check_abc(self.abc)
    }
}

/// The NewReno controller.
#[derive(Clone, Debug)]
pub struct NewReno {
    window: Window,
    /// Bytes acknowledged in congestion avoidance that have not yet opened the window.
    counted: u64,
}

impl NewReno {
    /// A controller at the start of a connection.
    pub fn new(config: &NewRenoConfig, start: Start) -> NewReno {
        NewReno { window: Window::new(start, config.beta, config.abc), counted: 0 }
    }

    /// RFC 5681 section 3.1, the recommended byte counting of RFC 3465 section 2.1: one segment more for each window
    /// acknowledged.
    fn avoid_congestion(&mut self, acked: u64) {
        let window = &mut self.window;
        self.counted = self.counted.saturating_add(acked);
        if self.counted >= window.size {
            // Never more than a segment per round trip, whatever a single acknowledgment covers.
            self.counted = (self.counted - window.size).min(window.size);
            window.size = window.size.saturating_add(window.segment);
        }
    }
}

impl CongestionController for NewReno {
    fn on_ack(&mut self, sample: &AckSample) {
        if sample.in_recovery || !sample.window_limited {
            return;
        }
        let mut acked = sample.acked;
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked > 0 {
            self.avoid_congestion(acked);
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        self.window.reduce(sample.in_flight);
        self.counted = 0;
    }

    fn on_timeout(&mut self, sample: &LossSample, first: bool) {
        self.window.collapse(sample.in_flight, first);
        self.counted = 0;
    }

    fn on_recovered(&mut self, _now: Time) {
        self.window.recovered();
    }

    fn on_idle(&mut self, _now: Time, restart: u64) {
        if self.window.restart(restart) {
            self.counted = 0;
        }
    }

    fn window(&self) -> u64 {
        self.window.size
    }

    fn slow_start_threshold(&self) -> u64 {
        self.window.threshold
    }
}
