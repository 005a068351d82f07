//! TCP Vegas (Brakmo and Peterson, IEEE Journal on Selected Areas in Communications 13, 1995): the window stays where a
//! few segments wait in the queue. Once a round trip; otherwise, and outside of the open state, it is Reno's.
//!
//! The number in the queue is cwnd - floor(cwnd * base / rtt), so that it is whole as the window is. Linux has
//! floor(cwnd * (rtt - base) / base): its queue is up to one segment longer where rtt is close to base, and shorter
//! where it is not. Vegas' finer retransmission timer is left out, as everywhere today.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Time};

use super::{AckSample, CongestionController, CongestionState, Event, Growth, Kind, Start, Window, window_share};

/// A window that keeps two to four segments in the queue, by the round-trip time (Brakmo and Peterson).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VegasConfig {
    /// Segments in the queue below which the window grows by one in a round trip.
    pub alpha: u32,
    /// Segments in the queue above which it falls by one; at least `alpha`.
    pub beta: u32,
    /// Segments in the queue above which slow start ends.
    pub gamma: u32,
}

impl Default for VegasConfig {
    fn default() -> VegasConfig {
        VegasConfig { alpha: 2, beta: 4, gamma: 1 }
    }
}

impl Kind for VegasConfig {
    fn check(&self) -> Result<(), FieldError> {
        if self.beta < self.alpha {
            return Err(FieldError::new("beta", format!("{} segments: less than alpha, {}", self.beta, self.alpha)));
        }
        Ok(())
    }

    fn growth(&self) -> Growth {
        Growth::Delay
    }

    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        Box::new(Vegas::new(self, start))
    }
}

/// The Vegas controller.
#[derive(Clone, Debug)]
pub struct Vegas {
    window: Window,
    config: VegasConfig,
    /// The shortest round-trip time of the connection, or since it was last idle.
    base: Duration,
    round: VegasRound,
}

#[derive(Clone, Copy, Debug)]
struct VegasRound {
    /// The offset whose acknowledgment ends Vegas's round.
    end: Option<u64>,
    min_rtt: Duration,
    samples: u32,
}

impl VegasRound {
    const NONE: VegasRound = VegasRound { end: None, min_rtt: Duration::MAX, samples: 0 };
}

impl Vegas {
    /// A controller at the start of a connection.
    pub fn new(config: &VegasConfig, start: Start) -> Vegas {
        Vegas { window: start.window(), config: config.clone(), base: Duration::MAX, round: VegasRound::NONE }
    }

    fn grow(&mut self, sample: &AckSample) {
        if sample.state != CongestionState::Open {
            self.round = VegasRound::NONE;
            if sample.window_limited {
                self.window.grow_as_reno(sample.delivered);
            }
            return;
        }
        let ended = self.round.end.is_some_and(|end| sample.una > end);
        if ended || self.round.end.is_none() {
            let round = self.round;
            self.round = VegasRound { end: Some(sample.nxt), ..VegasRound::NONE };
            if ended && sample.window_limited {
                return self.adjust(&round, sample.delivered);
            }
        }
        if sample.window_limited && self.window.in_slow_start() {
            self.window.slow_start(sample.delivered);
        }
    }

    /// Once a round trip. One whose round-trip times are too few to know a delayed acknowledgment from a queue is
    /// Reno's.
    fn adjust(&mut self, round: &VegasRound, acked: u32) {
        let window = &mut self.window;
        if round.samples <= 2 {
            return window.grow_as_reno(acked);
        }
        let (base, rtt) = (u128::from(self.base.as_nanos()), u128::from(round.min_rtt.as_nanos().max(1)));
        let expected = (u128::from(window.size) * base / rtt).min(u128::from(window.size)) as u32;
        let queued = window.size - expected;
        if window.in_slow_start() {
            if queued > self.config.gamma {
                window.size = window.size.min(expected + 1);
                window.threshold = below(window);
            } else {
                window.slow_start(acked);
            }
        } else if queued > self.config.beta {
            window.size -= 1;
            window.threshold = below(window);
        } else if queued < self.config.alpha {
            window.grow(1);
        }
        window.size = window.size.max(2);
        // So that a path with room again is not left to linear growth from far below.
        if window.threshold != Window::NO_THRESHOLD {
            window.threshold = window.threshold.max(window.size / 2 + window.size / 4);
        }
    }
}

impl CongestionController for Vegas {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, sample: &AckSample) {
        if let Some(rtt) = sample.rtt {
            self.base = self.base.min(rtt);
            self.round.min_rtt = self.round.min_rtt.min(rtt);
            self.round.samples += 1;
        }
        if sample.may_grow {
            self.grow(sample);
        }
    }

    fn on_event(&mut self, _now: Time, event: &Event) {
        match event {
            // Half the window, as Reno.
            Event::Congestion(congestion) => self.window.threshold = window_share(congestion.from, 0.5),
            // The path may be another one.
            Event::Starts { .. } | Event::Restarted => (self.base, self.round) = (Duration::MAX, VegasRound::NONE),
            Event::TimedOut | Event::Recovered | Event::Undone => self.round = VegasRound::NONE,
            _ => (),
        }
    }
}

fn below(window: &Window) -> u32 {
    window.threshold.min(window.size.saturating_sub(1)).max(2)
}
