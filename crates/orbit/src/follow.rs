//! Following a route through time.
//!
//! Two things change it, and each is found in its own way. A handover is a matter of one station and its satellites: whether its
//! satellite still serves is looked at every step, and the instant from which it does not is found by bisection (or is a fixed
//! epoch). Between two handovers the way between the same ends changes with the links: the route is searched at every step, and
//! the instant from which it is another is found by bisection. What changes and changes back within a step is not noticed.

use units::{Angle, Duration, FieldError, Time};

use crate::all_pairs::Metric;
use crate::course::Course;
use crate::ground::Place;
use crate::handover::HandoverPolicy;
use crate::propagation::{SPEED_OF_LIGHT, distance};
use crate::routing::Router;
use crate::scene::{End, Scene};
use crate::sky::Sky;
use crate::trace::{Change, DelayTrace, Leg, Point, StoredLook};

/// What is to be followed. All values must have passed their checks.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// Where it may begin; at least one.
    pub gateways: Vec<Place>,
    /// Where the user is over time.
    pub course: Course,
    pub handover: HandoverPolicy,
    /// Whether there are links between satellites at all. Without them the policy chooses the one satellite for the user.
    pub is_linked: bool,
    pub metric: Metric,
    /// What each satellite takes to send a packet on.
    pub processing: Duration,
    pub mask: Angle,
    /// The begin of the run after the reference instant.
    pub start: Duration,
}

/// Changes are located to this precision.
pub(crate) const PRECISION: Duration = Duration::from_millis(1);

/// Follows the route from the gateways to the user.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    scene: Scene,
    router: Router,
    policy: HandoverPolicy,
    processing: Duration,
    /// The ends that keep a satellite; none if the route takes whichever is best for it.
    watches: Vec<Watch>,
    /// The satellites by which the route may begin: with the distance from the ground in metres, and the gateway.
    entries: Vec<(u32, f64, u32)>,
    current: Path,
    found: Path,
    /// The satellite that served the user last.
    last_served: Option<u32>,
    points: Vec<Point>,
    looks: Vec<StoredLook>,
    legs: Vec<Leg>,
}

/// An end and the satellite that serves it.
#[derive(Clone, Copy, Debug)]
struct Watch {
    end: End,
    serving: Option<u32>,
    /// When that changes, if it does before the step under way ends.
    until: Option<Time>,
}

/// A way from the source over satellites to the user.
#[derive(Clone, Debug, Default, PartialEq)]
struct Path {
    gateway: Option<u32>,
    serving: [Option<u32>; 2],
    /// Empty if there is none.
    route: Vec<u32>,
}

impl Follower {
    pub fn new(sky: Sky, way: Way) -> Follower {
        let ends = match (&way.handover, way.is_linked) {
            (HandoverPolicy::ShortestPath(_), _) => Vec::new(),
            (_, false) => vec![End::Common],
            (_, true) => (0..way.gateways.len()).map(End::Gateway).chain([End::User]).collect(),
        };
        let per_link = way.processing.as_secs_f64() * SPEED_OF_LIGHT;
        Follower {
            router: Router::new(way.metric, per_link),
            processing: way.processing,
            watches: ends.into_iter().map(|end| Watch { end, serving: None, until: None }).collect(),
            entries: Vec::new(),
            current: Path::default(),
            found: Path::default(),
            last_served: None,
            points: Vec::new(),
            looks: Vec::new(),
            legs: Vec::new(),
            scene: Scene::new(sky, &way.gateways, way.course, way.mask, way.start),
            policy: way.handover,
        }
    }

    /// The delay from the start of the run for `duration`, with the route searched anew every `step` (more than zero).
    ///
    /// # Errors
    /// An end never sees a satellite: names it, with the best elevation.
    pub fn trace(mut self, duration: Duration, step: Duration) -> Result<DelayTrace, FieldError> {
        let end = Time::ZERO + duration;
        self.points.reserve((duration.as_nanos() / step.as_nanos()) as usize + 2);
        self.looks.reserve(self.points.capacity());
        let mut now = Time::ZERO;
        self.choose(now, |_| true);
        self.search(now);
        self.begin_leg(now);
        while now < end {
            let grid = Time::from_nanos((now.as_nanos() / step.as_nanos() + 1) * step.as_nanos());
            let next = self.epoch_after(now).map_or(grid, |epoch| epoch.min(grid)).min(end);
            self.cross(now, next);
            now = next;
        }
        if self.points.iter().all(|point| point.delay.is_none())
            && let Some(unseen) = self.scene.unseen(duration, step)
        {
            return Err(unseen);
        }
        Ok(DelayTrace::build(self.points, self.looks, self.legs))
    }

    /// The first instant after `now` at which the policy chooses anew by the clock.
    fn epoch_after(&self, now: Time) -> Option<Time> {
        let every = self.policy.epoch()?.as_nanos();
        Some(Time::from_nanos((now.as_nanos() / every + 1) * every))
    }

    /// Goes from `now` to `next`, through all changes on the way.
    fn cross(&mut self, mut now: Time, next: Time) {
        let is_epoch = self.policy.epoch().is_some_and(|every| next.as_nanos().is_multiple_of(every.as_nanos()));
        self.foresee(now, next, is_epoch, |_| true);
        while let Some(until) = self.watches.iter().filter_map(|watch| watch.until).min() {
            self.follow_between(now, until, true);
            self.hand_over(until, until == next);
            self.foresee(until, next, is_epoch && until < next, |watch| watch.until == Some(until));
            now = until;
        }
        self.follow_between(now, next, false);
    }

    /// Finds out when the satellites that serve the chosen ends at `now` are replaced, up to `next`.
    fn foresee(&mut self, now: Time, next: Time, is_epoch: bool, chosen: impl Fn(&Watch) -> bool) {
        let Follower { watches, scene, policy, .. } = self;
        let mut any = false;
        for watch in watches.iter_mut().filter(|watch| chosen(watch)) {
            watch.until = None;
            if now < next {
                scene.go(next);
                let lasts = scene.keeps(policy, watch.end, watch.serving);
                watch.until = (is_epoch || !lasts).then_some(next);
                any |= !lasts;
            }
        }
        if !any {
            return;
        }
        for watch in watches.iter_mut().filter(|watch| watch.until == Some(next)) {
            let serving = watch.serving;
            watch.until = first_change(now, next, |at| {
                scene.go(at);
                scene.keeps(policy, watch.end, serving)
            })
            .or(is_epoch.then_some(next));
        }
    }

    /// Goes on to `until` with the same satellites serving the ends; at `until` there may be a `handover`, which is then the next
    /// to happen.
    fn follow_between(&mut self, mut now: Time, until: Time, handover: bool) {
        while now < until {
            self.search(until);
            if self.found == self.current {
                if !handover {
                    self.push_point(until);
                }
                return;
            }
            let other = first_change(now, until, |at| {
                self.search(at);
                self.found == self.current
            });
            let other = other.unwrap_or(until);
            // The satellite may be out of sight already when it is found to be.
            if handover && until.since(other) <= PRECISION {
                return;
            }
            self.replace(other);
            now = other;
        }
    }

    /// Replaces the satellites whose service ends at `now`.
    fn hand_over(&mut self, now: Time, is_on_grid: bool) {
        self.choose(now, |watch| watch.until == Some(now));
        self.search(now);
        if self.found != self.current {
            self.replace(now);
        } else if is_on_grid {
            self.push_point(now);
        }
    }

    /// Chooses a satellite for each of the chosen ends.
    fn choose(&mut self, now: Time, chosen: impl Fn(&Watch) -> bool) {
        let Follower { watches, scene, policy, .. } = self;
        for watch in watches.iter_mut().filter(|watch| chosen(watch)) {
            scene.go(now);
            watch.serving = policy.choose(scene.in_view(watch.end), |in_view| scene.longest(watch.end, now, in_view));
        }
    }

    /// Ends the current route at `now` and begins the one that is best from then on.
    fn replace(&mut self, now: Time) {
        self.search(now);
        if !self.current.route.is_empty() || self.current.serving[1].is_some() {
            self.push_point(now);
        }
        self.begin_leg(now);
    }

    /// Makes the route just found the current one.
    fn begin_leg(&mut self, now: Time) {
        let (before, after) = (&self.current, &self.found);
        // That the route begins elsewhere is no handover.
        let moved = before.gateway.is_some() && after.gateway.is_some() && before.gateway != after.gateway;
        let same = before.serving[1] == after.serving[1] && (moved || before.serving[0] == after.serving[0]);
        let change = match (self.legs.is_empty(), same) {
            (true, _) => Change::None,
            (false, true) => Change::Route,
            (false, false) => Change::Handover,
        };
        std::mem::swap(&mut self.current, &mut self.found);
        let [source_satellite, user_satellite] = self.current.serving;
        let hops = self.current.route.len().checked_sub(1).map(|hops| hops as u32);
        let forwarding = match (self.last_served, user_satellite) {
            (Some(old), Some(new)) if old != new => self.forwarding(old, new),
            _ => None,
        };
        self.last_served = user_satellite.or(self.last_served);
        let gateway = self.current.gateway;
        self.legs.push(Leg { from: now, hops, source_satellite, user_satellite, gateway, forwarding, change });
        self.push_point(now);
    }

    /// The delay from one satellite to another over the best way, with the satellites where they are now.
    fn forwarding(&mut self, from: u32, to: u32) -> Option<Duration> {
        let Follower { scene, router, processing, .. } = self;
        let goal = scene.position(to);
        router.shortest(&scene.links, [(from, 0.0)], [(to, 0.0)], |s| distance(scene.position(s), goal))?;
        let links = router.route().len() as u64 - 1;
        Some(light_time(scene.length(router.route())) + Duration::from_nanos(processing.as_nanos() * links))
    }

    /// Finds the best route at `now` between the ends as they are served.
    fn search(&mut self, now: Time) {
        self.scene.go(now);
        self.scene.update_links();
        let Follower { scene, router, watches, entries, found, .. } = self;
        entries.clear();
        found.route.clear();
        let mut exit = None;
        match watches.as_slice() {
            [] => entries.extend(scene.seen_by_gateways()),
            [Watch { end: End::Common, serving, .. }] => {
                exit = *serving;
                entries.extend(serving.iter().flat_map(|&satellite| scene.gateways_under(satellite)));
            }
            [gateways @ .., user] => {
                exit = user.serving;
                let served = gateways.iter().zip(0..).filter_map(|(watch, number)| Some((watch.serving?, number)));
                entries.extend(served.map(|(satellite, number)| {
                    (satellite, scene.look(End::Gateway(number as usize), satellite).0, number)
                }));
            }
        }
        let ways_in = entries.iter().map(|&(satellite, metres, _)| (satellite, metres));
        let user = scene.user_position();
        let straight = |satellite: u32| distance(scene.position(satellite), user);
        match (watches.is_empty(), exit) {
            (true, _) => drop(router.shortest(&scene.links, ways_in, scene.seen_by_user(), straight)),
            (false, Some(last)) => {
                let down = scene.look(End::User, last).0;
                router.shortest(&scene.links, ways_in, [(last, down)], straight);
            }
            (false, None) => router.forget(),
        }
        found.route.extend_from_slice(router.route());
        let first = found.route.first().copied();
        found.gateway = first.and_then(|first| nearest_gateway(entries, first));
        // A single gateway has its satellite also where no route leads on from it.
        let alone = match watches.as_slice() {
            [gateway, _] => gateway.serving,
            _ => None,
        };
        found.serving = [first.or(alone), if watches.is_empty() { found.route.last().copied() } else { exit }];
    }

    /// Notes the current route's delay with the satellites where they are at `now` (also when the route just ended).
    fn push_point(&mut self, now: Time) {
        self.scene.go(now);
        let Follower { scene, current, processing, .. } = self;
        let look = current.serving[1].map(|satellite| scene.user_look(satellite));
        let (delay, last_link) = match (current.gateway, current.route.as_slice()) {
            (Some(gateway), &[first, ref rest @ ..]) => {
                let up = scene.look(End::Gateway(gateway as usize), first).0;
                let down = scene.look(End::User, rest.last().copied().unwrap_or(first)).0;
                let processing = Duration::from_nanos(processing.as_nanos() * current.route.len() as u64);
                let metres = up + scene.length(&current.route) + down;
                (Some(light_time(metres) + processing), Some(light_time(down)))
            }
            _ => (None, None),
        };
        self.points.push(Point { at: now, delay, last_link });
        self.looks.push(StoredLook::of(look));
    }
}

/// The gateway with the shortest way to `satellite`.
fn nearest_gateway(entries: &[(u32, f64, u32)], satellite: u32) -> Option<u32> {
    let own = entries.iter().filter(|entry| entry.0 == satellite);
    own.reduce(|best, other| if other.1 < best.1 { other } else { best }).map(|entry| entry.2)
}

/// The instant in (`now`, `next`], to [`PRECISION`], from which something does not last that lasts at `now`; nothing if it lasts at
/// `next`.
fn first_change(now: Time, next: Time, mut lasts: impl FnMut(Time) -> bool) -> Option<Time> {
    if lasts(next) {
        return None;
    }
    let (mut same, mut other) = (now, next);
    while other.since(same) > PRECISION {
        let middle = same + other.since(same) / 2;
        if lasts(middle) {
            same = middle;
        } else {
            other = middle;
        }
    }
    Some(other)
}

fn light_time(metres: f64) -> Duration {
    Duration::from_secs_f64(metres / SPEED_OF_LIGHT)
}
