//! Short flows: successive transfers, each on a connection of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, FieldError, Time};

use crate::bulk::BulkSource;
use crate::random::exponential;
use crate::{Kind, MakeRng, MakeUserRng, Needs, Size, UserSource, of_each_user};

/// Transfers that arrive as a Poisson process, each a flow of its own with a random size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShortFlows {
    /// When arrivals begin, from the start of the run.
    pub start: Duration,
    /// When arrivals end, from the start of the run; by default at the end of the run.
    pub stop: Option<Duration>,
    /// Mean time between arrivals.
    pub interval: Duration,
    /// The size of a transfer: a size, or a distribution.
    pub size: Size,
}

impl Default for ShortFlows {
    fn default() -> ShortFlows {
        ShortFlows {
            start: Duration::ZERO,
            stop: None,
            interval: Duration::from_secs(1),
            size: Size::Constant(Bytes::new(30_000)),
        }
    }
}

impl Kind for ShortFlows {
    fn check(&self) -> Result<(), FieldError> {
        if self.interval.is_zero() {
            return Err(FieldError::new("interval", "0 s was given: must be more than 0"));
        }
        if let Some(stop) = self.stop.filter(|stop| *stop <= self.start) {
            return Err(FieldError::new("stop", format!("{stop} was given: must be after `start`, {}", self.start)));
        }
        self.size.check().map_err(|error| error.within("size"))
    }

    fn build(&self, offsets: &[Duration], duration: Duration, streams: &mut MakeRng) -> Vec<UserSource> {
        of_each_user(offsets, streams, |offset, own| self.sources(offset, duration, own))
    }

    fn expected_flows(&self, users: u32, duration: Duration) -> f64 {
        let end = self.stop.map_or(duration, |stop| stop.min(duration));
        f64::from(users) * (end.saturating_sub(self.start).as_secs_f64() / self.interval.as_secs_f64())
    }

    fn needs(&self) -> Needs {
        Needs::ByteStream
    }
}

impl ShortFlows {
    fn sources(&self, offset: Duration, duration: Duration, streams: &mut MakeUserRng) -> Vec<BulkSource> {
        let (mut arrivals, mut sizes) = (streams("traffic.arrivals"), streams("traffic.sizes"));
        let end = Time::ZERO + self.stop.map_or(duration, |stop| stop.min(duration));
        let mean = self.interval.as_secs_f64();
        let mut next = Time::ZERO + self.start + offset;
        std::iter::from_fn(|| {
            next += Duration::from_secs_f64(exponential(&mut *arrivals, mean));
            let size = self.size.draw(&mut *sizes);
            (next < end).then(|| BulkSource::new(next, Some(size)))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::streams;
    use crate::{Action, Exponential, SizeDistribution, Source};

    fn starts(flows: &ShortFlows, offset: u64, duration: u64, seed: u64) -> Vec<f64> {
        let sources = flows.sources(Duration::from_secs(offset), Duration::from_secs(duration), &mut streams(seed));
        sources.iter().map(|source| source.poll_timeout().unwrap().as_secs_f64()).collect()
    }

    #[test]
    fn arrivals_are_a_poisson_process() {
        let flows = ShortFlows { interval: Duration::from_millis(500), ..ShortFlows::default() };
        let times = starts(&flows, 0, 50_000, 3);
        let n = times.len() as f64;
        assert!((n - 100_000.0).abs() < 4.0 * 100_000f64.sqrt(), "{n} arrivals");
        // Counts in windows of a second have a variance equal to their mean, 2; the standard error of its estimate is
        // sqrt((2·2² + 2)/n).
        let mut counts = vec![0.0; 50_000];
        times.iter().for_each(|t| counts[*t as usize] += 1.0);
        let variance = counts.iter().map(|c| (c - 2.0) * (c - 2.0)).sum::<f64>() / 50_000.0;
        assert!((variance - 2.0).abs() < 4.0 * (10.0 / 50_000f64).sqrt(), "variance {variance}");
        // Exponential gaps: beyond 1 s with probability e^−2.
        let long = times.windows(2).filter(|pair| pair[1] - pair[0] > 1.0).count() as f64 / n;
        let expected = libm::exp(-2.0);
        assert!((long - expected).abs() < 4.0 * (expected / n).sqrt(), "{long} of gaps beyond 1 s");
    }

    #[test]
    fn arrivals_keep_to_their_time() {
        let flows = ShortFlows {
            start: Duration::from_secs(10),
            stop: Some(Duration::from_secs(40)),
            interval: Duration::from_millis(100),
            ..ShortFlows::default()
        };
        let times = starts(&flows, 5, 100, 1);
        assert!(times[0] >= 15.0 && times[0] < 17.0 && times[times.len() - 1] < 40.0);
        assert!(starts(&flows, 5, 20, 1).iter().all(|t| *t < 20.0));
        assert!(starts(&flows, 5, 12, 1).is_empty());
    }

    #[test]
    fn a_longer_run_begins_with_the_shorter_one_and_sizes_do_not_move_arrivals() {
        let flows = ShortFlows::default();
        let (short, long) = (starts(&flows, 0, 100, 7), starts(&flows, 0, 200, 7));
        assert_eq!(short, long[..short.len()]);
        let law = Size::Random(SizeDistribution::Exponential(Exponential::default()));
        assert_eq!(short, starts(&ShortFlows { size: law, ..flows }, 0, 100, 7));
    }

    #[test]
    fn each_is_a_transfer_of_its_own() {
        let flows = ShortFlows::default();
        let sources = flows.sources(Duration::ZERO, Duration::from_secs(100), &mut streams(1));
        for mut source in sources {
            let now = source.poll_timeout().unwrap();
            let actions: Vec<Action> = std::iter::from_fn(|| source.poll_action(now).map(|act| act.action)).collect();
            assert_eq!(actions, [Action::Open, Action::Write(Bytes::new(30_000)), Action::Close]);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_name() {
        let refused = |flows: ShortFlows| flows.check().unwrap_err().to_string();
        let none = ShortFlows { interval: Duration::ZERO, ..ShortFlows::default() };
        assert_eq!(refused(none), "interval: 0 s was given: must be more than 0");
        let never = ShortFlows { stop: Some(Duration::ZERO), ..ShortFlows::default() };
        assert_eq!(refused(never), "stop: 0 s was given: must be after `start`, 0 s");
        let empty = ShortFlows { size: Size::Constant(Bytes::new(0)), ..ShortFlows::default() };
        assert_eq!(refused(empty), "size: 0 B was given: must be at least 1 B");
    }
}
