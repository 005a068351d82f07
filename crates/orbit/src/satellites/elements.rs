//! Mean elements of real satellites, and SGP4, the theory for which they are fitted.

use sgp4::{Constants, MinutesSinceEpoch, WGS72, afspc_epoch_to_sidereal_time};

use crate::satellites::epoch::Epoch;
use crate::satellites::frame::{EARTH_RADIUS, EARTH_ROTATION, Vector, dot};

/// Mean elements of one satellite, as a two-line element set or an orbit mean-elements message gives them. Angles in
/// degrees.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementSet {
    /// The satellite's name, or its catalogue number if it has none.
    pub name: String,
    /// Number in the satellite catalogue.
    pub number: u64,
    /// The instant at which the elements hold.
    pub epoch: Epoch,
    /// Revolutions per day (Kozai's mean motion).
    pub mean_motion: f64,
    /// Eccentricity, 0 to 1.
    pub eccentricity: f64,
    /// Angle between orbit and equator.
    pub inclination: f64,
    /// Right ascension of the ascending node.
    pub right_ascension: f64,
    /// Angle from the ascending node to the perigee.
    pub argument_of_perigee: f64,
    /// Mean anomaly.
    pub mean_anomaly: f64,
    /// SGP4's drag term B*, per Earth radius.
    pub drag: f64,
}

/// An error in a file of elements, or in the elements of a satellite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}{message}")]
pub struct ElementsError {
    /// Where: `line 3: `, `record 2: `, a satellite's name, or nothing.
    pub position: String,
    /// The error, in words.
    pub message: String,
}

impl ElementsError {
    pub(crate) fn at(position: impl std::fmt::Display, message: impl Into<String>) -> ElementsError {
        ElementsError { position: format!("{position}: "), message: message.into() }
    }

    pub(crate) fn general(message: impl Into<String>) -> ElementsError {
        ElementsError { position: String::new(), message: message.into() }
    }
}

/// Elements are accurate for about two weeks from their epoch: from then on a user is warned.
pub const FRESH_SECONDS: f64 = 14.0 * 86_400.0;

/// A satellite below this decays within a revolution or two.
const LOWEST: f64 = EARTH_RADIUS + 100e3;

/// The orbits of satellites given by their elements.
#[derive(Clone, Debug)]
pub struct ElementOrbits {
    satellites: Vec<Satellite>,
    epoch: Epoch,
}

#[derive(Clone, Debug)]
struct Satellite {
    name: String,
    constants: Constants,
    /// Minutes from the elements' epoch to the reference instant.
    minutes: f64,
    /// The orbital period, seconds.
    period: f64,
}

impl ElementOrbits {
    /// The orbits of `sets` with `epoch` as the reference instant.
    ///
    /// # Errors
    /// `sets` is empty, or SGP4 refuses a satellite's elements: the error names the satellite.
    pub fn new(sets: &[ElementSet], epoch: Epoch) -> Result<ElementOrbits, ElementsError> {
        if sets.is_empty() {
            return Err(ElementsError::general("has no satellite"));
        }
        let satellite = |set: &ElementSet| {
            Ok(Satellite {
                name: set.name.clone(),
                constants: constants(set)?,
                minutes: epoch.seconds_since(set.epoch) / 60.0,
                period: 86_400.0 / set.mean_motion,
            })
        };
        Ok(ElementOrbits { satellites: sets.iter().map(satellite).collect::<Result<_, _>>()?, epoch })
    }

    /// Number of satellites.
    pub fn len(&self) -> usize {
        self.satellites.len()
    }

    /// Whether there is no satellite (which [`ElementOrbits::new`] refuses).
    pub fn is_empty(&self) -> bool {
        self.satellites.is_empty()
    }

    /// The reference instant.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Checks that every satellite is in orbit from `from` to `to` (seconds after the reference instant), during the
    /// revolution after `from` and the one before `to`: drag only ever lowers an orbit.
    ///
    /// # Errors
    /// Names the first satellite that is below 100 km or for which SGP4 fails, and when.
    pub fn check(&self, from: f64, to: f64) -> Result<(), ElementsError> {
        const SAMPLES: u32 = 24;
        for satellite in &self.satellites {
            let step = satellite.period / f64::from(SAMPLES);
            let both = (0..SAMPLES).flat_map(|i| [from + f64::from(i) * step, to - f64::from(i) * step]);
            for seconds in both.filter(|seconds| (from..=to).contains(seconds)) {
                satellite.check(seconds).map_err(|what| {
                    let when = self.epoch.after(seconds);
                    ElementsError::at(&satellite.name, format!("{what} at {when}: take it out of the file"))
                })?;
            }
        }
        Ok(())
    }

    /// Writes the positions of all satellites, `seconds` after the reference instant, in the inertial frame whose x
    /// axis goes through Greenwich at the reference instant, metres. Where SGP4 fails for a satellite, its position is
    /// NaN, so that no station sees it.
    pub fn positions_at(&self, seconds: f64, positions: &mut Vec<Vector>) {
        let turn = self.turn(seconds);
        positions.clear();
        positions.extend(self.satellites.iter().map(|satellite| satellite.position(seconds, turn)));
    }

    /// As [`ElementOrbits::positions_at`] of one satellite.
    pub(crate) fn position_of(&self, satellite: usize, seconds: f64) -> Vector {
        self.satellites[satellite].position(seconds, self.turn(seconds))
    }

    /// The velocity of one satellite in the same frame, metres per second; NaN where SGP4 fails. It is a difference of
    /// positions, exact to 0.1 mm/s, because SGP4's own velocity differs from the change of its positions by up to a
    /// metre per second.
    pub(crate) fn velocity_of(&self, satellite: usize, seconds: f64) -> Vector {
        /// Long enough for rounded positions, and, at fourth order, short enough for any orbit.
        const OVER_S: f64 = 5.0;
        let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|steps| self.position_of(satellite, seconds + steps * OVER_S));
        std::array::from_fn(|axis| (8.0 * (c[axis] - b[axis]) - (d[axis] - a[axis])) / (12.0 * OVER_S))
    }

    /// Sine and cosine of the angle from SGP4's frame (true equator, mean equinox) to our inertial frame: the sidereal
    /// time at `seconds`, less the Earth's rotation since the epoch.
    fn turn(&self, seconds: f64) -> (f64, f64) {
        libm::sincos(self.epoch.after(seconds).sidereal_time() - EARTH_ROTATION * seconds)
    }
}

impl Satellite {
    fn position(&self, seconds: f64, (sin, cos): (f64, f64)) -> Vector {
        match self.at(seconds) {
            Ok([x, y, z]) => [cos * x + sin * y, cos * y - sin * x, z].map(on_grid),
            Err(_) => [f64::NAN; 3],
        }
    }

    /// The position in SGP4's own frame, metres.
    fn at(&self, seconds: f64) -> Result<Vector, sgp4::Error> {
        let time = MinutesSinceEpoch(self.minutes + seconds / 60.0);
        self.constants.propagate_afspc_compatibility_mode(time).map(|state| state.position.map(|km| km * 1e3))
    }

    fn check(&self, seconds: f64) -> Result<(), String> {
        let position = self.at(seconds).map_err(|error| format!("SGP4 fails ({error})"))?;
        let height = dot(position, position).sqrt() - EARTH_RADIUS;
        match height + EARTH_RADIUS >= LOWEST {
            true => Ok(()),
            false => Err(format!("has decayed: {:.0} km high, less than 100 km,", height / 1e3)),
        }
    }
}

/// Rounds to 2^-10 m. SGP4's library may compute with the platform's sines, whose last bit differs between computers;
/// rounding removes such differences, which are below a nanometre.
fn on_grid(metres: f64) -> f64 {
    (metres * 1024.0).round() / 1024.0
}

/// SGP4 with the constants of WGS 72, with which elements are fitted, and with the sidereal time of the original code,
/// which matters only to resonances of deep-space orbits.
fn constants(set: &ElementSet) -> Result<Constants, ElementsError> {
    let refuse = |message: String| ElementsError::at(&set.name, message);
    let orbit = sgp4::Orbit::from_kozai_elements(
        &WGS72,
        set.inclination.to_radians(),
        set.right_ascension.to_radians(),
        set.eccentricity,
        set.argument_of_perigee.to_radians(),
        set.mean_anomaly.to_radians(),
        set.mean_motion * std::f64::consts::PI / 720.0,
    )
    .map_err(|error| refuse(error.to_string()))?;
    let years = set.epoch.days_since_j2000() / 365.25;
    Constants::new(WGS72, afspc_epoch_to_sidereal_time, years, set.drag, orbit)
        .map_err(|error| refuse(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::satellites::frame::{distance, inertial_to_earth_fixed};
    use crate::satellites::tle;

    /// From the verification set of Vallado, Crawford, Hujsak and Kelso (2006): a near-Earth orbit, a resonant 12 h
    /// orbit, and GPS.
    const VERIFICATION: &str = "\
1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753
2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667
1 26975U 78066F   06174.85818871  .00000620  00000-0  10000-3 0  6809
2 26975  68.4714 236.1303 5602877 123.7484 302.5767  2.05657553 67521
1 28129U 03058A   06175.57071136 -.00000104  00000-0  10000-3 0   459
2 28129  54.7298 324.8098 0048506 266.2640  93.1663  2.00562768 18443
";

    fn orbits(text: &str) -> ElementOrbits {
        let sets = tle::parse(text).unwrap();
        ElementOrbits::new(&sets, sets[0].epoch).unwrap()
    }

    #[test]
    fn positions_are_those_of_the_verification_set() {
        let orbits = orbits(VERIFICATION);
        // Number in the text, minutes since the epoch of the elements, kilometres.
        let published = [
            (0, 0.0, [7_022.465_292_66, -1_400.082_967_55, 0.039_951_55]),
            (0, 360.0, [-7_154.031_202_02, -3_783.176_825_04, -3_536.194_122_94]),
            (0, 4320.0, [-9_060.473_735_69, 4_658.709_525_02, 813.686_731_53]),
            (1, 0.0, [-14_506.923_137_68, -21_613.560_432_81, 10.050_188_94]),
            (1, 120.0, [7_309.621_979_50, 6_076.007_136_64, 6_800.087_052_63]),
            (2, 120.0, [18_616.759_718_61, 3_166.151_770_43, 18_833.415_232_10]),
            (1, 1440.0, [-8_266.438_210_31, -17_210.745_901_12, 6_967.955_460_70]),
        ];
        for (number, minutes, expected) in published {
            let satellite: &Satellite = &orbits.satellites[number];
            let found = satellite.at((minutes - satellite.minutes) * 60.0).unwrap();
            assert!(distance(found, expected.map(|km| km * 1e3)) < 0.01, "{number} at {minutes} min: {found:?}");
        }
    }

    #[test]
    fn the_earth_turns_below_by_sidereal_time() {
        let orbits = orbits(VERIFICATION);
        let mut positions = Vec::new();
        for seconds in [0.0, 1e4, 1e6] {
            orbits.positions_at(seconds, &mut positions);
            let (sin, cos) = libm::sincos(orbits.epoch().after(seconds).sidereal_time());
            for (satellite, &position) in orbits.satellites.iter().zip(&positions) {
                let [x, y, z] = satellite.at(seconds).unwrap();
                let expected = [cos * x + sin * y, cos * y - sin * x, z];
                assert!(distance(inertial_to_earth_fixed(position, seconds), expected) < 0.01, "after {seconds} s");
            }
        }
    }

    /// To the rounding of positions.
    #[test]
    fn velocities_are_how_positions_change() {
        let orbits = orbits(VERIFICATION);
        for satellite in 0..3 {
            for seconds in [0.0, 1234.5, 20_000.0] {
                let [before, after] = [-0.5, 0.5].map(|offset| orbits.position_of(satellite, seconds + offset));
                let found = orbits.velocity_of(satellite, seconds);
                let expected: Vector = std::array::from_fn(|axis| after[axis] - before[axis]);
                assert!(distance(found, expected) < 3e-3, "{satellite} at {seconds}: {found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn a_satellite_that_comes_down_is_named() {
        // From the same set: the last stage of decay, lost within 420 min.
        let falling = orbits(
            "SL-14 DEB\n\
             1 29141U 85108AA  06170.26783845  .99999999  00000-0  13519-0 0   718\n\
             2 29141  82.4288 273.4882 0015848 277.2124  83.9133 15.93343074  6828\n",
        );
        assert_eq!(falling.check(0.0, 3600.0), Ok(()));
        let error = falling.check(0.0, 86_400.0).unwrap_err().to_string();
        assert!(error.starts_with("SL-14 DEB: "), "{error}");
        assert!(error.contains("2006-06-2") && error.ends_with("take it out of the file"), "{error}");
        let low = falling.check(0.0, 24_000.0).unwrap_err().to_string();
        assert!(low.contains("has decayed: ") && low.contains(" km high, less than 100 km, at 2006-06-19T"), "{low}");
        let mut positions = Vec::new();
        falling.positions_at(10.0 * 86_400.0, &mut positions);
        assert!(positions[0][0].is_nan(), "{positions:?}");
    }

    #[test]
    fn elements_that_are_no_orbit_are_refused() {
        let good = tle::parse(VERIFICATION).unwrap().remove(0);
        let says = |bad: ElementSet| ElementOrbits::new(&[bad], good.epoch).unwrap_err().to_string();
        let says_of = says(ElementSet { mean_motion: -1.0, name: "X".to_owned(), ..good.clone() });
        assert!(says_of.starts_with("X: "), "{says_of}");
        assert!(says(ElementSet { eccentricity: 1.0, ..good.clone() }).starts_with("5: The epoch eccentricity"));
        assert_eq!(ElementOrbits::new(&[], good.epoch).unwrap_err().to_string(), "has no satellite");
    }
}
