//! CUBIC, after RFC 9438 and as in Linux. Section numbers in this file and below are RFC 9438's.
//!
//! The two rules of growth share the curve, its constants and fast convergence; they differ in arithmetic, and in what
//! is as fast as Reno: the RFC takes alpha to 1 once the window is that of before the loss, Linux does not.

mod constants;
mod linux;
mod rfc9438;
mod version21;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FieldError, Time};

use self::constants::Constants;
use self::linux::Linux;
use self::rfc9438::Rfc9438;
use self::version21::Version21;
use super::hystart::SlowStart;
use super::{
    AckSample, CongestionController, Event, HyStart, Kind, Needs, Profile, Standard, Start, Window, check_beta,
    window_share,
};

/// A window that grows as a cubic of the time since the last loss, at least as fast as Reno's (RFC 9438).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CubicConfig {
    /// C of the cubic, above 0, in segments per second cubed: how aggressively the window grows.
    pub c: f64,
    /// Share of the window that is kept on loss, between 0 and 1. By default 0.7; profile `linux` has 717/1024,
    /// `ns2-linux` 819/1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Whether a flow whose window at a loss is smaller than at the one before releases more than its share (section
    /// 4.7).
    pub fast_convergence: bool,
    /// Whether the window grows at least as Reno's would (section 4.3).
    pub reno_friendly: bool,
    /// The rule of growth: `"rfc9438"` follows the curve in real numbers; `"linux"` counts whole segments, and looks at
    /// the curve when the window has moved or 1/32 s has passed; `"linux-2.6.22"` is CUBIC 2.1, which counts
    /// acknowledgments, knows how many segments one of them answers, and grows by at most 16 segments in 100 ms. By
    /// default the first; profile `linux` has the second, `ns2-linux` the third.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<CubicRule>,
    /// When slow start ends before the first loss. By default `"none"`; profile `linux` has `"hystart"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hystart: Option<HyStart>,
}

/// The rule of arithmetic by which CUBIC's window grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CubicRule {
    /// The rule of RFC 9438.
    Rfc9438,
    /// The rule of Linux.
    Linux,
    /// The rule of Linux 2.6.22, which ns-2 has: CUBIC 2.1.
    #[serde(rename = "linux-2.6.22")]
    Version21,
}

impl Default for CubicConfig {
    fn default() -> CubicConfig {
        CubicConfig { c: 0.4, beta: None, fast_convergence: true, reno_friendly: true, rule: None, hystart: None }
    }
}

impl Kind for CubicConfig {
    fn check(&self) -> Result<(), FieldError> {
        if !(self.c > 0.0 && self.c.is_finite()) {
            return Err(FieldError::new("c", format!("{} segments per second cubed: must be above 0", self.c)));
        }
        check_beta(self.beta.unwrap_or(0.7))
    }

    fn resolve(&mut self, profile: Profile) {
        let (beta, rule, hystart) = match profile {
            Profile::Classic | Profile::Fack => (0.7, CubicRule::Rfc9438, HyStart::None),
            Profile::Ns2Linux => (819.0 / 1024.0, CubicRule::Version21, HyStart::None),
            Profile::Linux => (717.0 / 1024.0, CubicRule::Linux, HyStart::HyStart),
        };
        self.beta.get_or_insert(beta);
        self.rule.get_or_insert(rule);
        self.hystart.get_or_insert(hystart);
    }

    /// Version 2.1 counts acknowledgments, also such as acknowledge nothing new in order.
    fn growth(&self) -> super::Growth {
        if self.rule == Some(CubicRule::Version21) { super::Growth::Faster } else { super::Growth::Acknowledged }
    }

    fn standard(&self) -> Option<Standard> {
        Some(Standard::Cubic)
    }

    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        Box::new(Cubic::new(self, start))
    }
}

/// The CUBIC controller.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: Window,
    constants: Constants,
    growth: Growth,
    slow_start: SlowStart,
}

#[derive(Clone, Debug)]
enum Growth {
    /// `None` until the first congestion avoidance or reduction, which a short transfer does not reach.
    Rfc9438(Option<Box<Rfc9438>>),
    Linux(Box<Linux>),
    Version21(Box<Version21>),
}

impl Cubic {
    /// A controller at the start of a connection; what is not given is that of the classic profile.
    pub fn new(config: &CubicConfig, start: Start) -> Cubic {
        let rule = config.rule.unwrap_or(CubicRule::Rfc9438);
        let constants = Constants {
            c: config.c,
            beta: config.beta.unwrap_or(0.7),
            fast_convergence: config.fast_convergence,
            reno_friendly: config.reno_friendly,
        };
        Cubic {
            window: start.window(),
            constants,
            growth: match rule {
                CubicRule::Rfc9438 => Growth::Rfc9438(None),
                CubicRule::Linux => Growth::Linux(Box::new(Linux::new(constants))),
                CubicRule::Version21 => Growth::Version21(Box::new(Version21::new(constants, start.timestamps))),
            },
            slow_start: SlowStart::new(config.hystart.unwrap_or_default()),
        }
    }

    fn grow(&mut self, sample: &AckSample) {
        if !sample.window_limited {
            if let Growth::Rfc9438(Some(rule)) = &mut self.growth {
                rule.pause(sample);
            }
            return;
        }
        let mut acked = sample.delivered;
        if self.window.in_slow_start() {
            acked = self.slow_start.grow(&mut self.window, acked);
        }
        if acked == 0 || self.window.in_slow_start() {
            return;
        }
        match &mut self.growth {
            Growth::Rfc9438(rule) => begun(rule, self.constants).grow(&mut self.window, acked, sample),
            Growth::Linux(rule) => rule.grow(&mut self.window, acked, sample),
            Growth::Version21(_) => (),
        }
    }

    #[cfg(test)]
    pub(super) fn curve(&self) -> Option<(f64, impl Fn(f64) -> f64 + use<>)> {
        match &self.growth {
            Growth::Rfc9438(rule) => rule.as_ref().and_then(|rule| rule.curve()),
            Growth::Linux(_) | Growth::Version21(_) => None,
        }
    }
}

/// Returns the rule, and makes it at the first call.
#[inline]
fn begun(rule: &mut Option<Box<Rfc9438>>, constants: Constants) -> &mut Rfc9438 {
    rule.get_or_insert_with(|| Box::new(Rfc9438::new(constants)))
}

impl CongestionController for Cubic {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { advances_only: matches!(self.growth, Growth::Version21(_)), ..Needs::default() }
    }

    /// Version 2.1 leaves nothing of a recovery's end to the sender: the window is at the threshold.
    fn floor(&self) -> u32 {
        self.window.threshold
    }

    fn on_ack(&mut self, sample: &AckSample) {
        // Round-trip times just after a recovery are those of its bursts (Linux).
        let fresh = match &mut self.growth {
            Growth::Rfc9438(_) => true,
            Growth::Linux(rule) => rule.measure(sample),
            Growth::Version21(rule) => return rule.on_ack(&mut self.window, sample),
        };
        if fresh {
            self.slow_start.measure(&mut self.window, sample);
        }
        if sample.may_grow {
            self.grow(sample);
        }
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        match event {
            // Sections 4.6 and 4.7
            Event::Congestion(congestion) => {
                match &mut self.growth {
                    Growth::Rfc9438(rule) => begun(rule, self.constants).reduce(&self.window),
                    Growth::Linux(rule) => rule.reduce(&self.window),
                    Growth::Version21(rule) => rule.reduce(&self.window),
                }
                self.window.threshold = window_share(congestion.from, self.constants.beta);
            }
            Event::TimedOut => self.slow_start.restart(),
            _ => (),
        }
        match &mut self.growth {
            Growth::Rfc9438(Some(rule)) => rule.on_event(event),
            Growth::Rfc9438(None) => (),
            Growth::Linux(rule) => rule.on_event(now, event),
            Growth::Version21(rule) => rule.on_event(event),
        }
    }
}
