//! NewReno: the congestion control of RFC 5681. What RFC 6582 and RFC 6675 add, which segments are lost and when a
//! recovery ends, is the connection's part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FieldError, Time};

use super::hystart::SlowStart;
use super::{
    AckSample, CongestionController, Event, HyStart, Kind, Profile, Standard, Start, Window, check_beta, window_share,
};

/// Slow start, one segment more per round trip, half the window on loss (RFC 5681).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NewRenoConfig {
    /// Share of the window that is kept on loss, between 0 and 1; RFC 5681 keeps half.
    pub beta: f64,
    /// When slow start ends before the first loss; by default, in every profile, `"none"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hystart: Option<HyStart>,
}

impl Default for NewRenoConfig {
    fn default() -> NewRenoConfig {
        NewRenoConfig { beta: 0.5, hystart: None }
    }
}

impl Kind for NewRenoConfig {
    fn check(&self) -> Result<(), FieldError> {
        check_beta(self.beta)
    }

    fn resolve(&mut self, _profile: Profile) {
        self.hystart.get_or_insert(HyStart::None);
    }

    fn standard(&self) -> Option<Standard> {
        Some(Standard::NewReno)
    }

    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        Box::new(NewReno::new(self, start))
    }
}

/// The NewReno controller.
#[derive(Clone, Debug)]
pub struct NewReno {
    window: Window,
    beta: f64,
    slow_start: SlowStart,
}

impl NewReno {
    /// A controller at the start of a connection.
    pub fn new(config: &NewRenoConfig, start: Start) -> NewReno {
        NewReno {
            window: start.window(),
            beta: config.beta,
            slow_start: SlowStart::new(config.hystart.unwrap_or_default()),
        }
    }
}

impl CongestionController for NewReno {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, sample: &AckSample) {
        self.slow_start.measure(&mut self.window, sample);
        if !sample.may_grow || !sample.window_limited {
            return;
        }
        if self.window.is_of_linux_2_6_22() {
            return self.window.grow_as_reno(sample.acked);
        }
        let mut acked = sample.delivered;
        if self.window.in_slow_start() {
            acked = self.slow_start.grow(&mut self.window, acked);
        }
        if acked > 0 {
            self.window.add_one_per(self.window.size, acked);
        }
    }

    fn on_event(&mut self, _now: Time, event: &Event) {
        match event {
            // RFC 5681 section 3.1, equation (4)
            Event::Congestion(congestion) => self.window.threshold = window_share(congestion.from, self.beta),
            Event::TimedOut => self.slow_start.restart(),
            _ => (),
        }
    }
}
