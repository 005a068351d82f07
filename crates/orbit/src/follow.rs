//! Following the route between two stations through time.
//!
//! The route is searched at every step; where it differs from the one before, the instant of the change is found by
//! bisection. A route that changes and changes back within a step is not noticed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Angle, Duration, Time};

use crate::ground::{Horizon, Place, Station};
use crate::links::Links;
use crate::propagation::{Orbits, SPEED_OF_LIGHT, Vector, distance};
use crate::routing::Router;
use crate::sky::Sky;
use crate::trace::{Change, DelayTrace, Leg, Point};

/// How the satellite that serves an end is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Handover {
    /// Each end keeps its satellite until that drops below the minimum elevation, then takes the highest one (as ns-2's
    /// terminals do).
    #[default]
    KeepUntilMask,
    /// Each end is served by the highest satellite at every instant.
    Highest,
    /// The route takes whichever visible satellites make it shortest, at every instant.
    ShortestPath,
}

/// Changes are located to this precision.
const PRECISION: Duration = Duration::from_millis(1);

/// Follows the route from one station to another.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    orbits: Orbits,
    links: Links,
    router: Router,
    stations: [Station; 2],
    horizons: [Horizon; 2],
    sin_mask: f64,
    handover: Handover,
    /// The scenario's start after the reference instant, seconds.
    start: f64,
    positions: Vec<Vector>,
    current: Path,
    found: Path,
}

/// A way from the source over satellites to the user.
#[derive(Clone, Debug, Default)]
struct Path {
    serving: [Option<u32>; 2],
    /// Empty if there is none.
    route: Vec<u32>,
}

impl Follower {
    /// All values must have passed their checks.
    pub fn new(sky: Sky, mask: Angle, ends: [&Place; 2], handover: Handover, start: Duration) -> Follower {
        let Sky { orbits, links, .. } = sky;
        let stations = ends.map(Station::new);
        Follower {
            links,
            router: Router::default(),
            horizons: stations.map(|station| station.at(0.0)),
            stations,
            sin_mask: libm::sin(mask.as_radians()),
            handover,
            start: start.as_secs_f64(),
            positions: Vec::with_capacity(orbits.len()),
            orbits,
            current: Path::default(),
            found: Path::default(),
        }
    }

    /// The delay from the start of the scenario for `duration`, searched anew every `step` (more than zero).
    pub fn trace(mut self, duration: Duration, step: Duration) -> DelayTrace {
        let end = Time::ZERO + duration;
        let mut points = Vec::with_capacity((duration.as_nanos() / step.as_nanos()) as usize + 2);
        let mut legs = Vec::new();
        let mut now = Time::ZERO;
        self.search([None, None], now);
        self.begin_leg(now, &mut points, &mut legs);
        while now < end {
            let next = (now + step).min(end);
            while now < next {
                now = self.advance(now, next, &mut points, &mut legs);
            }
        }
        DelayTrace::build(points, legs)
    }

    /// Goes to `next`, or to the first change of the route before; returns the instant reached.
    fn advance(&mut self, now: Time, next: Time, points: &mut Vec<Point>, legs: &mut Vec<Leg>) -> Time {
        let serving = self.current.serving;
        if self.lasts(serving, next) {
            points.push(self.point(next));
            return next;
        }
        let (mut same, mut other) = (now, next);
        while other.since(same) > PRECISION {
            let middle = same + other.since(same) / 2;
            if self.lasts(serving, middle) {
                same = middle;
            } else {
                other = middle;
            }
        }
        self.search(serving, other);
        if !self.current.route.is_empty() {
            points.push(self.point(other));
        }
        self.begin_leg(other, points, legs);
        other
    }

    /// Whether the route at `now` is still the current one.
    fn lasts(&mut self, serving: [Option<u32>; 2], now: Time) -> bool {
        self.search(serving, now);
        self.found.serving == self.current.serving && self.found.route == self.current.route
    }

    /// Makes the route just found the current one.
    fn begin_leg(&mut self, now: Time, points: &mut Vec<Point>, legs: &mut Vec<Leg>) {
        let change = match (legs.is_empty(), self.found.serving == self.current.serving) {
            (true, _) => Change::None,
            (false, true) => Change::Route,
            (false, false) => Change::Handover,
        };
        std::mem::swap(&mut self.current, &mut self.found);
        let [source_satellite, user_satellite] = self.current.serving;
        let hops = self.current.route.len().checked_sub(1).map(|hops| hops as u32);
        legs.push(Leg { from: now, hops, source_satellite, user_satellite, change });
        points.push(self.point(now));
    }

    /// Brings satellites, links and stations to `now` and searches the route, when the ends were served by `serving`.
    fn search(&mut self, serving: [Option<u32>; 2], now: Time) {
        let seconds = self.start + now.as_secs_f64();
        self.orbits.positions_at(seconds, &mut self.positions);
        self.links.update(seconds, &self.positions);
        self.horizons = self.stations.map(|station| station.at(seconds));
        match self.handover {
            Handover::KeepUntilMask => self.search_between(serving),
            Handover::Highest => self.search_between([None, None]),
            Handover::ShortestPath => self.search_freely(),
        }
    }

    /// Each end is served by its satellite in `kept` while that is in view, else by the highest.
    fn search_between(&mut self, kept: [Option<u32>; 2]) {
        let Follower { positions, links, router, horizons: [source, user], sin_mask, found, .. } = self;
        let serve = |horizon: &Horizon, kept: Option<u32>| {
            let still = kept.filter(|&s| horizon.look(positions[s as usize]).1 >= *sin_mask);
            still.or_else(|| highest(horizon, positions, *sin_mask))
        };
        found.serving = [serve(source, kept[0]), serve(user, kept[1])];
        found.route.clear();
        if let [Some(first), Some(last)] = found.serving {
            let up = source.look(positions[first as usize]).0;
            let down = user.look(positions[last as usize]).0;
            let straight = |s: u32| distance(positions[s as usize], user.position);
            router.shortest(links, [(first, up)], [(last, down)], straight);
            found.route.extend_from_slice(router.route());
        }
    }

    fn search_freely(&mut self) {
        let Follower { positions, links, router, horizons: [source, user], sin_mask, found, .. } = self;
        let entries = source.visible(positions, *sin_mask).map(|(s, metres, _)| (s, metres));
        let exits = user.visible(positions, *sin_mask).map(|(s, metres, _)| (s, metres));
        router.shortest(links, entries, exits, |s| distance(positions[s as usize], user.position));
        found.serving = [router.route().first().copied(), router.route().last().copied()];
        found.route.clear();
        found.route.extend_from_slice(router.route());
    }

    /// The current route's delay with the satellites where they are now (also when the route just ended).
    fn point(&self, at: Time) -> Point {
        let (Some(&first), Some(&last)) = (self.current.route.first(), self.current.route.last()) else {
            return Point { at, delay: None, last_link: None };
        };
        let position = |s: u32| self.positions[s as usize];
        let up = self.horizons[0].look(position(first)).0;
        let down = self.horizons[1].look(position(last)).0;
        let between: f64 =
            self.current.route.windows(2).map(|pair| distance(position(pair[0]), position(pair[1]))).sum();
        let delay = |metres: f64| Some(Duration::from_secs_f64(metres / SPEED_OF_LIGHT));
        Point { at, delay: delay(up + between + down), last_link: delay(down) }
    }
}

fn highest(horizon: &Horizon, positions: &[Vector], sin_mask: f64) -> Option<u32> {
    let higher = |best: (u32, f64, f64), other: (u32, f64, f64)| if other.2 > best.2 { other } else { best };
    horizon.visible(positions, sin_mask).reduce(higher).map(|satellite| satellite.0)
}
