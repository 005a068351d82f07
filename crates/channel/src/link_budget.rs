//! The signal-to-noise ratio of a line of sight from a link budget: power, antennas, distance, rain.
//!
//! Simplified, and who could notice: antennas have their gain in every direction in which the satellite is seen (beams
//! with an edge, terminals that do not track); rain attenuates without raising the noise temperature (a low-noise
//! receiver above 10 GHz loses a further 1 to 3 dB); gases, clouds and scintillation belong into `losses`.

use std::f64::consts::PI;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Db, DbPerKelvin, Dbw, FieldError, Files, Frequency, Length, OrOrbit, Probability, SPEED_OF_LIGHT};

use crate::rain::{Rain, RainTable};

/// Boltzmann's constant in joules per kelvin, exact in the SI of 2019; -228.6 dB.
const BOLTZMANN: f64 = 1.380_649e-23;

/// Es/N0 of an unobstructed line of sight from power, antennas and distance (Recommendation ITU-R S.1328): EIRP + G/T +
/// 228.6 dB - 20 log10(4 pi d f / c) - 10 log10(symbol rate) - losses - rain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkBudget {
    /// Equivalent isotropically radiated power of the satellite towards the user. Or give `transmit_power` and a gain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eirp: Option<Dbw>,
    /// Power into the satellite's antenna.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit_power: Option<Dbw>,
    /// Gain of the satellite's antenna towards the user, relative to an isotropic one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antenna_gain: Option<Db>,
    /// In place of `antenna_gain`: the diameter of the satellite's antenna, whose gain is then efficiency (pi D f /
    /// c)^2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antenna_diameter: Option<Length>,
    /// Aperture efficiency of an antenna given by its diameter, more than zero; by default 60 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antenna_efficiency: Option<Probability>,
    /// The user's figure of merit G/T.
    pub figure_of_merit: DbPerKelvin,
    /// Symbols per second, written as a frequency: one million symbols a second are "1 MHz".
    pub symbol_rate: Frequency,
    /// Distance of the satellite, more than zero.
    #[serde(default = "orbit")]
    pub range: OrOrbit<Length>,
    /// All other losses: gases, pointing, polarisation, implementation; zero or more.
    #[serde(default)]
    pub losses: Db,
    /// Attenuation by rain. By elevation it follows the orbit, unless range and elevation are both given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rain: Option<Rain>,
}

fn orbit() -> OrOrbit<Length> {
    OrOrbit::Orbit
}

const USUAL_EFFICIENCY: f64 = 0.6;

impl LinkBudget {
    /// Checks the values, each and together; no file is opened.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        self.check_transmitter()?;
        if let OrOrbit::Given(range) = self.range
            && range.as_metres() <= 0.0
        {
            return Err(FieldError::new("range", format!("{range} is out of range: must be more than 0 m")));
        }
        if self.losses.get() < 0.0 {
            return Err(FieldError::new("losses", format!("{} is negative: must be 0 dB or more", self.losses)));
        }
        self.rain.as_ref().map_or(Ok(()), |rain| rain.entry().check().map_err(|error| error.within("rain")))
    }

    /// Es/N0 of an unobstructed line of sight of `range` at `carrier`, through `rain` of attenuation.
    pub fn line_of_sight(&self, carrier: Frequency, range: Length, rain: Db) -> Db {
        let spreading = 4.0 * PI * range.as_metres() * carrier.as_hz() / SPEED_OF_LIGHT;
        let noise = BOLTZMANN * self.symbol_rate.as_hz();
        let received = self.radiated(carrier).get() - 20.0 * libm::log10(spreading);
        let losses = self.losses + rain;
        Db::new(received + self.figure_of_merit.get() - 10.0 * libm::log10(noise) - losses.get())
    }

    /// Whether the rain depends on the elevation.
    pub(crate) fn by_elevation(&self) -> bool {
        self.rain.as_ref().is_some_and(|rain| rain.entry().by_elevation())
    }

    /// The names of the files that it needs.
    pub(crate) fn files_mut(&mut self) -> Vec<&mut String> {
        self.rain.as_mut().map(|rain| rain.entry_mut().files_mut()).unwrap_or_default()
    }

    /// The attenuation by elevation, its file read.
    pub(crate) fn load_rain(&self, files: &mut dyn Files) -> Result<RainTable, FieldError> {
        let Some(rain) = &self.rain else { return Ok(RainTable::dry()) };
        rain.entry().load(files).map_err(|error| error.within("rain"))
    }

    /// The equivalent isotropically radiated power.
    fn radiated(&self, carrier: Frequency) -> Dbw {
        let Some(power) = self.transmit_power else { return self.eirp.unwrap_or_default() };
        let gain = self.antenna_diameter.map_or(self.antenna_gain.map_or(0.0, Db::get), |diameter| {
            let turns = PI * diameter.as_metres() * carrier.as_hz() / SPEED_OF_LIGHT;
            let efficiency = self.antenna_efficiency.map_or(USUAL_EFFICIENCY, Probability::get);
            10.0 * libm::log10(efficiency) + 20.0 * libm::log10(turns)
        });
        Dbw::new(power.get() + gain)
    }

    fn check_transmitter(&self) -> Result<(), FieldError> {
        let refuse = |field: &str, message: &str| Err(FieldError::new(field, message.to_owned()));
        let gain = self.antenna_gain.is_some() || self.antenna_diameter.is_some();
        match (self.eirp, self.transmit_power) {
            (None, None) => return refuse("eirp", "is missing: give it, or transmit_power and an antenna"),
            (Some(_), Some(_)) => return refuse("transmit_power", "is given, and so is eirp: give one of the two"),
            (Some(_), None) if gain || self.antenna_efficiency.is_some() => {
                return refuse("eirp", "holds the antenna's gain already: give transmit_power with an antenna");
            }
            (None, Some(_)) if !gain => {
                return refuse("antenna_gain", "is missing: transmit_power needs it, or antenna_diameter");
            }
            _ => {}
        }
        if self.antenna_gain.is_some() && self.antenna_diameter.is_some() {
            return refuse("antenna_diameter", "is given, and so is antenna_gain: give one of the two");
        }
        if let Some(diameter) = self.antenna_diameter
            && diameter.as_metres() <= 0.0
        {
            return refuse("antenna_diameter", &format!("{diameter} is out of range: must be more than 0 m"));
        }
        match self.antenna_efficiency {
            Some(_) if self.antenna_diameter.is_none() => {
                refuse("antenna_efficiency", "belongs to antenna_diameter, which is not given")
            }
            Some(efficiency) if efficiency.get() <= 0.0 => {
                refuse("antenna_efficiency", &format!("{efficiency} is out of range: must be more than 0 %"))
            }
            _ => Ok(()),
        }
    }
}
