//! A route over time.
//!
//! Handovers and route changes are found separately. A handover concerns one station and its satellites: at every step
//! the policy is asked whether the serving satellite still serves, and the instant from which it does not is found by
//! bisection (or is a fixed epoch). Between two handovers the route between the same ends changes with the links: the
//! route is searched at every step, and the instant from which it is another is found by bisection. A change that is
//! undone within a step is not noticed.

use units::{Angle, Duration, FieldError, SPEED_OF_LIGHT, Time};

use crate::ground::course::{Course, Side};
use crate::ground::place::Place;
use crate::path::change::History;
use crate::path::look::StoredLook;
use crate::path::scene::{GroundEnd, PRECISION, Scene, never_in_view};
use crate::path::stretch::DelayPoint;
use crate::path::trace::{DelayTrace, RouteInterval};
use crate::routes::all_pairs::Metric;
use crate::routes::routing::Router;
use crate::satellites::frame::distance;
use crate::satellites::handover::HandoverPolicy;
use crate::satellites::sky::Sky;

/// The configuration of a route that is followed. All values have passed their checks.
#[derive(Clone, Debug)]
pub(crate) struct RouteSpec {
    /// The gateways where it may begin; at least one.
    pub gateways: Vec<Place>,
    /// The user's position over time.
    pub course: Course,
    /// How the user's serving satellite is chosen.
    pub handover: HandoverPolicy,
    /// How each gateway's serving satellite is chosen.
    pub gateway_handover: HandoverPolicy,
    /// Whether there are inter-satellite links. Without them the user's policy chooses the one satellite of the route.
    pub is_linked: bool,
    pub metric: Metric,
    /// The processing delay of each satellite.
    pub processing: Duration,
    pub mask: Angle,
    /// The start of the run after the reference instant.
    pub start: Duration,
}

/// Follows the route from the gateways to the user.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    scene: Scene,
    router: Router,
    processing: Duration,
    /// The ends whose satellite a policy chooses, the gateways first; at the others the route takes the satellite that
    /// makes it best.
    watches: Vec<Watch>,
    /// The intervals of policies with fixed epochs.
    epochs: Vec<Duration>,
    /// Whether the path has one gateway only.
    is_single: bool,
    is_linked: bool,
    mask: Angle,
    /// The satellites by which the route may begin, as (satellite, distance from its gateway in metres, gateway).
    entries: Vec<(u32, f64, u32)>,
    current: Path,
    found: Path,
    history: History,
    points: Vec<DelayPoint>,
    looks: Vec<StoredLook>,
    intervals: Vec<RouteInterval>,
}

/// An end of the path and its serving satellite.
#[derive(Clone, Debug)]
struct Watch {
    end: GroundEnd,
    policy: HandoverPolicy,
    serving: Option<u32>,
    /// The end's next handover, if it is within the step.
    until: Option<Time>,
}

impl Watch {
    /// Whether `now` is a fixed epoch of the policy.
    fn is_epoch(&self, now: Time) -> bool {
        self.policy.entry().epoch().is_some_and(|every| now.as_nanos().is_multiple_of(every.as_nanos()))
    }
}

/// The gateway, the serving satellites and the route at an instant.
#[derive(Clone, Debug, Default, PartialEq)]
struct Path {
    gateway: Option<u32>,
    serving: [Option<u32>; 2],
    /// The satellites in their order; empty without a route.
    route: Vec<u32>,
}

impl Follower {
    pub fn new(sky: Sky, spec: RouteSpec) -> Follower {
        let of_user = if spec.is_linked { GroundEnd::User } else { GroundEnd::Common };
        let of_gateways = (0..if spec.is_linked { spec.gateways.len() } else { 0 }).map(GroundEnd::Gateway);
        let all = of_gateways.map(|end| (end, &spec.gateway_handover)).chain([(of_user, &spec.handover)]);
        let kept = all.filter(|(_, policy)| !policy.entry().follows_route());
        let watch = |(end, policy): (GroundEnd, &HandoverPolicy)| Watch {
            end,
            policy: policy.clone(),
            serving: None,
            until: None,
        };
        let watches: Vec<Watch> = kept.map(watch).collect();
        let per_link = spec.processing.as_secs_f64() * SPEED_OF_LIGHT;
        Follower {
            router: Router::new(spec.metric, per_link),
            processing: spec.processing,
            epochs: [&spec.gateway_handover, &spec.handover]
                .iter()
                .filter_map(|policy| policy.entry().epoch())
                .collect(),
            watches,
            is_single: spec.gateways.len() == 1,
            is_linked: spec.is_linked,
            mask: spec.mask,
            entries: Vec::new(),
            current: Path::default(),
            found: Path::default(),
            history: History::default(),
            points: Vec::new(),
            looks: Vec::new(),
            intervals: Vec::new(),
            scene: Scene::new(sky, &spec.gateways, spec.course, spec.mask, spec.start),
        }
    }

    /// The delay from the start of the run for `duration`, with the route searched anew every `step` (more than zero).
    ///
    /// # Errors
    /// An end never sees a satellite (the error names it, with the best elevation), or, without inter-satellite links,
    /// the ends never see the same one.
    pub fn trace(mut self, duration: Duration, step: Duration) -> Result<DelayTrace, FieldError> {
        let end = Time::ZERO + duration;
        self.points.reserve((duration.as_nanos() / step.as_nanos()) as usize + 2);
        self.looks.reserve(self.points.capacity());
        let mut followed_to = Time::ZERO;
        self.choose(followed_to, |_| true);
        self.search(followed_to);
        self.begin_interval(followed_to);
        while followed_to < end {
            let grid = Time::from_nanos((followed_to.as_nanos() / step.as_nanos() + 1) * step.as_nanos());
            let turn = self.scene.next_turn(followed_to);
            let next = self.epochs_after(followed_to).chain(turn).fold(grid, Time::min).min(end);
            self.cross(followed_to, next);
            if turn == Some(next) && next < end {
                self.push_point(next, Side::After);
            }
            followed_to = next;
        }
        if self.points.iter().all(|point| point.delay.is_none())
            && let Some(unseen) = self.scene.unseen(duration, step, self.is_linked)
        {
            return Err(unseen);
        }
        let warnings = if self.is_single { Vec::new() } else { self.warnings(duration, step) };
        Ok(DelayTrace::build(self.points, self.looks, self.intervals).warned(warnings))
    }

    /// Warnings about gateways that never see a satellite.
    fn warnings(&mut self, duration: Duration, step: Duration) -> Vec<String> {
        const MOST_TOLD: usize = 10;
        let blind = self.scene.blind_gateways(duration, step);
        let mask = self.mask;
        let tell = |&(number, best): &(usize, Angle)| {
            format!("gateway {number}: {}", never_in_view(mask, (duration, step), best))
        };
        let mut warnings: Vec<String> = blind.iter().take(MOST_TOLD).map(tell).collect();
        if let Some(more) = blind.len().checked_sub(MOST_TOLD).filter(|&more| more > 0) {
            warnings.push(format!("and {more} more gateways that see no satellite"));
        }
        warnings
    }

    /// The first instants after `now` that are fixed epochs.
    fn epochs_after(&self, now: Time) -> impl Iterator<Item = Time> {
        let every = self.epochs.iter().map(|every| every.as_nanos());
        every.map(move |every| Time::from_nanos((now.as_nanos() / every + 1) * every))
    }

    /// Goes from `now` to `next`, through all changes between.
    fn cross(&mut self, mut now: Time, next: Time) {
        self.foresee(now, next, |_| true);
        while let Some(until) = self.watches.iter().filter_map(|watch| watch.until).min() {
            self.keep_serving(now, until, true);
            self.hand_over(until, until == next);
            self.foresee(until, next, |watch| watch.until == Some(until));
            now = until;
        }
        self.keep_serving(now, next, false);
    }

    /// Finds the handovers of the chosen ends between `now` and `next`.
    fn foresee(&mut self, now: Time, next: Time, chosen: impl Fn(&Watch) -> bool) {
        let Follower { watches, scene, .. } = self;
        let mut any = false;
        for watch in watches.iter_mut().filter(|watch| chosen(watch)) {
            watch.until = None;
            if now < next {
                scene.go(next);
                let lasts = scene.keeps(&watch.policy, watch.end, watch.serving);
                watch.until = (watch.is_epoch(next) || !lasts).then_some(next);
                any |= !lasts;
            }
        }
        if !any {
            return;
        }
        for watch in watches.iter_mut().filter(|watch| watch.until == Some(next)) {
            watch.until = first_change(now, next, |at| {
                scene.go(at);
                scene.keeps(&watch.policy, watch.end, watch.serving)
            })
            .or(watch.is_epoch(next).then_some(next));
        }
    }

    /// Goes on to `until` with the same serving satellites. With `handover` there is a handover at `until`.
    fn keep_serving(&mut self, mut now: Time, until: Time, handover: bool) {
        while now < until {
            self.search(until);
            if self.found == self.current {
                if !handover {
                    self.push_point(until, Side::Before);
                }
                return;
            }
            let other = first_change(now, until, |at| {
                self.search(at);
                self.found == self.current
            });
            let other = other.unwrap_or(until);
            // The satellite may be out of sight up to a precision before the handover was found.
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
            self.push_point(now, Side::Before);
        }
    }

    /// Chooses the serving satellite of each chosen end.
    fn choose(&mut self, now: Time, chosen: impl Fn(&Watch) -> bool) {
        let Follower { watches, scene, .. } = self;
        for watch in watches.iter_mut().filter(|watch| chosen(watch)) {
            scene.go(now);
            watch.serving = watch
                .policy
                .entry()
                .choose(&mut scene.in_view(watch.end), &mut |in_view| scene.longest(watch.end, now, in_view));
        }
    }

    /// Ends the current route at `now` and begins the one that is best from then on.
    fn replace(&mut self, now: Time) {
        self.search(now);
        if !self.current.route.is_empty() || self.current.serving[1].is_some() {
            self.push_point(now, Side::Before);
        }
        self.begin_interval(now);
    }

    /// Makes the route just found the current one.
    fn begin_interval(&mut self, now: Time) {
        std::mem::swap(&mut self.current, &mut self.found);
        let [gateway_satellite, user_satellite] = self.current.serving;
        let hops = self.current.route.len().checked_sub(1).map(|hops| hops as u32);
        let forwarding = match (self.history.user, user_satellite) {
            (Some(old), Some(new)) if old != new => self.forwarding(old, new),
            _ => None,
        };
        let gateway = self.current.gateway;
        let change = self.history.next(gateway, self.current.serving);
        self.intervals.push(RouteInterval {
            from: now,
            hops,
            gateway_satellite,
            user_satellite,
            gateway,
            forwarding,
            change,
        });
        self.push_point(now, Side::After);
    }

    /// The delay from one satellite to another over the best route between them, with the positions of the present
    /// instant.
    fn forwarding(&mut self, from: u32, to: u32) -> Option<Duration> {
        let Follower { scene, router, processing, .. } = self;
        let goal = scene.position(to);
        router.shortest(&scene.links, [(from, 0.0)], [(to, 0.0)], |s| distance(scene.position(s), goal))?;
        let links = router.route().len() as u64 - 1;
        Some(light_time(scene.length(router.route())) + Duration::from_nanos(processing.as_nanos() * links))
    }

    /// Finds the best route at `now` between the ends with their serving satellites.
    fn search(&mut self, now: Time) {
        self.scene.go(now);
        self.scene.update_links();
        let Follower { scene, router, watches, entries, found, is_single, .. } = self;
        entries.clear();
        found.route.clear();
        let user_watch = watches.last().filter(|watch| !matches!(watch.end, GroundEnd::Gateway(_)));
        let exit = user_watch.and_then(|watch| watch.serving);
        match (watches.first().map(|watch| watch.end), exit) {
            (Some(GroundEnd::Common), None) => {}
            (Some(GroundEnd::Common), Some(satellite)) => entries.extend(scene.gateways_under(satellite)),
            (Some(GroundEnd::Gateway(_)), _) => entries.extend(watches.iter().filter_map(|watch| match watch.end {
                GroundEnd::Gateway(number) => {
                    let satellite = watch.serving?;
                    Some((satellite, scene.look(watch.end, satellite).0, number as u32))
                }
                GroundEnd::User | GroundEnd::Common => None,
            })),
            (Some(GroundEnd::User) | None, _) => entries.extend(scene.seen_by_gateways()),
        }
        let ways_in = entries.iter().map(|&(satellite, metres, _)| (satellite, metres));
        let user = scene.user_position();
        let straight = |satellite: u32| distance(scene.position(satellite), user);
        match (user_watch, exit) {
            (None, _) => drop(router.shortest(&scene.links, ways_in, scene.seen_by_user(), straight)),
            (Some(_), Some(last)) => {
                let last_link = scene.look(GroundEnd::User, last).0;
                router.shortest(&scene.links, ways_in, [(last, last_link)], straight);
            }
            (Some(_), None) => router.forget(),
        }
        found.route.extend_from_slice(router.route());
        let first = found.route.first().copied();
        found.gateway = first.and_then(|first| nearest_gateway(entries, first));
        // A single gateway has a serving satellite also where no route leads on from it.
        let alone = match watches.first() {
            Some(Watch { end: GroundEnd::Gateway(_), serving, .. }) if *is_single => *serving,
            _ => None,
        };
        let last = if user_watch.is_none() { found.route.last().copied() } else { exit };
        found.serving = [first.or(alone), last];
    }

    /// Adds a point with the current route's delay at the positions of `now` (also when the route just ended), and with
    /// the user's look angles and range rate on that side of `now`.
    fn push_point(&mut self, now: Time, side: Side) {
        self.scene.go(now);
        let Follower { scene, current, processing, .. } = self;
        let look = current.serving[1].map(|satellite| scene.user_look(satellite, side));
        let (delay, last_link) = match (current.gateway, current.route.as_slice()) {
            (Some(gateway), &[first, ref rest @ ..]) => {
                let first_link = scene.look(GroundEnd::Gateway(gateway as usize), first).0;
                let last_link = scene.look(GroundEnd::User, rest.last().copied().unwrap_or(first)).0;
                let processing = Duration::from_nanos(processing.as_nanos() * current.route.len() as u64);
                let metres = first_link + scene.length(&current.route) + last_link;
                (Some(light_time(metres) + processing), Some(light_time(last_link)))
            }
            _ => (None, None),
        };
        self.points.push(DelayPoint { at: now, delay, last_link });
        self.looks.push(StoredLook::of(look));
    }
}

/// The gateway with the shortest link to `satellite`.
fn nearest_gateway(entries: &[(u32, f64, u32)], satellite: u32) -> Option<u32> {
    let own = entries.iter().filter(|entry| entry.0 == satellite);
    own.reduce(|best, other| if other.1 < best.1 { other } else { best }).map(|entry| entry.2)
}

/// The instant in (`now`, `next`], to [`PRECISION`], from which `lasts` is false; it is true at `now`. `None` if it is
/// true at `next`.
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
