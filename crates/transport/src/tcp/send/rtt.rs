//! Round-trip time and retransmission time-out (RFC 6298), by the letter or as Linux refines it.

use std::sync::Arc;

use units::{Duration, Time};

use super::ns2::rtt::Ns2Estimator;
use crate::tcp::config::{RtoFloor, Settings};

/// The estimator.
#[derive(Debug)]
pub(in crate::tcp) struct Rtt {
    settings: Arc<Settings>,
    estimator: Estimator,
    srtt: Duration,
    min: Duration,
    /// Until when the minimum holds, unless it falls.
    min_until: Time,
    rttvar: Duration,
    /// The least term for the variance, and the least time-out: [`RtoFloor`].
    least_variance: Duration,
    least_rto: Duration,
    /// The time-out without back-off, and with it.
    base_rto: Duration,
    rto: Duration,
    backoff: u32,
}

/// The rules by which the round-trip time is estimated.
#[derive(Debug)]
enum Estimator {
    Rfc6298,
    Linux(LinuxEstimator),
    Ns2(Ns2Estimator),
}

/// The shortest round-trip time is that of so much of the past, as in Linux.
const MIN_WINDOW: Duration = Duration::from_secs(300);

impl Rtt {
    pub(in crate::tcp) fn new(settings: &Arc<Settings>) -> Rtt {
        let floor = |of| if settings.rto_floor == of { settings.min_rto } else { Duration::ZERO };
        Rtt {
            settings: Arc::clone(settings),
            estimator: if settings.linux_rtt {
                Estimator::Linux(LinuxEstimator::default())
            } else if settings.recovers_as_ns2() {
                Estimator::Ns2(Ns2Estimator::new(settings.timer_tick))
            } else {
                Estimator::Rfc6298
            },
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            min: Duration::ZERO,
            min_until: Time::ZERO,
            least_variance: floor(RtoFloor::Variance),
            least_rto: floor(RtoFloor::Total),
            base_rto: settings.initial_rto,
            rto: settings.initial_rto.min(settings.max_rto),
            backoff: 0,
        }
    }

    /// Takes the round-trip time of the newest segment that an acknowledgment covers, for the minimum.
    #[inline(always)]
    pub(in crate::tcp) fn note_min(&mut self, now: Time, rtt: Duration) {
        let rtt = rtt.max(TINY);
        if self.min.is_zero() || rtt <= self.min || now > self.min_until {
            (self.min, self.min_until) = (rtt, now + MIN_WINDOW);
        }
    }

    /// Takes a measurement of the oldest segment that an acknowledgment covers. It ends the back-off of expired timers
    /// (RFC 6298 section 5). `una` and `nxt` are SND.UNA and SND.NXT.
    #[inline(always)]
    pub(in crate::tcp) fn measured(&mut self, rtt: Duration, una: u64, nxt: u64) {
        let rtt = rtt.max(TINY);
        let Settings { max_rto, timer_tick, .. } = *self.settings;
        let floor = self.least_variance;
        let variance = match &mut self.estimator {
            Estimator::Ns2(_) => {
                self.backoff = 0;
                return self.estimate_as_ns2(rtt);
            }
            Estimator::Linux(estimator) => {
                estimator.measured(micros(rtt), micros(floor), una, nxt);
                self.srtt = from_micros(estimator.srtt8 >> 3).max(TINY);
                self.rttvar = from_micros(estimator.deviation4 >> 2);
                from_micros(estimator.variance)
            }
            Estimator::Rfc6298 => {
                self.estimate(rtt);
                let twice = self.rttvar.plus(self.rttvar);
                twice.plus(twice).max(floor).max(timer_tick)
            }
        };
        let rto = self.srtt.plus(variance).max(self.least_rto);
        self.base_rto = round_up(rto, timer_tick).min(max_rto);
        self.rto = self.base_rto;
        self.backoff = 0;
    }

    /// As [`Rtt::measured`], where the rules of ns-2 say when the back-off ends: a measurement alone does not end it.
    #[inline(always)]
    pub(in crate::tcp) fn measured_as_ns2(&mut self, rtt: Duration, una: u64, nxt: u64) {
        match self.estimator {
            Estimator::Ns2(_) => self.estimate_as_ns2(rtt.max(TINY)),
            _ => self.measured(rtt, una, nxt),
        }
    }

    /// The estimate of ns-2, with the back-off that there is.
    #[inline(always)]
    fn estimate_as_ns2(&mut self, rtt: Duration) {
        let Settings { max_rto, timer_tick, .. } = *self.settings;
        let Estimator::Ns2(estimator) = &mut self.estimator else { return };
        (self.srtt, self.rttvar) = estimator.measured(rtt);
        let rto = self.srtt + (self.rttvar * 4).max(self.least_variance);
        self.base_rto = round_down(rto, timer_tick).max(self.least_rto).min(max_rto);
        self.follow_backoff();
    }

    fn follow_backoff(&mut self) {
        self.rto = (self.base_rto * (1 << self.backoff)).min(self.settings.max_rto);
    }

    /// RFC 6298 (2.2), (2.3), in whole nanoseconds.
    #[inline(always)]
    fn estimate(&mut self, rtt: Duration) {
        if self.srtt.is_zero() {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            let (r, srtt, var) = (rtt.as_nanos(), self.srtt.as_nanos(), self.rttvar.as_nanos());
            self.rttvar = Duration::from_nanos(var - var / 4 + srtt.abs_diff(r) / 4);
            self.srtt = Duration::from_nanos((7 * srtt + r) / 8);
        }
    }

    /// The timer expired: the next one waits twice as long (RFC 6298 (5.5)).
    pub(in crate::tcp) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
        self.follow_backoff();
        if let Estimator::Ns2(estimator) = &mut self.estimator {
            estimator.back_off(self.backoff);
        }
    }

    /// Ends the back-off: a window probe was answered (RFC 9293 section 3.8.6.1).
    pub(in crate::tcp) fn forget_backoff(&mut self) {
        self.backoff = 0;
        self.follow_backoff();
    }

    /// Starts from `rto` again, without back-off (RFC 6298 (5.7)).
    pub(in crate::tcp) fn restart(&mut self, rto: Duration) {
        self.base_rto = rto;
        self.backoff = 0;
        self.follow_backoff();
    }

    /// Returns the time-out, with back-off.
    #[inline]
    pub(in crate::tcp) fn rto(&self) -> Duration {
        self.rto
    }

    #[inline]
    pub(in crate::tcp) fn backoff(&self) -> u32 {
        self.backoff
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

/// Zero means none yet.
const TINY: Duration = Duration::from_nanos(1000);

fn micros(duration: Duration) -> i64 {
    (duration.as_nanos() / 1000) as i64
}

fn from_micros(microseconds: i64) -> Duration {
    Duration::from_nanos(microseconds as u64 * 1000)
}

/// `duration` as a timer of this tick counts it.
pub(super) fn round_up(duration: Duration, tick: Duration) -> Duration {
    if tick.is_zero() {
        return duration;
    }
    Duration::from_nanos(duration.as_nanos().div_ceil(tick.as_nanos()) * tick.as_nanos())
}

/// `duration` in whole ticks.
fn round_down(duration: Duration, tick: Duration) -> Duration {
    Duration::from_nanos(duration.as_nanos() - duration.as_nanos().checked_rem(tick.as_nanos()).unwrap_or(0))
}

/// The estimator of Linux, in microseconds. It differs from RFC 6298 in two ways: a deviation that falls below the
/// smoothed one since the round trip became shorter counts an eighth; and the variance term follows the deviation up at
/// once, but down only by a quarter for each window of data.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxEstimator {
    /// Eight times the smoothed round-trip time, four times the mean deviation.
    srtt8: i64,
    deviation4: i64,
    /// The part of the time-out beyond SRTT.
    variance: i64,
    /// The largest deviation, four times, of this window of data, and where the window ends.
    largest: i64,
    until: u64,
}

impl LinuxEstimator {
    #[inline(always)]
    fn measured(&mut self, rtt: i64, floor: i64, una: u64, nxt: u64) {
        if self.srtt8 == 0 {
            *self = LinuxEstimator {
                srtt8: rtt * 8,
                deviation4: rtt * 2,
                variance: (rtt * 2).max(floor),
                largest: (rtt * 2).max(floor),
                until: nxt,
            };
            return;
        }
        let error = rtt - (self.srtt8 >> 3);
        self.srtt8 += error;
        let mut change = error.abs() - (self.deviation4 >> 2);
        if error < 0 && change > 0 {
            change /= 8;
        }
        self.deviation4 += change;
        if self.deviation4 > self.largest {
            self.largest = self.deviation4;
            self.variance = self.variance.max(self.largest);
        }
        if una > self.until {
            if self.largest < self.variance {
                self.variance -= (self.variance - self.largest) / 4;
            }
            self.until = nxt;
            self.largest = floor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TcpConfig;

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn estimator(options: &str) -> Rtt {
        let config: TcpConfig = toml::from_str(options).unwrap();
        Rtt::new(&Arc::new(config.resolve(1115)))
    }

    #[test]
    fn follows_rfc_6298() {
        let mut rtt = estimator("");
        assert_eq!(rtt.rto(), secs(1.0));
        // measurement, SRTT, RTTVAR, RTO
        let rows = [(1.0, 1.0, 0.5, 3.0), (1.2, 1.025, 0.425, 2.725), (0.9, 1.009_375, 0.35, 2.409_375)];
        for (measured, srtt, rttvar, rto) in rows {
            rtt.measured(secs(measured), 1, 1);
            assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (secs(srtt), secs(rttvar), secs(rto)), "{measured}");
        }
    }

    #[test]
    fn the_floor_is_under_the_variance_term_or_the_whole() {
        for (options, expected) in
            [("", 0.5), ("rto_floor = 'total'", 0.3), ("rto_floor = 'total'\nmin_rto = '1 s'", 1.0)]
        {
            let mut rtt = estimator(options);
            (0..200).for_each(|_| rtt.measured(secs(0.3), 1, 1));
            assert!((rtt.rto().as_secs_f64() - expected).abs() < 1e-6, "{options}: {}", rtt.rto());
        }
    }

    #[test]
    fn doubles_up_to_the_maximum_and_a_measurement_ends_it() {
        let mut rtt = estimator("");
        let series: Vec<Duration> = (0..9).map(|_| (rtt.rto(), rtt.back_off()).0).collect();
        assert_eq!(series, [1, 2, 4, 8, 16, 32, 60, 60, 60].map(Duration::from_secs));
        rtt.measured(secs(0.1), 1, 1);
        assert_eq!(rtt.rto(), secs(0.3));
    }

    #[test]
    fn the_minimum_forgets_after_five_minutes() {
        let mut rtt = estimator("");
        rtt.note_min(Time::ZERO, secs(0.1));
        rtt.note_min(Time::from_secs_f64(299.0), secs(0.2));
        assert_eq!(rtt.min(), secs(0.1));
        rtt.note_min(Time::from_secs_f64(301.0), secs(0.2));
        assert_eq!(rtt.min(), secs(0.2));
    }

    /// Observed on Linux 6.18: a round trip of 698.6 ms after a smoothed one of 100.86 ms, in ticks of 4 ms.
    #[test]
    fn follows_a_jump_as_linux_does() {
        let mut rtt = estimator("profile = 'linux'");
        (0..11).for_each(|i| rtt.measured(secs(0.10086), i, i)); // which leaves a deviation of 3 ms
        let rows = [(175.58, 784), (240.96, 1220), (298.16, 1492), (348.21, 1644), (392.01, 1716), (430.33, 1752)];
        for (i, (srtt_ms, rto_ms)) in rows.into_iter().enumerate() {
            rtt.measured(secs(0.6986), 200 + i as u64, 200);
            assert!((rtt.srtt().as_secs_f64() * 1e3 - srtt_ms).abs() < 0.1, "{i}: {}", rtt.srtt());
            assert!(rtt.rto().as_nanos().abs_diff(rto_ms * 1_000_000) <= 4_000_000, "{i}: {}", rtt.rto());
        }
    }

    /// RFC 6298 would answer a shorter path with a longer time-out.
    #[test]
    fn a_shorter_path_does_not_lengthen_the_time_out_of_linux() {
        let (mut linux, mut rfc) = (estimator("profile = 'linux'"), estimator(""));
        for rtt in [&mut linux, &mut rfc] {
            (0..200).for_each(|i| rtt.measured(secs(0.6), i, i));
        }
        let before = (linux.rto(), rfc.rto());
        linux.measured(secs(0.1), 300, 300);
        rfc.measured(secs(0.1), 300, 300);
        assert!(linux.rto() <= before.0 && rfc.rto() > before.1, "{} {}", linux.rto(), rfc.rto());
    }
}
