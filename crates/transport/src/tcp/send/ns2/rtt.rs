//! The round-trip time as ns-2.35's TCP-Linux estimates it.

use units::Duration;

/// The estimator of ns-2, in ticks of its clock. Deviations upwards count a quarter, those downwards an eighth of a
/// quarter, but a deviation that is smaller than the smoothed one takes the difference off it at every measurement.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::send) struct Ns2Estimator {
    tick: Duration,
    /// Eight times the smoothed round-trip time, four times the deviation.
    srtt8: i64,
    deviation4: i64,
}

/// The back-off from which on the smoothed round-trip time is no longer believed.
const DOUBTFUL: u32 = 4;

impl Ns2Estimator {
    pub fn new(tick: Duration) -> Ns2Estimator {
        Ns2Estimator { tick: tick.max(Duration::from_micros(1)), srtt8: 0, deviation4: 0 }
    }

    /// The smoothed round-trip time and its deviation after a measurement.
    pub fn measured(&mut self, rtt: Duration) -> (Duration, Duration) {
        let ticks = ((rtt.as_nanos() + self.tick.as_nanos() / 2) / self.tick.as_nanos()).max(1) as i64;
        if self.srtt8 == 0 {
            (self.srtt8, self.deviation4) = (ticks * 8, ticks * 2);
        } else {
            let error = ticks - (self.srtt8 >> 3);
            self.srtt8 = (self.srtt8 + error).max(1);
            let change = error.abs() - (self.deviation4 >> 2);
            self.deviation4 += if error < 0 && change > 0 { change >> 3 } else { change };
        }
        (self.eighths(self.srtt8), self.eighths(2 * self.deviation4))
    }

    fn eighths(&self, of_ticks: i64) -> Duration {
        Duration::from_nanos(of_ticks.max(0) as u64 * self.tick.as_nanos() / 8)
    }

    /// The timer expired for the `backoff`th time in a row.
    pub fn back_off(&mut self, backoff: u32) {
        if backoff >= DOUBTFUL {
            self.deviation4 += self.srtt8 >> 3;
            self.srtt8 = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of SRTT and four times the deviation, by the arithmetic of ns-2 in whole numbers.
    #[test]
    fn the_variance_falls_at_every_measurement() {
        let tick = Duration::from_millis(1);
        let mut estimator = Ns2Estimator::new(tick);
        let rows = [(100, 800, 200), (100, 800, 150), (100, 800, 113), (140, 840, 125), (105, 840, 94), (20, 755, 101)];
        for (rtt, srtt8, deviation4) in rows {
            estimator.measured(Duration::from_millis(rtt));
            assert_eq!((estimator.srtt8, estimator.deviation4), (srtt8, deviation4), "{rtt}");
        }
        let (srtt, deviation) = estimator.measured(Duration::from_millis(94));
        assert_eq!((srtt, deviation), (Duration::from_micros(94_375), Duration::from_micros(19_000)));
        estimator.back_off(DOUBTFUL);
        assert_eq!((estimator.srtt8, estimator.deviation4), (0, 170));
    }
}
