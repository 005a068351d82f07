//! Satellites as the ground sees them: passes over a station, satellites in view by latitude, ground tracks and
//! footprints.

use units::Angle;

use crate::ground::place::{Place, Station};
use crate::satellites::frame::{EARTH_RADIUS, Vector, dot, inertial_to_earth_fixed};
use crate::satellites::propagation::Orbits;

/// A satellite's pass over a station: the time for which it is above the minimum elevation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// The satellite's number.
    pub satellite: u32,
    /// When it rises above the minimum elevation, in seconds after the reference instant; `None` if it is above at the
    /// begin.
    pub rise_s: Option<f64>,
    /// When its elevation is highest between the two instants, in seconds after the reference instant: where the window
    /// cuts the pass, perhaps at that end.
    pub culmination_s: f64,
    /// When it falls below the minimum elevation; `None` if it is still above at the end.
    pub set_s: Option<f64>,
    /// The highest elevation of the pass.
    pub highest: Angle,
    /// The satellite's distance at the highest elevation, metres.
    pub range_metres: f64,
}

/// Elevations are computed at this interval; what comes higher between two looks is searched for beside the highest.
pub const LOOK_EVERY_S: f64 = 10.0;
/// The precision of rise and set.
const PRECISION_S: f64 = 1e-3;

/// The passes over `station` that begin or last between two instants, in seconds after the reference instant (negative
/// before it), in the order of their rise.
pub fn passes(orbits: &Orbits, station: &Station, minimum_elevation: Angle, [begin, end]: [f64; 2]) -> Vec<Pass> {
    let sky = StationSky { orbits, station, sin_mask: libm::sin(minimum_elevation.as_radians()), begin, end };
    let mut open: Vec<Option<OpenPass>> = vec![None; orbits.len()];
    let mut passes = Vec::new();
    sky.look_at_all(|&PassLook { number, before, now, sine, culminates }| {
        let open = &mut open[number];
        match (&mut *open, sine >= sky.sin_mask) {
            (None, true) => {
                let rise_s = (now > begin).then(|| sky.crossing(number, before, now));
                *open = Some(OpenPass { rise_s, highest_look: (sine, now) });
            }
            (Some(pass), true) if sine > pass.highest_look.0 => pass.highest_look = (sine, now),
            (Some(pass), false) => {
                let set = sky.crossing(number, before, now);
                passes.push(sky.pass(number, *pass, Some(set)));
                *open = None;
            }
            (None, false) => passes.extend(culminates.and_then(|between| sky.short_pass(number, between))),
            _ => {}
        }
    });
    let still = open.into_iter().enumerate().filter_map(|(number, open)| open.map(|pass| (number, pass)));
    passes.extend(still.map(|(number, pass)| sky.pass(number, pass, None)));
    passes.sort_by(|a, b| {
        a.rise_s.unwrap_or(begin).total_cmp(&b.rise_s.unwrap_or(begin)).then(a.satellite.cmp(&b.satellite))
    });
    passes
}

/// The highest elevation, perhaps below the horizon, that a satellite reaches over `station` between two instants, and
/// when.
pub fn highest(orbits: &Orbits, station: &Station, [begin, end]: [f64; 2]) -> (Angle, f64) {
    let sky = StationSky { orbits, station, sin_mask: 1.0, begin, end };
    let mut best = (-1.0, begin);
    sky.look_at_all(|&PassLook { number, now, sine, culminates, .. }| {
        let culmination = culminates.map(|[from, to]| {
            let at = sky.highest_between(number, from, to);
            (sky.look(number, at).1, at)
        });
        for reached in culmination.into_iter().chain([(sine, now)]) {
            if reached.0 > best.0 {
                best = reached;
            }
        }
    });
    (elevation(best.0), best.1)
}

fn elevation(sine: f64) -> Angle {
    Angle::from_degrees(libm::asin(sine.clamp(-1.0, 1.0)).to_degrees())
}

/// One of the looks at all satellites, in the order of time.
struct PassLook {
    number: usize,
    /// The instants of the look at all satellites before and of this one.
    before: f64,
    now: f64,
    /// The sine of the elevation.
    sine: f64,
    /// Where the elevation may culminate: around the look before, if that was higher than its neighbours, or at the end
    /// beside this one.
    culminates: Option<[f64; 2]>,
}

/// A pass that has not ended yet.
#[derive(Clone, Copy)]
struct OpenPass {
    rise_s: Option<f64>,
    /// The sine of the highest elevation of the looks so far, and when that was.
    highest_look: (f64, f64),
}

struct StationSky<'a> {
    orbits: &'a Orbits,
    station: &'a Station,
    sin_mask: f64,
    begin: f64,
    end: f64,
}

impl StationSky<'_> {
    /// The distance in metres, and the sine of the elevation.
    fn look(&self, number: usize, seconds: f64) -> (f64, f64) {
        self.station.at(seconds).look(self.orbits.position_of(number as u32, seconds))
    }

    /// Looks at all satellites from begin to end.
    fn look_at_all(&self, mut visit: impl FnMut(&PassLook)) {
        let looks = ((self.end - self.begin) / LOOK_EVERY_S).ceil().max(1.0) as u64;
        let at = |look: u64| (self.begin + look as f64 * LOOK_EVERY_S).min(self.end);
        let mut positions = Vec::new();
        // The sines of the last look and of that before it.
        let mut last = vec![[f64::NEG_INFINITY; 2]; self.orbits.len()];
        for look in 0..=looks {
            let (before, now) = (at(look.saturating_sub(1)), at(look));
            self.orbits.positions_at(now, &mut positions);
            let horizon = self.station.at(now);
            for (number, [earlier, previous]) in last.iter_mut().enumerate() {
                let sine = horizon.look(positions[number]).1;
                let culminates = match *earlier < *previous && *previous >= sine {
                    true => Some([at(look.saturating_sub(2)), now]),
                    false => (look == looks && *previous < sine).then_some([before, now]),
                };
                visit(&PassLook { number, before, now, sine, culminates });
                (*earlier, *previous) = (*previous, sine);
            }
        }
    }

    /// When the elevation is highest between two instants between which it has one maximum, perhaps at an end.
    fn highest_between(&self, number: usize, mut low: f64, mut high: f64) -> f64 {
        // A third without the maximum is cut off (ternary search).
        while high - low > PRECISION_S {
            let third = (high - low) / 3.0;
            let [left, right] = [low + third, high - third].map(|at| self.look(number, at).1);
            match left < right {
                true => low += third,
                false => high -= third,
            }
        }
        f64::midpoint(low, high)
    }

    /// The pass between two looks at which the satellite is too low, if it comes high enough between them.
    fn short_pass(&self, number: usize, [from, to]: [f64; 2]) -> Option<Pass> {
        let top = self.highest_between(number, from, to);
        let sine = self.look(number, top).1;
        (sine >= self.sin_mask).then(|| {
            let rise_s = Some(self.crossing(number, from, top));
            let set_s = Some(self.crossing(number, top, to));
            self.pass(number, OpenPass { rise_s, highest_look: (sine, top) }, set_s)
        })
    }

    /// When the satellite crosses the minimum elevation, between two instants of which it is above at one and below at
    /// the other.
    fn crossing(&self, number: usize, mut before: f64, mut after: f64) -> f64 {
        let is_up = |at: f64| self.look(number, at).1 >= self.sin_mask;
        let at_first = is_up(before);
        while after - before > PRECISION_S {
            let middle = f64::midpoint(before, after);
            match is_up(middle) == at_first {
                true => before = middle,
                false => after = middle,
            }
        }
        f64::midpoint(before, after)
    }

    /// The elevation of a pass may have several maxima, as over a Molniya orbit: the search stays between the looks
    /// beside the highest one, where there is one.
    fn pass(&self, number: usize, OpenPass { rise_s, highest_look: (_, near) }: OpenPass, set_s: Option<f64>) -> Pass {
        let low = rise_s.unwrap_or(self.begin).max(near - LOOK_EVERY_S);
        let high = set_s.unwrap_or(self.end).min(near + LOOK_EVERY_S);
        let top = self.highest_between(number, low, high);
        // Where the window cuts the pass the elevation may be highest at that end.
        let ends = [(self.begin, rise_s), (self.end, set_s)];
        let cut = ends.into_iter().filter(|(_, crossing)| crossing.is_none()).map(|(end, _)| end);
        let culmination_s =
            cut.fold(top, |best, end| if self.look(number, end).1 > self.look(number, best).1 { end } else { best });
        let (range_metres, sine) = self.look(number, culmination_s);
        Pass { satellite: number as u32, rise_s, culmination_s, set_s, highest: elevation(sine), range_metres }
    }
}

/// The satellites in view at a latitude, over all longitudes and instants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatitudeCoverage {
    /// The latitude.
    pub latitude: Angle,
    /// Satellites above the minimum elevation: minimum, mean and maximum of their number.
    pub in_view: [f64; 3],
    /// The share of the time with at least one satellite, with at least two, and so on.
    pub at_least: [f64; 4],
    /// The mean elevation of the highest satellite; negative where none is above the horizon.
    pub highest_mean: Angle,
}

/// The satellites in view at `latitude`, at `longitudes` places evenly spread around it and at `instants` seconds after
/// the start.
pub fn coverage(
    orbits: &Orbits,
    minimum_elevation: Angle,
    latitude: Angle,
    longitudes: u32,
    instants: &[f64],
) -> LatitudeCoverage {
    let sin_mask = libm::sin(minimum_elevation.as_radians());
    let stations: Vec<_> = (0..longitudes)
        .map(|i| 360.0 * f64::from(i) / f64::from(longitudes))
        .map(|longitude| Station::new(&Place::from_degrees(latitude.as_degrees(), longitude)))
        .collect();
    let (mut fewest, mut sum, mut most) = (usize::MAX, 0, 0);
    let (mut at_least, mut elevations) = ([0u64; 4], 0.0);
    let mut positions = Vec::new();
    for &seconds in instants {
        orbits.positions_at(seconds, &mut positions);
        for station in &stations {
            let horizon = station.at(seconds);
            let (mut count, mut highest) = (0, -1.0);
            for &satellite in &positions {
                let sine = horizon.look(satellite).1;
                count += usize::from(sine >= sin_mask);
                highest = f64::max(highest, sine);
            }
            (fewest, most) = (fewest.min(count), most.max(count));
            sum += count;
            elevations += libm::asin(highest.min(1.0)).to_degrees();
            at_least.iter_mut().take(count).for_each(|shares| *shares += 1);
        }
    }
    let looks = (stations.len() * instants.len()).max(1) as f64;
    LatitudeCoverage {
        latitude,
        in_view: [fewest as f64, sum as f64 / looks, most as f64],
        at_least: at_least.map(|count| count as f64 / looks),
        highest_mean: Angle::from_degrees(elevations / looks),
    }
}

/// The sub-satellite point, as geocentric latitude and longitude in degrees, -180 to 180, `seconds` after the start.
pub fn sub_satellite(position: Vector, seconds: f64) -> (f64, f64) {
    below(inertial_to_earth_fixed(position, seconds))
}

fn below(fixed: Vector) -> (f64, f64) {
    let latitude = libm::atan2(fixed[2], (fixed[0] * fixed[0] + fixed[1] * fixed[1]).sqrt());
    (latitude.to_degrees(), libm::atan2(fixed[1], fixed[0]).to_degrees())
}

/// The edge of a satellite's footprint: the points of a sphere of the Earth's equatorial radius that see it at the
/// minimum elevation, as (latitude, longitude) in degrees, eastwards around the satellite, beginning in the north.
pub fn footprint(position: Vector, seconds: f64, minimum_elevation: Angle, points: u32) -> Vec<(f64, f64)> {
    let fixed = inertial_to_earth_fixed(position, seconds);
    let radius = dot(fixed, fixed).sqrt();
    // The plane triangle of the Earth's centre, the edge and the satellite gives the angle at the centre.
    let mask = minimum_elevation.as_radians();
    let angle = libm::acos(EARTH_RADIUS / radius * libm::cos(mask)) - mask;
    let (sin, cos) = libm::sincos(angle);
    let up = fixed.map(|x| x / radius);
    let flat = (up[0] * up[0] + up[1] * up[1]).sqrt();
    // Above a pole every direction is south; the Greenwich meridian is taken.
    let east = if flat < 1e-12 { [0.0, 1.0, 0.0] } else { [-up[1] / flat, up[0] / flat, 0.0] };
    let north =
        [up[1] * east[2] - up[2] * east[1], up[2] * east[0] - up[0] * east[2], up[0] * east[1] - up[1] * east[0]];
    let point = |i: u32| {
        let (s, c) = libm::sincos(std::f64::consts::TAU * f64::from(i) / f64::from(points));
        below(std::array::from_fn(|axis| cos * up[axis] + sin * (c * north[axis] + s * east[axis])))
    };
    (0..points).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::satellites::constellation::Constellation;
    use crate::satellites::elements::{ElementOrbits, ElementSet};
    use crate::satellites::epoch::Epoch;
    use crate::satellites::presets::preset;

    fn leo() -> Constellation {
        preset("leo-66").unwrap().constellation.clone()
    }

    #[test]
    fn passes_are_what_dense_looks_show() {
        let constellation = leo();
        let orbits = Orbits::new(&constellation);
        let station = Station::new(&Place::from_degrees(43.6, 1.4));
        let mask = Angle::from_degrees(10.0);
        let found = passes(&orbits, &station, mask, [0.0, 3000.0]);
        let sin_mask = libm::sin(mask.as_radians());
        let mut positions = Vec::new();
        for tenth in 0..30_000 {
            let now = f64::from(tenth) * 0.1 + 0.05;
            orbits.positions_at(now, &mut positions);
            let horizon = station.at(now);
            let is_over = |satellite: u32| {
                found.iter().any(|pass| {
                    let since = pass.rise_s.is_none_or(|rise| rise <= now);
                    pass.satellite == satellite && since && pass.set_s.is_none_or(|set| now < set)
                })
            };
            for (number, &satellite) in positions.iter().enumerate() {
                let sine = horizon.look(satellite).1;
                // Within a millisecond of flight of the mask, either answer may be right.
                assert!(
                    (sine - sin_mask).abs() < 2e-5 || (sine >= sin_mask) == is_over(number as u32),
                    "{number} {now}"
                );
                let own = found.iter().filter(|pass| pass.satellite as usize == number);
                let own = own.filter(|pass| pass.rise_s.unwrap_or(0.0) <= now && now <= pass.set_s.unwrap_or(3000.0));
                own.for_each(|pass| assert!(sine <= libm::sin(pass.highest.as_radians()) + 1e-9));
            }
        }
        assert!(found.len() > 10 && found.iter().filter(|pass| pass.rise_s.is_none()).count() >= 1);
        assert!(found.windows(2).all(|pair| pair[0].rise_s.unwrap_or(0.0) <= pair[1].rise_s.unwrap_or(0.0)));
    }

    #[test]
    fn what_comes_high_between_two_looks_is_found() {
        let orbits = Orbits::new(&leo());
        // Under satellite 0 at 25 s, between the looks at 20 s and 30 s.
        let under = sub_satellite(orbits.position_of(0, 25.0), 25.0);
        let station = Station::new(&Place::from_degrees(under.0, under.1));
        let (best, at) = highest(&orbits, &station, [0.0, 60.0]);
        assert!(best.as_degrees() > 89.8 && (at - 25.0).abs() < 0.5, "{best:?} at {at}");
        let [pass] = passes(&orbits, &station, Angle::from_degrees(89.0), [0.0, 60.0])[..] else { panic!("no pass") };
        let (rise, set) = (pass.rise_s.unwrap(), pass.set_s.unwrap());
        assert!(pass.satellite == 0 && rise < at && at < set && set - rise < 10.0, "{pass:?}");
        let sine = |at| station.at(at).look(orbits.position_of(0, at)).1;
        let mask = libm::sin(89.0_f64.to_radians());
        // Also where the window has two looks, and in its first and last interval.
        for window in [[23.0, 28.0], [22.0, 60.0], [0.0, 27.0], [7.0, 27.5]] {
            let (best, at) = highest(&orbits, &station, window);
            assert!(best.as_degrees() > 89.8 && (at - 25.0).abs() < 0.5, "{window:?}: {best:?} at {at}");
            let found = passes(&orbits, &station, Angle::from_degrees(89.0), window);
            assert!(found.len() == 1 && (found[0].culmination_s - at).abs() < 0.01, "{window:?}: {found:?}");
        }
        assert!(
            sine(rise - 0.01) < mask && sine(rise + 0.01) > mask && sine(set - 0.01) > mask && sine(set + 0.01) < mask
        );
    }

    #[test]
    fn a_pass_with_two_maxima_culminates_at_the_higher_one() {
        let station = Station::new(&Place::from_degrees(43.6, 1.4));
        let mut twice = 0;
        for node in (0..360).step_by(30) {
            // An orbit as of a Molniya satellite: above Europe for hours, it may come high twice in a pass.
            let set = ElementSet {
                name: "Molniya".to_owned(),
                number: 1,
                epoch: Epoch::from_date(2024, 1, 1).unwrap(),
                mean_motion: 2.006,
                eccentricity: 0.7,
                inclination: 63.4,
                right_ascension: f64::from(node),
                argument_of_perigee: 280.0,
                mean_anomaly: 10.0,
                drag: 0.0,
            };
            let orbits = Orbits::Elements(ElementOrbits::new(std::slice::from_ref(&set), set.epoch).unwrap());
            for pass in passes(&orbits, &station, Angle::from_degrees(10.0), [0.0, 86_400.0]) {
                let (from, to) = (pass.rise_s.unwrap_or(0.0), pass.set_s.unwrap_or(86_400.0));
                let instants = (0..=400).map(|look| from + f64::from(look) / 400.0 * (to - from));
                let sines: Vec<f64> = instants.map(|at| station.at(at).look(orbits.position_of(0, at)).1).collect();
                let highest = libm::sin(pass.highest.as_radians());
                assert!(sines.iter().all(|&sine| sine <= highest + 1e-9), "{node} deg: {pass:?}");
                twice += usize::from(sines.windows(3).filter(|w| w[1] > w[0] && w[1] >= w[2]).count() > 1);
            }
        }
        assert!(twice >= 3, "{twice} passes with two maxima");
    }

    #[test]
    fn a_pass_over_the_zenith_takes_what_geometry_says() {
        // One satellite in the plane of the equator over a station on the equator: its period there is 2 pi / (motion -
        // rotation).
        let mut constellation = leo();
        (constellation.inclination, constellation.first_node) = (Angle::from_degrees(0.0), Angle::from_degrees(0.0));
        (constellation.planes, constellation.satellites_per_plane) = (1, 1);
        constellation.node_spacing = None;
        let orbits = Orbits::new(&constellation);
        let station = Station::new(&Place::from_degrees(0.0, 90.0));
        let found = passes(&orbits, &station, Angle::from_degrees(10.0), [0.0, 6000.0]);
        let [pass] = found[..] else { panic!("{found:?}") };
        let r: f64 = EARTH_RADIUS + 800e3;
        let rate = (crate::satellites::frame::GRAVITATIONAL_PARAMETER / (r * r * r)).sqrt()
            - crate::satellites::frame::EARTH_ROTATION;
        let mask = 10f64.to_radians();
        let half = (libm::acos(EARTH_RADIUS / r * libm::cos(mask)) - mask) / rate;
        let over = std::f64::consts::FRAC_PI_2 / rate;
        assert!((pass.rise_s.unwrap() - (over - half)).abs() < 2e-3, "{pass:?}");
        assert!((pass.culmination_s - over).abs() < 0.05 && (pass.set_s.unwrap() - (over + half)).abs() < 2e-3);
        assert!(pass.highest.as_degrees() > 89.99 && (pass.range_metres - 800e3).abs() < 1.0);

        // Cut by the window before or after it culminates, it is highest at that end.
        for window in [[0.0, over - 60.0], [over + 60.0, 6000.0]] {
            let found = passes(&orbits, &station, Angle::from_degrees(10.0), window);
            let [cut] = found[..] else { panic!("{found:?}") };
            let end = if cut.rise_s.is_some() { window[1] } else { window[0] };
            assert_eq!(cut.culmination_s, end, "{window:?}");
        }
    }

    #[test]
    fn coverage_by_latitude() {
        let constellation = leo();
        let orbits = Orbits::new(&constellation);
        let instants: Vec<f64> = (0..40).map(|i| f64::from(i) * 151.0).collect();
        let at = |degrees: f64, mask: f64| {
            coverage(&orbits, Angle::from_degrees(mask), Angle::from_degrees(degrees), 24, &instants)
        };
        // The preset's own mask, with which it just covers the equator.
        let (equator, pole) = (at(0.0, 8.2), at(89.0, 8.2));
        assert!(equator.at_least[0] > 0.999 && pole.in_view[1] > 3.0 * equator.in_view[1]);
        // The mean over all places is the footprint's share of the sphere, times the number of satellites.
        let mask = 10f64.to_radians();
        let r = EARTH_RADIUS + 800e3;
        let cap = (1.0 - libm::cos(libm::acos(EARTH_RADIUS / r * libm::cos(mask)) - mask)) / 2.0;
        let rows: Vec<_> = (-89..=89).step_by(2).map(|degrees| (degrees, at(f64::from(degrees), 10.0))).collect();
        let weight = |degrees: i32| libm::cos(f64::from(degrees).to_radians());
        let mean = rows.iter().map(|(degrees, row)| weight(*degrees) * row.in_view[1]).sum::<f64>()
            / rows.iter().map(|(degrees, _)| weight(*degrees)).sum::<f64>();
        assert!((mean / (66.0 * cap) - 1.0).abs() < 0.02, "{mean} but {}", 66.0 * cap);
        assert!(at(0.0, 60.0).at_least[0] < 0.5);
        assert!(equator.at_least.windows(2).all(|pair| pair[1] <= pair[0]));
    }

    #[test]
    fn footprints_are_seen_at_the_mask() {
        let constellation = leo();
        let orbits = Orbits::new(&constellation);
        let mut positions = Vec::new();
        orbits.positions_at(500.0, &mut positions);
        for &position in &positions {
            for (latitude, longitude) in footprint(position, 500.0, Angle::from_degrees(10.0), 12) {
                assert!((-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude));
                let (sin_lat, cos_lat) = libm::sincos(latitude.to_radians());
                let (sin_lon, cos_lon) = libm::sincos(longitude.to_radians());
                let up = [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat];
                let fixed = inertial_to_earth_fixed(position, 500.0);
                let line: Vector = std::array::from_fn(|axis| fixed[axis] - EARTH_RADIUS * up[axis]);
                let sine = dot(line, up) / dot(line, line).sqrt();
                assert!((libm::asin(sine).to_degrees() - 10.0).abs() < 1e-9, "{latitude} {longitude}");
            }
        }
        let (latitude, longitude) = sub_satellite([0.0, EARTH_RADIUS, 0.0], 0.0);
        assert!(latitude.abs() < 1e-12 && (longitude - 90.0).abs() < 1e-12);
    }
}
