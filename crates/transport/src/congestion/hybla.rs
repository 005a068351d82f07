//! TCP Hybla (Caini and Firrincieli, International Journal of Satellite Communications and Networking 22, 2004): a
//! window that grows in time as that of a connection with a short round-trip time would. As in Linux, outside of the
//! open state it is Reno's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Time};

use super::{AckSample, CongestionController, CongestionState, Event, Growth, Kind, Start, Window, share};

/// Growth as on a path with a round-trip time of 25 ms, however long the path is (Caini and Firrincieli).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HyblaConfig {
    /// RTT0: the round-trip time of the connection that is imitated.
    pub rtt0: Duration,
    /// Whether the connection begins with a window of rho segments, as in Linux, or with the profile's.
    pub initial_rho: bool,
}

impl Default for HyblaConfig {
    fn default() -> HyblaConfig {
        HyblaConfig { rtt0: Duration::from_millis(25), initial_rho: false }
    }
}

impl Kind for HyblaConfig {
    fn check(&self) -> Result<(), FieldError> {
        if self.rtt0.is_zero() {
            return Err(FieldError::new("rtt0", "0 s: must be above 0"));
        }
        Ok(())
    }

    fn growth(&self) -> Growth {
        Growth::Faster
    }

    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        Box::new(Hybla::new(self, start))
    }
}

/// The Hybla controller.
#[derive(Clone, Debug)]
pub struct Hybla {
    window: Window,
    config: HyblaConfig,
    /// The normalized round-trip time, at least 1.
    rho: f64,
    /// The smoothed round-trip time of which `rho` is: the shortest so far.
    srtt: Duration,
    /// The part of a segment by which the window is larger than its whole ones.
    fraction: f64,
}

/// 2^rho does not go beyond 2^16, nor the window beyond 65,535: as in Linux.
const MAX_RHO: f64 = 16.0;
const MAX_WINDOW: u32 = 65_535;

impl Hybla {
    /// A controller at the start of a connection.
    pub fn new(config: &HyblaConfig, start: Start) -> Hybla {
        Hybla { window: start.window(), config: config.clone(), rho: 1.0, srtt: Duration::MAX, fraction: 0.0 }
    }

    /// rho = max(RTT / RTT0, 1), found anew when the smoothed round-trip time is the shortest so far.
    fn measure(&mut self, srtt: Duration) {
        if !srtt.is_zero() && srtt < self.srtt {
            self.srtt = srtt;
            self.rho = (srtt.as_nanos() as f64 / self.config.rtt0.as_nanos() as f64).max(1.0);
        }
    }
}

impl CongestionController for Hybla {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, sample: &AckSample) {
        if !sample.may_grow {
            return;
        }
        self.measure(sample.srtt);
        if !sample.window_limited {
            return;
        }
        let window = &mut self.window;
        if sample.state != CongestionState::Open {
            return window.grow_as_reno(sample.delivered);
        }
        let slow_start = window.in_slow_start();
        let increment = if slow_start {
            libm::exp2(self.rho.min(MAX_RHO)) - 1.0
        } else {
            self.rho * self.rho / f64::from(window.size)
        };
        let growth = self.fraction + increment;
        self.fraction = growth.fract();
        let most = if slow_start { window.threshold.min(MAX_WINDOW) } else { MAX_WINDOW };
        window.grow((growth as u32).min(most.saturating_sub(window.size)));
    }

    fn on_event(&mut self, _now: Time, event: &Event) {
        match *event {
            Event::Established { srtt } => {
                self.measure(srtt);
                if self.config.initial_rho {
                    self.window.size = self.rho as u32;
                }
            }
            // Half the window, as Reno.
            Event::Congestion(congestion) => {
                self.fraction = 0.0;
                self.window.threshold = share(congestion.from, 0.5);
            }
            _ => (),
        }
    }
}
