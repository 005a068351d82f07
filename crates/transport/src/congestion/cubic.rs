//! CUBIC (RFC 9438). Section numbers in this file are that document's.
//!
//! Simplified: a congestion event is never taken back (section 4.9: the trait has no word for a spurious one), and slow
//! start is left on loss only (section 4.10 recommends HyStart++): who starts into a deep buffer sees a larger first
//! overshoot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Time};

use super::window::{Window, check_abc, check_beta};
use super::{AckSample, CongestionController, LossSample, Start};

/// A window that grows as a cubic of the time since the last loss, at least as fast as Reno's (RFC 9438).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CubicConfig {
    /// C of the cubic, above 0, in segments per second cubed: how aggressively the window grows.
    pub c: f64,
    /// Share of the data in flight that is kept as the window on loss, between 0 and 1.
    pub beta: f64,
    /// Whether a flow whose window at a loss is smaller than at the one before releases more than its share (section
    /// 4.7).
    pub fast_convergence: bool,
    /// Whether the window grows at least as Reno's would (section 4.3).
    pub reno_friendly: bool,
    /// Segments that one acknowledgment may count for in slow start (RFC 3465 L), 1 to 1024. RFC 5681 counts one; 2
    /// makes up for delayed acknowledgments; Linux counts all. After a timeout one is counted in any case.
    pub abc: u32,
}

impl Default for CubicConfig {
    fn default() -> CubicConfig {
        CubicConfig { c: 0.4, beta: 0.7, fast_convergence: true, reno_friendly: true, abc: 1 }
    }
}

impl CubicConfig {
    /// Whether the options make sense.
    ///
    /// # Errors
    ///
    /// The first option that does not, and why.
    pub fn check(&self) -> Result<(), FieldError> {
        if !(self.c > 0.0 && self.c.is_finite()) {
            return Err(FieldError::new("c", format!("{} segments per second cubed: must be above 0", self.c)));
        }
        check_beta(self.beta)?;
        check_abc(self.abc)
    }
}

/// The CUBIC controller.
#[derive(Clone, Debug)]
pub struct Cubic {
    config: CubicConfig,
    window: Window,
    /// The part of a byte by which the window is larger than `window.size`.
    fraction: f64,
    segments_per_byte: f64,
    /// alpha_cubic of section 4.3.
    alpha: f64,
    /// W_max in segments; 0 before the first loss and after a timeout.
    w_max: f64,
    /// The window before the last reduction, in segments.
    cwnd_prior: f64,
    /// The congestion avoidance stage under way, if any.
    epoch: Option<Epoch>,
}

impl Cubic {
    /// A controller at the start of a connection.
    pub fn new(config: &CubicConfig, start: Start) -> Cubic {
        Cubic {
            config: config.clone(),
            window: Window::new(start, config.beta, config.abc),
            fraction: 0.0,
            segments_per_byte: 1.0 / start.segment as f64,
            alpha: alpha_cubic(config.beta),
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
        }
    }

    /// Sections 4.2 to 4.5: what an acknowledgment of new data does in congestion avoidance.
    fn avoid_congestion(&mut self, acked: u64, sample: &AckSample) {
        let cwnd = self.cwnd();
        let epoch = self.epoch.get_or_insert_with(|| {
            // Sections 4.8 and 4.10: after a timeout, or a slow start that met no loss, the stage begins on the plateau:
            // K is 0 and W_max the window.
            self.w_max = self.w_max.max(cwnd);
            Epoch::new(self.w_max, cwnd, self.config.c, sample)
        });
        epoch.resume(sample);
        let t = sample.now.since(epoch.start).as_secs_f64();
        let windows_acked = acked as f64 * self.segments_per_byte / cwnd;

        // Section 4.3, Figure 4: W_est, which from cwnd_prior on grows as Reno does.
        let alpha = if epoch.w_est < self.cwnd_prior { self.alpha } else { 1.0 };
        epoch.w_est += alpha * windows_acked;

        let next = if self.config.reno_friendly && epoch.w_cubic(self.config.c, t) < epoch.w_est {
            epoch.w_est // Section 4.3, the Reno-friendly region
        } else {
            // Sections 4.2, 4.4, 4.5, the concave and the convex region: towards the target of a round trip from now.
            let target = epoch.w_cubic(self.config.c, t + sample.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) * windows_acked.min(1.0)
        };
        self.grow_to(next, cwnd);
    }

    fn cwnd(&self) -> f64 {
        (self.window.size as f64 + self.fraction) * self.segments_per_byte
    }

    fn grow_to(&mut self, next: f64, cwnd: f64) {
        if next > cwnd {
            let bytes = self.fraction + (next - cwnd) * self.window.segment as f64;
            let whole = bytes as u64;
            self.fraction = bytes - whole as f64;
            self.window.size = self.window.size.saturating_add(whole);
        }
    }
}

impl CongestionController for Cubic {
    fn on_ack(&mut self, sample: &AckSample) {
        if sample.in_recovery || sample.acked == 0 {
            return;
        }
        if !sample.window_limited {
            if let Some(epoch) = &mut self.epoch {
                epoch.pause(sample);
            }
            return;
        }
        let mut acked = sample.acked;
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if !self.window.in_slow_start() {
            self.avoid_congestion(acked, sample);
        }
    }

    /// Sections 4.6 and 4.7.
    fn on_loss(&mut self, sample: &LossSample) {
        let cwnd = self.cwnd();
        let converges = self.config.fast_convergence && cwnd < self.w_max;
        self.w_max = if converges { cwnd * (1.0 + self.config.beta) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.window.reduce(sample.in_flight);
        self.fraction = 0.0;
        self.epoch = None;
    }

    /// Section 4.8.
    fn on_timeout(&mut self, sample: &LossSample, first: bool) {
        if first {
            self.cwnd_prior = self.cwnd();
        }
        self.w_max = 0.0;
        self.window.collapse(sample.in_flight, first);
        self.fraction = 0.0;
        self.epoch = None;
    }

    fn on_recovered(&mut self, _now: Time) {
        self.window.recovered();
    }

    fn on_idle(&mut self, _now: Time, restart: u64) {
        if self.window.restart(restart) {
            self.fraction = 0.0;
            self.epoch = None;
        }
    }

    fn window(&self) -> u64 {
        self.window.size
    }

    fn slow_start_threshold(&self) -> u64 {
        self.window.threshold
    }
}

/// A congestion avoidance stage. Windows are in segments.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// When it began, moved on by the time during which the application limited.
    start: Time,
    last_ack: Time,
    /// Bytes on their way after the last acknowledgment.
    in_flight: u64,
    /// Seconds from the start to the plateau at `w_max`.
    k: f64,
    w_max: f64,
    w_est: f64,
}

impl Epoch {
    /// Section 4.2, Figure 2: a stage that begins with the window `cwnd`, at most `w_max`.
    fn new(w_max: f64, cwnd: f64, c: f64, sample: &AckSample) -> Epoch {
        Epoch {
            start: sample.now,
            last_ack: sample.now,
            in_flight: sample.in_flight,
            k: libm::cbrt((w_max - cwnd) / c),
            w_max,
            w_est: cwnd,
        }
    }

    /// Section 4.2, Figure 1: the window `t` seconds after the start.
    fn w_cubic(&self, c: f64, t: f64) -> f64 {
        let from_plateau = t - self.k;
        c * (from_plateau * from_plateau * from_plateau) + self.w_max
    }

    /// Sections 4.2 and 5.8: the time since the last acknowledgment was limited by the application, and does not count.
    fn pause(&mut self, sample: &AckSample) {
        self.skip(sample.now.since(self.last_ack), sample);
    }

    /// The stage goes on, at an acknowledgment that may open the window. If nothing was on its way, the time until
    /// something was sent does not count (section 5.8).
    fn resume(&mut self, sample: &AckSample) {
        let idle = if self.in_flight == 0 {
            sample.now.since(self.last_ack).saturating_sub(sample.rtt.unwrap_or(sample.srtt))
        } else {
            Duration::ZERO
        };
        self.skip(idle, sample);
    }

    fn skip(&mut self, pause: Duration, sample: &AckSample) {
        self.start += pause;
        self.last_ack = sample.now;
        self.in_flight = sample.in_flight;
    }
}

/// Section 4.3: the additive increase with which a window reduced to `beta` is on average as large as Reno's.
fn alpha_cubic(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

#[cfg(test)]
impl Cubic {
    /// K in seconds and W_cubic(t) in segments of the stage under way.
    pub(super) fn curve(&self) -> Option<(f64, impl Fn(f64) -> f64)> {
        let (epoch, c) = (self.epoch?, self.config.c);
        Some((epoch.k, move |t| epoch.w_cubic(c, t)))
    }
}
