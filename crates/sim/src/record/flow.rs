//! What is noted about one flow while it runs.

use hdrhistogram::Histogram;
use traffic::Listener;
use units::Time;

use super::drops::Drops;
use super::order::OrderCounter;
use super::spurious::SpuriousCounter;

/// Counts and averages of one flow; its size does not grow with time.
#[derive(Debug)]
pub(crate) struct FlowRecord {
    pub(crate) sent_packets: u64,
    pub(crate) received_packets: u64,
    pub(crate) lost: Drops,
    pub(crate) marked_packets: u64,
    pub(crate) opened_at: Option<Time>,
    pub(crate) first_delivery: Option<Time>,
    pub(crate) last_delivery: Time,
    /// Which kinds of [`access::Access`] its packets used.
    pub(crate) accessed: [bool; 2],
    pub(crate) delay: DelayRecord,
    pub(crate) window: TimeAverage,
    pub(crate) spurious: SpuriousCounter,
    pub(crate) order: OrderCounter,
    /// Who listens, if it is a voice.
    pub(crate) listener: Option<Box<Listener>>,
}

impl FlowRecord {
    pub(crate) fn new(listener: Option<Listener>) -> FlowRecord {
        FlowRecord {
            sent_packets: 0,
            received_packets: 0,
            lost: Drops::default(),
            marked_packets: 0,
            opened_at: None,
            first_delivery: None,
            last_delivery: Time::ZERO,
            accessed: [false; 2],
            delay: DelayRecord::new(),
            window: TimeAverage::default(),
            spurious: SpuriousCounter::default(),
            order: OrderCounter::default(),
            listener: listener.map(Box::new),
        }
    }
}

/// One-way delays of the packets of a flow, in the order of their arrival.
#[derive(Debug)]
pub(crate) struct DelayRecord {
    distribution: Distribution,
    sum_s: f64,
    previous_s: Option<f64>,
    changes_s: f64,
    /// The interarrival jitter of RFC 3550 after the last packet, and its values added up.
    interarrival_s: f64,
    interarrival_sum_s: f64,
}

/// Delays in microseconds.
#[derive(Debug)]
enum Distribution {
    /// Each: short flows are many.
    Few(Vec<u32>),
    /// To three digits, in some 40 kB.
    Many(Histogram<u32>),
}

impl Distribution {
    /// From here on a histogram is smaller.
    const FEW: usize = 4096;

    fn add(&mut self, micros: u64) {
        let few = match self {
            Distribution::Few(few) if few.len() < Distribution::FEW => {
                few.push(u32::try_from(micros).unwrap_or(u32::MAX)); // an hour and more
                return;
            }
            Distribution::Few(few) => std::mem::take(few),
            Distribution::Many(histogram) => {
                histogram.record(micros).expect("the histogram grows by itself");
                return;
            }
        };
        let mut histogram = Histogram::new(3).expect("three digits are within what the histogram allows");
        for delay in few.into_iter().map(u64::from).chain([micros]) {
            histogram.record(delay).expect("the histogram grows by itself");
        }
        *self = Distribution::Many(histogram);
    }

    fn len(&self) -> u64 {
        match self {
            Distribution::Few(few) => few.len() as u64,
            Distribution::Many(histogram) => histogram.len(),
        }
    }

    /// The smallest delay that `share` of all do not exceed.
    fn quantile(&self, share: f64) -> Option<u64> {
        match self {
            Distribution::Few(few) => {
                let rank = (share * few.len() as f64).ceil() as usize;
                let mut sorted = few.clone();
                sorted.sort_unstable();
                sorted.get(rank.max(1) - 1).map(|&delay| u64::from(delay))
            }
            Distribution::Many(histogram) => Some(histogram.value_at_quantile(share)),
        }
    }
}

impl DelayRecord {
    fn new() -> DelayRecord {
        DelayRecord {
            distribution: Distribution::Few(Vec::new()),
            sum_s: 0.0,
            previous_s: None,
            changes_s: 0.0,
            interarrival_s: 0.0,
            interarrival_sum_s: 0.0,
        }
    }

    /// A packet sent at `sent` arrives at `now`.
    #[inline]
    pub(crate) fn add(&mut self, sent: Time, now: Time) {
        let delay = now.since(sent);
        let seconds = delay.as_secs_f64();
        self.distribution.add(delay.as_nanos() / 1000);
        self.sum_s += seconds;
        if let Some(previous) = self.previous_s.replace(seconds) {
            let change = (seconds - previous).abs();
            self.changes_s += change;
            self.interarrival_s += (change - self.interarrival_s) / 16.0;
            self.interarrival_sum_s += self.interarrival_s;
        }
    }

    fn packets(&self) -> u64 {
        self.distribution.len()
    }

    pub(crate) fn mean_s(&self) -> Option<f64> {
        let packets = self.packets();
        (packets > 0).then(|| self.sum_s / packets as f64)
    }

    pub(crate) fn p95_s(&self) -> Option<f64> {
        self.distribution.quantile(0.95).map(|micros| micros as f64 * 1e-6)
    }

    /// Mean of the absolute difference between the delays of packets that arrive one after the other.
    pub(crate) fn jitter_s(&self) -> Option<f64> {
        let packets = self.packets();
        (packets > 1).then(|| self.changes_s / (packets - 1) as f64)
    }

    /// The interarrival jitter of RFC 3550 section 6.4.1, J += (|D| - J) / 16, mean over the packets.
    pub(crate) fn interarrival_jitter_s(&self) -> Option<f64> {
        let packets = self.packets();
        (packets > 1).then(|| self.interarrival_sum_s / (packets - 1) as f64)
    }
}

/// The average over time of a value that holds until it changes.
#[derive(Debug, Default)]
pub(crate) struct TimeAverage {
    since: Option<Time>,
    value: f64,
    value_from: Time,
    integral: f64,
}

impl TimeAverage {
    /// From `now` on it is `value`.
    #[inline]
    pub(crate) fn set(&mut self, now: Time, value: f64) {
        if self.since.is_none() {
            self.since = Some(now);
        } else if value == self.value {
            return;
        } else {
            self.integral += self.value * now.since(self.value_from).as_secs_f64();
        }
        (self.value, self.value_from) = (value, now);
    }

    /// The average until `now`; `None` before the first value.
    pub(crate) fn mean(&self, now: Time) -> Option<f64> {
        let total = now.since(self.since?).as_secs_f64();
        let integral = self.integral + self.value * now.since(self.value_from).as_secs_f64();
        Some(if total > 0.0 { integral / total } else { self.value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time::from_secs_f64(seconds)
    }

    #[test]
    fn a_time_average_weighs_values_by_how_long_they_held() {
        let mut average = TimeAverage::default();
        assert_eq!(average.mean(at(1.0)), None);
        average.set(at(1.0), 10.0);
        average.set(at(2.0), 40.0);
        average.set(at(3.0), 40.0);
        assert_eq!(average.mean(at(4.0)), Some(30.0));
    }

    #[test]
    fn jitter_is_the_mean_change_between_arrivals() {
        let mut delays = DelayRecord::new();
        for (sent, arrived) in [(0.0, 0.1), (1.0, 1.3), (2.0, 2.1)] {
            delays.add(at(sent), at(arrived));
        }
        assert!((delays.jitter_s().unwrap() - 0.2).abs() < 1e-12);
        // Changes of 0.2 s twice: J is 0.2 / 16, then 0.2 / 16 more of what is missing.
        let first = 0.2 / 16.0;
        let second = first + (0.2 - first) / 16.0;
        assert!((delays.interarrival_jitter_s().unwrap() - (first + second) / 2.0).abs() < 1e-12);
        assert!((delays.mean_s().unwrap() - 0.5 / 3.0).abs() < 1e-12);
        assert!((delays.p95_s().unwrap() - 0.3).abs() < 1e-3);
    }

    #[test]
    fn a_histogram_takes_over_where_there_are_many() {
        let (mut delays, mut exact) = (DelayRecord::new(), Vec::new());
        let mut state = 7u64;
        for packet in 1..=2 * Distribution::FEW {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let micros = 80_000 + (state >> 40) % 200_000;
            delays.add(Time::ZERO, Time::from_nanos(micros * 1000));
            exact.push(micros);
            if packet == 100 || packet == 2 * Distribution::FEW {
                exact.sort_unstable();
                let p95 = exact[(0.95 * packet as f64).ceil() as usize - 1] as f64 * 1e-6;
                let error = delays.p95_s().unwrap() / p95 - 1.0;
                let tolerance = if packet == 100 { 1e-12 } else { 1e-3 };
                assert!(error.abs() < tolerance, "{packet} packets: {error}");
            }
        }
        assert!(matches!(delays.distribution, Distribution::Many(_)));
    }
}
