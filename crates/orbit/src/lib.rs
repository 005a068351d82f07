//! Constellations, propagation, visibility and routing over inter-satellite links: the one-way delay of a path over time.
//!
//! A scenario's [`PathConfig`] becomes a [`DelayTrace`] before the run; the run only looks delays up. From the parts to the
//! whole: [`Constellation`] says what there is, [`Orbits`] where it is, [`Station`] what the ground sees of it, [`Links`] who
//! is linked, and [`Router`] the shortest way.
//!
//! What is simplified, and who could notice:
//! - Orbits of a Walker constellation are circular; the Earth's oblateness turns them if asked (`j2`), by its secular terms
//!   alone: some kilometres of oscillation in a revolution are missing. No drag, no station keeping: for a given geometry, not
//!   for the position of a real satellite on a given day, which is what elements and SGP4 are for.
//! - SGP4's frame is turned to the Earth by Greenwich mean sidereal time with UT1 = UTC and the pole where it should be: some
//!   hundred metres at worst, tens of metres in the years around 2025.
//! - Delay is propagation in vacuum between points at one instant: satellites do not move while a packet is under way (at
//!   most some microseconds), and there is no atmosphere, processing or queueing.
//! - All traffic takes the shortest route, found anew at every step and at once known everywhere, as if routing converged
//!   instantly; a handover takes no time. Links have no pointing limits and are up as soon as their rule allows.
//! - Across the seam of a star all pairs of satellites change partners at the same instant, every half spacing of flight.
//! - A station's elevation is above the WGS 84 ellipsoid, without terrain or refraction; satellites fly at their altitude above
//!   the equatorial radius, so up to 21 km higher above the poles. The polar cut-off is a geocentric latitude.

mod all_pairs;
mod choice;
mod constellation;
mod csv;
mod elements;
mod elements_file;
mod epoch;
mod follow;
mod ground;
mod links;
mod omm;
mod path;
mod presets;
mod propagation;
mod routing;
mod sky;
mod stations;
mod table;
mod tle;
mod trace;
mod tree;
mod view;

pub use all_pairs::{
    Access, AllPairs, AllPairsOptions, Batch, Metric, NextHop, PairRoute, PairSummary, Route,
};
pub use choice::ConstellationChoice;
pub use constellation::{Constellation, Geometry, LinkPattern, PhasingOrder};
pub use elements::{ElementOrbits, ElementSet, ElementsError, FRESH_SECONDS};
pub use elements_file::ElementsFile;
pub use epoch::Epoch;
pub use follow::Handover;
pub use ground::{Horizon, LookAngles, Place, Station};
pub use links::Links;
pub use path::{ConstellationPath, FixedPath, Jitter, PathConfig, TracePath};
pub use presets::{Preset, preset, presets};
pub use propagation::{
    EARTH_RADIUS, EARTH_ROTATION, GRAVITATIONAL_PARAMETER, J2, Orbits, SPEED_OF_LIGHT, Vector, WalkerOrbits,
    earth_fixed_to_inertial, inertial_to_earth_fixed,
};
pub use routing::Router;
pub use sky::{ReadFile, Sky, parse_elements};
pub use stations::NamedPlace;
pub use table::{DelayRow, DelayTable, constellation_delay};
pub use trace::{Change, DelayTrace, Leg, Row, TraceError};
pub use units::FieldError;
pub use view::{LatitudeCoverage, Pass, coverage, footprint, passes, sub_satellite};
