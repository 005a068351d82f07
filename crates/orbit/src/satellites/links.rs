//! The inter-satellite links: a grid of links with changing lengths, and a seam of links with changing partners.

use std::f64::consts::{PI, TAU};

use crate::satellites::constellation::{Constellation, Geometry, LinkPattern, PhasingOrder};
use crate::satellites::frame::{EARTH_RADIUS, Vector, distance, dot};
use crate::satellites::propagation::Orbits;

/// The graph of the satellites and their links at an instant, as compressed sparse rows.
///
/// The links of satellite `s` are the slots `offsets[s]..offsets[s + 1]`, each with the neighbour and the length in
/// metres; a link that is off is infinitely long. Every link is in the rows of both its ends.
#[derive(Clone, Debug)]
pub struct Links {
    offsets: Vec<u32>,
    neighbours: Vec<u32>,
    metres: Vec<f64>,
    between_planes: Vec<Link>,
    seam: Option<Seam>,
    longest: f64,
    /// The largest distance from the equatorial plane at which a link between planes may begin and end.
    highest: f64,
    /// The least distance to the Earth's centre at which a link may pass; used where orbits have different radii, so
    /// that the length of a link does not determine it.
    lowest: f64,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    ends: [u32; 2],
    slots: [u32; 2],
}

/// The links between the first and the last plane of a star, whose satellites fly past each other.
#[derive(Clone, Debug)]
struct Seam {
    satellites: u32,
    /// Number of the last plane's first satellite.
    last_plane: u32,
    /// The slots of the first plane's satellites, then those of the last plane's.
    slots: Vec<u32>,
    latitude_rate: f64,
    /// Sum of the phases of both planes' first satellites at the reference instant, radians.
    phases: f64,
}

impl Links {
    /// The links of `constellation` at the reference instant; none if they are the pairs of a file, for
    /// [`Links::between`].
    pub fn new(constellation: &Constellation, orbits: &Orbits) -> Links {
        let pairs = grid(constellation);
        let seam = has_seam(constellation);
        let (planes, per_plane) = (constellation.planes, constellation.satellites_per_plane);
        let last_plane = (planes - 1) * per_plane;
        let count = constellation.satellites();
        let on_seam = |s: u32| seam && (s < per_plane || s >= last_plane);

        let seamed = (0..count).filter(|&s| on_seam(s));
        let offsets = offsets(count, pairs.iter().flat_map(|(ends, _)| *ends).chain(seamed));
        let radius = constellation.radius();
        let floor = EARTH_RADIUS + constellation.minimum_link_altitude.as_metres();
        let mut links = Links {
            longest: 2.0 * (radius * radius - floor * floor).max(0.0).sqrt(),
            highest: constellation.polar_cutoff.map_or(f64::INFINITY, |cutoff| radius * libm::sin(cutoff.as_radians())),
            ..Links::unlinked(offsets)
        };
        let chord = 2.0 * radius * libm::sin(PI / f64::from(per_plane));
        links.connect(&pairs, chord);
        if seam {
            let ends = (0..per_plane).chain(last_plane..count);
            let spacing = TAU / f64::from(per_plane);
            links.seam = Some(Seam {
                satellites: per_plane,
                last_plane,
                slots: ends.map(|s| links.offsets[s as usize + 1] - 1).collect(),
                latitude_rate: constellation.latitude_rate(),
                phases: constellation.phase_shift(planes - 1) * spacing,
            });
        }
        let mut positions = Vec::new();
        orbits.positions_at(0.0, &mut positions);
        links.update(0.0, &positions);
        links
    }

    /// Links between `pairs` of the satellites of `orbits`, at the reference instant. Each is on while the straight
    /// line between its ends stays `minimum_altitude` metres above the equatorial radius.
    ///
    /// The ends of a pair must differ, and no pair come twice.
    pub fn between(pairs: &[[u32; 2]], orbits: &Orbits, minimum_altitude: f64) -> Links {
        let offsets = offsets(orbits.len() as u32, pairs.iter().flatten().copied());
        let mut links = Links { lowest: EARTH_RADIUS + minimum_altitude, ..Links::unlinked(offsets) };
        links.connect(&pairs.iter().map(|&ends| (ends, false)).collect::<Vec<_>>(), 0.0);
        let mut positions = Vec::new();
        orbits.positions_at(0.0, &mut positions);
        links.update(0.0, &positions);
        links
    }

    /// Rows of these sizes with all links off, without the altitude and latitude limits.
    fn unlinked(offsets: Vec<u32>) -> Links {
        let slots = *offsets.last().expect("starts with one") as usize;
        Links {
            offsets,
            neighbours: vec![0; slots],
            metres: vec![f64::INFINITY; slots],
            between_planes: Vec::new(),
            seam: None,
            longest: f64::INFINITY,
            highest: f64::INFINITY,
            lowest: 0.0,
        }
    }

    /// Gives every pair its slots; the links within a plane get their constant length, `chord`.
    fn connect(&mut self, pairs: &[([u32; 2], bool)], chord: f64) {
        let mut free = self.offsets.clone();
        for &(ends, in_plane) in pairs {
            let slots = ends.map(|s| {
                free[s as usize] += 1;
                free[s as usize] - 1
            });
            self.neighbours[slots[0] as usize] = ends[1];
            self.neighbours[slots[1] as usize] = ends[0];
            match in_plane {
                true => slots.iter().for_each(|&slot| self.metres[slot as usize] = self.limit(chord)),
                false => self.between_planes.push(Link { ends, slots }),
            }
        }
    }

    /// Computes the links at `seconds`, when the satellites are at `positions`.
    pub fn update(&mut self, seconds: f64, positions: &[Vector]) {
        for i in 0..self.between_planes.len() {
            let Link { ends, slots } = self.between_planes[i];
            self.set(ends, slots, positions);
        }
        let Some(seam) = self.seam.take() else { return };
        let mirror = seam.mirror(seconds);
        for k in 0..seam.satellites {
            let partner = (mirror + seam.satellites - k) % seam.satellites;
            let ends = [k, seam.last_plane + partner];
            let slots = [seam.slots[k as usize], seam.slots[(seam.satellites + partner) as usize]];
            self.neighbours[slots[0] as usize] = ends[1];
            self.neighbours[slots[1] as usize] = ends[0];
            self.set(ends, slots, positions);
        }
        self.seam = Some(seam);
    }

    fn set(&mut self, ends: [u32; 2], slots: [u32; 2], positions: &[Vector]) {
        let [a, b] = ends.map(|s| positions[s as usize]);
        let metres = match a[2].abs() > self.highest || b[2].abs() > self.highest {
            true => f64::INFINITY,
            false if self.lowest > 0.0 && nearest_to_centre(a, b) < self.lowest => f64::INFINITY,
            false => self.limit(distance(a, b)),
        };
        slots.iter().for_each(|&slot| self.metres[slot as usize] = metres);
    }

    /// The length, or infinity if the link passes too low.
    fn limit(&self, metres: f64) -> f64 {
        if metres <= self.longest { metres } else { f64::INFINITY }
    }

    /// A graph of constant links, each between two satellites and with its length in metres.
    #[cfg(test)]
    pub(crate) fn from_edges(satellites: u32, edges: &[(u32, u32, f64)]) -> Links {
        let rows = (0..satellites).map(|s| {
            let out = edges.iter().filter(move |e| e.0 == s).map(|e| (e.1, e.2));
            out.chain(edges.iter().filter(move |e| e.1 == s).map(|e| (e.0, e.2))).collect::<Vec<_>>()
        });
        let rows: Vec<_> = rows.collect();
        let ends = rows.iter().scan(0, |sum, row| {
            *sum += row.len() as u32;
            Some(*sum)
        });
        Links {
            neighbours: rows.iter().flatten().map(|link| link.0).collect(),
            metres: rows.iter().flatten().map(|link| link.1).collect(),
            ..Links::unlinked(std::iter::once(0).chain(ends).collect())
        }
    }

    /// Number of satellites.
    pub fn satellites(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The links of `satellite` that are on, as (neighbour, length in metres).
    pub fn of(&self, satellite: u32) -> impl Iterator<Item = (u32, f64)> {
        let row = self.offsets[satellite as usize] as usize..self.offsets[satellite as usize + 1] as usize;
        let links_of_satellite = self.neighbours[row.clone()].iter().zip(&self.metres[row]);
        links_of_satellite.map(|(&neighbour, &metres)| (neighbour, metres)).filter(|link| link.1.is_finite())
    }
}

impl Seam {
    /// The satellite of the last plane that the first plane's satellite 0 is linked to; satellite `k` has `mirror - k`.
    ///
    /// The satellite at the argument of latitude u is linked to the one at pi - u, which is as far north on the other
    /// side of the seam. Rounding to the nearest satellite makes it a one-to-one pairing, which moves on by one every
    /// half spacing of flight.
    fn mirror(&self, seconds: f64) -> u32 {
        let spacing = TAU / f64::from(self.satellites);
        let nearest = ((PI - self.phases - 2.0 * self.latitude_rate * seconds) / spacing).round();
        (nearest as i64).rem_euclid(i64::from(self.satellites)) as u32
    }
}

/// The offsets of the rows of `satellites` satellites; a satellite has one link for each time that it is in `ends`.
fn offsets(satellites: u32, ends: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut offsets = vec![0; satellites as usize + 1];
    ends.for_each(|s| offsets[s as usize + 1] += 1);
    for s in 0..satellites as usize {
        offsets[s + 1] += offsets[s];
    }
    offsets
}

/// The least distance of the straight line between two points to the Earth's centre.
fn nearest_to_centre(a: Vector, b: Vector) -> f64 {
    let way = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    let share = (-dot(a, way) / dot(way, way)).clamp(0.0, 1.0);
    distance([a[0] + share * way[0], a[1] + share * way[1], a[2] + share * way[2]], [0.0; 3])
}

fn has_seam(constellation: &Constellation) -> bool {
    let star = constellation.geometry == Geometry::Star && constellation.planes > 1;
    star && constellation.cross_seam && constellation.links == LinkPattern::PlusGrid
}

/// The constant pairs of the plus-grid, each with whether it is within a plane.
fn grid(constellation: &Constellation) -> Vec<([u32; 2], bool)> {
    let (planes, per_plane) = (constellation.planes, constellation.satellites_per_plane);
    let number = |plane: u32, k: u32| plane * per_plane + k % per_plane;
    let mut pairs = Vec::new();
    if constellation.links != LinkPattern::PlusGrid {
        return pairs;
    }
    // A ring of two is one link, and a single satellite has none; likewise for the planes.
    let in_ring = if per_plane > 2 { per_plane } else { per_plane - 1 };
    for plane in 0..planes {
        pairs.extend((0..in_ring).map(|k| ([number(plane, k), number(plane, k + 1)], true)));
    }
    for plane in 1..planes {
        pairs.extend((0..per_plane).map(|k| ([number(plane - 1, k), number(plane, k)], false)));
    }
    if constellation.closes() && planes > 2 {
        // The whole number of satellites by which the phases have added up after one turn.
        let ahead = match constellation.phasing_order {
            PhasingOrder::Alternate => 0,
            PhasingOrder::Progressive => constellation.phase_shift(planes).round() as u32,
        };
        pairs.extend((0..per_plane).map(|k| ([number(planes - 1, k), number(0, k + ahead)], false)));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::satellites::presets::{preset, presets};
    use units::Angle;

    /// The constellation's links at `seconds` as sorted pairs with their lengths, and the positions.
    fn at(constellation: &Constellation, seconds: f64) -> (Vec<(u32, u32, f64)>, Vec<Vector>) {
        let orbits = Orbits::new(constellation);
        let mut links = Links::new(constellation, &orbits);
        let mut positions = Vec::new();
        orbits.positions_at(seconds, &mut positions);
        links.update(seconds, &positions);
        let mut all = Vec::new();
        for s in 0..links.satellites() as u32 {
            for (t, metres) in links.of(s) {
                assert_ne!(s, t);
                assert!((metres - distance(positions[s as usize], positions[t as usize])).abs() < 1e-3);
                let there = links.of(t).filter(|&link| link == (s, metres)).count();
                assert_eq!(there, 1, "a link is in the rows of both ends, once");
                all.push((s, t, metres));
            }
        }
        all.retain(|link| link.0 < link.1);
        (all, positions)
    }

    fn degrees(links: &[(u32, u32, f64)], satellites: u32) -> Vec<usize> {
        (0..satellites).map(|s| links.iter().filter(|link| link.0 == s || link.1 == s).count()).collect()
    }

    #[test]
    fn nobody_has_more_than_four_links_and_none_passes_through_the_atmosphere() {
        for preset in presets() {
            for seconds in [0.0, 500.0, 3000.0, 50_000.0] {
                let (links, positions) = at(&preset.constellation, seconds);
                let most = degrees(&links, preset.constellation.satellites()).into_iter().max();
                let linked = preset.constellation.links == LinkPattern::PlusGrid;
                assert_eq!(most, Some(if linked { 4 } else { 0 }), "{}", preset.name);
                for &(s, t, _) in &links {
                    let (a, b) = (positions[s as usize], positions[t as usize]);
                    let middle = [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])];
                    assert!(distance(middle, [0.0; 3]) >= EARTH_RADIUS + 80e3 - 1.0, "{} {s}-{t}", preset.name);
                }
            }
        }
    }

    #[test]
    fn a_star_without_seam_links_and_cut_off_has_its_counts() {
        let mut iridium = preset("iridium-66").unwrap().constellation.clone();
        iridium.polar_cutoff = None;
        let (links, _) = at(&iridium, 1234.0);
        assert_eq!(links.len(), 66 + 5 * 11);
        let degrees = degrees(&links, 66);
        assert!(degrees[..11].iter().chain(&degrees[55..]).all(|&d| d == 3), "next to the seam there are three");
        assert!(degrees[11..55].iter().all(|&d| d == 4));
        iridium.cross_seam = true;
        assert_eq!(at(&iridium, 1234.0).0.len(), 66 + 6 * 11);
    }

    #[test]
    fn links_between_planes_rest_near_the_poles() {
        let leo = &preset("leo-66").unwrap().constellation;
        let mut without = leo.clone();
        without.polar_cutoff = None;
        for seconds in [0.0, 100.0, 1000.0] {
            let (links, positions) = at(leo, seconds);
            let latitude = |s: u32| {
                let p = positions[s as usize];
                libm::asin(p[2] / distance(p, [0.0; 3])).to_degrees().abs()
            };
            let across = |link: &&(u32, u32, f64)| link.0 / 11 != link.1 / 11;
            assert!(links.iter().filter(across).all(|link| latitude(link.0) <= 60.0 && latitude(link.1) <= 60.0));
            assert_eq!(links.iter().filter(|link| !across(link)).count(), 66, "links in the planes stay");
            let (all, _) = at(&without, seconds);
            let low = all.iter().filter(across).filter(|link| latitude(link.0) <= 60.0 && latitude(link.1) <= 60.0);
            assert_eq!(low.count(), links.iter().filter(across).count(), "only the poles are cut off");
        }
    }

    #[test]
    fn seam_partners_are_the_nearest_and_change_as_they_pass() {
        let mut leo = preset("leo-66").unwrap().constellation.clone();
        leo.polar_cutoff = None;
        let period = TAU / leo.latitude_rate();
        let mut partners = Vec::new();
        for step in 0..240 {
            let (links, positions) = at(&leo, f64::from(step) / 240.0 * period);
            let seam: Vec<_> = links.iter().filter(|link| link.0 < 11 && link.1 >= 55).collect();
            assert_eq!(seam.len(), 11);
            for &&(s, t, metres) in &seam {
                let nearest = (55..66).map(|o| distance(positions[s as usize], positions[o as usize]));
                let nearest = nearest.fold(f64::INFINITY, f64::min);
                assert!(metres < nearest + 800e3, "{s}-{t}: {metres} but {nearest}");
            }
            partners.push(seam.iter().find(|link| link.0 == 0).unwrap().1);
        }
        partners.dedup();
        // Two satellites that fly in opposite directions meet 2 * 11 times in a revolution.
        assert!((22..=23).contains(&partners.len()), "{partners:?}");
        assert!(partners.windows(2).all(|pair| (pair[0] + 10) % 11 == pair[1] % 11), "each in turn: {partners:?}");
    }

    #[test]
    fn a_delta_closes_without_a_seam() {
        let mut c = preset("starlink-shell-1").unwrap().constellation.clone();
        for (order, phasing) in [(PhasingOrder::Alternate, 0.5), (PhasingOrder::Progressive, 17.0 / 72.0)] {
            (c.phasing_order, c.phasing) = (order, phasing);
            let (links, _) = at(&c, 321.0);
            assert_eq!(links.len(), 2 * 1584);
            assert!(degrees(&links, 1584).iter().all(|&d| d == 4));
            let longest = |wrap: bool| {
                let is_wrap = |link: &(u32, u32, f64)| link.0 < 22 && link.1 >= 71 * 22;
                // Eastwards from the second plane, the fourth, and so on: the same offset as from the last plane.
                let is_like = |link: &(u32, u32, f64)| link.1 / 22 == link.0 / 22 + 1 && link.0 / 22 % 2 == 1;
                let chosen = links.iter().filter(|link| if wrap { is_wrap(link) } else { is_like(link) });
                chosen.map(|link| link.2).fold(0.0, f64::max)
            };
            assert!((longest(true) - longest(false)).abs() < 20e3, "the last planes are neighbours like any others");
        }
    }

    #[test]
    fn small_rings_and_patterns_without_links() {
        let mut c = preset("leo-66").unwrap().constellation.clone();
        (c.cross_seam, c.polar_cutoff, c.node_spacing) = (false, None, None);
        let mut count = |planes, satellites_per_plane, altitude_km: f64| {
            (c.planes, c.satellites_per_plane) = (planes, satellites_per_plane);
            c.altitude = units::Length::from_metres(altitude_km * 1e3);
            at(&c, 0.0).0.len()
        };
        assert_eq!(count(1, 1, 800.0), 0);
        assert_eq!(count(1, 2, 800.0), 0, "the Earth is between them");
        assert_eq!(count(1, 3, 800.0), 0);
        assert_eq!(count(1, 3, 20_000.0), 3);
        assert_eq!(count(2, 4, 20_000.0), 4 + 4 + 4);
        c.links = LinkPattern::None;
        assert_eq!(at(&c, 0.0).0.len(), 0);
        c.links = LinkPattern::PlusGrid;
        c.geometry = Geometry::Delta;
        c.inclination = Angle::from_degrees(53.0);
        (c.planes, c.satellites_per_plane) = (2, 8);
        let (links, _) = at(&c, 0.0);
        assert!(links.iter().any(|link| link.0 / 8 != link.1 / 8), "two planes are linked, once");
    }

    #[test]
    fn a_line_is_nearest_to_the_centre_between_its_ends() {
        let nearest = |a, b| nearest_to_centre(a, b);
        assert!((nearest([7.0, -3.0, 0.0], [7.0, 5.0, 0.0]) - 7.0).abs() < 1e-12);
        assert_eq!(nearest([7.0, 0.0, 0.0], [-9.0, 0.0, 0.0]), 0.0);
        // One straight above the other: the centre is below both.
        assert!((nearest([0.0, 0.0, 7.0], [0.0, 0.0, 42.0]) - 7.0).abs() < 1e-12);
        assert!((nearest([0.0, 0.0, 42.0], [0.0, 0.0, 7.0]) - 7.0).abs() < 1e-12);
    }
}
