//! Shortest routes over the inter-satellite links.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::routes::all_pairs::Metric;
use crate::satellites::links::Links;

/// Finds shortest routes. Its arrays are reused, so that after the first searches none allocates.
#[derive(Clone, Debug)]
pub struct Router {
    metres: Vec<f64>,
    previous: Vec<u32>,
    exits: Vec<f64>,
    queue: BinaryHeap<Reverse<QueuedSatellite>>,
    route: Vec<u32>,
    /// The cost of each link beside its length, metres.
    per_link: f64,
    /// The resolution of the queue's order, in steps per metre.
    steps: f64,
}

const NONE: u32 = u32::MAX;

/// A satellite in the queue, ordered by the length of the route over it. Both are packed into one word, because
/// comparing entries is most of the work. The length is rounded down to a step; a satellite that is reached again by a
/// shorter route is queued again, so rounding only costs a needless visit now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct QueuedSatellite(u64);

const SATELLITE_BITS: u32 = 17;
/// For the longest routes by delay.
const FINE_STEPS: f64 = 1024.0;
/// For routes of as many links as there can be satellites.
const COARSE_STEPS: f64 = 1.0 / 1024.0;
/// Longer than any route of a few links (57 light seconds), so that of two routes the one with fewer links costs less.
/// The lengths of two routes with equally many links are still compared to less than a millimetre.
const MORE_THAN_ANY_ROUTE: f64 = (1u64 << 34) as f64;

impl QueuedSatellite {
    fn new(metres: f64, steps: f64, satellite: u32) -> QueuedSatellite {
        // As signed numbers, which processors convert in one instruction.
        QueuedSatellite(((metres * steps) as i64 as u64) << SATELLITE_BITS | u64::from(satellite))
    }

    fn metres(self, steps: f64) -> f64 {
        (self.0 >> SATELLITE_BITS) as i64 as f64 / steps
    }

    fn satellite(self) -> u32 {
        (self.0 & ((1 << SATELLITE_BITS) - 1)) as u32
    }
}

impl Default for Router {
    fn default() -> Router {
        Router::new(Metric::Delay, 0.0)
    }
}

impl Router {
    /// Minimises `metric`; each link also costs `per_link` metres, for the time that the satellite takes to forward a
    /// packet.
    pub fn new(metric: Metric, per_link: f64) -> Router {
        let per_link = match metric {
            Metric::Delay => per_link,
            Metric::Hops => per_link + MORE_THAN_ANY_ROUTE,
        };
        Router {
            metres: Vec::new(),
            previous: Vec::new(),
            exits: Vec::new(),
            queue: BinaryHeap::new(),
            route: Vec::new(),
            per_link,
            steps: if per_link > 0.0 { COARSE_STEPS } else { FINE_STEPS },
        }
    }

    /// The length in metres of the shortest route that begins at one of `entries` and ends at one of `exits` (each a
    /// satellite and its distance to the ground in metres), with the cost per link; `None` without a route.
    /// [`Router::route`] returns its satellites.
    ///
    /// `at_least(satellite)` is a lower bound of the distance from there to the end, which no link decreases by more
    /// than its length: 0 makes this Dijkstra's algorithm, any other bound (such as the straight line) Hart, Nilsson
    /// and Raphael's A*.
    pub fn shortest(
        &mut self,
        links: &Links,
        entries: impl IntoIterator<Item = (u32, f64)>,
        exits: impl IntoIterator<Item = (u32, f64)>,
        at_least: impl Fn(u32) -> f64,
    ) -> Option<f64> {
        self.start(links, entries, &at_least);
        self.exits.clear();
        self.exits.resize(links.satellites(), f64::INFINITY);
        exits.into_iter().for_each(|(satellite, metres)| self.exits[satellite as usize] = metres);
        let (mut best, mut last) = (f64::INFINITY, NONE);
        while let Some(Reverse(entry)) = self.queue.pop() {
            if entry.metres(self.steps) >= best {
                break;
            }
            let satellite = entry.satellite();
            let metres = self.metres[satellite as usize];
            if entry.metres(self.steps) > metres + at_least(satellite) {
                continue; // a shorter route was found after this was queued
            }
            let total = metres + self.exits[satellite as usize];
            if total < best {
                (best, last) = (total, satellite);
            }
            self.relax(links, satellite, &at_least);
        }
        self.trace_back(last);
        (last != NONE).then_some(best)
    }

    /// The metres of the shortest route from `entries` to every satellite; infinity without a route.
    pub fn distances(&mut self, links: &Links, entries: impl IntoIterator<Item = (u32, f64)>) -> &[f64] {
        self.start(links, entries, &|_| 0.0);
        while let Some(Reverse(entry)) = self.queue.pop() {
            if entry.metres(self.steps) <= self.metres[entry.satellite() as usize] {
                self.relax(links, entry.satellite(), &|_| 0.0);
            }
        }
        &self.metres
    }

    /// The satellites of the route that [`Router::shortest`] found last, first to last.
    pub fn route(&self) -> &[u32] {
        &self.route
    }

    /// Makes [`Router::route`] empty.
    pub(crate) fn forget(&mut self) {
        self.route.clear();
    }

    fn start(&mut self, links: &Links, entries: impl IntoIterator<Item = (u32, f64)>, at_least: &impl Fn(u32) -> f64) {
        let count = links.satellites();
        self.metres.clear();
        self.metres.resize(count, f64::INFINITY);
        self.previous.clear();
        self.previous.resize(count, NONE);
        self.queue.clear();
        for (satellite, metres) in entries {
            // Several stations may have this satellite in view.
            if metres < self.metres[satellite as usize] {
                self.metres[satellite as usize] = metres;
                self.queue.push(Reverse(QueuedSatellite::new(metres + at_least(satellite), self.steps, satellite)));
            }
        }
    }

    fn relax(&mut self, links: &Links, satellite: u32, at_least: &impl Fn(u32) -> f64) {
        let so_far = self.metres[satellite as usize] + self.per_link;
        for (neighbour, metres) in links.of(satellite) {
            if so_far + metres < self.metres[neighbour as usize] {
                self.metres[neighbour as usize] = so_far + metres;
                self.previous[neighbour as usize] = satellite;
                self.queue.push(Reverse(QueuedSatellite::new(
                    so_far + metres + at_least(neighbour),
                    self.steps,
                    neighbour,
                )));
            }
        }
    }

    fn trace_back(&mut self, last: u32) {
        self.route.clear();
        let mut satellite = last;
        while satellite != NONE {
            self.route.push(satellite);
            satellite = self.previous[satellite as usize];
        }
        self.route.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::satellites::frame::distance;
    use crate::satellites::presets::presets;
    use crate::satellites::propagation::Orbits;
    use proptest::prelude::*;

    /// All distances by the algorithm of Floyd and Warshall.
    fn all_distances(links: &Links) -> Vec<Vec<f64>> {
        let n = links.satellites();
        let mut d = vec![vec![f64::INFINITY; n]; n];
        for (s, row) in d.iter_mut().enumerate() {
            row[s] = 0.0;
            links.of(s as u32).for_each(|(t, metres)| row[t as usize] = row[t as usize].min(metres));
        }
        for over in 0..n {
            for from in 0..n {
                for to in 0..n {
                    d[from][to] = d[from][to].min(d[from][over] + d[over][to]);
                }
            }
        }
        d
    }

    /// All distances from `entries` by the algorithm of Bellman and Ford.
    fn distances_from(links: &Links, entries: &[(u32, f64)]) -> Vec<f64> {
        let mut d = vec![f64::INFINITY; links.satellites()];
        entries.iter().for_each(|&(s, metres)| d[s as usize] = d[s as usize].min(metres));
        for _ in 0..links.satellites() {
            for s in 0..links.satellites() {
                for (t, metres) in links.of(s as u32) {
                    d[t as usize] = d[t as usize].min(d[s] + metres);
                }
            }
        }
        d
    }

    fn length(links: &Links, route: &[u32]) -> f64 {
        let link = |pair: &[u32]| {
            let between = links.of(pair[0]).filter(|link| link.0 == pair[1]);
            between.map(|link| link.1).fold(f64::INFINITY, f64::min)
        };
        route.windows(2).map(link).sum()
    }

    fn same(a: f64, b: f64) -> bool {
        a == b || (a - b).abs() <= 1e-9 * a.abs().max(1.0)
    }

    proptest! {
        #[test]
        fn shortest_on_any_graph(
            edges in prop::collection::vec((0u32..12, 0u32..12, 0u32..1000), 0..40),
            entries in prop::collection::btree_map(0u32..12, 0u32..1000, 1..4),
            exits in prop::collection::btree_map(0u32..12, 0u32..1000, 1..4),
        ) {
            let edges: Vec<_> = edges.into_iter().map(|(a, b, metres)| (a, b, f64::from(metres) / 7.0)).collect();
            let links = Links::from_edges(12, &edges);
            let ground = |ends: std::collections::BTreeMap<u32, u32>| {
                ends.into_iter().map(|(s, metres)| (s, f64::from(metres) / 3.0)).collect::<Vec<_>>()
            };
            let (entries, exits) = (ground(entries), ground(exits));
            let all = all_distances(&links);
            let best = |to: u32| {
                let lengths = entries.iter().map(|&(s, first_link)| first_link + all[s as usize][to as usize]);
                lengths.fold(f64::INFINITY, f64::min)
            };
            let expected = exits.iter().map(|&(s, last_link)| best(s) + last_link).fold(f64::INFINITY, f64::min);

            let mut router = Router::default();
            let found = router.shortest(&links, entries.iter().copied(), exits.iter().copied(), |_| 0.0);
            prop_assert!(same(found.unwrap_or(f64::INFINITY), expected), "{found:?} but {expected}");
            if let Some(found) = found {
                let (first, last) = (router.route()[0], *router.route().last().unwrap());
                let first_link = entries.iter().find(|e| e.0 == first).unwrap().1;
                let last_link = exits.iter().find(|e| e.0 == last).unwrap().1;
                prop_assert!(same(first_link + length(&links, router.route()) + last_link, found));
            } else {
                prop_assert!(router.route().is_empty());
            }
            let reached = router.distances(&links, entries.iter().copied());
            for s in 0..12 {
                prop_assert!(same(reached[s as usize], best(s)));
            }
        }
    }

    #[test]
    fn shortest_on_the_real_grids_with_and_without_a_bound() {
        for preset in presets() {
            let orbits = Orbits::new(&preset.constellation);
            let mut links = Links::new(&preset.constellation, &orbits);
            let mut positions = Vec::new();
            let mut router = Router::default();
            for round in 0..6u32 {
                let seconds = f64::from(round) * 1234.5;
                orbits.positions_at(seconds, &mut positions);
                links.update(seconds, &positions);
                let n = orbits.len() as u32;
                let entries = [(round * 7 % n, 9e5), (round * 31 % n, 1.1e6)];
                let expected = distances_from(&links, &entries);
                let reached = router.distances(&links, entries);
                assert!(reached.iter().zip(&expected).all(|(&a, &b)| same(a, b)), "{}", preset.name);
                for to in (0..n).step_by(1 + n as usize / 40) {
                    let goal = positions[to as usize];
                    let exit = [(to, 0.0)];
                    let straight = |s: u32| distance(positions[s as usize], goal);
                    let found = router.shortest(&links, entries, exit, straight);
                    assert!(same(found.unwrap_or(f64::INFINITY), expected[to as usize]), "{} to {to}", preset.name);
                }
            }
        }
    }

    /// The fewest links, then the fewest metres, by counting the rounds of Bellman and Ford's algorithm.
    fn fewest(links: &Links, entries: &[(u32, f64)], to: u32) -> Option<(usize, f64)> {
        let mut d = vec![f64::INFINITY; links.satellites()];
        entries.iter().for_each(|&(s, metres)| d[s as usize] = d[s as usize].min(metres));
        for hops in 0..links.satellites() {
            if d[to as usize].is_finite() {
                return Some((hops, d[to as usize]));
            }
            let mut next = vec![f64::INFINITY; links.satellites()];
            for (s, so_far) in (0..).zip(&d) {
                links.of(s).for_each(|(t, metres)| next[t as usize] = next[t as usize].min(so_far + metres));
            }
            d = next;
        }
        None
    }

    #[test]
    fn links_can_cost_more_than_their_length() {
        for preset in presets().filter(|preset| preset.constellation.satellites() < 200) {
            let orbits = Orbits::new(&preset.constellation);
            let links = Links::new(&preset.constellation, &orbits);
            let mut positions = Vec::new();
            orbits.positions_at(0.0, &mut positions);
            let n = orbits.len() as u32;
            let entries = [(0, 9e5), (n / 3, 1.1e6)];
            let mut hops = Router::new(Metric::Hops, 0.0);
            // With a millisecond per link, every route costs that much more per link.
            let (mut slow, extra) = (Router::new(Metric::Delay, 3e5), 3e5);
            let longer: Vec<_> = (0..n)
                .flat_map(|s| links.of(s).filter(move |link| s < link.0).map(move |(t, metres)| (s, t, metres + extra)))
                .collect();
            let longer = Links::from_edges(n, &longer);
            let expected = distances_from(&longer, &entries);
            for to in 0..n {
                let straight = |s: u32| distance(positions[s as usize], positions[to as usize]);
                let found = hops.shortest(&links, entries, [(to, 0.0)], straight);
                let found = found.map(|_| (hops.route().len() - 1, hops.route()));
                let expected_hops = fewest(&links, &entries, to);
                assert_eq!(found.map(|found| found.0), expected_hops.map(|fewest| fewest.0), "{} {to}", preset.name);
                if let (Some((_, route)), Some((_, metres))) = (found, expected_hops) {
                    let first_link = entries.iter().find(|entry| entry.0 == route[0]).unwrap().1;
                    assert!((first_link + length(&links, route) - metres).abs() < 1e-2, "{} {to}", preset.name);
                }
                let found = slow.shortest(&links, entries, [(to, 0.0)], straight).unwrap_or(f64::INFINITY);
                assert!(same(found, expected[to as usize]), "{} {to}", preset.name);
            }
        }
    }

    #[test]
    fn of_stations_that_enter_at_one_satellite_the_nearest_counts() {
        let links = Links::from_edges(2, &[(0, 1, 5.0)]);
        let mut router = Router::default();
        assert_eq!(router.shortest(&links, [(0, 3.0), (0, 1.0), (0, 2.0)], [(1, 1.0)], |_| 0.0), Some(7.0));
    }

    #[test]
    fn a_way_that_is_shorter_by_less_than_the_order_shows_is_taken() {
        let links = Links::from_edges(4, &[(0, 1, 1.0), (0, 2, 1.0001), (1, 3, 1.0002), (2, 3, 1.0)]);
        let mut router = Router::default();
        assert!(router.shortest(&links, [(0, 0.0)], [(3, 0.0)], |_| 0.0).is_some_and(|metres| same(metres, 2.0001)));
        assert_eq!(router.route(), [0, 2, 3]);
    }

    #[test]
    fn no_way_is_no_route() {
        let links = Links::from_edges(3, &[(0, 1, 5.0)]);
        let mut router = Router::default();
        assert_eq!(router.shortest(&links, [(0, 1.0)], [(1, 1.0)], |_| 0.0), Some(7.0));
        assert_eq!(router.shortest(&links, [(0, 1.0)], [(2, 1.0)], |_| 0.0), None);
        assert!(router.route().is_empty());
        assert_eq!(router.shortest(&links, [], [(2, 1.0)], |_| 0.0), None);
    }
}
