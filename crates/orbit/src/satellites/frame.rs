//! Points in space, the constants of the Earth, and the two frames: inertial, with x through the Greenwich meridian
//! at the reference instant and z through the north pole, and turning with the Earth. Lengths are metres.

/// A point or a direction: x, y, z.
pub type Vector = [f64; 3];

/// Gravitational parameter of the Earth, m^3/s^2 (WGS 84, NGA.STND.0036 table 3.1).
pub const GRAVITATIONAL_PARAMETER: f64 = 3.986_004_418e14;
/// Equatorial radius of the Earth, metres (WGS 84).
pub const EARTH_RADIUS: f64 = 6_378_137.0;
/// Rotation of the Earth, radians per second (WGS 84).
pub const EARTH_ROTATION: f64 = 7.292_115e-5;

/// Oblateness of the Earth: the second zonal harmonic, -sqrt(5) C20 of EGM2008 (the gravity model of WGS 84).
pub const J2: f64 = 1.082_626_173_852e-3;

/// Turned eastwards by the angle with this sine and cosine.
pub(crate) fn turned([x, y, z]: Vector, (sin, cos): (f64, f64)) -> Vector {
    [x * cos - y * sin, x * sin + y * cos, z]
}

/// Returns the same point in the other frame, after the Earth has turned for `seconds`: from Earth-fixed to inertial.
pub fn earth_fixed_to_inertial(point: Vector, seconds: f64) -> Vector {
    turned(point, earth_turn(seconds))
}

/// Sine and cosine of the angle by which the Earth turns in `seconds`.
pub(crate) fn earth_turn(seconds: f64) -> (f64, f64) {
    libm::sincos(EARTH_ROTATION * seconds)
}

/// Returns an inertial point in Earth-fixed coordinates, `seconds` after the reference instant.
pub fn inertial_to_earth_fixed(point: Vector, seconds: f64) -> Vector {
    earth_fixed_to_inertial(point, -seconds)
}

/// The distance between two points, metres.
pub fn distance(a: Vector, b: Vector) -> f64 {
    let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    dot(d, d).sqrt()
}

/// The scalar product.
pub fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The vector product.
pub(crate) fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
