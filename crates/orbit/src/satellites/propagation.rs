//! Positions of satellites: circular orbits, undisturbed or with the drift that the Earth's oblateness causes, or the
//! orbits of real satellites.
//!
//! Positions are in the inertial frame of `frame.rs`, metres.

use crate::satellites::constellation::Constellation;
use crate::satellites::elements::ElementOrbits;
use crate::satellites::frame::{Vector, turned};

/// The orbits of a constellation, ready to be evaluated at any instant.
#[derive(Clone, Debug)]
pub enum Orbits {
    /// Circular orbits in a regular pattern.
    Walker(WalkerOrbits),
    /// Real satellites, by their mean elements.
    Elements(ElementOrbits),
}

impl Orbits {
    /// The orbits of `constellation`, whose values must have passed [`Constellation::check`].
    pub fn new(constellation: &Constellation) -> Orbits {
        Orbits::Walker(WalkerOrbits::new(constellation))
    }

    /// Number of satellites.
    pub fn len(&self) -> usize {
        match self {
            Orbits::Walker(orbits) => orbits.phases.len(),
            Orbits::Elements(orbits) => orbits.len(),
        }
    }

    /// Whether there is no satellite (a checked constellation has at least one).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the positions of all satellites, `seconds` after the reference instant, in the inertial frame, metres.
    pub fn positions_at(&self, seconds: f64, positions: &mut Vec<Vector>) {
        match self {
            Orbits::Walker(orbits) => orbits.positions_at(seconds, positions),
            Orbits::Elements(orbits) => orbits.positions_at(seconds, positions),
        }
    }

    /// The position of one satellite, as in [`Orbits::positions_at`].
    pub fn position_of(&self, satellite: u32, seconds: f64) -> Vector {
        match self {
            Orbits::Walker(orbits) => orbits.position_of(satellite as usize, seconds),
            Orbits::Elements(orbits) => orbits.position_of(satellite as usize, seconds),
        }
    }

    /// The velocity of one satellite in the same frame, metres per second.
    pub fn velocity_of(&self, satellite: u32, seconds: f64) -> Vector {
        match self {
            Orbits::Walker(orbits) => orbits.velocity_of(satellite as usize, seconds),
            Orbits::Elements(orbits) => orbits.velocity_of(satellite as usize, seconds),
        }
    }
}

/// Circular orbits of one radius and inclination.
#[derive(Clone, Debug)]
pub struct WalkerOrbits {
    radius: f64,
    latitude_rate: f64,
    node_rate: f64,
    /// For each plane the directions to the ascending node and, in the plane, a quarter turn ahead of it, both at the
    /// reference instant.
    planes: Vec<(Vector, Vector)>,
    satellites_per_plane: usize,
    /// Cosine and sine of each satellite's argument of latitude at the reference instant.
    phases: Vec<(f64, f64)>,
}

impl WalkerOrbits {
    fn new(constellation: &Constellation) -> WalkerOrbits {
        let (sin_i, cos_i) = libm::sincos(constellation.inclination.as_radians());
        let spacing = std::f64::consts::TAU / f64::from(constellation.satellites_per_plane);
        let mut planes = Vec::with_capacity(constellation.planes as usize);
        let mut phases = Vec::with_capacity(constellation.satellites() as usize);
        for plane in 0..constellation.planes {
            let node = constellation.first_node.as_radians() + f64::from(plane) * constellation.node_spacing_radians();
            let (sin_node, cos_node) = libm::sincos(node);
            planes.push(([cos_node, sin_node, 0.0], [-sin_node * cos_i, cos_node * cos_i, sin_i]));
            for k in 0..constellation.satellites_per_plane {
                let (sin, cos) = libm::sincos((f64::from(k) + constellation.phase_shift(plane)) * spacing);
                phases.push((cos, sin));
            }
        }
        WalkerOrbits {
            radius: constellation.radius(),
            latitude_rate: constellation.latitude_rate(),
            node_rate: constellation.node_rate(),
            planes,
            satellites_per_plane: constellation.satellites_per_plane as usize,
            phases,
        }
    }

    fn positions_at(&self, seconds: f64, positions: &mut Vec<Vector>) {
        // One sine for all satellites: angles on the orbit are added by the addition theorem. Likewise all nodes turn
        // by one angle.
        let on_orbit = libm::sincos(self.latitude_rate * seconds);
        let turn = libm::sincos(self.node_rate * seconds);
        positions.clear();
        for (&(node, ahead), phases) in self.planes.iter().zip(self.phases.chunks(self.satellites_per_plane)) {
            let plane = (turned(node, turn), turned(ahead, turn));
            positions.extend(phases.iter().map(|&phase| self.position(plane, phase, on_orbit)));
        }
    }

    fn position_of(&self, satellite: usize, seconds: f64) -> Vector {
        let turn = libm::sincos(self.node_rate * seconds);
        let (node, ahead) = self.planes[satellite / self.satellites_per_plane];
        let plane = (turned(node, turn), turned(ahead, turn));
        self.position(plane, self.phases[satellite], libm::sincos(self.latitude_rate * seconds))
    }

    fn velocity_of(&self, satellite: usize, seconds: f64) -> Vector {
        let turn = libm::sincos(self.node_rate * seconds);
        let (node, ahead) = self.planes[satellite / self.satellites_per_plane];
        let plane = (turned(node, turn), turned(ahead, turn));
        let (sin, cos) = libm::sincos(self.latitude_rate * seconds);
        // The direction of flight is that to the position a quarter of a revolution ahead.
        let forward = self.position(plane, self.phases[satellite], (cos, -sin));
        let [x, y, _] = self.position(plane, self.phases[satellite], (sin, cos));
        let drift = [-self.node_rate * y, self.node_rate * x, 0.0];
        std::array::from_fn(|axis| self.latitude_rate * forward[axis] + drift[axis])
    }

    #[inline]
    fn position(&self, (node, ahead): (Vector, Vector), (cos_0, sin_0): (f64, f64), (sin, cos): (f64, f64)) -> Vector {
        let along = self.radius * (cos_0 * cos - sin_0 * sin);
        let across = self.radius * (sin_0 * cos + cos_0 * sin);
        [node[0] * along + ahead[0] * across, node[1] * along + ahead[1] * across, node[2] * along + ahead[2] * across]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::satellites::frame::*;
    use crate::satellites::presets::{preset, presets};
    use units::{Angle, Length};

    #[test]
    fn periods_are_those_known() {
        let mut constellation = preset("iridium-66").unwrap().constellation.clone();
        // ns-2's Iridium example: 6026.9 s.
        let period = |c: &Constellation| std::f64::consts::TAU / c.latitude_rate();
        assert!((period(&constellation) - 6026.9).abs() < 0.5);
        // The geostationary orbit takes a sidereal day, 86164.0905 s; its radius is 42164.17 km.
        constellation.altitude = Length::from_metres(42_164_170.0 - EARTH_RADIUS);
        assert!((period(&constellation) - 86_164.09).abs() < 0.1);
    }

    #[test]
    fn sub_satellite_points_follow_spherical_trigonometry() {
        use std::f64::consts::{FRAC_PI_2, TAU};
        for preset in presets() {
            let mut c = preset.constellation.clone();
            c.first_node = Angle::from_degrees(20.0);
            let orbits = Orbits::new(&c);
            let mut positions = Vec::new();
            for seconds in [0.0, 1.5, 777.0, 6000.0, 86_400.0] {
                orbits.positions_at(seconds, &mut positions);
                for (number, &position) in positions.iter().enumerate() {
                    let (plane, k) = (number as u32 / c.satellites_per_plane, number as u32 % c.satellites_per_plane);
                    // Alternate phasing of half a spacing, as in all presets.
                    let phase = (f64::from(k) + 0.5 * f64::from(plane % 2)) / f64::from(c.satellites_per_plane);
                    let a = EARTH_RADIUS + c.altitude.as_metres();
                    let motion = (GRAVITATIONAL_PARAMETER / (a * a * a)).sqrt();
                    let u = TAU * phase + motion * seconds;
                    // The triangle of node, foot on the equator and satellite.
                    let latitude = libm::asin(libm::sin(c.inclination.as_radians()) * libm::sin(u));
                    let east = libm::atan2(libm::cos(c.inclination.as_radians()) * libm::sin(u), libm::cos(u));
                    let node = 20f64.to_radians() + f64::from(plane) * c.node_spacing_radians();
                    let longitude = node + east - EARTH_ROTATION * seconds;
                    let expected = [
                        a * libm::cos(latitude) * libm::cos(longitude),
                        a * libm::cos(latitude) * libm::sin(longitude),
                        a * libm::cos(FRAC_PI_2 - latitude),
                    ];
                    let found = inertial_to_earth_fixed(position, seconds);
                    assert!(distance(found, expected) < 0.01, "{} {number} at {seconds} s", preset.name);
                }
            }
        }
    }

    #[test]
    fn oblateness_turns_the_planes_as_it_is_known_to() {
        let mut c = preset("leo-66").unwrap().constellation.clone();
        let undisturbed = c.latitude_rate();
        assert_eq!(c.node_rate(), 0.0);
        c.j2 = true;
        let degrees_a_day = |rate: f64| rate.to_degrees() * 86_400.0;
        // Sun-synchronous at 800 km: 98.6 deg (Wertz, Space Mission Analysis and Design), with the mean sun in a
        // tropical year.
        c.inclination = Angle::from_degrees(98.603);
        assert!((degrees_a_day(c.node_rate()) - 360.0 / 365.2422).abs() < 2e-4, "{}", degrees_a_day(c.node_rate()));
        // At 60 and 120 deg, 4 cos^2 i = 1: the nodal period is the undisturbed one.
        for inclination in [60.0, 120.0] {
            c.inclination = Angle::from_degrees(inclination);
            assert!((c.latitude_rate() / undisturbed - 1.0).abs() < 1e-12);
        }
        c.inclination = Angle::from_degrees(90.0);
        assert!(degrees_a_day(c.node_rate()).abs() < 1e-12 && c.latitude_rate() < undisturbed);
    }

    #[test]
    fn satellites_drift_by_the_rates() {
        let mut c = preset("starlink-shell-1").unwrap().constellation.clone();
        let mut at = |j2: bool, seconds: f64, turned_by: f64, ahead_by: f64| {
            c.j2 = j2;
            c.first_node = Angle::from_degrees(turned_by.to_degrees());
            let mut positions = Vec::new();
            // A satellite that is ahead has the position of the undisturbed constellation at a later time.
            Orbits::new(&c).positions_at(
                seconds + ahead_by / Constellation { j2: false, ..c.clone() }.latitude_rate(),
                &mut positions,
            );
            positions
        };
        let shell = Constellation { j2: true, ..preset("starlink-shell-1").unwrap().constellation.clone() };
        let undisturbed = preset("starlink-shell-1").unwrap().constellation.latitude_rate();
        for seconds in [0.0, 3600.0, 86_400.0] {
            let ahead = (shell.latitude_rate() - undisturbed) * seconds;
            let drifted = at(true, seconds, 0.0, 0.0);
            let expected = at(false, seconds, shell.node_rate() * seconds, ahead);
            assert!(drifted.iter().zip(&expected).all(|(&a, &b)| distance(a, b) < 0.01), "after {seconds} s");
            let stayed = at(false, seconds, 0.0, 0.0);
            assert_eq!(distance(drifted[7], stayed[7]) > 100e3, seconds > 80_000.0);
        }
    }

    #[test]
    fn velocities_are_how_positions_change() {
        for j2 in [false, true] {
            let c = Constellation { j2, ..preset("starlink-shell-1").unwrap().constellation.clone() };
            let orbits = Orbits::new(&c);
            for (satellite, seconds) in [(0, 0.0), (77, 1234.5), (1500, 86_400.0)] {
                let [before, after] = [-0.1, 0.1].map(|offset| orbits.position_of(satellite, seconds + offset));
                let found = orbits.velocity_of(satellite, seconds);
                let expected: Vector = std::array::from_fn(|axis| (after[axis] - before[axis]) / 0.2);
                assert!(distance(found, expected) < 1e-4, "{satellite} at {seconds}: {found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn a_geostationary_satellite_stays() {
        let mut geo = preset("geo").unwrap().constellation.clone();
        geo.first_node = Angle::from_degrees(13.0);
        let mut positions = Vec::new();
        for days in [0.0, 0.3, 7.0] {
            Orbits::new(&geo).positions_at(days * 86_400.0, &mut positions);
            let [x, y, z] = inertial_to_earth_fixed(positions[0], days * 86_400.0);
            assert!((libm::atan2(y, x).to_degrees() - 13.0).abs() < 1e-4 && z.abs() < 1.0, "after {days} days");
        }
    }
}
