//! Westwood+ (Grieco and Mascolo, ACM Computer Communication Review 34, 2004): after a loss the window is what the path
//! has been carrying. The filter of the bandwidth is that of Linux.
//!
//! Where the estimate asks for more than the window is when a recovery begins, the window stays: a loss never opens it.
//! In Linux 2.6.22, as ns-2 has it, the estimate is the window in a recovery, half the window the threshold after it,
//! and the shortest round-trip time that of the smoothed ones: ns-2.35 reports neither a time-out (`CA_EVENT_FRTO`) nor
//! the end of a recovery (`CA_EVENT_COMPLETE_CWR`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Time};

use super::{AckSample, Cause, Congestion, CongestionController, Event, Kind, Start, Window, window_share};

/// Reno's growth; a loss leaves the estimated bandwidth times the shortest round-trip time (Grieco and Mascolo).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WestwoodConfig {}

impl Kind for WestwoodConfig {
    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        Box::new(Westwood::new(start))
    }
}

/// The bandwidth is measured over a round trip, and over no less.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

/// The Westwood+ controller.
#[derive(Clone, Debug)]
pub struct Westwood {
    window: Window,
    /// Segments acknowledged since `since`.
    acked: u64,
    since: Option<Time>,
    rtt: Duration,
    min_rtt: Duration,
    /// A timeout: the next round-trip time is the shortest.
    forget: bool,
    /// Segments per second after one and after two filters, once measured.
    bandwidth: Option<(f64, f64)>,
}

impl Westwood {
    /// A controller at the start of a connection.
    pub fn new(start: Start) -> Westwood {
        Westwood {
            window: start.window(),
            acked: 0,
            since: None,
            rtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            forget: true,
            bandwidth: None,
        }
    }

    /// Two cascaded filters that keep seven eighths; the first measurement is taken as it is.
    fn filter(&mut self, rate: f64) {
        self.bandwidth = Some(match self.bandwidth {
            None => (rate, rate),
            Some((once, twice)) => {
                let once = (7.0 * once + rate) / 8.0;
                (once, (7.0 * twice + once) / 8.0)
            }
        });
    }

    fn measure(&mut self, sample: &AckSample) {
        let rtt = if self.window.is_of_linux_2_6_22() { Some(sample.srtt) } else { sample.rtt };
        if let Some(rtt) = rtt {
            self.rtt = rtt;
        }
        let since = *self.since.get_or_insert(sample.now);
        let elapsed = sample.now.since(since);
        if !self.rtt.is_zero() && elapsed > self.rtt.max(MIN_INTERVAL) {
            self.filter(self.acked as f64 / elapsed.as_secs_f64());
            self.acked = 0;
            self.since = Some(sample.now);
        }
        self.acked += u64::from(sample.delivered);
        if !self.rtt.is_zero() {
            self.min_rtt = if self.forget { self.rtt } else { self.min_rtt.min(self.rtt) };
            self.forget = false;
        }
    }

    /// max(2, bandwidth * shortest round-trip time).
    fn threshold(&self, congestion: &Congestion) -> u32 {
        let estimate = self.estimate().filter(|_| !self.window.is_of_linux_2_6_22());
        let Some(estimate) = estimate else { return window_share(congestion.from, 0.5) };
        let most = if congestion.cause == Cause::Timeout { u32::MAX } else { self.window.size };
        estimate.min(most).max(2)
    }

    /// The bandwidth times the shortest round-trip time, in segments.
    fn estimate(&self) -> Option<u32> {
        self.bandwidth().map(|bandwidth| (bandwidth * self.min_rtt.as_secs_f64()) as u32)
    }

    /// The estimate of the bandwidth in segments per second.
    pub fn bandwidth(&self) -> Option<f64> {
        self.bandwidth.map(|(_, twice)| twice)
    }
}

impl CongestionController for Westwood {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn floor(&self) -> u32 {
        self.estimate().unwrap_or(0).max(2)
    }

    fn on_ack(&mut self, sample: &AckSample) {
        self.measure(sample);
        if sample.may_grow && sample.window_limited {
            self.window.grow_as_reno(sample.delivered);
        }
    }

    fn on_event(&mut self, _now: Time, event: &Event) {
        match event {
            Event::Congestion(congestion) => self.window.threshold = self.threshold(congestion),
            Event::TimedOut => self.forget = !self.window.is_of_linux_2_6_22(),
            _ => (),
        }
    }
}
