//! Constellations, propagation, visibility and routing over inter-satellite links: the one-way delay of a path over
//! time.
//!
//! A scenario's [`PathConfig`] becomes a [`DelayTrace`] before the run, and the run only looks delays up. `satellites`
//! has the constellation ([`Constellation`], or a file of elements), its orbits ([`Orbits`]), its inter-satellite links
//! ([`Links`]) and its handover policies; `ground` has places, moving users, and the satellites that a [`Station`]
//! sees; `routes` finds the best route at an instant ([`Router`], [`AllPairs`]); `path` follows a route over time:
//! route intervals, the delay trace and its file formats.
//!
//! What is simplified, and who could notice:
//! Orbits of a Walker constellation are circular. With `j2` the Earth's oblateness turns them by its secular terms; the
//!   periodic terms, some kilometres in a revolution, are missing. There is no drag and no station keeping. That suits
//!   the geometry of a constellation; for the position of a real satellite on a given day there are orbital elements
//!   and SGP4.

mod csv;
mod ground;
mod path;
mod routes;
mod satellites;
mod view;

pub use ground::course::Course;
pub use ground::place::{Horizon, Place, Station};
pub use ground::stations::NamedPlace;
pub use ground::waypoints::{MovingUser, Waypoint};
pub use ground::whereabouts::{Gateways, PlacesFile, TrackFile, Whereabouts};
pub use path::change::Change;
pub use path::format::TraceFormat;
pub use path::jitter::Jitter;
pub use path::look::Look;
pub use path::measured::{LossOverTime, Measured};
pub use path::scene::never_in_view;
pub use path::stretch::Stretch;
pub use path::table::{DelayRow, DelayTable, constellation_delay};
pub use path::trace::{DelayTrace, RouteInterval};
pub use path::transit::{AtHandover, AtHandoverPackets, DropWithoutRoute, HopConfig, NoRoute, QueueWithoutRoute};
pub use path::{ConstellationPath, FixedPath, PathConfig, StarlinkPath, TracePath};
pub use routes::all_pairs::{Access, AllPairs, AllPairsOptions, Batch, Metric, NextHop, PairRoute, PairSummary, Route};
pub use routes::routing::Router;
pub use satellites::choice::ConstellationChoice;
pub use satellites::constellation::{Constellation, Geometry, LinkPattern, PhasingOrder};
pub use satellites::elements::{ElementOrbits, ElementSet, ElementsError, FRESH_SECONDS};
pub use satellites::elements_file::ElementsFile;
pub use satellites::epoch::Epoch;
pub use satellites::frame::{EARTH_RADIUS, EARTH_ROTATION, J2, Vector};
pub use satellites::handover::{
    FixedEpochs, HandoverPolicy, Highest, Hysteresis, KeepUntilMask, LongestVisibility, ShortestPath,
};
pub use satellites::links::Links;
pub use satellites::presets::{Preset, preset, presets};
pub use satellites::propagation::{Orbits, WalkerOrbits};
pub use satellites::sky::Sky;
pub use units::FieldError;
pub use view::{LOOK_EVERY_S, LatitudeCoverage, Pass, coverage, footprint, highest, passes, sub_satellite};
