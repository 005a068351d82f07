//! DCTCP (RFC 8257): the window falls by half the fraction of marks, once a round trip; between, and at losses, it is
//! Reno's.
//!
//! The fraction comes from accurate feedback (RFC 9768) where RFC 8257 section 3.2 has an echo of its own. Its data are
//! ECT(0), so a queue must mark early by itself, as a threshold of `droptail` does: beside CUBIC in one queue it takes
//! most of the rate (section 5 keeps it to data centres).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Ecn, FieldError, Time};

use super::marked_fraction::{Fraction, SegmentPart, check_gain};
use super::{AckSample, CongestionController, CongestionState, Event, Kind, Start, Window, window_share};

/// Reduces by the fraction of marks once a round trip, for queues with a marking threshold (RFC 8257).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DctcpConfig {
    /// Weight of the newest round trip in the average fraction of marks (g), more than 0 and at most 1.
    pub gain: f64,
}

impl Default for DctcpConfig {
    fn default() -> DctcpConfig {
        DctcpConfig { gain: 1.0 / 16.0 }
    }
}

impl Kind for DctcpConfig {
    fn check(&self) -> Result<(), FieldError> {
        check_gain(self.gain)
    }

    fn marks(&self) -> Option<Ecn> {
        Some(Ecn::Ect0)
    }

    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        Box::new(Dctcp::new(self, start))
    }
}

/// The DCTCP controller.
#[derive(Clone, Debug)]
pub struct Dctcp {
    window: Window,
    part: SegmentPart,
    fraction: Fraction,
    /// SND.NXT when the window was last reduced for marks.
    reduced: Option<u64>,
}

impl Dctcp {
    /// A controller at the start of a connection.
    pub fn new(config: &DctcpConfig, start: Start) -> Dctcp {
        let fraction = Fraction::new(config.gain);
        Dctcp { window: start.window(), part: SegmentPart::default(), fraction, reduced: None }
    }
}

impl CongestionController for Dctcp {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, sample: &AckSample) {
        self.fraction.count(sample, Duration::ZERO);
        let calm = matches!(sample.state, CongestionState::Open | CongestionState::Disorder);
        if sample.marked > 0 && calm && self.reduced.is_none_or(|sent| sample.una > sent) {
            self.reduced = Some(sample.nxt);
            self.part.keep(&mut self.window, 1.0 - self.fraction.alpha / 2.0);
            self.window.restart_count();
        } else if sample.may_grow && sample.window_limited {
            self.window.grow_as_reno(sample.delivered);
        }
    }

    fn on_event(&mut self, _now: Time, event: &Event) {
        match event {
            Event::Congestion(congestion) => self.window.threshold = window_share(congestion.from, 0.5),
            Event::TimedOut | Event::Recovered | Event::Undone | Event::Restarted => self.part.forget(),
            _ => (),
        }
    }
}
