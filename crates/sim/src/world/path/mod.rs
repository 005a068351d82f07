//! The long way between the ground and the satellite that serves the users: when a packet that enters it arrives, or why not.
//!
//! The sky's future is known before the run, so what becomes of a packet is known when it enters: where it waits, how long it
//! takes, and whether another satellite serves the users by the time it arrives.
//!
//! Simplified, and who could notice: a handover of a gateway costs nothing (it has antennas for both satellites), only one of the
//! users does; a packet keeps the delay of the route that it began on, and finds the queues of that route's links by their order
//! on the way, so where a route changes under load the first packets on the new one wait behind those of the old.

mod lane;
mod service;

use std::sync::Arc;

use channel::Geometry;
use engine::Generator;
use lane::Lane;
use link::Propagation;
use orbit::{DelayTrace, Jitter, PathConfig};
use rand::RngExt;
use service::{Crossing, Service};
use units::{Duration, Time};

pub(super) use service::Event;

use crate::packet::Direction;
use crate::record::drops::PathLoss;

/// One-way delays between the ground and the last satellite, and what packets meet on the way.
pub(super) struct LongPath {
    trace: DelayTrace,
    /// The trace reaches to the user: the last link is then the last hop's to delay.
    includes_last_link: bool,
    jitter: Option<(Jitter, Generator)>,
    /// One value for ever, for the common case.
    constant: Option<Duration>,
    /// Down, up.
    lanes: [Lane; 2],
    /// Who serves the users.
    pub(super) service: Service,
    /// When there is no route: from, until.
    outages: Vec<(Time, Time)>,
    /// What to know before trusting the delays.
    pub(super) warning: Option<String>,
}

impl LongPath {
    /// `config` is where `trace` comes from.
    pub(super) fn new(config: &PathConfig, trace: DelayTrace, jitter: Option<(Jitter, Generator)>) -> LongPath {
        let includes_last_link = !trace.legs().is_empty();
        let first = trace.points().next().and_then(|(_, delay)| delay);
        LongPath {
            includes_last_link,
            jitter,
            constant: first.filter(|_| !includes_last_link && trace.points().count() == 1),
            lanes: [Lane::new(config), Lane::new(config)],
            service: Service::new(trace.legs(), config.at_handover()),
            outages: outages(&trace),
            warning: None,
            trace,
        }
    }

    /// When a packet of `bytes` arrives that enters at `now` towards the users, at their satellite; instants never go back.
    ///
    /// # Errors
    /// It does not, and why.
    #[inline]
    pub(super) fn descend(&mut self, now: Time, bytes: impl FnOnce() -> u32) -> Result<Time, PathLoss> {
        match (self.constant, &self.jitter) {
            (Some(delay), None) => Ok(now + delay),
            _ => self.descend_over_satellites(now, bytes()),
        }
    }

    #[inline(never)]
    fn descend_over_satellites(&mut self, now: Time, bytes: u32) -> Result<Time, PathLoss> {
        let (sent, arrival) = match self.constant {
            Some(delay) => (now, now + delay),
            None => match self.enter(Direction::Down, now, bytes)? {
                Some(way) => way,
                None => return Ok(Time::MAX),
            },
        };
        let late =
            |(jitter, rng): &mut (Jitter, Generator)| rng.random_bool(jitter.probability.get()).then_some(jitter.extra);
        let arrival = arrival + self.jitter.as_mut().and_then(late).unwrap_or(Duration::ZERO);
        match self.service.crossing(sent, arrival) {
            Crossing::Served => Ok(arrival),
            Crossing::Forwarded(delay) => Ok(arrival + delay),
            Crossing::Lost => Err(PathLoss::Handover),
        }
    }

    /// When a packet of `bytes` that its user wants to send at `at` reaches the ground; `hop` is the delay between users and
    /// their satellite.
    ///
    /// # Errors
    /// It does not, and why.
    #[inline]
    pub(super) fn climb(
        &mut self,
        at: Time,
        bytes: impl FnOnce() -> u32,
        hop: &mut Propagation,
    ) -> Result<Time, PathLoss> {
        match self.constant {
            Some(delay) => Ok(at + delay + hop.delay(at)),
            None => self.climb_to_satellites(at, bytes(), hop),
        }
    }

    #[inline(never)]
    fn climb_to_satellites(&mut self, at: Time, bytes: u32, hop: &mut Propagation) -> Result<Time, PathLoss> {
        let at = self.service.served_from(at);
        let Some((sent, arrival)) = self.enter(Direction::Up, at, bytes)? else { return Ok(Time::MAX) };
        Ok(arrival + hop.delay(sent))
    }

    /// When a packet leaves the place where it waits for a route, and when it has passed the path; nothing if it waits to the end.
    fn enter(&mut self, direction: Direction, at: Time, bytes: u32) -> Result<Option<(Time, Time)>, PathLoss> {
        let lane = &mut self.lanes[direction as usize];
        let mut sent = at;
        let mut delay = self.trace.delay(at);
        if delay.is_none() {
            sent = resumes(&self.outages, at);
            lane.wait(sent, bytes)?;
            if sent == Time::MAX {
                return Ok(None);
            }
            delay = self.trace.delay(sent);
        }
        let delay = delay.expect("the outage is over");
        let last_link = if self.includes_last_link { self.trace.last_link_delay(sent) } else { None };
        let propagation = delay.saturating_sub(last_link.unwrap_or(Duration::ZERO));
        if !lane.has_queues() {
            return Ok(Some((sent, sent + propagation)));
        }
        let links = self.trace.leg(sent).and_then(|leg| leg.hops).unwrap_or(0) as usize + 1;
        Ok(Some((sent, lane.cross(sent, bytes, links)? + propagation)))
    }

    /// The propagation delay of what enters at `now`; `None` without a route.
    #[inline]
    pub(super) fn delay(&self, now: Time) -> Option<Duration> {
        if self.constant.is_some() {
            return self.constant;
        }
        let total = self.trace.delay(now)?;
        let last_link = if self.includes_last_link { self.trace.last_link_delay(now)? } else { Duration::ZERO };
        Some(total.saturating_sub(last_link))
    }

    /// The mean delay while there is a route; zero if there never is one.
    pub(super) fn mean(&self, duration: Duration) -> Duration {
        const SAMPLES: u64 = 1000;
        let instants = (0..SAMPLES).map(|i| Time::ZERO + Duration::from_nanos(duration.as_nanos() / SAMPLES * i));
        let delays: Vec<Duration> = instants.filter_map(|now| self.delay(now)).collect();
        delays.iter().copied().sum::<Duration>() / (delays.len() as u64).max(1)
    }

    /// The delays over time, the last link included where the path knows one.
    pub(super) fn trace(&self) -> &DelayTrace {
        &self.trace
    }

    /// How the satellite that serves the users is seen by them; nothing if the path knows none.
    pub(super) fn geometry(&self) -> Option<Arc<Geometry>> {
        let seen = |(at, look): (Time, Option<orbit::Look>)| (at, look.map(|look| (look.elevation_deg, look.range_m)));
        let points: Vec<_> = self.trace.looks().map(seen).collect();
        (!points.is_empty()).then(|| Arc::new(Geometry::new(points)))
    }

    /// The delay between that satellite and the users; nothing if none ever serves them. While none does it stays as it was.
    pub(super) fn propagation(&self) -> Option<Propagation> {
        let delay = |look: orbit::Look| Duration::from_secs_f64(look.range_m / orbit::SPEED_OF_LIGHT);
        let points: Vec<_> = self.trace.looks().filter_map(|(at, look)| Some((at, delay(look?)))).collect();
        (!points.is_empty()).then(|| Propagation::over(points))
    }
}

/// The times without a route; the last one lasts for ever if there is none at the trace's end.
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

/// When the outage at `now` ends. Before the first point of a trace its value holds.
fn resumes(outages: &[(Time, Time)], now: Time) -> Time {
    let after = outages.partition_point(|&(_, until)| until <= now);
    outages.get(after).map_or(Time::MAX, |outage| outage.1)
}
