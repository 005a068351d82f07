//! Routes between all pairs of many stations, on a grid of time.
//!
//! For each station a [`Tree`] holds the routes of all satellites to it; the route of a pair begins at the satellite
//! with the least sum of tree cost and first link. Steps are computed in batches: first the links between satellites
//! and the satellites in view of each station, with a thread for some of the steps; then the trees, with a thread for
//! some of the stations, in the order of the steps. No result depends on the number of threads.

use std::num::NonZero;
use std::thread;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Angle, Duration, FieldError, SPEED_OF_LIGHT, Time};

use crate::ground::place::Station;
use crate::ground::stations::NamedPlace;
use crate::routes::tree::{Cost, Graph, HopsThenMetres, NOWHERE, STATION, SweepOrder, Tree};
use crate::satellites::frame::Vector;
use crate::satellites::links::Links;
use crate::satellites::propagation::Orbits;

/// The quantity that a route minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The delay.
    #[default]
    Delay,
    /// The number of inter-satellite links; among equal numbers, the delay.
    Hops,
}

/// The satellites by which a station may be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Any satellite in view: the route takes the one that makes it best.
    #[default]
    All,
    /// Only the nearest satellite.
    Nearest,
}

/// The options of the routes between all pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct AllPairsOptions {
    /// The quantity that a route minimises.
    pub metric: Metric,
    /// The satellites by which a station may be reached.
    pub access: Access,
    /// Elevation below which a satellite does not serve.
    pub minimum_elevation: Angle,
    /// The length of time, from the constellation's reference instant.
    pub duration: Duration,
    /// Time between two instants; the last instant is the end.
    pub step: Duration,
    /// Whether to return the changes of every node's next hops.
    pub forwarding: bool,
    /// The number of threads; by default the number of processors.
    pub threads: Option<NonZero<usize>>,
}

/// The route of a pair of stations at an instant. The reverse route is the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairRoute {
    /// The instant, seconds after the start.
    pub time_s: f64,
    /// One end of the route: a station's number.
    pub from: u32,
    /// The other end, a larger number.
    pub to: u32,
    /// The route; `None` if there is none.
    pub route: Option<Route>,
}

/// A route between two stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route {
    /// Propagation delay from ground to ground, seconds.
    pub one_way_delay_s: f64,
    /// Number of inter-satellite links.
    pub hops: u32,
    /// The serving satellite of the first end.
    pub first: u32,
    /// The serving satellite of the other end.
    pub last: u32,
    /// A hash of the satellites on the route.
    mark: u64,
}

/// A node's next hop towards a station, from an instant on. Satellites have their own numbers as nodes; stations have
/// the numbers after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The instant: the number of steps since the start.
    pub step: u64,
    /// The node that forwards the packets.
    pub node: u32,
    /// The destination: its number among the stations.
    pub to: u32,
    /// The next hop; `None` without a route.
    pub next: Option<u32>,
}

/// Delay, hops and changes of a pair's route over the whole time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairSummary {
    /// One end of the route: a station's number.
    pub from: u32,
    /// The other end, a larger number.
    pub to: u32,
    /// Minimum, mean and maximum delay in seconds over the instants with a route; NaN if there was none.
    pub delay_s: [f64; 3],
    /// Minimum and maximum number of hops.
    pub hops: Option<[u32; 2]>,
    /// Instants with a route.
    pub reached: u64,
    /// How often the satellites of the route differ from those of the instant before, including the begin and end of a
    /// route.
    pub changes: u64,
}

/// The routes of some consecutive instants.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// All pairs at the first instant, then at the next, and so on.
    pub routes: Vec<PairRoute>,
    /// The next hop of every node towards every station at the first instant, then the changes. Empty without the
    /// option.
    pub next_hops: Vec<NextHop>,
}

/// Finds the routes between all pairs, one batch after the other.
#[derive(Clone, Debug)]
pub struct AllPairs {
    stations: Vec<Station>,
    orbits: Orbits,
    links: Links,
    sin_mask: f64,
    options: AllPairsOptions,
    threads: usize,
    steps: u64,
    done: u64,
    /// The number of steps in a batch.
    batch: u64,
    towards: Vec<Towards>,
    snapshots: Vec<Snapshot>,
    unseen: Unseen,
}

/// The search for stations that never have a satellite in view.
#[derive(Clone, Debug, Default)]
struct Unseen {
    /// The stations that have seen none until now, with the sine of the highest elevation.
    left: Vec<(u32, f64)>,
    done: u64,
    positions: Vec<Vector>,
}

/// The routes to one station at the latest step.
#[derive(Clone, Debug)]
struct Towards {
    number: u32,
    order: SweepOrder,
    /// The next hops at the step before, satellites first; empty without the option.
    next: Vec<u32>,
    /// The routes from the stations before this one, for each step of the batch.
    routes: Vec<Option<Route>>,
    next_hops: Vec<NextHop>,
    /// The statistics of the pairs with the stations before this one.
    met: Vec<Met>,
}

#[derive(Clone, Copy, Debug)]
struct Met {
    sum_s: f64,
    least_s: f64,
    most_s: f64,
    hops: [u32; 2],
    reached: u64,
    changes: u64,
    /// The hash of the route at the instant before.
    mark: Option<u64>,
}

/// The links at an instant, and the satellites in view of the stations.
#[derive(Clone, Debug, Default)]
struct Snapshot {
    graph: Graph,
    /// The index in `in_view` where each station's satellites begin.
    offsets: Vec<u32>,
    in_view: Vec<(u32, f64)>,
}

impl Snapshot {
    fn in_view(&self, station: usize) -> &[(u32, f64)] {
        &self.in_view[self.offsets[station] as usize..self.offsets[station + 1] as usize]
    }

    fn take(&mut self, seconds: f64, moving: &mut Moving, ground: &Ground) {
        moving.orbits.positions_at(seconds, &mut moving.positions);
        moving.links.update(seconds, &moving.positions);
        self.graph.fill(&moving.links);
        self.offsets.clear();
        self.in_view.clear();
        self.offsets.push(0);
        for station in ground.stations {
            let horizon = station.at(seconds);
            let visible = horizon.visible(&moving.positions, ground.sin_mask);
            let visible = visible.map(|(satellite, metres, _)| (satellite, metres));
            match ground.access {
                Access::All => self.in_view.extend(visible),
                Access::Nearest => self.in_view.extend(visible.reduce(|a, b| if b.1 < a.1 { b } else { a })),
            }
            self.offsets.push(self.in_view.len() as u32);
        }
    }
}

/// The state that a thread reuses from instant to instant.
struct Moving {
    orbits: Orbits,
    links: Links,
    positions: Vec<Vector>,
}

#[derive(Clone, Copy)]
struct Ground<'a> {
    stations: &'a [Station],
    sin_mask: f64,
    access: Access,
}

/// About the number of rows in a batch; a row takes some 50 bytes.
const BATCH_ROWS: u64 = 400_000;
/// The limit of the numbers that describe the instants of a batch.
const BATCH_NUMBERS: u64 = 4_000_000;
/// More rows would take days and terabytes.
const MOST_ROWS: u64 = 4_000_000_000;
const MOST_STEPS: u64 = 100_000_000;
const MOST_STATIONS: usize = 5000;
/// The limit of the numbers in all trees.
const MOST_IN_TREES: u64 = 200_000_000;

impl AllPairs {
    /// Routes between all of `stations` over the satellites on `orbits` and their `links`.
    ///
    /// # Errors
    /// Names what is wrong: `stations`, `minimum_elevation`, `step`, `duration`.
    pub fn new(
        orbits: Orbits,
        links: Links,
        stations: &[NamedPlace],
        options: &AllPairsOptions,
    ) -> Result<AllPairs, FieldError> {
        let steps = check(orbits.len(), stations, options)?;
        let pairs = (stations.len() * (stations.len() - 1) / 2) as u64;
        let numbers = (orbits.len() * 12 + stations.len() * 40) as u64;
        let forwarding = options.forwarding;
        let towards = (0..stations.len()).map(|number| Towards {
            number: number as u32,
            order: SweepOrder::new(orbits.len()),
            next: vec![UNKNOWN; if forwarding { orbits.len() + stations.len() } else { 0 }],
            routes: Vec::new(),
            next_hops: Vec::new(),
            met: vec![Met::NOTHING; number],
        });
        let processors = || thread::available_parallelism().map_or(1, NonZero::get);
        Ok(AllPairs {
            stations: stations.iter().map(|station| Station::new(&station.place)).collect(),
            sin_mask: libm::sin(options.minimum_elevation.as_radians()),
            threads: options.threads.map_or_else(processors, NonZero::get).min(MOST_THREADS),
            batch: (BATCH_ROWS / pairs.max(1)).min(BATCH_NUMBERS / numbers).clamp(1, MOST_BATCH),
            towards: towards.collect(),
            snapshots: Vec::new(),
            unseen: Unseen {
                left: (0..stations.len()).map(|number| (number as u32, -1.0)).collect(),
                ..Unseen::default()
            },
            options: options.clone(),
            steps,
            done: 0,
            orbits,
            links,
        })
    }

    /// Number of instants.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The number of instants whose routes are found.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Number of satellites, which is also the node number of the first station.
    pub fn satellites(&self) -> usize {
        self.orbits.len()
    }

    /// Searches for stations that have no satellite in view at any instant, a part of the time at each call. `None`
    /// while the search goes on; then their numbers, with the best elevation of the highest satellite.
    pub fn never_in_view(&mut self) -> Option<Vec<(u32, Angle)>> {
        let mut unseen = std::mem::take(&mut self.unseen);
        let until = (unseen.done + LOOKS_AT_ONCE).min(self.steps);
        while unseen.done < until && !unseen.left.is_empty() {
            let seconds = self.seconds(unseen.done);
            self.orbits.positions_at(seconds, &mut unseen.positions);
            unseen.left.retain_mut(|(station, best)| {
                let horizon = self.stations[*station as usize].at(seconds);
                let highest = unseen.positions.iter().map(|&satellite| horizon.look(satellite).1).fold(-1.0, f64::max);
                *best = f64::max(*best, highest);
                highest < self.sin_mask
            });
            unseen.done += 1;
        }
        let is_done = unseen.left.is_empty() || unseen.done == self.steps;
        let degrees = |sine: f64| Angle::from_degrees(libm::asin(sine).to_degrees());
        let unseen_stations =
            is_done.then(|| unseen.left.iter().map(|&(number, best)| (number, degrees(best))).collect());
        self.unseen = unseen;
        unseen_stations
    }

    /// Computes the next batch of instants; after the last it is empty.
    pub fn advance(&mut self) -> Batch {
        let count = self.batch.min(self.steps - self.done);
        self.take_snapshots(count);
        match self.options.metric {
            Metric::Delay => self.grow_trees::<f64>(count),
            Metric::Hops => self.grow_trees::<HopsThenMetres>(count),
        }
        let batch = Batch { routes: self.collect_routes(count), next_hops: self.collect_next_hops() };
        self.done += count;
        batch
    }

    /// The statistics of each pair up to now.
    pub fn summaries(&self) -> Vec<PairSummary> {
        let pairs = (0..self.stations.len()).flat_map(|from| {
            let after = &self.towards[from + 1..];
            after.iter().map(move |towards| towards.met[from].summary(from as u32, towards.number))
        });
        pairs.collect()
    }

    /// The instant of a step, seconds after the start.
    pub fn seconds(&self, step: u64) -> f64 {
        let nanos = u128::from(step) * u128::from(self.options.step.as_nanos());
        Time::from_nanos(nanos.min(u128::from(self.options.duration.as_nanos())) as u64).as_secs_f64()
    }

    fn take_snapshots(&mut self, count: u64) {
        let mut snapshots = std::mem::take(&mut self.snapshots);
        snapshots.resize_with(count as usize, Snapshot::default);
        let this = &*self;
        let ground = Ground { stations: &this.stations, sin_mask: this.sin_mask, access: this.options.access };
        let share = snapshots.len().div_ceil(this.threads).max(1);
        let work = |(part, snapshots): (usize, &mut [Snapshot])| {
            let mut moving = Moving { orbits: this.orbits.clone(), links: this.links.clone(), positions: Vec::new() };
            for (i, snapshot) in snapshots.iter_mut().enumerate() {
                let step = this.done + (part * share + i) as u64;
                snapshot.take(this.seconds(step), &mut moving, &ground);
            }
        };
        side_by_side(snapshots.chunks_mut(share).enumerate(), &work);
        self.snapshots = snapshots;
    }

    fn grow_trees<C: Cost + Send>(&mut self, count: u64) {
        // A station has a route from each station before it, so later ones take longer: they are dealt out in turn.
        let mut hands: Vec<Vec<&mut Towards>> = (0..self.threads).map(|_| Vec::new()).collect();
        let threads = hands.len();
        self.towards.iter_mut().enumerate().for_each(|(i, towards)| hands[i % threads].push(towards));
        let (snapshots, satellites, done) = (&self.snapshots[..count as usize], self.orbits.len(), self.done);
        let work = |hand: Vec<&mut Towards>| {
            let mut tree = Tree::<C>::new(satellites);
            for towards in hand {
                towards.routes.clear();
                towards.next_hops.clear();
                for (i, snapshot) in snapshots.iter().enumerate() {
                    towards.step(done + i as u64, snapshot, &mut tree);
                }
            }
        };
        side_by_side(hands.into_iter(), &work);
    }

    fn collect_routes(&self, count: u64) -> Vec<PairRoute> {
        let stations = self.stations.len();
        let mut rows = Vec::with_capacity(count as usize * stations * (stations - 1) / 2);
        for i in 0..count {
            let time_s = self.seconds(self.done + i);
            for from in 0..stations {
                rows.extend(self.towards[from + 1..].iter().map(|towards| PairRoute {
                    time_s,
                    from: from as u32,
                    to: towards.number,
                    route: towards.routes[i as usize * towards.number as usize + from],
                }));
            }
        }
        rows
    }

    fn collect_next_hops(&mut self) -> Vec<NextHop> {
        let mut next_hops: Vec<NextHop> =
            self.towards.iter().flat_map(|towards| towards.next_hops.iter().copied()).collect();
        // The sort is stable: within a step the order stays by station, then by node.
        next_hops.sort_by_key(|change| change.step);
        next_hops
    }
}

/// Instants whose stations one call looks for in view of satellites.
const LOOKS_AT_ONCE: u64 = 2000;
const MOST_BATCH: u64 = 1000;
const MOST_THREADS: usize = 256;
/// The next hop of a node at the instant before the first.
const UNKNOWN: u32 = u32::MAX - 2;

/// Runs `work` on each part in a thread of its own, on the last part in this thread.
fn side_by_side<T: Send>(parts: impl Iterator<Item = T>, work: &(impl Fn(T) + Sync)) {
    let mut parts: Vec<T> = parts.collect();
    let Some(last) = parts.pop() else { return };
    thread::scope(|scope| {
        for part in parts {
            scope.spawn(move || work(part));
        }
        work(last);
    });
}

impl Towards {
    fn step<C: Cost>(&mut self, step: u64, snapshot: &Snapshot, tree: &mut Tree<C>) {
        let to = self.number as usize;
        tree.grow(&snapshot.graph, snapshot.in_view(to), &mut self.order);
        for from in 0..to {
            let route = best_entry(tree, snapshot.in_view(from)).map(|(satellite, cost)| {
                let route = tree.routes[satellite as usize];
                let one_way_delay_s = cost.metres() / SPEED_OF_LIGHT;
                Route { one_way_delay_s, hops: route.hops, first: satellite, last: route.last, mark: route.mark }
            });
            self.met[from].see(route, step == 0);
            self.routes.push(route);
        }
        if !self.next.is_empty() {
            self.note_changes(step, snapshot, tree);
        }
    }

    fn note_changes<C: Cost>(&mut self, step: u64, snapshot: &Snapshot, tree: &Tree<C>) {
        let satellites = tree.next.len();
        let stations = (0..self.next.len() - satellites).map(|from| match from == self.number as usize {
            true => UNKNOWN, // the destination itself
            false => best_entry(tree, snapshot.in_view(from)).map_or(NOWHERE, |(satellite, _)| satellite),
        });
        let nodes = tree.next.iter().copied().chain(stations);
        for (node, (next, before)) in nodes.zip(&mut self.next).enumerate() {
            if next != *before {
                *before = next;
                let next = match next {
                    NOWHERE => None,
                    STATION => Some(satellites as u32 + self.number),
                    satellite => Some(satellite),
                };
                self.next_hops.push(NextHop { step, node: node as u32, to: self.number, next });
            }
        }
    }
}

/// The satellite over which a station's route is best.
fn best_entry<C: Cost>(tree: &Tree<C>, in_view: &[(u32, f64)]) -> Option<(u32, C)> {
    let mut best = (NOWHERE, C::FAR);
    for &(satellite, metres) in in_view {
        let cost = tree.cost[satellite as usize].first_link(metres);
        if cost < best.1 {
            best = (satellite, cost);
        }
    }
    (best.0 != NOWHERE).then_some(best)
}

impl Met {
    const NOTHING: Met = Met {
        sum_s: 0.0,
        least_s: f64::INFINITY,
        most_s: f64::NEG_INFINITY,
        hops: [u32::MAX, 0],
        reached: 0,
        changes: 0,
        mark: None,
    };

    fn see(&mut self, route: Option<Route>, is_first: bool) {
        let mark = route.map(|route| route.mark);
        self.changes += u64::from(mark != self.mark && !is_first);
        self.mark = mark;
        let Some(route) = route else { return };
        self.reached += 1;
        self.sum_s += route.one_way_delay_s;
        self.least_s = self.least_s.min(route.one_way_delay_s);
        self.most_s = self.most_s.max(route.one_way_delay_s);
        self.hops = [self.hops[0].min(route.hops), self.hops[1].max(route.hops)];
    }

    fn summary(&self, from: u32, to: u32) -> PairSummary {
        let known = self.reached > 0;
        let delay_s = match known {
            true => [self.least_s, self.sum_s / self.reached as f64, self.most_s],
            false => [f64::NAN; 3],
        };
        let hops = known.then_some(self.hops);
        PairSummary { from, to, delay_s, hops, reached: self.reached, changes: self.changes }
    }
}

/// Checks the options and returns the number of instants.
fn check(satellites: usize, stations: &[NamedPlace], options: &AllPairsOptions) -> Result<u64, FieldError> {
    let refuse = |field: &str, message: String| Err(FieldError::new(field, message));
    if !(2..=MOST_STATIONS).contains(&stations.len()) {
        return refuse("stations", format!("{} given, 2 to {MOST_STATIONS} are expected", stations.len()));
    }
    for (i, station) in stations.iter().enumerate() {
        station.place.check().map_err(|error| error.within(&station.name).within("stations"))?;
        if stations[..i].iter().any(|other| other.name == station.name) {
            return refuse("stations", format!("\"{}\" is there twice", station.name));
        }
    }
    if (stations.len() * satellites) as u64 > MOST_IN_TREES {
        let most = MOST_IN_TREES / satellites as u64;
        return refuse("stations", format!("{} given, at most {most} with so many satellites", stations.len()));
    }
    let mask = options.minimum_elevation.as_degrees();
    if !(0.0..=90.0).contains(&mask) {
        return refuse("minimum_elevation", format!("{mask} deg must be between 0 deg and 90 deg"));
    }
    if options.duration.is_zero() {
        return refuse("duration", "must be more than 0 s".to_owned());
    }
    if options.step.is_zero() {
        return refuse("step", "must be more than 0 s".to_owned());
    }
    let steps = options.duration.as_nanos().div_ceil(options.step.as_nanos()).saturating_add(1);
    let pairs = (stations.len() * (stations.len() - 1) / 2) as u64;
    if steps > MOST_STEPS || steps.saturating_mul(pairs) > MOST_ROWS {
        let most = MOST_STEPS.min(MOST_ROWS / pairs);
        let message = format!(
            "{} is too short for {} and {} stations: {steps} instants, at most {most} are looked at",
            options.step,
            options.duration,
            stations.len()
        );
        return refuse("step", message);
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::place::Place;
    use crate::satellites::presets::preset;

    #[test]
    fn threads_and_batches_change_no_bit() {
        let constellation = &preset("leo-66").unwrap().constellation;
        let orbits = Orbits::new(constellation);
        let links = Links::new(constellation, &orbits);
        let place = |i: u32| Place::from_degrees(8.0 * f64::from(i) - 44.0, f64::from(i) * 137.5 % 360.0);
        let towns: Vec<_> = (0..12).map(|i| NamedPlace { name: format!("town {i}"), place: place(i) }).collect();
        let run = |threads, batch| {
            let options = AllPairsOptions {
                metric: Metric::Delay,
                access: Access::All,
                minimum_elevation: constellation.minimum_elevation,
                duration: Duration::from_secs(300),
                step: Duration::from_secs(1),
                forwarding: true,
                threads: NonZero::new(threads),
            };
            let mut study = AllPairs::new(orbits.clone(), links.clone(), &towns, &options).unwrap();
            study.batch = batch;
            let (mut routes, mut next_hops) = (Vec::new(), Vec::new());
            while study.done() < study.steps() {
                let batch = study.advance();
                routes.extend(batch.routes);
                next_hops.extend(batch.next_hops);
            }
            (routes, next_hops, study.summaries())
        };
        let expected = run(1, 1);
        for (threads, batch) in [(2, 1), (3, 7), (16, 300), (1, 1000)] {
            assert_eq!(run(threads, batch), expected, "{threads} {batch}");
        }
    }
}
