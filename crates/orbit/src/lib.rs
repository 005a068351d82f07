//! Constellations, propagation, visibility and routing over inter-satellite links: the one-way delay of a path over time.
//!
//! A scenario's [`PathConfig`] becomes a [`DelayTrace`] before the run; the run only looks delays up. From the parts to the
//! whole: [`Constellation`] says what there is, [`Orbits`] where it is, [`Station`] what the ground sees of it, [`Links`] who
//! is linked, [`Router`] the best way, [`Course`] where a user goes, and [`HandoverPolicy`] which satellite serves it.
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

mod all_pairs;
mod change;
mod choice;
mod constellation;
mod course;
mod csv;
mod elements;
mod elements_file;
mod epoch;
mod follow;
mod format;
mod ground;
mod handover;
mod links;
mod omm;
mod path;
mod presets;
mod propagation;
mod routing;
mod scene;
mod sky;
mod stations;
mod table;
mod tle;
mod trace;
mod transit;
mod tree;
mod view;
mod whereabouts;

pub use all_pairs::{Access, AllPairs, AllPairsOptions, Batch, Metric, NextHop, PairRoute, PairSummary, Route};
pub use change::Change;
pub use choice::ConstellationChoice;
pub use constellation::{Constellation, Geometry, LinkPattern, PhasingOrder};
pub use course::Course;
pub use elements::{ElementOrbits, ElementSet, ElementsError, FRESH_SECONDS};
pub use elements_file::ElementsFile;
pub use epoch::Epoch;
pub use format::TraceFormat;
pub use ground::{Horizon, LookAngles, Place, Station};
pub use handover::{FixedEpochs, HandoverPolicy, Highest, Hysteresis, KeepUntilMask, LongestVisibility, ShortestPath};
pub use links::Links;
pub use path::{ConstellationPath, FixedPath, Jitter, PathConfig, TracePath};
pub use presets::{Preset, preset, presets};
pub use propagation::{
    EARTH_RADIUS, EARTH_ROTATION, GRAVITATIONAL_PARAMETER, J2, Orbits, SPEED_OF_LIGHT, Vector, WalkerOrbits,
    earth_fixed_to_inertial, inertial_to_earth_fixed,
};
pub use routing::Router;
pub use scene::never_in_view;
pub use sky::{ReadFile, Sky, parse_elements};
pub use stations::NamedPlace;
pub use table::{DelayRow, DelayTable, constellation_delay};
pub use trace::{DelayTrace, Leg, Look};
pub use transit::{AtHandover, AtHandoverPackets, DropWithoutRoute, HopConfig, NoRoute, QueueWithoutRoute};
pub use units::FieldError;
pub use view::{LatitudeCoverage, Pass, coverage, footprint, passes, sub_satellite};
pub use whereabouts::{Gateways, MovingUser, PlacesFile, TrackFile, Waypoint, Whereabouts};
