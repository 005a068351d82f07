//! TCP Hybla (Caini and Firrincieli, International Journal of Satellite Communications and Networking 22, 2004): a
//! window that grows in time as that of a connection with a short round-trip time would. As in Linux, outside of the
//! open state it is Reno's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Time};

use super::{AckSample, CongestionController, CongestionState, Event, Growth, Kind, Start, Window, window_share};

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
                self.window.threshold = window_share(congestion.from, 0.5);
            }
            _ => (),
        }
    }
}

/// The equations, with the numbers that ns-3 asserts.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::tests::{Drive, refuses};

    fn drive(rtt0: u64, rtt: u64, initial: u32) -> Drive {
        let config = HyblaConfig { rtt0: Duration::from_millis(rtt0), ..Default::default() };
        Drive::new(&config, initial, Duration::from_millis(rtt))
    }

    /// ns-3, RTT0 50 ms: 2^rho - 1 segments of 500 bytes on a window of 1000: 1571, 2500 and 16,384,500 bytes.
    #[test]
    fn slow_start_opens_by_two_to_the_rho_less_one() {
        for (rtt, bytes) in [(55, 1571u32), (100, 2500), (750, 16_384_500)] {
            let mut drive = drive(50, rtt, 2);
            drive.ack(1);
            assert_eq!(drive.window().size, bytes / 500, "RTT {rtt} ms");
        }
    }

    /// The parts of segments add up: rho 1.1 opens by 8.01 segments in seven acknowledgments (2^1.1 - 1 is 1.1435).
    #[test]
    fn parts_of_segments_are_kept() {
        let mut drive = drive(50, 55, 2);
        (0..7).for_each(|_| drive.ack(1));
        assert_eq!(drive.window().size, 10);
    }

    /// ns-3, congestion avoidance from 2 segments: rho^2/W is 60.5 for rho 11 and 112.5 for rho 15, of which whole
    /// segments count.
    #[test]
    fn avoidance_opens_by_rho_squared_over_the_window() {
        for (rho, window) in [(11, 62), (15, 114), (2, 4)] {
            let mut drive = drive(50, 50 * rho, 2);
            drive.window_mut().threshold = 2;
            drive.ack(1);
            assert_eq!(drive.window().size, window, "rho {rho}");
        }
    }

    /// Hybla's purpose: in the same time the rate, segments per round trip, grows as on the short path.
    #[test]
    fn growth_in_time_is_that_of_the_reference_path() {
        let growth = |rtt: u64| {
            let mut drive = drive(25, rtt, (rtt / 25) as u32 * 200);
            drive.window_mut().threshold = 2;
            let before = f64::from(drive.window().size);
            while drive.now < Time::from_secs_f64(20.0) {
                drive.round();
            }
            (f64::from(drive.window().size) - before) / rtt as f64 / (drive.now.as_secs_f64() - rtt as f64 * 1e-3)
        };
        let reference = growth(25);
        for rtt in [100, 200, 500] {
            let own = growth(rtt);
            assert!((own / reference - 1.0).abs() < 0.04, "RTT {rtt} ms: {own} against {reference}");
        }
    }

    #[test]
    fn short_paths_and_disorder_are_renos() {
        for (rtt, state) in [(10, CongestionState::Open), (500, CongestionState::Disorder)] {
            let mut drive = drive(25, rtt, 10);
            let sample = AckSample { state, ..drive.sample(1) };
            drive.handle(&sample);
            assert_eq!(drive.window().size, 11);
        }
        let mut drive = drive(25, 500, 40);
        drive.lose();
        assert_eq!(drive.window().size, 20);
    }

    #[test]
    fn the_initial_window_may_be_rho() {
        let config = HyblaConfig { initial_rho: true, ..Default::default() };
        assert_eq!(Drive::new(&config, 10, Duration::from_millis(600)).window().size, 24);
    }

    #[test]
    fn options_out_of_range_are_refused_by_name() {
        refuses("kind = 'hybla'\nrtt0 = '0 ms'", "rtt0");
    }
}
