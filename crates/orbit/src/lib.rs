//! Constellations, propagation, visibility and routing over inter-satellite links: the one-way delay of a path over time.
//!
//! A scenario's [`PathConfig`] becomes a [`DelayTrace`] before the run; the run only looks delays up. From the parts to the
//! whole: `satellites` has who flies ([`Constellation`], or a file of elements), where ([`Orbits`]) and linked with whom
//! ([`Links`]); `ground` the places, users who move, and what a [`Station`] sees; `routes` the best way at an instant
//! ([`Router`], [`AllPairs`]); `path` what becomes of it over time: policies of handover, intervals, the trace and its formats.
//!
//! What is simplified, and who could notice:
//! - Orbits of a Walker constellation are circular; the Earth's oblateness turns them if asked (`j2`), by its secular terms
//!   alone: some kilometres of oscillation in a revolution are missing. No drag, no station keeping: for a given geometry, not
//!   for the position of a real satellite on a given day, which is what elements and SGP4 are for.
//! - SGP4's frame is turned to the Earth by Greenwich mean sidereal time with UT1 = UTC and the pole where it should be: some
//!   hundred metres at worst, tens of metres in the years around 2025.
//! - Delay is propagation in vacuum between points at one instant, and a constant for processing on every satellite: satellites
//!   do not move while a packet is under way (at most some microseconds), and there is no atmosphere and no queueing. What a
//!   handover costs and where packets wait ([`AtHandover`], [`HopConfig`], [`NoRoute`]) is configured here and applied by whoever
//!   carries the packets.
//! - All traffic takes the best route, found anew at every step and at once known everywhere, as if routing converged
//!   instantly. What changes and changes back within a step is not noticed. Links have no pointing limits and are up as soon as
//!   their rule allows; a satellite serves any number of stations.
//! - A user moves on great circles of a sphere, so that its speed over ground is off by up to half a percent.
//! - Across the seam of a star all pairs of satellites change partners at the same instant, every half spacing of flight.
//! - A station's elevation is above the WGS 84 ellipsoid, without terrain or refraction; satellites fly at their altitude above
//!   the equatorial radius, so up to 21 km higher above the poles. The polar cut-off is a geocentric latitude.

mod csv;
mod ground;
mod path;
mod routes;
mod satellites;
mod view;

pub use ground::course::Course;
pub use ground::place::{Horizon, LookAngles, Place, Station};
pub use ground::stations::NamedPlace;
pub use ground::whereabouts::{Gateways, MovingUser, PlacesFile, TrackFile, Waypoint, Whereabouts};
pub use path::change::Change;
pub use path::config::{ConstellationPath, FixedPath, Jitter, PathConfig, TracePath};
pub use path::format::TraceFormat;
pub use path::handover::{
    FixedEpochs, HandoverPolicy, Highest, Hysteresis, KeepUntilMask, LongestVisibility, ShortestPath,
};
pub use path::scene::never_in_view;
pub use path::table::{DelayRow, DelayTable, constellation_delay};
pub use path::trace::{DelayTrace, Look, RouteInterval};
pub use path::transit::{AtHandover, AtHandoverPackets, DropWithoutRoute, HopConfig, NoRoute, QueueWithoutRoute};
pub use routes::all_pairs::{Access, AllPairs, AllPairsOptions, Batch, Metric, NextHop, PairRoute, PairSummary, Route};
pub use routes::routing::Router;
pub use satellites::choice::ConstellationChoice;
pub use satellites::constellation::{Constellation, Geometry, LinkPattern, PhasingOrder};
pub use satellites::elements::{ElementOrbits, ElementSet, ElementsError, FRESH_SECONDS};
pub use satellites::elements_file::ElementsFile;
pub use satellites::epoch::Epoch;
pub use satellites::links::Links;
pub use satellites::presets::{Preset, preset, presets};
pub use satellites::propagation::{
    EARTH_RADIUS, EARTH_ROTATION, GRAVITATIONAL_PARAMETER, J2, Orbits, SPEED_OF_LIGHT, Vector, WalkerOrbits,
    earth_fixed_to_inertial, inertial_to_earth_fixed,
};
pub use satellites::sky::{ReadFile, Sky, parse_elements};
pub use units::FieldError;
pub use view::{LatitudeCoverage, Pass, coverage, footprint, passes, sub_satellite};
