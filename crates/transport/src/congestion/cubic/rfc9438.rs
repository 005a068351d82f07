//! The rule of RFC 9438, in real numbers.

use units::Time;

use super::super::{AckSample, Event, Window};
use super::constants::Constants;

/// Windows are in segments.
#[derive(Clone, Debug)]
pub(super) struct Rfc9438 {
    constants: Constants,
    /// alpha_cubic of section 4.3.
    alpha: f64,
    /// The part of a segment by which the window is larger than `size`, which it was then.
    fraction: f64,
    size: u32,
    state: CubicState,
    /// That before the last reduction, should it be undone (section 4.9.2); from the first one on.
    before: Option<Box<CubicState>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct CubicState {
    /// W_max; 0 before the first loss and after a timeout.
    w_max: f64,
    /// The window before the last reduction.
    cwnd_prior: f64,
    /// The congestion avoidance stage in progress, if any.
    epoch: Option<Epoch>,
}

impl Rfc9438 {
    pub(super) fn new(constants: Constants) -> Rfc9438 {
        Rfc9438 {
            constants,
            alpha: alpha_cubic(constants.beta),
            fraction: 0.0,
            size: 0,
            state: CubicState::default(),
            before: None,
        }
    }

    /// Sections 4.2 to 4.5: what an acknowledgment of new data does in congestion avoidance.
    pub(super) fn grow(&mut self, window: &mut Window, acked: u32, sample: &AckSample) {
        let cwnd = self.cwnd(window);
        let Constants { c, reno_friendly, .. } = self.constants;
        let state = &mut self.state;
        let epoch = state.epoch.get_or_insert_with(|| {
            // Sections 4.8 and 4.10: after a timeout, or a slow start that met no loss, the stage begins on the
            // plateau: K is 0 and W_max the window.
            state.w_max = state.w_max.max(cwnd);
            Epoch::new(state.w_max, cwnd, c, sample)
        });
        epoch.resume(sample);
        // A stage begins no later than its last acknowledgment.
        let t = sample.now.minus(epoch.start).as_short_secs_f64();
        let windows_acked = f64::from(acked) / cwnd;

        // Section 4.3, Figure 4: W_est, which from cwnd_prior on grows as Reno does.
        let alpha = if epoch.w_est < state.cwnd_prior { self.alpha } else { 1.0 };
        epoch.w_est += alpha * windows_acked;

        let next = if reno_friendly && epoch.w_cubic(c, t) < epoch.w_est {
            epoch.w_est // Section 4.3, the Reno-friendly region
        } else {
            // Sections 4.2, 4.4, 4.5, the concave and the convex region: towards the target of a round trip from now.
            let target = epoch.w_cubic(c, t + sample.srtt.as_short_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) * windows_acked.min(1.0)
        };
        if next > cwnd {
            let growth = self.fraction + (next - cwnd);
            let segments = growth as u32;
            window.grow(segments);
            self.fraction = growth - f64::from(segments);
            self.size = window.size;
        }
    }

    /// The window is reduced: sections 4.6 and 4.7.
    pub(super) fn reduce(&mut self, window: &Window) {
        let cwnd = self.cwnd(window);
        **self.before.get_or_insert_default() = self.state;
        self.state =
            CubicState { w_max: self.constants.plateau(cwnd, self.state.w_max), cwnd_prior: cwnd, epoch: None };
        self.fraction = 0.0;
    }

    pub(super) fn on_event(&mut self, event: &Event) {
        match event {
            // Section 4.8
            Event::TimedOut => {
                self.state.w_max = 0.0;
                self.state.epoch = None;
            }
            Event::Undone => self.state = self.before.as_deref().copied().unwrap_or_default(),
            Event::Restarted => self.state.epoch = None,
            _ => (),
        }
    }

    /// Sections 4.2 and 5.8: the time since the last acknowledgment was limited by the application, and does not count.
    pub(super) fn pause(&mut self, sample: &AckSample) {
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start += sample.now.since(epoch.last_ack);
            (epoch.last_ack, epoch.in_flight) = (sample.now, sample.in_flight);
        }
    }

    /// The window with the part of a segment that it has grown by, unless someone else has moved it since.
    fn cwnd(&mut self, window: &Window) -> f64 {
        if self.size != window.size {
            self.fraction = 0.0;
            self.size = window.size;
        }
        f64::from(window.size) + self.fraction
    }

    /// K in seconds and W_cubic(t) in segments of the stage in progress.
    #[cfg(test)]
    pub(super) fn curve(&self) -> Option<(f64, impl Fn(f64) -> f64 + use<>)> {
        let (epoch, c) = (self.state.epoch?, self.constants.c);
        Some((epoch.k, move |t| epoch.w_cubic(c, t)))
    }
}

/// A congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// When it began, moved on by the time during which the application limited.
    start: Time,
    last_ack: Time,
    /// Segments in flight after the last acknowledgment.
    in_flight: u32,
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

    /// The stage goes on, at an acknowledgment that may open the window. If nothing was in flight, the time until
    /// something was sent does not count (section 5.8).
    fn resume(&mut self, sample: &AckSample) {
        if self.in_flight == 0 {
            self.start += sample.now.since(self.last_ack).saturating_sub(sample.rtt.unwrap_or(sample.srtt));
        }
        (self.last_ack, self.in_flight) = (sample.now, sample.in_flight);
    }
}

/// Section 4.3: the additive increase with which a window reduced to `beta` is on average as large as Reno's.
fn alpha_cubic(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}
