//! The path of a plan: its delay over time, traced once.

use std::sync::Arc;

use channel::Geometry;
use link::Propagation;
use orbit::{DelayTrace, PathConfig, Stretch};
use units::{Duration, Files, Time};

use crate::scenario::{ScenarioConfig, ScenarioError};

/// The longest delay of a path. TCP's timestamps count milliseconds in 32 bits, and express an age of 596 h at most
/// (RFC 7323, section 5.2): a round trip and its queues.
const LONGEST_DELAY: Duration = Duration::from_secs(200 * 3600);

/// Checks that round trips with this delay can be counted.
///
/// # Errors
/// The delay is longer than [`LONGEST_DELAY`].
pub(super) fn check_delay(delay: Duration) -> Result<(), ScenarioError> {
    if delay <= LONGEST_DELAY {
        return Ok(());
    }
    let hours = |delay: Duration| delay.as_secs_f64() / 3600.0;
    let (given, most) = (hours(delay), hours(LONGEST_DELAY));
    Err(ScenarioError::new("delay", format!("{given} h one way was given, at most {most} h is expected")))
}

/// The delays of a path over a run, and the times without a route.
#[derive(Debug)]
pub(crate) struct PathPlan {
    /// With the last link where the path knows one.
    pub(crate) trace: DelayTrace,
    /// Whether the trace reaches to the user: the last link is then the last hop's to delay.
    includes_last_link: bool,
    /// The delay of the path, where it never changes and is the same both ways.
    pub(crate) constant: Option<Duration>,
    /// The way from the users, where its delay is another one.
    uplink: Option<Box<PathPlan>>,
    /// When there is no route: from, until. The last one lasts for ever if there is none at the trace's end.
    outages: Vec<(Time, Time)>,
}

impl PathPlan {
    /// Traces the path from the start of the run for `duration`; and what to know before trusting its delays.
    ///
    /// # Errors
    /// Names the field below `path`, or the file and its line.
    pub(super) fn new(
        config: &PathConfig,
        duration: Duration,
        files: &mut dyn Files,
    ) -> Result<(PathPlan, Vec<String>), ScenarioError> {
        let trace = config.entry().delays(duration, files).map_err(|error| error.within("path"))?;
        for way in [Some(&trace), trace.uplink()].into_iter().flatten() {
            check_delay(way.max().unwrap_or_default()).map_err(|error| error.within("path"))?;
        }
        let warnings = trace.warnings().to_vec();
        Ok((PathPlan::of(trace), warnings))
    }

    /// The plan of a path with this trace of delays.
    pub(crate) fn of(trace: DelayTrace) -> PathPlan {
        let includes_last_link = !trace.intervals().is_empty();
        let first = trace.points().next().and_then(|(_, delay)| delay);
        let is_one = trace.points().count() == 1 && trace.uplink().is_none() && trace.measured().is_empty();
        PathPlan {
            includes_last_link,
            constant: first.filter(|_| is_one && !includes_last_link),
            uplink: trace.uplink().map(|up| Box::new(PathPlan::of(up.clone()))),
            outages: outages(&trace),
            trace,
        }
    }

    /// The path that what users send takes.
    #[inline]
    pub(crate) fn uplink(&self) -> &PathPlan {
        self.uplink.as_deref().unwrap_or(self)
    }

    /// The propagation delay to the serving satellite of what enters at `now`; `None` without a route.
    #[inline]
    pub(crate) fn delay(&self, now: Time) -> Option<Duration> {
        if self.constant.is_some() {
            return self.constant;
        }
        Some(self.delays(&self.trace.stretch(now), now)?.1)
    }

    /// The delay of a packet that enters at `now` and of one that is sent back then; `None` without a route.
    pub(crate) fn round_trip(&self, now: Time) -> Option<Duration> {
        let down = self.delay(now)?;
        let up = self.uplink.as_ref().map_or(Some(down), |up| up.delay(now))?;
        Some(down + up)
    }

    /// The trace's delay at `now`, which is in this stretch of it, and what remains of the delay without the last link;
    /// `None` without a route.
    #[inline]
    pub(crate) fn delays(&self, stretch: &Stretch, now: Time) -> Option<(Duration, Duration)> {
        let (delay, last_link) = stretch.delays(now)?;
        let last_link = last_link.filter(|_| self.includes_last_link);
        Some((delay, delay.saturating_sub(last_link.unwrap_or(Duration::ZERO))))
    }

    /// Returns the trace's delay at `now`, without the last link if it includes that.
    #[inline]
    pub(crate) fn to_serving_satellite(&self, now: Time, total: Duration) -> Duration {
        let last_link = if self.includes_last_link { self.trace.last_link_delay(now) } else { None };
        total.saturating_sub(last_link.unwrap_or(Duration::ZERO))
    }

    /// When the outage at `now` ends. Before the first point of a trace its value holds.
    pub(crate) fn resumes(&self, now: Time) -> Time {
        let after = self.outages.partition_point(|&(_, until)| until <= now);
        self.outages.get(after).map_or(Time::MAX, |outage| outage.1)
    }

    /// The times without a route.
    #[cfg(test)]
    pub(crate) fn outages(&self) -> &[(Time, Time)] {
        &self.outages
    }

    /// The mean round trip while there is a route; zero if there never is one.
    pub(super) fn mean_round_trip(&self, duration: Duration) -> Duration {
        const SAMPLES: u64 = 1000;
        let instants = (0..SAMPLES).map(|i| Time::ZERO + Duration::from_nanos(duration.as_nanos() / SAMPLES * i));
        let delays: Vec<Duration> = instants.filter_map(|now| self.round_trip(now)).collect();
        delays.iter().copied().sum::<Duration>() / (delays.len() as u64).max(1)
    }

    /// The delay between that satellite and the users; nothing if none ever serves them. While none does it stays the
    /// same.
    pub(crate) fn propagation(&self) -> Option<Propagation> {
        let mut points: Vec<(Time, Duration)> = Vec::new();
        let mut served = true;
        for (at, look) in self.trace.looks() {
            let last = points.last().map(|point| point.1);
            // The end of a service, and of the gap after it.
            points.extend(last.filter(|_| look.is_none() || !served).map(|delay| (at, delay)));
            points.extend(look.map(|look| (at, Duration::from_secs_f64(look.range_m / units::SPEED_OF_LIGHT))));
            served = look.is_some();
        }
        (!points.is_empty()).then(|| Propagation::over(points))
    }
}

/// Returns how the users see the satellite that serves them; `None` if the path knows none.
pub fn geometry(trace: &DelayTrace) -> Option<Arc<Geometry>> {
    let seen = |(at, look): (Time, Option<orbit::Look>)| (at, look.map(|look| (look.elevation_deg, look.range_m)));
    let points: Vec<_> = trace.looks().map(seen).collect();
    (!points.is_empty()).then(|| Arc::new(Geometry::new(points)))
}

/// Tells a last hop that follows the path's rate what that is in the mean; and what to know about the rate.
///
/// # Errors
/// The last hop follows a rate that the path does not have.
pub(super) fn follow_rate(config: &mut ScenarioConfig, path: &PathPlan) -> Result<Option<String>, ScenarioError> {
    let rates = path.trace.measured().rate_down.as_ref();
    match (config.last_hop.rate.follows_path(), rates) {
        (true, Some(rates)) => {
            config.last_hop.path_rate = Some(rates.mean(config.duration));
            Ok(None)
        }
        (true, None) => {
            let up = path.trace.measured().rate_up.is_some();
            let has = if up { "has one from the users only" } else { "has none" };
            let message = format!(
                "\"path\" is the rate of the path at each instant, and this path of kind {} {has}: give a rate",
                config.path.kind()
            );
            Err(ScenarioError::new("last_hop.rate", message))
        }
        (false, Some(_)) => {
            let rate = config.last_hop.rate;
            Ok(Some(format!(
                "last_hop.rate: {rate} holds, not the rate that the path has at each instant: \"path\" would follow it"
            )))
        }
        (false, None) => Ok(None),
    }
}

fn outages(trace: &DelayTrace) -> Vec<(Time, Time)> {
    let mut outages: Vec<(Time, Time)> = Vec::new();
    let mut since = None;
    for (at, delay) in trace.points() {
        match (since, delay) {
            (None, None) => since = Some(at),
            (Some(from), Some(_)) => {
                outages.push((from, at));
                since = None;
            }
            _ => {}
        }
    }
    outages.extend(since.map(|from| (from, Time::MAX)));
    outages
}
