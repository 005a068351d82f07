//! Round-trip time and retransmission time-out (RFC 6298).

use units::Duration;

/// The estimator. All arithmetic is in whole nanoseconds, so the clock granularity G never counts.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Rtt {
    srtt: Duration,
    rttvar: Duration,
    min: Duration,
    /// Without back-off.
    base_rto: Duration,
    backoff: u32,
    min_rto: Duration,
    max_rto: Duration,
}

impl Rtt {
    pub(in crate::tcp) fn new(initial_rto: Duration, min_rto: Duration, max_rto: Duration) -> Rtt {
        let none = Duration::ZERO;
        Rtt { srtt: none, rttvar: none, min: none, base_rto: initial_rto, backoff: 0, min_rto, max_rto }
    }

    /// A measurement (RFC 6298 (2.2), (2.3)). It ends the back-off of expired timers (section 5).
    ///
    /// RTO = SRTT + max(4 RTTVAR, min_rto): the floor applies to the variance term, as in Linux, not to the sum.
    #[inline]
    pub(in crate::tcp) fn measured(&mut self, rtt: Duration) {
        let rtt = rtt.max(Duration::from_nanos(1)); // zero means none yet
        if self.srtt.is_zero() {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
            self.min = rtt;
        } else {
            let (r, srtt, var) = (rtt.as_nanos(), self.srtt.as_nanos(), self.rttvar.as_nanos());
            self.rttvar = Duration::from_nanos(var - var / 4 + srtt.abs_diff(r) / 4);
            self.srtt = Duration::from_nanos((7 * srtt + r) / 8);
            self.min = self.min.min(rtt);
        }
        self.base_rto = (self.srtt + (self.rttvar * 4).max(self.min_rto)).min(self.max_rto);
        self.backoff = 0;
    }

    /// The timer expired: the next one waits twice as long (RFC 6298 (5.5)).
    pub(in crate::tcp) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// What the back-off waited for came (RFC 9293 section 3.8.6.1: a window probe was answered).
    pub(in crate::tcp) fn forget_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Starts from `rto` again, without back-off (RFC 6298 (5.7)).
    pub(in crate::tcp) fn restart(&mut self, rto: Duration) {
        self.base_rto = rto;
        self.backoff = 0;
    }

    #[inline]
    pub(in crate::tcp) fn rto(&self) -> Duration {
        (self.base_rto * (1 << self.backoff)).min(self.max_rto)
    }

    /// Zero before the first measurement.
    #[inline]
    pub(in crate::tcp) fn srtt(&self) -> Duration {
        self.srtt
    }

    #[inline]
    pub(in crate::tcp) fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// The shortest measured; zero before the first.
    #[inline]
    pub(in crate::tcp) fn min(&self) -> Duration {
        self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn follows_rfc_6298() {
        let mut rtt = Rtt::new(secs(1.0), secs(0.2), secs(60.0));
        assert_eq!(rtt.rto(), secs(1.0));
        // measurement, SRTT, RTTVAR, RTO
        let rows = [(1.0, 1.0, 0.5, 3.0), (1.2, 1.025, 0.425, 2.725), (0.9, 1.009_375, 0.35, 2.409_375)];
        for (measured, srtt, rttvar, rto) in rows {
            rtt.measured(secs(measured));
            assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (secs(srtt), secs(rttvar), secs(rto)), "{measured}");
        }
        assert_eq!(rtt.min(), secs(0.9));
    }

    #[test]
    fn the_floor_is_under_the_variance_term() {
        let mut rtt = Rtt::new(secs(1.0), secs(0.2), secs(60.0));
        (0..200).for_each(|_| rtt.measured(secs(0.3)));
        assert_eq!(rtt.rto(), secs(0.5));
    }

    #[test]
    fn doubles_up_to_the_maximum_and_a_measurement_ends_it() {
        let mut rtt = Rtt::new(secs(1.0), secs(0.2), secs(60.0));
        let series: Vec<Duration> = (0..9).map(|_| (rtt.rto(), rtt.back_off()).0).collect();
        assert_eq!(series, [1, 2, 4, 8, 16, 32, 60, 60, 60].map(Duration::from_secs));
        rtt.measured(secs(0.1));
        assert_eq!(rtt.rto(), secs(0.3));
    }
}
