//! Shortest routes from every satellite to one station, found at every step from the order of the step before.
//!
//! The distances `d` of a graph with positive lengths are the only solution of `d(s) = min over neighbours n of d(n) +
//! |s n|` (Bellman's equation). They are found by sweeping over the satellites in the order of the distances of an
//! earlier step, in which nearly always every satellite comes after its next hop: one sweep computes the distances, a
//! second finds no change. When the order is outdated there are more sweeps, and then a new order. The result is, to
//! the last bit, that of Dijkstra's algorithm, whatever the earlier steps were.

use crate::satellites::links::Links;

/// The next hop of a satellite whose route is its link to the station.
pub(crate) const STATION: u32 = u32::MAX - 1;
/// The next hop of a satellite without a route to the station.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The links that are on at an instant, as compressed sparse rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    offsets: Vec<u32>,
    edges: Vec<Edge>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    metres: f64,
    to: u32,
}

impl Graph {
    /// Copies the links that are on.
    pub fn fill(&mut self, links: &Links) {
        self.offsets.clear();
        self.edges.clear();
        self.offsets.push(0);
        for satellite in 0..links.satellites() as u32 {
            self.edges.extend(links.of(satellite).map(|(to, metres)| Edge { metres, to }));
            self.offsets.push(self.edges.len() as u32);
        }
    }

    fn row(&self, satellite: u32) -> &[Edge] {
        &self.edges[self.offsets[satellite as usize] as usize..self.offsets[satellite as usize + 1] as usize]
    }
}

/// The cost that a route minimises.
pub(crate) trait Cost: Copy + PartialOrd {
    /// More than the cost of any route.
    const FAR: Self;

    /// The cost of a route that is only the link from its last satellite to the station.
    fn last_link(metres: f64) -> Self;

    /// The cost with an inter-satellite link of this length in front.
    fn over(self, metres: f64) -> Self;

    /// The cost with the link from the first station to its satellite in front.
    fn first_link(self, metres: f64) -> Self;

    /// The length in metres.
    fn metres(self) -> f64;
}

/// The length, for the least delay.
impl Cost for f64 {
    const FAR: f64 = f64::INFINITY;

    fn last_link(metres: f64) -> f64 {
        metres
    }

    fn over(self, metres: f64) -> f64 {
        self + metres
    }

    fn first_link(self, metres: f64) -> f64 {
        self + metres
    }

    fn metres(self) -> f64 {
        self
    }
}

/// The number of inter-satellite links and, among equal numbers, the length.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct HopsThenMetres {
    hops: f64,
    metres: f64,
}

impl Cost for HopsThenMetres {
    const FAR: HopsThenMetres = HopsThenMetres { hops: f64::INFINITY, metres: f64::INFINITY };

    fn last_link(metres: f64) -> HopsThenMetres {
        HopsThenMetres { hops: 0.0, metres }
    }

    fn over(self, metres: f64) -> HopsThenMetres {
        HopsThenMetres { hops: self.hops + 1.0, metres: self.metres + metres }
    }

    fn first_link(self, metres: f64) -> HopsThenMetres {
        HopsThenMetres { metres: self.metres + metres, ..self }
    }

    fn metres(self) -> f64 {
        self.metres
    }
}

/// The order in which the satellites of a tree were last swept: the only state kept from step to step.
#[derive(Clone, Debug)]
pub(crate) struct SweepOrder(Vec<u32>);

impl SweepOrder {
    pub fn new(satellites: usize) -> SweepOrder {
        SweepOrder((0..satellites as u32).collect())
    }
}

/// The tree of the shortest routes of all satellites to one station; its memory is reused for the next station.
#[derive(Clone, Debug)]
pub(crate) struct Tree<C> {
    /// The cost of the link to the station, of satellites in its view.
    last_link: Vec<C>,
    pub cost: Vec<C>,
    /// The next hop of each satellite, or [`STATION`], or [`NOWHERE`].
    pub next: Vec<u32>,
    /// The summary of each satellite's route.
    pub routes: Vec<RouteSummary>,
}

/// The summary of a route from a satellite to the station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RouteSummary {
    /// Number of inter-satellite links.
    pub hops: u32,
    /// The satellite that serves the station.
    pub last: u32,
    /// A hash of the satellites on the route.
    pub mark: u64,
}

impl<C: Cost> Tree<C> {
    pub fn new(satellites: usize) -> Tree<C> {
        Tree {
            last_link: vec![C::FAR; satellites],
            cost: vec![C::FAR; satellites],
            next: vec![NOWHERE; satellites],
            routes: vec![RouteSummary::default(); satellites],
        }
    }

    /// Finds the routes to a station that has `in_view` the satellites given by number and distance in metres.
    pub fn grow(&mut self, graph: &Graph, in_view: &[(u32, f64)], order: &mut SweepOrder) {
        for &(satellite, metres) in in_view {
            self.last_link[satellite as usize] = C::last_link(metres);
        }
        self.cost.fill(C::FAR);
        self.next.fill(NOWHERE);
        let mut sweeps = 1;
        while self.sweep(graph, &order.0) {
            sweeps += 1;
        }
        // After two sweeps every satellite came after its next hop: the order holds for `follow`, and for the next
        // step.
        if sweeps > 2 {
            let cost = &self.cost;
            order.0.sort_by(|&a, &b| {
                cost[a as usize].partial_cmp(&cost[b as usize]).expect("costs are numbers").then(a.cmp(&b))
            });
        }
        self.follow(&order.0);
        in_view.iter().for_each(|&(satellite, _)| self.last_link[satellite as usize] = C::FAR);
    }

    /// Applies Bellman's equation to each satellite in turn and returns whether anything changed. Among routes of equal
    /// cost the link to the station comes first, then the first inter-satellite link.
    fn sweep(&mut self, graph: &Graph, order: &[u32]) -> bool {
        let mut changed = false;
        for &satellite in order {
            let last_link = self.last_link[satellite as usize];
            let (mut best, mut next) = (last_link, if last_link < C::FAR { STATION } else { NOWHERE });
            for edge in graph.row(satellite) {
                let cost = self.cost[edge.to as usize].over(edge.metres);
                if cost < best {
                    (best, next) = (cost, edge.to);
                }
            }
            changed |= best != self.cost[satellite as usize] || next != self.next[satellite as usize];
            self.cost[satellite as usize] = best;
            self.next[satellite as usize] = next;
        }
        changed
    }

    /// Summarises the routes, in an order in which every satellite comes after its next hop.
    fn follow(&mut self, order: &[u32]) {
        for &satellite in order {
            let route = match self.next[satellite as usize] {
                NOWHERE => RouteSummary::default(),
                STATION => RouteSummary { hops: 0, last: satellite, mark: mix(u64::from(satellite)) },
                next => {
                    let route = self.routes[next as usize];
                    RouteSummary { hops: route.hops + 1, mark: mix(route.mark ^ u64::from(satellite)), ..route }
                }
            };
            self.routes[satellite as usize] = route;
        }
    }
}

/// Spreads a number over all 64 bits (the finaliser of Steele, Lea and Flood's `SplitMix64`).
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::routing::Router;
    use crate::satellites::presets::presets;
    use crate::satellites::propagation::Orbits;
    use proptest::prelude::*;

    type Edges = Vec<(u32, u32, f64)>;

    /// The cost of a route as a pair in lexicographic order: (metres, 0), or (hops, metres).
    type Pair = (f64, f64);

    /// The least costs between all pairs by the algorithm of Floyd and Warshall.
    fn floyd_warshall(n: usize, edges: &Edges, by_hops: bool) -> Vec<Vec<Pair>> {
        let link = |metres: f64| if by_hops { (1.0, metres) } else { (metres, 0.0) };
        let mut all = vec![vec![(f64::INFINITY, f64::INFINITY); n]; n];
        for (s, row) in all.iter_mut().enumerate() {
            row[s] = (0.0, 0.0);
        }
        let shorter = |a: Pair, b: Pair| if a < b { a } else { b };
        for &(a, b, metres) in edges {
            for (a, b) in [(a as usize, b as usize), (b as usize, a as usize)] {
                all[a][b] = shorter(link(metres), all[a][b]);
            }
        }
        for over in 0..n {
            for from in 0..n {
                for to in 0..n {
                    let detour = (all[from][over].0 + all[over][to].0, all[from][over].1 + all[over][to].1);
                    all[from][to] = shorter(detour, all[from][to]);
                }
            }
        }
        all
    }

    fn graph(n: u32, edges: &Edges) -> Graph {
        let mut graph = Graph::default();
        graph.fill(&Links::from_edges(n, edges));
        graph
    }

    /// Each satellite's route ends at the station, and has the length and number of links of its cost.
    fn check_routes<C: Cost>(tree: &Tree<C>, links: &Links, in_view: &[(u32, f64)]) {
        for start in 0..links.satellites() as u32 {
            let (mut at, mut hops, mut metres) = (start, 0, 0.0);
            loop {
                match tree.next[at as usize] {
                    NOWHERE => {
                        assert!(hops == 0 && tree.cost[at as usize].metres().is_infinite());
                        break;
                    }
                    STATION => {
                        metres += in_view.iter().find(|view| view.0 == at).expect("the station sees it").1;
                        assert_eq!((tree.routes[start as usize].hops, tree.routes[start as usize].last), (hops, at));
                        let told = tree.cost[start as usize].metres();
                        assert!((told - metres).abs() <= 1e-9 * metres.max(1.0), "{told} but {metres}");
                        break;
                    }
                    next => {
                        let over = links.of(at).filter(|link| link.0 == next).map(|link| link.1);
                        metres += over.fold(f64::INFINITY, f64::min);
                        (at, hops) = (next, hops + 1);
                        assert!(hops as usize <= links.satellites(), "goes round");
                    }
                }
            }
        }
    }

    fn distances_agree<C: Cost>(n: u32, steps: &[Edges], in_view: &[(u32, f64)], by_hops: bool) {
        let mut order = SweepOrder::new(n as usize);
        let mut tree = Tree::<C>::new(n as usize);
        for edges in steps {
            tree.grow(&graph(n, edges), in_view, &mut order);
            let all = floyd_warshall(n as usize, edges, by_hops);
            for (s, routes) in all.iter().enumerate() {
                let route = |&(first, metres): &(u32, f64)| {
                    let (cost, second) = routes[first as usize];
                    if by_hops { (cost, second + metres) } else { (cost + metres, second) }
                };
                let best =
                    in_view.iter().map(route).fold((f64::INFINITY, f64::INFINITY), |a, b| if b < a { b } else { a });
                let best_metres = if by_hops { best.1 } else { best.0 };
                let told = tree.cost[s].metres();
                assert!(
                    told == best_metres || (told - best_metres).abs() <= 1e-9 * best_metres,
                    "{told}: {best_metres}"
                );
                assert!(!by_hops || best.0.is_infinite() || f64::from(tree.routes[s].hops) == best.0);
            }
            check_routes(&tree, &Links::from_edges(n, edges), in_view);
            // The result does not depend on the steps before.
            let mut fresh = Tree::<C>::new(n as usize);
            fresh.grow(&graph(n, edges), in_view, &mut SweepOrder::new(n as usize));
            assert!(fresh.cost == tree.cost && fresh.next == tree.next && fresh.routes == tree.routes);
        }
    }

    proptest! {
        #[test]
        fn shortest_on_graphs_that_change_at_will(
            steps in prop::collection::vec(prop::collection::vec((0u32..10, 0u32..10, 1u32..1000), 0..30), 1..5),
            in_view in prop::collection::btree_map(0u32..10, 1u32..1000, 0..4),
        ) {
            let real = |edges: Vec<(u32, u32, u32)>| {
                edges.into_iter().filter(|e| e.0 != e.1).map(|(a, b, m)| (a, b, f64::from(m) / 7.0)).collect::<Edges>()
            };
            let steps: Vec<Edges> = steps.into_iter().map(real).collect();
            let in_view: Vec<_> = in_view.into_iter().map(|(s, m)| (s, f64::from(m) / 3.0)).collect();
            distances_agree::<f64>(10, &steps, &in_view, false);
            distances_agree::<HopsThenMetres>(10, &steps, &in_view, true);
        }
    }

    #[test]
    fn the_bits_of_dijkstra_on_the_real_grids() {
        for preset in presets() {
            let orbits = Orbits::new(&preset.constellation);
            let mut links = Links::new(&preset.constellation, &orbits);
            let (mut positions, mut graph) = (Vec::new(), Graph::default());
            let mut order = SweepOrder::new(orbits.len());
            let mut tree = Tree::<f64>::new(orbits.len());
            let mut router = Router::default();
            for round in 0..40u32 {
                let seconds = f64::from(round) * if round < 20 { 0.1 } else { 97.0 };
                orbits.positions_at(seconds, &mut positions);
                links.update(seconds, &positions);
                graph.fill(&links);
                let n = orbits.len() as u32;
                let in_view = [(round / 3 * 7 % n, 9e5), (round / 5 * 31 % n, 1.1e6)];
                tree.grow(&graph, &in_view, &mut order);
                let in_view = if in_view[0].0 == in_view[1].0 { &in_view[1..] } else { &in_view[..] };
                assert_eq!(tree.cost, router.distances(&links, in_view.iter().copied()), "{}", preset.name);
                check_routes(&tree, &links, in_view);
            }
        }
    }
}
