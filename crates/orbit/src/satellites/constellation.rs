//! The parameters of a constellation: Walker's, the elevation mask and the rules of the inter-satellite links.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use units::{Angle, FieldError, Length};

use crate::satellites::frame::{EARTH_RADIUS, GRAVITATIONAL_PARAMETER, J2};
use crate::satellites::handover::HandoverPolicy;

/// A Walker constellation of circular orbits with its inter-satellite links.
///
/// Satellite `k` of plane `p` has the number `p * satellites_per_plane + k`. At the reference instant the first
/// satellite of the first plane crosses the equator northwards at the longitude [`Constellation::first_node`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constellation {
    /// `star`: ascending nodes spread over half a turn, with a seam where neighbours fly in opposite directions;
    /// `delta`: over the whole turn.
    pub geometry: Geometry,
    /// Number of orbital planes.
    pub planes: u32,
    /// Satellites in each plane, evenly spaced.
    pub satellites_per_plane: u32,
    /// Height above the equatorial radius of the Earth (6378.137 km); with `j2`, that of the mean semi-major axis.
    pub altitude: Length,
    /// Angle between the planes and the equator, 0 to 180 deg.
    pub inclination: Angle,
    /// Angle between the ascending nodes of neighbouring planes; by default 180 deg (star) or 360 deg (delta) divided
    /// by the number of planes. The rest of 180 deg is the seam of a star.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_spacing: Option<Angle>,
    /// The phase by which the satellites of a plane are ahead of those of the plane before it, as a share of the
    /// spacing in a plane (0 to 1).
    #[serde(default = "half")]
    pub phasing: f64,
    /// Whether `phasing` applies to every second plane (`alternate`), or adds up from plane to plane (`progressive`:
    /// the Walker notation i:t/p/f is `progressive` with `phasing` = f/p).
    #[serde(default)]
    pub phasing_order: PhasingOrder,
    /// Longitude of the first plane's ascending node at the reference instant.
    #[serde(default)]
    pub first_node: Angle,
    /// Whether the Earth's oblateness turns the orbital planes and changes the time of a revolution (secular terms of
    /// J2).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub j2: bool,
    /// Elevation below which a station cannot use a satellite.
    pub minimum_elevation: Angle,
    /// How an end's satellite is chosen on paths over these satellites that do not say it; by default
    /// `keep-until-mask`. Dense presets have `shortest-path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverPolicy>,
    /// The pattern of the inter-satellite links.
    #[serde(default)]
    pub links: LinkPattern,
    /// Whether satellites link across the seam of a star, each with the one that flies past it in the opposite
    /// direction.
    #[serde(default)]
    pub cross_seam: bool,
    /// Latitude above which (north or south, either end) the links between planes are off; by default they are always
    /// on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polar_cutoff: Option<Angle>,
    /// Height above ground below which an inter-satellite link must not pass: it limits the length of the links.
    #[serde(default = "mesosphere")]
    pub minimum_link_altitude: Length,
}

/// The range over which the ascending nodes are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Geometry {
    /// Ascending nodes over half a turn: near-polar constellations such as Iridium.
    Star,
    /// Ascending nodes over the whole turn: inclined constellations such as Starlink.
    Delta,
}

/// The phase shift between neighbouring planes: alternating, or growing from plane to plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhasingOrder {
    /// Every second plane is shifted.
    #[default]
    Alternate,
    /// Each plane is shifted against the one before.
    Progressive,
}

/// The pattern of the inter-satellite links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkPattern {
    /// Two links in the plane, one to each neighbouring plane.
    #[default]
    PlusGrid,
    /// No inter-satellite link: a satellite connects only stations that it sees itself.
    None,
    /// The pairs of a file, relative to the scenario's: comma-separated rows `from,to` of satellites, each by its name
    /// or its number (counted from 0). Such a link is on while it passes high enough.
    Pairs(String),
}

// Not derived: with the words in one place, an error lists both.
impl JsonSchema for LinkPattern {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LinkPattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string", "oneOf": [
                { "const": "plus-grid", "description": "Two links in the plane, one to each neighbouring plane." },
                {
                    "const": "none",
                    "description": "No inter-satellite link: a satellite only joins what it sees itself.",
                },
            ] },
            {
                "type": "object",
                "description": "The pairs of a file.",
                "properties": { "pairs": {
                    "type": "string",
                    "description": "The file, relative to the scenario's: comma-separated rows `from,to` of \
                                    satellites.",
                } },
                "required": ["pairs"],
                "additionalProperties": false,
            },
        ] })
    }
}

impl Constellation {
    /// Number of satellites.
    pub fn satellites(&self) -> u32 {
        self.planes * self.satellites_per_plane
    }

    /// Angle between the ascending nodes of neighbouring planes, radians.
    pub fn node_spacing_radians(&self) -> f64 {
        let turn = match self.geometry {
            Geometry::Star => 180.0,
            Geometry::Delta => 360.0,
        };
        self.node_spacing.map_or(turn / f64::from(self.planes), Angle::as_degrees).to_radians()
    }

    /// Distance of the satellites from the centre of the Earth, metres.
    pub fn radius(&self) -> f64 {
        EARTH_RADIUS + self.altitude.as_metres()
    }

    /// The rate of the argument of latitude (the angle on the orbit from the ascending node), radians per second.
    /// Without `j2` it is the mean motion; with it, the sum of the secular rates of mean anomaly and argument of
    /// perigee for a circular orbit (Brouwer, 1959; Vallado, *Fundamentals of Astrodynamics and Applications*, section
    /// 9.6).
    pub fn latitude_rate(&self) -> f64 {
        let cos = libm::cos(self.inclination.as_radians());
        self.mean_motion() + self.mean_motion() * self.oblateness() * (4.0 * cos * cos - 1.0)
    }

    /// The rate of the ascending nodes, eastwards in inertial space, radians per second; zero without `j2`. Source as
    /// for [`Constellation::latitude_rate`].
    pub fn node_rate(&self) -> f64 {
        -self.mean_motion() * self.oblateness() * libm::cos(self.inclination.as_radians())
    }

    fn mean_motion(&self) -> f64 {
        let radius = self.radius();
        (GRAVITATIONAL_PARAMETER / (radius * radius * radius)).sqrt()
    }

    /// 3/2 J2 (R/a)^2, a factor of both rates; zero without `j2`.
    fn oblateness(&self) -> f64 {
        let ratio = EARTH_RADIUS / self.radius();
        if self.j2 { 1.5 * J2 * ratio * ratio } else { 0.0 }
    }

    /// The phase by which the satellites of plane `plane` are ahead of the first plane's, as a share of the spacing in
    /// a plane.
    pub fn phase_shift(&self, plane: u32) -> f64 {
        match self.phasing_order {
            PhasingOrder::Alternate => f64::from(plane % 2) * self.phasing,
            PhasingOrder::Progressive => f64::from(plane) * self.phasing,
        }
    }

    /// Whether the planes span the whole turn, so that the last and the first are neighbours like any others.
    pub fn closes(&self) -> bool {
        let turn = self.node_spacing_radians().to_degrees() * f64::from(self.planes);
        self.geometry == Geometry::Delta && (turn - 360.0).abs() < 1e-6
    }

    /// Checks every value.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        let refuse = |field: &str, message: String| Err(FieldError::new(field, message));
        let angle = |field: &str, angle: Angle, low: f64, high: f64| {
            let value = angle.as_degrees();
            match value >= low && value <= high {
                true => Ok(()),
                false => refuse(field, format!("{value} deg must be between {low} deg and {high} deg")),
            }
        };
        if self.planes == 0 || self.planes > MOST {
            return refuse("planes", format!("{} must be between 1 and {MOST}", self.planes));
        }
        if self.satellites_per_plane == 0 || self.satellites_per_plane > MOST {
            return refuse(
                "satellites_per_plane",
                format!("{} must be between 1 and {MOST}", self.satellites_per_plane),
            );
        }
        if self.satellites() > MOST_SATELLITES {
            let message = format!("with {} planes there would be more than {MOST_SATELLITES} satellites", self.planes);
            return refuse("satellites_per_plane", message);
        }
        if !(100e3..=400_000e3).contains(&self.altitude.as_metres()) {
            return refuse("altitude", format!("{} must be between 100 km and 400000 km", self.altitude));
        }
        if self.minimum_link_altitude.as_metres() > self.altitude.as_metres() {
            let message =
                format!("{} must not be above the satellites ({})", self.minimum_link_altitude, self.altitude);
            return refuse("minimum_link_altitude", message);
        }
        if !(0.0..=1.0).contains(&self.phasing) {
            return refuse("phasing", format!("{} must be between 0 and 1", self.phasing));
        }
        angle("inclination", self.inclination, 0.0, 180.0)?;
        angle("first_node", self.first_node, -360.0, 360.0)?;
        angle("minimum_elevation", self.minimum_elevation, 0.0, 90.0)?;
        if let Some(cutoff) = self.polar_cutoff {
            angle("polar_cutoff", cutoff, 0.0, 90.0)?;
        }
        self.check_node_spacing()
    }

    fn check_node_spacing(&self) -> Result<(), FieldError> {
        let Some(spacing) = self.node_spacing else { return Ok(()) };
        let (turn, gaps) = match self.geometry {
            Geometry::Star => (180.0, self.planes - 1),
            Geometry::Delta => (360.0, self.planes),
        };
        let most = if gaps == 0 { turn } else { turn / f64::from(gaps) };
        match spacing.as_degrees() > 0.0 && spacing.as_degrees() <= most + 1e-9 {
            true => Ok(()),
            false => Err(FieldError::new(
                "node_spacing",
                format!(
                    "{} deg must be more than 0 deg and at most {most:.3} deg for {} planes",
                    spacing.as_degrees(),
                    self.planes
                ),
            )),
        }
    }
}

/// More planes, or satellites in a plane, than any filing; a larger number is a typing error and would take all memory.
const MOST: u32 = 1000;
/// The limit of the router's numbers.
const MOST_SATELLITES: u32 = 100_000;

fn half() -> f64 {
    0.5
}

/// Hypatia's limit: below it the atmosphere disturbs a link.
fn mesosphere() -> Length {
    Length::from_metres(80e3)
}
