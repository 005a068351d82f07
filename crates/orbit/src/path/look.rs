//! How the user sees its serving satellite.

use units::{Frequency, SPEED_OF_LIGHT};

/// The user's serving satellite as the user sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Above the plane tangential to the ellipsoid, degrees.
    pub elevation_deg: f64,
    /// The distance, metres.
    pub range_m: f64,
    /// The rate at which the distance grows, metres per second.
    pub range_rate_mps: f64,
}

impl Look {
    /// The Doppler shift of a carrier, hertz; negative while the satellite recedes. To first order in v/c.
    pub fn doppler_shift(&self, carrier: Frequency) -> f64 {
        -self.range_rate_mps / SPEED_OF_LIGHT * carrier.as_hz()
    }
}

/// A look in compact form, because traces are long: seven digits of elevation and range suffice, but not of the range
/// rate, of which differences are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StoredLook([f32; 2], f64);

impl StoredLook {
    /// No serving satellite. Not NaN, so that equal traces compare equal.
    pub const NOTHING: StoredLook = StoredLook([f32::MAX; 2], f64::MAX);

    /// A look with NaN, as of a decayed satellite, becomes no look.
    pub fn of(look: Option<Look>) -> StoredLook {
        let is_finite =
            |look: &Look| [look.elevation_deg, look.range_m, look.range_rate_mps].iter().all(|x| x.is_finite());
        look.filter(is_finite).map_or(StoredLook::NOTHING, |look| {
            StoredLook([look.elevation_deg as f32, look.range_m as f32], look.range_rate_mps)
        })
    }

    /// The look; `None` without a serving satellite.
    pub fn get(&self) -> Option<Look> {
        let [elevation_deg, range_m] = self.0.map(f64::from);
        let look = Look { elevation_deg, range_m, range_rate_mps: self.1 };
        (*self != StoredLook::NOTHING).then_some(look)
    }

    /// The rate at which the distance grows, metres per second, where there is a serving satellite.
    pub fn range_rate_mps(&self) -> f64 {
        self.1
    }
}
