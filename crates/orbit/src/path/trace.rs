//! A one-way delay over time, which the world looks up for every packet.

use units::{Duration, FieldError, Time};

use crate::path::change::Change;
use crate::path::look::{Look, StoredLook};
use crate::path::measured::Measured;
use crate::path::stretch::{DelayPoint, Stretch};

/// The one-way propagation delay of a path over time, with the route intervals.
///
/// The delay is linear between points and jumps where a route is replaced by one of another length. Without a route
/// there is no delay (an outage). Before the first point and after the last one their values hold.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayTrace {
    points: Vec<DelayPoint>,
    /// The look of the user at its serving satellite at each point; empty for paths without satellites.
    looks: Vec<StoredLook>,
    intervals: Vec<RouteInterval>,
    index: Index,
    warnings: Vec<String>,
    /// Rates and losses measured beside the delay, and the delay from the users where it is another one.
    beside: Option<Box<(Measured, Option<DelayTrace>)>>,
}

/// An interval with one route, or without any; it ends where the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteInterval {
    /// The beginning of the interval.
    pub from: Time,
    /// Number of inter-satellite links on the route; `None` during an outage.
    pub hops: Option<u32>,
    /// The gateway's serving satellite.
    pub gateway_satellite: Option<u32>,
    /// The user's serving satellite.
    pub user_satellite: Option<u32>,
    /// The gateway where the route begins, by its number among the gateways; `None` during an outage.
    pub gateway: Option<u32>,
    /// At a handover of the user: the delay from the old serving satellite to the new one over the best route between
    /// them. `None` without such a route, and without a handover.
    pub forwarding: Option<Duration>,
    /// The changes from the interval before.
    pub change: Change,
}

impl DelayTrace {
    /// A constant delay.
    pub fn fixed(delay: Duration) -> DelayTrace {
        DelayTrace::build(
            vec![DelayPoint { at: Time::ZERO, delay: Some(delay), last_link: None }],
            Vec::new(),
            Vec::new(),
        )
    }

    /// The delay through `points` (instant, one-way delay), linear in between.
    ///
    /// # Errors
    /// If there is no point, or an instant is not after the one before.
    pub fn from_points(points: &[(Time, Duration)]) -> Result<DelayTrace, FieldError> {
        DelayTrace::from_rows("point", (1..).zip(points).map(|(i, &(at, delay))| Ok((i, at, Some(delay)))))
    }

    /// As [`DelayTrace::from_points`], with outages; messages call a row `called` and its number.
    pub(crate) fn from_rows(
        called: &str,
        rows: impl Iterator<Item = Result<(usize, Time, Option<Duration>), FieldError>>,
    ) -> Result<DelayTrace, FieldError> {
        let mut points: Vec<DelayPoint> = Vec::new();
        for row in rows {
            let (number, at, delay) = row?;
            match points.last() {
                Some(before) if at <= before.at => {
                    let (time, before) = (at.as_secs_f64(), before.at.as_secs_f64());
                    let message = format!("time {time} s must be later than {before} s, the time of the row before");
                    return Err(FieldError::new(format!("{called} {number}"), message));
                }
                // The last delay holds up to the outage.
                Some(&DelayPoint { delay: Some(last), .. }) if delay.is_none() => {
                    points.push(DelayPoint { at, delay: Some(last), last_link: None });
                }
                _ => {}
            }
            points.push(DelayPoint { at, delay, last_link: None });
        }
        match points.is_empty() {
            true => Err(FieldError::new("", "the trace is empty: it needs at least one row of time and delay")),
            false => Ok(DelayTrace::build(points, Vec::new(), Vec::new())),
        }
    }

    /// Returns the trace of points in the order of time, at least one. Over a constellation also the look of the user
    /// at each point, and the route intervals.
    pub(crate) fn build(points: Vec<DelayPoint>, looks: Vec<StoredLook>, intervals: Vec<RouteInterval>) -> DelayTrace {
        debug_assert!(looks.is_empty() || looks.len() == points.len());
        let index = Index::new(&points);
        DelayTrace { points, looks, intervals, index, warnings: Vec::new(), beside: None }
    }

    /// Returns the trace with rates and losses that were measured beside the delay; `up` is the delay from the users,
    /// if it is another one.
    pub(crate) fn measured_with(self, measured: Measured, up: Option<DelayTrace>) -> DelayTrace {
        let beside = (!measured.is_empty() || up.is_some()).then(|| Box::new((measured, up)));
        DelayTrace { beside, ..self }
    }

    /// Returns the rates and losses measured beside the delay.
    pub fn measured(&self) -> &Measured {
        const NOTHING: &Measured =
            &Measured { rate_down: None, rate_up: None, loss_down: None, loss_up: None, end: None };
        self.beside.as_ref().map_or(NOTHING, |beside| &beside.0)
    }

    /// The delay from the users, where it is another one than to them.
    pub fn uplink(&self) -> Option<&DelayTrace> {
        self.beside.as_ref()?.1.as_ref()
    }

    /// Adds warnings.
    pub(crate) fn warned(self, warnings: Vec<String>) -> DelayTrace {
        DelayTrace { warnings, ..self }
    }

    /// Returns the warnings about the path, each as a sentence.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The one-way delay of a packet that is sent at `now`; `None` during an outage.
    pub fn delay(&self, now: Time) -> Option<Duration> {
        self.stretch(now).delays(now).map(|(delay, _)| delay)
    }

    /// The part of [`DelayTrace::delay`] from the serving satellite to the user; `None` during an outage and for paths
    /// without satellites.
    pub fn last_link_delay(&self, now: Time) -> Option<Duration> {
        self.stretch(now).last_link_delay(now)
    }

    /// The delays around `now`, for callers that ask for many instants near each other.
    pub fn stretch(&self, now: Time) -> Stretch {
        let i = self.index.last_until(&self.points, now);
        Stretch::new(&self.points[i], self.points.get(i + 1))
    }

    /// The look of the user at its serving satellite at `now`, linear between points; `None` without a serving
    /// satellite. A satellite may serve the user where no route leads to it.
    pub fn look(&self, now: Time) -> Option<Look> {
        let i = self.index.last_until(&self.points, now);
        let look = self.looks.get(i)?.get()?;
        let from = self.points[i].at;
        let next = self.points.get(i + 1).filter(|_| now > from);
        let Some((next, end)) = next.zip(self.looks.get(i + 1).and_then(StoredLook::get)) else { return Some(look) };
        let share = now.since(from).as_nanos_f64() / next.at.since(from).as_nanos_f64();
        let between = |a: f64, b: f64| a + share * (b - a);
        Some(Look {
            elevation_deg: between(look.elevation_deg, end.elevation_deg),
            range_m: between(look.range_m, end.range_m),
            range_rate_mps: between(look.range_rate_mps, end.range_rate_mps),
        })
    }

    /// The looks of the user at its serving satellite, in the order of time, linear in between: two at one instant
    /// where the satellite or the user's velocity changes, `None` from where no satellite serves. Empty for paths
    /// without satellites.
    pub fn looks(&self) -> impl Iterator<Item = (Time, Option<Look>)> {
        let all = self.points.iter().zip(&self.looks).map(|(point, look)| (point.at, look.get()));
        let mut before = None;
        all.filter(move |&(at, look)| {
            let is_news = match before {
                Some((_, None)) => look.is_some(),
                // A new route over the same serving satellite changes no look.
                Some(before) => before != (at, look),
                None => true,
            };
            before = Some((at, look));
            is_news
        })
    }

    /// The derivative of the range rate at `now`, metres per second squared: the slope of the parabola through the
    /// three nearest rates of one satellite and one stretch of the user's course; with two such rates, of the line
    /// through them. `None` without a serving satellite.
    pub fn range_acceleration(&self, now: Time) -> Option<f64> {
        let i = self.index.last_until(&self.points, now);
        self.looks.get(i)?.get()?;
        let left = self.rates(i, (0..i).rev());
        let right = self.rates(i, i + 1..self.points.len());
        // Seconds from `now`, so that the wanted slope is the slope at zero.
        let since = |(at, rate): (Time, f64)| ((at.as_nanos() as f64 - now.as_nanos() as f64) * 1e-9, rate);
        let here = since((self.points[i].at, self.looks[i].range_rate_mps()));
        let [near_left, far_left] = left.map(|point| point.map(since));
        let [near_right, far_right] = right.map(|point| point.map(since));
        let (a, b, c) = match (near_left, near_right) {
            (Some(left), Some(right)) => match far_right.filter(|far| far.0 < -left.0) {
                Some(far) => (here, right, Some(far)),
                None => (left, here, Some(right)),
            },
            (None, Some(right)) => (here, right, far_right),
            (Some(left), None) => (left, here, far_left),
            (None, None) => return None,
        };
        let slope = |a: (f64, f64), b: (f64, f64)| (b.1 - a.1) / (b.0 - a.0);
        let line = slope(a, b);
        // The derivative of Newton's interpolation polynomial at zero.
        Some(c.map_or(line, |c| line - (a.0 + b.0) * (slope(b, c) - line) / (c.0 - a.0)))
    }

    /// The next two rates from point `from` in one direction, as (instant, rate), up to where the satellite or the
    /// user's velocity changes.
    fn rates(&self, from: usize, next: impl Iterator<Item = usize>) -> [Option<(Time, f64)>; 2] {
        /// Differences between closer points are mostly noise.
        const CLOSEST_NANOS: u64 = 10_000_000;
        let mut found = [None; 2];
        let (mut before, mut last) = (from, self.points[from].at);
        for i in next {
            let (a, b) = (self.looks[before], self.looks[i]);
            let is_jump = self.points[before].at == self.points[i].at && a != b;
            if is_jump || b == StoredLook::NOTHING {
                break;
            }
            before = i;
            if self.points[i].at.as_nanos().abs_diff(last.as_nanos()) < CLOSEST_NANOS {
                continue;
            }
            last = self.points[i].at;
            let slot = usize::from(found[0].is_some());
            found[slot] = Some((last, b.range_rate_mps()));
            if slot == 1 {
                break;
            }
        }
        found
    }

    /// The route interval at `now`; `None` for paths without routes.
    pub fn interval_at(&self, now: Time) -> Option<&RouteInterval> {
        let after = self.intervals.partition_point(|interval| interval.from <= now);
        self.intervals.get(after.saturating_sub(1))
    }

    /// The route intervals in the order of time; empty for paths without routes.
    pub fn intervals(&self) -> &[RouteInterval] {
        &self.intervals
    }

    /// The points in the order of time, as (instant, delay from then on): a jump is two points at one instant.
    pub fn points(&self) -> impl Iterator<Item = (Time, Option<Duration>)> {
        self.points.iter().map(|point| (point.at, point.delay))
    }

    /// The number of handovers of the user: [`Change::user_handover`].
    pub fn user_handovers(&self) -> u64 {
        self.count(|change| change.user_handover)
    }

    /// The number of handovers of the gateway where the route begins: [`Change::gateway_handover`].
    pub fn gateway_handovers(&self) -> u64 {
        self.count(|change| change.gateway_handover)
    }

    /// The number of handovers of the user and the gateway.
    pub fn handovers(&self) -> u64 {
        self.user_handovers() + self.gateway_handovers()
    }

    /// The number of route changes without a handover: [`Change::route_change`].
    pub fn route_changes(&self) -> u64 {
        self.count(|change| change.route_change)
    }

    fn count(&self, happened: impl Fn(&Change) -> bool) -> u64 {
        self.intervals.iter().filter(|interval| happened(&interval.change)).count() as u64
    }

    /// The trace of a run that ends at `until`.
    pub fn cut(&self, until: Time) -> DelayTrace {
        let kept = |point: &DelayPoint| point.at > Time::ZERO && point.at < until;
        let at = |at| DelayPoint { at, delay: self.delay(at), last_link: self.last_link_delay(at) };
        let within = self.points.iter().filter(|point| kept(point)).copied();
        // Of a jump at the end the value before it is the last.
        let end = self.points.partition_point(|point| point.at < until);
        let ends_there = self.points.get(end).is_some_and(|point| point.at == until);
        let last = if ends_there { self.points[end] } else { at(until) };
        let points = [at(Time::ZERO)].into_iter().chain(within).chain([last]).collect();
        let looks = match self.looks.is_empty() {
            true => Vec::new(),
            false => {
                let at = |at| StoredLook::of(self.look(at));
                let within =
                    self.points.iter().zip(&self.looks).filter(|(point, _)| kept(point)).map(|(_, look)| *look);
                let last = if ends_there { self.looks[end] } else { at(until) };
                [at(Time::ZERO)].into_iter().chain(within).chain([last]).collect()
            }
        };
        let intervals = self.intervals.iter().filter(|interval| interval.from <= until).copied().collect();
        let cut = DelayTrace::build(points, looks, intervals).warned(self.warnings.clone());
        DelayTrace { beside: self.beside.clone(), ..cut }
    }

    /// The shortest delay; `None` if there is never a route.
    pub fn min(&self) -> Option<Duration> {
        self.points.iter().filter_map(|point| point.delay).min()
    }

    /// The shortest delay without the last link, up to the rounding of both; `None` if there is no route at
    /// some time.
    pub fn min_before_last_link(&self) -> Option<Duration> {
        let mut last_link = None;
        let mut shortest = Duration::MAX;
        for point in &self.points {
            // That of the point before holds up to a point that has none.
            let until_here = point.last_link.or(last_link).unwrap_or(Duration::ZERO);
            shortest = shortest.min(point.delay?.saturating_sub(until_here));
            last_link = point.last_link;
        }
        Some(shortest.saturating_sub(Duration::from_nanos(1)))
    }

    /// The longest delay; `None` if there is never a route.
    pub fn max(&self) -> Option<Duration> {
        self.points.iter().filter_map(|point| point.delay).max()
    }

    /// The mean over the time with a route; `None` if there is never one.
    pub fn mean(&self) -> Option<Duration> {
        let (mut integral, mut time) = (0.0, 0.0);
        for pair in self.points.windows(2) {
            if let Some(begin) = pair[0].delay {
                let seconds = pair[1].at.since(pair[0].at).as_secs_f64();
                let end = pair[1].delay.unwrap_or(begin);
                integral += seconds * 0.5 * (begin.as_secs_f64() + end.as_secs_f64());
                time += seconds;
            }
        }
        match time > 0.0 {
            true => Some(Duration::from_secs_f64(integral / time)),
            false => self.min(),
        }
    }

    /// The time without a route.
    pub fn outage(&self) -> Duration {
        let without = self.points.windows(2).filter(|pair| pair[0].delay.is_none());
        without.map(|pair| pair[1].at.since(pair[0].at)).sum()
    }
}

/// Finds a point by its instant in constant time: the time is divided into as many equal buckets as there are points,
/// and each bucket has the number of its first point.
#[derive(Clone, Debug, PartialEq)]
struct Index {
    start: Time,
    /// The width of a bucket is two to this power, in nanoseconds.
    shift: u32,
    /// For each bucket the last point at or before its begin; one more for the end.
    first: Vec<u32>,
}

impl Index {
    fn new(points: &[DelayPoint]) -> Index {
        let start = points[0].at;
        let span = points[points.len() - 1].at.since(start).as_nanos();
        let width = (span / points.len() as u64).max(1);
        let shift = width.ilog2();
        let buckets = span >> shift;
        let mut first = Vec::with_capacity(buckets as usize + 2);
        let mut last = 0;
        for bucket in 0..=buckets {
            let begin = start + Duration::from_nanos(bucket << shift);
            while points.get(last + 1).is_some_and(|point| point.at <= begin) {
                last += 1;
            }
            first.push(last as u32);
        }
        first.push(points.len() as u32 - 1);
        Index { start, shift, first }
    }

    /// The last point at or before `now`, or else the first point.
    fn last_until(&self, points: &[DelayPoint], now: Time) -> usize {
        let bucket = (now.since(self.start).as_nanos() >> self.shift).min(self.first.len() as u64 - 2) as usize;
        let (low, high) = (self.first[bucket] as usize, self.first[bucket + 1] as usize);
        low + points[low + 1..=high].partition_point(|point| point.at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::change::History;
    use proptest::prelude::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(seconds: f64) -> Time {
        Time::from_secs_f64(seconds)
    }

    #[test]
    fn a_fixed_delay_never_changes() {
        let trace = DelayTrace::fixed(ms(40));
        for now in [Time::ZERO, at(7.0), Time::MAX] {
            assert_eq!(trace.delay(now), Some(ms(40)));
            assert_eq!(trace.last_link_delay(now), None);
            assert_eq!(trace.interval_at(now), None);
        }
        assert_eq!((trace.min(), trace.mean(), trace.max()), (Some(ms(40)), Some(ms(40)), Some(ms(40))));
        assert_eq!((trace.handovers(), trace.route_changes(), trace.outage()), (0, 0, Duration::ZERO));
    }

    /// A trace with these range rates of one satellite; at the two points at one instant the rate jumps.
    fn seen(rates: &[(f64, Option<f64>)]) -> DelayTrace {
        let look = |rate: Option<f64>| {
            StoredLook::of(rate.map(|rate| Look { elevation_deg: 50.0, range_m: 1e6, range_rate_mps: rate }))
        };
        let points = rates.iter().map(|one| DelayPoint { at: at(one.0), delay: None, last_link: None }).collect();
        DelayTrace::build(points, rates.iter().map(|one| look(one.1)).collect(), Vec::new())
    }

    #[test]
    fn the_acceleration_is_that_of_a_parabola_within_one_service() {
        let rate = |t: f64| Some(3.0 * t * t - 7.0 * t + 1.0);
        let all = [0.0, 1.0, 1.5, 1.504, 4.0].map(|t| (t, rate(t)));
        let noisy = [all[0], all[1], all[2], (1.504, Some(1e3)), all[4]];
        for trace in [seen(&all), seen(&noisy)] {
            for t in [0.0, 0.3, 0.9, 1.0, 1.2, 1.5, 1.502, 2.0, 3.9, 4.0] {
                let found = trace.range_acceleration(at(t)).unwrap();
                // A point too close to the one before counts only from its own instant on.
                let is_off = t >= 1.504 && trace != seen(&all);
                assert!(is_off || (found - (6.0 * t - 7.0)).abs() < 1e-6, "{found} at {t}");
            }
        }
        let jump = [(0.0, Some(0.0)), (1.0, Some(2.0)), (1.0, Some(-5.0)), (2.0, Some(-4.0)), (2.0, None), (3.0, None)];
        let trace = seen(&jump);
        for (t, expected) in [(0.0, Some(2.0)), (0.9, Some(2.0)), (1.0, Some(1.0)), (1.9, Some(1.0)), (2.0, None)] {
            assert_eq!(trace.range_acceleration(at(t)), expected, "at {t}");
        }
        assert_eq!(seen(&[(0.0, Some(1.0)), (0.001, Some(5.0))]).range_acceleration(at(0.0)), None, "too close");
    }

    #[test]
    fn what_is_no_number_is_not_seen() {
        let trace = seen(&[(0.0, Some(1.0)), (1.0, Some(f64::NAN)), (2.0, Some(1.0))]);
        assert_eq!([0.5, 1.5, 2.0].map(|t| trace.look(at(t)).is_some()), [true, false, true]);
        assert_eq!(trace, trace.clone());
    }

    #[test]
    fn linear_between_points_and_constant_outside() {
        let trace = DelayTrace::from_points(&[(at(1.0), ms(40)), (at(3.0), ms(60)), (at(4.0), ms(50))]).unwrap();
        for (now, delay) in [(0.0, 40), (1.0, 40), (2.0, 50), (2.5, 55), (3.0, 60), (3.5, 55), (4.0, 50), (9.0, 50)] {
            assert_eq!(trace.delay(at(now)), Some(ms(delay)), "{now} s");
        }
        assert_eq!(trace.mean(), Some(Duration::from_nanos(51_666_667)));
        assert_eq!((trace.min(), trace.max()), (Some(ms(40)), Some(ms(60))));
    }

    #[test]
    fn says_which_point_is_wrong() {
        let says = |points: &[(Time, Duration)]| DelayTrace::from_points(points).unwrap_err().to_string();
        assert_eq!(says(&[]), "the trace is empty: it needs at least one row of time and delay");
        let back = says(&[(at(0.0), ms(1)), (at(2.5), ms(1)), (at(2.0), ms(1))]);
        assert_eq!(back, "point 3: time 2 s must be later than 2.5 s, the time of the row before");
        assert!(says(&[(at(1.0), ms(1)), (at(1.0), ms(2))]).starts_with("point 2: time 1 s must be later than 1 s"));
    }

    #[test]
    fn counts_handovers_of_each_end_across_outages() {
        let mut history = History::default();
        let mut interval = |seconds: f64, gateway: Option<u32>, serving: [Option<u32>; 2]| RouteInterval {
            from: at(seconds),
            hops: gateway.map(|_| 1),
            gateway_satellite: serving[0],
            user_satellite: serving[1],
            gateway,
            forwarding: None,
            change: history.next(gateway, serving),
        };
        let intervals = vec![
            interval(0.0, Some(0), [Some(1), Some(5)]),
            interval(1.0, Some(0), [Some(1), Some(5)]), // other links
            interval(2.0, Some(0), [Some(2), Some(6)]), // both handovers
            interval(3.0, None, [None, Some(6)]),       // lost, which is no handover yet
            interval(4.0, Some(0), [Some(3), Some(6)]), // the gateway's handover
            interval(5.0, None, [Some(3), None]),
            interval(6.0, Some(0), [Some(3), Some(6)]), // no handover: the satellites of before
            interval(7.0, Some(1), [Some(9), Some(6)]), // another gateway
            interval(8.0, Some(1), [Some(8), Some(6)]), // handover of that gateway
            interval(9.0, Some(0), [Some(4), Some(6)]), // the first gateway again
        ];
        let point = DelayPoint { at: Time::ZERO, delay: None, last_link: None };
        let trace = DelayTrace::build(vec![point], Vec::new(), intervals);
        assert_eq!((trace.user_handovers(), trace.gateway_handovers(), trace.handovers()), (1, 3, 4));
        assert_eq!(trace.route_changes(), 3);
        let cut = trace.cut(at(4.0));
        assert_eq!((cut.user_handovers(), cut.gateway_handovers(), cut.route_changes()), (1, 2, 1));
        assert_eq!(trace.interval_at(at(2.5)).unwrap().gateway_satellite, Some(2));
        assert_eq!((trace.min(), trace.mean(), trace.delay(at(1.0))), (None, None, None));
    }

    proptest! {
        /// At each nanosecond.
        #[test]
        fn no_delay_before_the_last_link_is_shorter(
            rows in prop::collection::vec((0u64..40, 100u64..1000, prop::option::weighted(0.8, 1u64..100)), 1..40),
        ) {
            let mut now = Time::ZERO;
            let points: Vec<_> = rows.iter().map(|&(gap, delay, last_link)| {
                now += Duration::from_nanos(gap);
                let [delay, last_link] = [Some(delay), last_link].map(|nanos| nanos.map(Duration::from_nanos));
                DelayPoint { at: now, delay, last_link }
            }).collect();
            let trace = DelayTrace::build(points, Vec::new(), Vec::new());
            let before = |now: Time| {
                let last_link = trace.last_link_delay(now).unwrap_or(Duration::ZERO);
                trace.delay(now).unwrap().saturating_sub(last_link)
            };
            let found = (0..=now.as_nanos()).map(|now| before(Time::from_nanos(now))).min().unwrap();
            let least = trace.min_before_last_link().unwrap();
            prop_assert!(least <= found, "{least} is more than {found}");
            let none = DelayPoint { at: now, delay: None, last_link: None };
            let ends = [trace.points, vec![none]].concat();
            prop_assert_eq!(DelayTrace::build(ends, Vec::new(), Vec::new()).min_before_last_link(), None);
        }
    }

    proptest! {
        /// Compared with a linear search, with jumps, outages and very uneven distances.
        #[test]
        fn looking_up_is_searching(
            rows in prop::collection::vec((0u64..40, 0u64..50, prop::option::weighted(0.8, 1u64..1000)), 1..60),
            questions in prop::collection::vec((0usize..60, 0u64..3000), 50),
        ) {
            let mut now = 0;
            let points: Vec<_> = rows.iter().map(|&(power, add, delay)| {
                now += if power < 10 { 0 } else { (1u64 << power) + add };
                DelayPoint { at: Time::from_nanos(now), delay: delay.map(Duration::from_micros), last_link: None }
            }).collect();
            let trace = DelayTrace::build(points.clone(), Vec::new(), Vec::new());
            for (near, offset) in questions {
                let near = points[near % points.len()].at;
                for now in [near + Duration::from_nanos(offset), near - Duration::from_nanos(offset)] {
                    let i = points.iter().rposition(|point| point.at <= now.max(points[0].at)).unwrap();
                    let expected = match (points[i].delay, points.get(i + 1)) {
                        (Some(d), Some(&DelayPoint { at, delay: Some(end), .. })) if now > points[i].at => {
                            let share = now.since(points[i].at).as_nanos() as i128;
                            let whole = at.since(points[i].at).as_nanos() as i128;
                            let change = (end.as_nanos() as i128 - d.as_nanos() as i128) * share;
                            Some(d.as_nanos() as f64 + change as f64 / whole as f64)
                        }
                        (delay, _) => delay.map(|d| d.as_nanos() as f64),
                    };
                    match (trace.delay(now), expected) {
                        (Some(found), Some(expected)) => {
                            prop_assert!((found.as_nanos() as f64 - expected).abs() <= 0.5001);
                        }
                        (found, expected) => prop_assert_eq!(found.is_some(), expected.is_some()),
                    }
                }
            }
        }
    }
}
