//! Places on the ground (WGS 84) and the satellites that they see.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Angle, FieldError, Length};

use crate::satellites::frame::{EARTH_RADIUS, Vector, dot, earth_turn, turned};

/// A place on the Earth, in WGS 84 coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Geodetic latitude, north positive, between -90 deg and 90 deg.
    pub latitude: Angle,
    /// Longitude, east positive, between -180 deg and 360 deg.
    pub longitude: Angle,
    /// Height above the ellipsoid.
    #[serde(default)]
    pub altitude: Length,
}

impl Place {
    /// A place at sea level; degrees, north and east positive.
    pub fn from_degrees(latitude: f64, longitude: f64) -> Place {
        Place {
            latitude: Angle::from_degrees(latitude),
            longitude: Angle::from_degrees(longitude),
            altitude: Length::default(),
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        let refuse = |field: &str, message: String| Err(FieldError::new(field, message));
        if !(-90.0..=90.0).contains(&self.latitude.as_degrees()) {
            return refuse(
                "latitude",
                format!("{} deg must be between -90 deg and 90 deg", self.latitude.as_degrees()),
            );
        }
        if !(-180.0..=360.0).contains(&self.longitude.as_degrees()) {
            return refuse(
                "longitude",
                format!("{} deg must be between -180 deg and 360 deg", self.longitude.as_degrees()),
            );
        }
        if self.altitude.as_metres() > 50e3 {
            return refuse("altitude", format!("{} must be at most 50 km", self.altitude));
        }
        Ok(())
    }
}

/// Flattening of the WGS 84 ellipsoid.
const FLATTENING: f64 = 1.0 / 298.257_223_563;

/// A place that turns with the Earth, and its horizon.
#[derive(Clone, Copy, Debug)]
pub struct Station {
    position: Vector,
    up: Vector,
}

impl Station {
    /// The station at `place`.
    pub fn new(place: &Place) -> Station {
        Station::upright(upright(place), place.altitude.as_metres())
    }

    /// The station at `altitude` metres above the ellipsoid where `up` is the ellipsoid's normal (length 1): geodetic
    /// to Earth-centred coordinates (WGS 84, NGA.STND.0036 equation 4-14).
    pub(crate) fn upright(up: Vector, altitude: f64) -> Station {
        let eccentricity2 = FLATTENING * (2.0 - FLATTENING);
        let normal = EARTH_RADIUS / (1.0 - eccentricity2 * up[2] * up[2]).sqrt();
        let level = normal + altitude;
        let position = [level * up[0], level * up[1], (normal * (1.0 - eccentricity2) + altitude) * up[2]];
        Station { position, up }
    }

    /// The station `seconds` after the reference instant, in the inertial frame.
    pub fn at(&self, seconds: f64) -> Horizon {
        self.turned(earth_turn(seconds))
    }

    /// The position in the frame fixed to the Earth, metres.
    pub fn position(&self) -> Vector {
        self.position
    }

    /// As [`Station::at`], after the Earth has turned by the angle with this sine and cosine.
    pub(crate) fn turned(&self, turn: (f64, f64)) -> Horizon {
        Horizon { position: turned(self.position, turn), up: turned(self.up, turn) }
    }
}

/// The normal of the ellipsoid at `place`, length 1, fixed to the Earth.
pub(crate) fn upright(place: &Place) -> Vector {
    let (sin_lat, cos_lat) = libm::sincos(place.latitude.as_radians());
    let (sin_lon, cos_lon) = libm::sincos(place.longitude.as_radians());
    [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat]
}

/// The direction and distance to a satellite at one instant, geometric: without refraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookAngles {
    /// From north over east, 0 to 360 deg.
    pub azimuth: Angle,
    /// Above the plane tangential to the ellipsoid, -90 to 90 deg.
    pub elevation: Angle,
    /// The distance, metres.
    pub range_metres: f64,
}

/// A station at an instant, in the inertial frame: its position and its upward direction.
#[derive(Clone, Copy, Debug)]
pub struct Horizon {
    /// The position, metres.
    pub position: Vector,
    /// The normal of the ellipsoid, length 1.
    pub up: Vector,
}

impl Horizon {
    /// The distance to `satellite` in metres and the sine of its elevation.
    pub fn look(&self, satellite: Vector) -> (f64, f64) {
        let d = self.towards(satellite);
        let range = dot(d, d).sqrt();
        (range, dot(d, self.up) / range)
    }

    fn towards(&self, point: Vector) -> Vector {
        [point[0] - self.position[0], point[1] - self.position[1], point[2] - self.position[2]]
    }

    /// The look angles to `satellite`. At a pole, azimuth counts from the meridian of the place's longitude.
    pub fn look_angles(&self, satellite: Vector) -> LookAngles {
        let d = self.towards(satellite);
        // East is the Earth's axis times up (cross product); north is up times east.
        let [x, y, z] = self.up;
        let level = (x * x + y * y).sqrt();
        let east = [-y / level, x / level, 0.0];
        let north = [-z * east[1], z * east[0], x * east[1] - y * east[0]];
        let (range, sin_elevation) = self.look(satellite);
        let azimuth = libm::atan2(dot(d, east), dot(d, north)).to_degrees();
        LookAngles {
            azimuth: Angle::from_degrees(if azimuth < 0.0 { azimuth + 360.0 } else { azimuth }),
            elevation: Angle::from_degrees(libm::asin(sin_elevation.clamp(-1.0, 1.0)).to_degrees()),
            range_metres: range,
        }
    }

    /// The satellites at or above the mask, as (number, distance in metres, sine of the elevation).
    pub fn visible(&self, satellites: &[Vector], sin_mask: f64) -> impl Iterator<Item = (u32, f64, f64)> {
        let in_view = move |(number, &satellite): (usize, &Vector)| {
            // Most satellites are below the horizon, which the sign of the product shows without a square root.
            if sin_mask >= 0.0 && dot(self.towards(satellite), self.up) < 0.0 {
                return None;
            }
            let (range, sin_elevation) = self.look(satellite);
            (sin_elevation >= sin_mask).then_some((number as u32, range, sin_elevation))
        };
        satellites.iter().enumerate().filter_map(in_view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::satellites::frame::distance;
    use crate::satellites::presets::preset;
    use crate::satellites::propagation::Orbits;

    fn on_equator(longitude: f64, radius: f64) -> Vector {
        [radius * libm::cos(longitude.to_radians()), radius * libm::sin(longitude.to_radians()), 0.0]
    }

    #[test]
    fn stations_stand_upright_on_the_ellipsoid() {
        let polar_radius = 6_356_752.314_245_18; // WGS 84
        assert!(distance(Station::new(&Place::from_degrees(0.0, 0.0)).position, [EARTH_RADIUS, 0.0, 0.0]) < 1e-6);
        assert!(distance(Station::new(&Place::from_degrees(-90.0, 7.0)).position, [0.0, 0.0, -polar_radius]) < 1e-4);
        for (latitude, longitude) in [(43.6, 1.4), (-36.9, 174.8), (80.0, 300.0), (-12.3, -77.0)] {
            let Station { position: [x, y, z], up } = Station::new(&Place::from_degrees(latitude, longitude));
            let (a2, b2) = (EARTH_RADIUS * EARTH_RADIUS, polar_radius * polar_radius);
            assert!(((x * x + y * y) / a2 + z * z / b2 - 1.0).abs() < 1e-12);
            // The gradient of the ellipsoid's equation is its normal.
            let gradient = [x / a2, y / a2, z / b2];
            let size = dot(gradient, gradient).sqrt();
            assert!(distance(gradient.map(|g| g / size), up) < 1e-10);
            assert!(distance([x, y, 0.0], on_equator(longitude, (x * x + y * y).sqrt())) < 1e-6);
        }
        let high = Place { altitude: Length::from_metres(1500.0), ..Place::from_degrees(43.6, 1.4) };
        let sea = Station::new(&Place::from_degrees(43.6, 1.4));
        assert!((distance(Station::new(&high).position, sea.position) - 1500.0).abs() < 1e-6);
    }

    #[test]
    fn elevation_and_range_follow_the_plane_triangle() {
        // In the equatorial plane the Earth is a circle: tan(elevation) = (cos g - Re/r) / sin g at a central angle g.
        let horizon = Station::new(&Place::from_degrees(0.0, 30.0)).at(0.0);
        let r = EARTH_RADIUS + 800e3;
        for degrees in [0.5, 5.0, 15.0, 25.0, 27.0, 60.0f64] {
            let g = degrees.to_radians();
            let longitude = (30.0 - degrees).to_radians();
            let (range, sin_elevation) = horizon.look([r * libm::cos(longitude), r * libm::sin(longitude), 0.0]);
            let expected = libm::atan((libm::cos(g) - EARTH_RADIUS / r) / libm::sin(g));
            assert!((libm::asin(sin_elevation) - expected).abs() < 1e-9);
            let cosine_rule = EARTH_RADIUS * EARTH_RADIUS + r * r - 2.0 * EARTH_RADIUS * r * libm::cos(g);
            assert!((range - cosine_rule.sqrt()).abs() < 1e-3);
        }
    }

    #[test]
    fn azimuth_counts_from_north_over_east() {
        for (latitude, longitude, seconds) in [(0.0, 0.0, 0.0), (43.6, 1.4, 5000.0), (-36.9, 174.8, 86_000.0)] {
            let place = |dlat: f64, dlon: f64| Place::from_degrees(latitude + dlat, longitude + dlon);
            let horizon = Station::new(&place(0.0, 0.0)).at(seconds);
            let towards = |dlat, dlon| {
                let there = Place { altitude: Length::from_metres(40e3), ..place(dlat, dlon) };
                horizon.look_angles(Station::new(&there).at(seconds).position).azimuth.as_degrees()
            };
            for (found, expected) in [
                (towards(0.01, 0.0), 0.0),
                (towards(0.0, 0.01), 90.0),
                (towards(-0.01, 0.0), 180.0),
                (towards(0.0, -0.01), 270.0),
            ] {
                let off = (found - expected + 180.0).rem_euclid(360.0) - 180.0;
                assert!(off.abs() < 0.01, "{latitude} {longitude}: {found} but {expected}");
            }
            let zenith = Place { altitude: Length::from_metres(40e3), ..place(0.0, 0.0) };
            let LookAngles { elevation, range_metres, .. } =
                horizon.look_angles(Station::new(&zenith).at(seconds).position);
            assert!(elevation.as_degrees() > 89.9999 && (range_metres - 40e3).abs() < 1e-3);
        }
    }

    #[test]
    fn the_66_satellites_cover_the_world() {
        let constellation = &preset("leo-66").unwrap().constellation;
        let orbits = Orbits::new(constellation);
        let sin_mask = libm::sin(constellation.minimum_elevation.as_radians());
        let mut positions = Vec::new();
        let mut seen = 0;
        for minute in (0..24 * 60).step_by(7) {
            let seconds = f64::from(minute) * 60.0;
            orbits.positions_at(seconds, &mut positions);
            for latitude in (-90..=90).step_by(6) {
                for longitude in (0..360).step_by(6) {
                    let place = Place::from_degrees(f64::from(latitude), f64::from(longitude));
                    let visible = Station::new(&place).at(seconds).visible(&positions, sin_mask).count();
                    assert!(visible >= 1, "{latitude} {longitude} sees none after {minute} min");
                    seen += usize::from(visible == 1);
                }
            }
        }
        assert!(seen > 0, "coverage is meant to be tight near the equator");
    }

    #[test]
    fn refuses_places_that_do_not_exist() {
        let says = |latitude, longitude| Place::from_degrees(latitude, longitude).check().unwrap_err().to_string();
        assert_eq!(says(91.0, 0.0), "latitude: 91 deg must be between -90 deg and 90 deg");
        assert_eq!(says(0.0, -181.0), "longitude: -181 deg must be between -180 deg and 360 deg");
        assert!(Place::from_degrees(-90.0, 360.0).check().is_ok());
    }
}
