//! Prague: the scalable congestion control of L4S (draft-briscoe-iccrg-prague-congestion-control, section 2.3 of
//! version 01; RFC 9331 section 4.3 has the requirements).
//!
//! ```text
//! alpha = (1 - g) alpha + g F       once a round trip, F its fraction of marked segments     (RFC 8257 section 3.3)
//! W     = W (1 - alpha / 2)         at a mark, at most once a round trip                     (RFC 8257 section 3.3)
//! W     = W + (R / R_virt)^2 / W    for each segment that arrived without a mark    (RFC 9331: RTT bias, section 4.3)
//! W     = W / 2                     at a loss, as Reno                              (RFC 9331: fall back, section 4.3)
//! ```
//!
//! R is the smoothed round-trip time, and R_virt = max(R, 25 ms): a flow over a shorter path grows, and counts round
//! trips, as if its path had that length, so that it takes no more than one over such a path. W / R is the rate at
//! which segments are spaced, twice that far below the threshold.
//!
//! Alpha is 1 until the first mark, which therefore ends slow start with half the window. Marks in fast recovery move
//! alpha only. A loss in the round trip of a reduction for marks reduces from the window before it, so that both
//! together are one. Without accurate feedback a mark halves the window, as RFC 9331 section 4.3 asks of Classic marks.
//!
//! What is simplified, and who could notice: the window is at least two segments (the draft has fractions of one, for
//! round-trip times below a millisecond); a bottleneck that marks as RFC 3168 says and has one queue for all is not
//! detected (optional in the draft, off in Linux), and there a Prague flow takes more than its share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Duration, Ecn, FieldError, Time};

use super::marked_fraction::{Fraction, SegmentPart, check_gain};
use super::{
    AckSample, Cause, Congestion, CongestionController, CongestionState, Event, Kind, Needs, Start, Window, bit_rate,
    check_beta, window_share,
};

/// Scalable control for L4S: reduces by the fraction of marks, keeps a queue that marks early nearly empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PragueConfig {
    /// Weight of the newest round trip in the average fraction of marks (g), more than 0 and at most 1.
    pub gain: f64,
    /// Share of the window that is kept on loss, between 0 and 1.
    pub beta: f64,
    /// The least round-trip time as which a shorter one counts; 0 s grows each path by its own.
    pub rtt_virtual: Duration,
}

impl Default for PragueConfig {
    fn default() -> PragueConfig {
        PragueConfig { gain: 1.0 / 16.0, beta: 0.5, rtt_virtual: Duration::from_millis(25) }
    }
}

impl Kind for PragueConfig {
    fn check(&self) -> Result<(), FieldError> {
        check_gain(self.gain)?;
        if self.rtt_virtual > Duration::from_secs(1) {
            return Err(FieldError::new("rtt_virtual", format!("{} is more than 1 s", self.rtt_virtual)));
        }
        check_beta(self.beta)
    }

    fn marks(&self) -> Option<Ecn> {
        Some(Ecn::Ect1)
    }

    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        Box::new(Prague::new(self, start))
    }
}

/// The Prague controller.
#[derive(Clone, Debug)]
pub struct Prague {
    config: PragueConfig,
    window: Window,
    part: SegmentPart,
    fraction: Fraction,
    mss: u32,
    srtt: Duration,
    /// The last reduction for marks.
    reduced: Option<Reduced>,
}

#[derive(Clone, Copy, Debug)]
struct Reduced {
    at: Time,
    /// SND.NXT at the reduction.
    nxt: u64,
    /// The window before the reduction.
    from: u32,
}

impl Prague {
    /// A controller at the start of a connection.
    pub fn new(config: &PragueConfig, start: Start) -> Prague {
        Prague {
            config: config.clone(),
            window: start.window(),
            part: SegmentPart::default(),
            fraction: Fraction::new(config.gain),
            mss: start.mss,
            srtt: Duration::ZERO,
            reduced: None,
        }
    }

    /// R_virt.
    fn virtual_rtt(&self) -> Duration {
        self.srtt.max(self.config.rtt_virtual)
    }

    /// Whether a mark at `now` belongs to the round trip of the last reduction.
    fn has_reduced(&self, now: Time, una: u64) -> bool {
        self.reduced.is_some_and(|last| una <= last.nxt || now.since(last.at) < self.virtual_rtt())
    }

    fn reduce(&mut self, sample: &AckSample) {
        self.reduced = Some(Reduced { at: sample.now, nxt: sample.nxt, from: self.window.size });
        self.part.keep(&mut self.window, 1.0 - self.fraction.alpha / 2.0);
    }

    fn grow(&mut self, unmarked: u32) {
        let mut left = unmarked;
        if self.window.in_slow_start() {
            left = self.window.slow_start(unmarked);
        }
        if left > 0 {
            let (rtt, least) = (self.srtt.as_secs_f64(), self.virtual_rtt().as_secs_f64());
            let slower = if rtt > 0.0 && least > 0.0 { rtt / least } else { 1.0 };
            let step = slower * slower * f64::from(left) / f64::from(self.window.size);
            self.part.grow(&mut self.window, step.min(f64::from(left)));
        }
    }

    fn threshold(&self, congestion: &Congestion) -> u32 {
        let last = self.reduced.filter(|last| congestion.now.since(last.at) < self.virtual_rtt());
        let from = last.filter(|_| congestion.cause == Cause::Loss).map_or(congestion.from, |last| last.from);
        window_share(from, self.config.beta).min(congestion.from).max(2)
    }
}

impl CongestionController for Prague {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, sample: &AckSample) {
        (self.srtt, self.mss) = (sample.srtt, sample.mss);
        self.fraction.count(sample, self.virtual_rtt());
        let calm = matches!(sample.state, CongestionState::Open | CongestionState::Disorder);
        if sample.marked > 0 && calm && !self.has_reduced(sample.now, sample.una) {
            self.reduce(sample);
        }
        let unmarked = sample.delivered.saturating_sub(sample.marked);
        if sample.may_grow && sample.window_limited && unmarked > 0 {
            self.grow(unmarked);
        }
    }

    fn on_event(&mut self, _now: Time, event: &Event) {
        match event {
            Event::Established { srtt } => self.srtt = *srtt,
            Event::Congestion(congestion) => {
                self.window.threshold = self.threshold(congestion);
                self.part.forget();
            }
            Event::TimedOut | Event::Recovered | Event::Undone | Event::Restarted => self.part.forget(),
            _ => (),
        }
    }

    fn needs(&self) -> Needs {
        Needs { paces: true, ..Needs::default() }
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        let rtt = self.srtt.as_secs_f64();
        let slow = if self.window.size < self.window.threshold / 2 { 2.0 } else { 1.0 };
        let bits = f64::from(self.window.size) * f64::from(self.mss) * 8.0;
        (rtt > 0.0).then(|| bit_rate(slow * bits / rtt))
    }
}
