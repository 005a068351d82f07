//! Satellites, links, gateways and the user at an instant of the run, and which of them see each other.

use units::{Angle, Duration, FieldError, Time};

use crate::ground::course::{Course, Side};
use crate::ground::place::{Horizon, Place, Station};
use crate::path::look::Look;
use crate::satellites::frame::{EARTH_ROTATION, Vector, distance, dot, earth_turn, turned};
use crate::satellites::handover::{HandoverPolicy, InView, highest};
use crate::satellites::links::Links;
use crate::satellites::propagation::Orbits;
use crate::satellites::sky::Sky;

/// The precision of the instants of changes.
pub(crate) const PRECISION: Duration = Duration::from_millis(1);

/// An end of a route on the ground that a satellite serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroundEnd {
    /// A gateway, by its number.
    Gateway(usize),
    /// The user.
    User,
    /// The user, served by a satellite that a gateway sees too.
    Common,
}

/// The positions of all satellites and stations at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    orbits: Orbits,
    /// The links at the last call of [`Scene::update_links`].
    pub links: Links,
    stations: Vec<Station>,
    course: Course,
    sin_mask: f64,
    mask: Angle,
    /// The start of the run after the reference instant, seconds.
    start: f64,
    now: Option<Time>,
    linked_at: Option<Time>,
    positions: Vec<Vector>,
    gateways: Vec<Horizon>,
    user: Horizon,
}

/// The interval at which passes are looked at, to find the one that ends last.
const LOOK_AHEAD: Duration = Duration::from_secs(10);
/// A satellite in view for longer than this counts as always in view.
const FARTHEST_LOOK: Duration = Duration::from_secs(86_400);

impl Scene {
    pub fn new(sky: Sky, gateways: &[Place], course: Course, mask: Angle, start: Duration) -> Scene {
        let Sky { orbits, links, .. } = sky;
        Scene {
            links,
            stations: gateways.iter().map(Station::new).collect(),
            user: course.horizon(Time::ZERO, 0.0),
            course,
            sin_mask: libm::sin(mask.as_radians()),
            mask,
            start: start.as_secs_f64(),
            now: None,
            linked_at: None,
            positions: Vec::with_capacity(orbits.len()),
            orbits,
            gateways: Vec::new(),
        }
    }

    /// Moves satellites and stations to `now`.
    pub fn go(&mut self, now: Time) {
        if self.now == Some(now) {
            return;
        }
        self.now = Some(now);
        let seconds = self.start + now.as_secs_f64();
        self.orbits.positions_at(seconds, &mut self.positions);
        let turn = earth_turn(seconds);
        self.gateways.clear();
        self.gateways.extend(self.stations.iter().map(|station| station.turned(turn)));
        self.user = self.course.horizon(now, seconds);
    }

    /// Computes the links at the instant of the scene.
    pub fn update_links(&mut self) {
        if self.linked_at != self.now {
            self.linked_at = self.now;
            let now = self.now.expect("the scene is somewhere");
            self.links.update(self.start + now.as_secs_f64(), &self.positions);
        }
    }

    pub fn position(&self, satellite: u32) -> Vector {
        self.positions[satellite as usize]
    }

    pub fn user_position(&self) -> Vector {
        self.user.position
    }

    /// The length of a route's inter-satellite links, metres.
    pub fn length(&self, route: &[u32]) -> f64 {
        route.windows(2).map(|pair| distance(self.position(pair[0]), self.position(pair[1]))).sum()
    }

    /// The distance to a satellite in metres and the sine of its elevation.
    pub fn look(&self, end: GroundEnd, satellite: u32) -> (f64, f64) {
        self.horizon(end).look(self.position(satellite))
    }

    fn horizon(&self, end: GroundEnd) -> &Horizon {
        match end {
            GroundEnd::Gateway(number) => &self.gateways[number],
            GroundEnd::User | GroundEnd::Common => &self.user,
        }
    }

    /// The satellites in view that may serve an end.
    pub fn in_view(&self, end: GroundEnd) -> impl Iterator<Item = InView> {
        let visible = self.horizon(end).visible(&self.positions, self.sin_mask);
        let usable = visible.filter(move |&(satellite, ..)| self.is_usable(end, satellite));
        usable.map(|(satellite, _, sin_elevation)| InView { satellite, sin_elevation })
    }

    fn is_usable(&self, end: GroundEnd, satellite: u32) -> bool {
        end != GroundEnd::Common || self.gateways_under(satellite).next().is_some()
    }

    /// Whether the satellite that serves an end goes on serving it; without a serving satellite, whether there is still
    /// none in view.
    pub fn keeps(&self, policy: &HandoverPolicy, end: GroundEnd, serving: Option<u32>) -> bool {
        let Some(satellite) = serving else { return self.in_view(end).next().is_none() };
        let sin_elevation = self.look(end, satellite).1;
        sin_elevation >= self.sin_mask
            && self.is_usable(end, satellite)
            && policy.entry().keeps(InView { satellite, sin_elevation }, &mut self.in_view(end))
    }

    /// The gateways that see a satellite, as (satellite, distance in metres, gateway).
    pub fn gateways_under(&self, satellite: u32) -> impl Iterator<Item = (u32, f64, u32)> {
        let position = self.position(satellite);
        let looks = self.gateways.iter().zip(0..).map(move |(gateway, number)| (gateway.look(position), number));
        let in_view = looks.filter(|((_, sin_elevation), _)| *sin_elevation >= self.sin_mask);
        in_view.map(move |((metres, _), number)| (satellite, metres, number))
    }

    /// The satellites that each gateway sees, as (satellite, distance in metres, gateway).
    pub fn seen_by_gateways(&self) -> impl Iterator<Item = (u32, f64, u32)> {
        self.gateways.iter().zip(0..).flat_map(|(gateway, number)| {
            let visible = gateway.visible(&self.positions, self.sin_mask);
            visible.map(move |(satellite, metres, _)| (satellite, metres, number))
        })
    }

    /// The satellites that the user sees, as (satellite, distance in metres).
    pub fn seen_by_user(&self) -> impl Iterator<Item = (u32, f64)> {
        self.user.visible(&self.positions, self.sin_mask).map(|(satellite, metres, _)| (satellite, metres))
    }

    /// The look of the user at a satellite, with the range rate on that side of the instant.
    pub fn user_look(&self, satellite: u32, side: Side) -> Look {
        let (range_m, sin_elevation) = self.look(GroundEnd::User, satellite);
        let now = self.now.expect("the scene is somewhere");
        let seconds = self.start + now.as_secs_f64();
        let own = turned(self.course.velocity(now, side), earth_turn(seconds));
        let [x, y, _] = self.user.position;
        let carried = [-EARTH_ROTATION * y, EARTH_ROTATION * x, 0.0];
        let (position, velocity) = (self.position(satellite), self.orbits.velocity_of(satellite, seconds));
        let away = std::array::from_fn(|axis| position[axis] - self.user.position[axis]);
        let relative = std::array::from_fn(|axis| velocity[axis] - carried[axis] - own[axis]);
        Look {
            elevation_deg: libm::asin(sin_elevation.clamp(-1.0, 1.0)).to_degrees(),
            range_m,
            range_rate_mps: dot(away, relative) / range_m,
        }
    }

    /// The next instant after `now` at which the user's velocity jumps.
    pub fn next_turn(&self, now: Time) -> Option<Time> {
        self.course.next_turn(now)
    }

    /// Returns the satellite that may serve an end for longest, of those that may at `now`; of those that may for more
    /// than a day, the highest.
    pub fn longest(&self, end: GroundEnd, now: Time, mut candidates: Vec<InView>) -> Option<u32> {
        let sees = |satellite: u32, at: Time| self.may_serve(end, satellite, at);
        let (mut before, farthest) = (now, now + FARTHEST_LOOK);
        while candidates.len() > 1 && before < farthest {
            let after = before + LOOK_AHEAD;
            let (stay, leave): (Vec<_>, Vec<_>) = candidates.iter().partition(|c| sees(c.satellite, after));
            if stay.is_empty() {
                let until = |candidate: &InView| last_instant(before, after, |at| sees(candidate.satellite, at));
                let latest = leave.iter().map(|candidate| (until(candidate), candidate.satellite));
                return latest.reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|latest| latest.1);
            }
            (candidates, before) = (stay, after);
        }
        highest(candidates.into_iter()).map(|candidate| candidate.satellite)
    }

    /// Whether a satellite may serve an end at another instant than the scene's.
    fn may_serve(&self, end: GroundEnd, satellite: u32, at: Time) -> bool {
        let seconds = self.start + at.as_secs_f64();
        let position = self.orbits.position_of(satellite, seconds);
        let turn = earth_turn(seconds);
        let sees = |horizon: Horizon| horizon.look(position).1 >= self.sin_mask;
        match end {
            GroundEnd::Gateway(number) => sees(self.stations[number].turned(turn)),
            GroundEnd::User => sees(self.course.horizon(at, seconds)),
            GroundEnd::Common => {
                let mut gateways = self.stations.iter();
                sees(self.course.horizon(at, seconds)) && gateways.any(|station| sees(station.turned(turn)))
            }
        }
    }

    /// The error if there is never a route for lack of satellites: an end sees none at any step of the run, or, without
    /// inter-satellite links, the ends never see the same one.
    pub fn unseen(&mut self, duration: Duration, step: Duration, is_linked: bool) -> Option<FieldError> {
        let mut best = [-1.0f64; 2];
        for now in steps(duration, step) {
            self.go(now);
            for position in &self.positions {
                let from_gateways = self.gateways.iter().map(|gateway| gateway.look(*position).1);
                best[0] = from_gateways.fold(best[0], f64::max);
                best[1] = f64::max(best[1], self.user.look(*position).1);
            }
            if best.iter().all(|&best| best >= self.sin_mask) {
                let message = format!(
                    "no satellite is seen by user and gateway at once within {duration}, and there are no links \
                     between satellites"
                );
                return (!is_linked).then(|| FieldError::new("user", message));
            }
        }
        let (field, sine) = match best[0] < self.sin_mask {
            true => ("source", best[0]),
            false => ("user", best[1]),
        };
        Some(FieldError::new(field, never_in_view(self.mask, (duration, step), degrees(sine))))
    }

    /// The gateways that see no satellite at any step of the run, each with the best elevation.
    pub fn blind_gateways(&mut self, duration: Duration, step: Duration) -> Vec<(usize, Angle)> {
        let mut gateways: Vec<(usize, f64)> = (0..self.stations.len()).map(|number| (number, -1.0)).collect();
        for now in steps(duration, step) {
            self.go(now);
            for (number, best_sine) in &mut gateways {
                let gateway = &self.gateways[*number];
                *best_sine = self.positions.iter().map(|&position| gateway.look(position).1).fold(*best_sine, f64::max);
            }
            gateways.retain(|gateway| gateway.1 < self.sin_mask);
            if gateways.is_empty() {
                break;
            }
        }
        gateways.into_iter().map(|(number, sine)| (number, degrees(sine))).collect()
    }
}

/// The instants of the steps of a run, and its end.
fn steps(duration: Duration, step: Duration) -> impl Iterator<Item = Time> {
    let end = Time::ZERO + duration;
    std::iter::successors(Some(Time::ZERO), move |&now| (now < end).then(|| (now + step).min(end)))
}

fn degrees(sine: f64) -> Angle {
    Angle::from_degrees(libm::asin(sine.clamp(-1.0, 1.0)).to_degrees())
}

/// The message about a station that sees a satellite above the minimum elevation at no step of a run.
pub fn never_in_view(minimum_elevation: Angle, (duration, step): (Duration, Duration), best: Angle) -> String {
    let mask = minimum_elevation.as_degrees();
    format!(
        "no satellite comes above {mask} deg within {duration}: the best is {:.1} deg, looked for every {step}",
        best.as_degrees()
    )
}

/// The last instant, to a millisecond, at which `holds` is true; it is true at `before` and false at `after`.
fn last_instant(mut before: Time, mut after: Time, holds: impl Fn(Time) -> bool) -> Time {
    while after.since(before) > PRECISION {
        let middle = before + after.since(before) / 2;
        match holds(middle) {
            true => before = middle,
            false => after = middle,
        }
    }
    before
}
