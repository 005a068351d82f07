//! The volumes in flight that the probes of BBRv3 ask for, and what they begin anew.

use super::super::bbr_both::{FullPipe, MIN_WINDOW};
use super::{Bbr3, Bbr3State};

impl Bbr3 {
    /// Returns the volume, raised to at least three times what the host hands out at once (QuantizationBudget): TCP's
    /// budget. QUIC's is one time in the simplest case, but nothing tells a controller whose it is.
    pub(super) fn quantize(&self, volume: u32) -> u32 {
        let mss = f64::from(self.start.mss.max(1));
        let quantum = (self.pacing.rate * 0.001).min(65_536.0 / mss).max(2.0);
        let volume = volume.max((3.0 * quantum) as u32).max(MIN_WINDOW);
        volume.saturating_add(if self.state == Bbr3State::Up { 2 } else { 0 })
    }

    /// Returns the volume in flight at this bandwidth and gain (Inflight).
    pub(super) fn in_flight_at(&self, bandwidth: f64, gain: f64) -> u32 {
        self.quantize(self.model.product_of(bandwidth, gain, self.start.window))
    }

    /// Returns the bandwidth-delay product, at most the window (TargetInflight).
    pub(super) fn target(&self) -> u32 {
        self.model.product(1.0, self.start.window).min(self.window.size)
    }

    /// Keeps the window as it is before a recovery or a probe of the round-trip time (SaveCwnd).
    pub(super) fn save_window(&mut self) {
        self.before.save(self.window.size, self.state == Bbr3State::ProbeRtt);
    }

    /// Waits anew for the bandwidth to stop growing, from the baseline `bandwidth` (ResetFullBW).
    pub(super) fn look_for_full(&mut self, bandwidth: f64) {
        self.full_pipe = FullPipe { bandwidth, rounds: 0 };
        self.full_now = false;
    }
}
