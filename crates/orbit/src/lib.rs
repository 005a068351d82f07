//! Constellations, propagation, visibility and routing over inter-satellite links: the one-way delay of a path over time.
//!
//! A scenario's [`PathConfig`] becomes a [`DelayTrace`] before the run; the run only looks delays up. From the parts to the
//! whole: [`Constellation`] says what there is, [`Orbits`] where it is, [`Station`] what the ground sees of it, [`Links`] who
//! is linked, and [`Router`] the shortest way.
//!
//! What is simplified, and who could notice:
//! - Orbits are circular and undisturbed (no oblateness, no drag, no station keeping): for hours of a given geometry, not for
//!   the position of a real satellite on a given day.
//! - Delay is propagation in vacuum between points at one instant: satellites do not move while a packet is under way (at
//!   most some microseconds), and there is no atmosphere, processing or queueing.
//! - All traffic takes the shortest route, found anew at every step and at once known everywhere, as if routing converged
//!   instantly; a handover takes no time. Links have no pointing limits and are up as soon as their rule allows.
//! - Across the seam of a star all pairs of satellites change partners at the same instant, every half spacing of flight.
//! - A station's elevation is above the WGS 84 ellipsoid, without terrain or refraction; satellites fly at their altitude above
//!   the equatorial radius, so up to 21 km higher above the poles. The polar cut-off is a geocentric latitude.

mod constellation;
mod csv;
mod follow;
mod ground;
mod links;
mod path;
mod presets;
mod propagation;
mod routing;
mod table;
mod trace;

pub use constellation::{Constellation, Geometry, LinkPattern, PhasingOrder};
pub use follow::Handover;
pub use ground::{Horizon, Place, Station};
pub use links::Links;
pub use path::{ConstellationChoice, ConstellationPath, FixedPath, Jitter, PathConfig, TracePath};
pub use presets::{Preset, preset, presets};
pub use propagation::{
    EARTH_RADIUS, EARTH_ROTATION, GRAVITATIONAL_PARAMETER, Orbits, SPEED_OF_LIGHT, Vector, earth_fixed_to_inertial,
    inertial_to_earth_fixed,
};
pub use routing::Router;
pub use table::{DelayRow, DelayTable, constellation_delay};
pub use trace::{Change, DelayTrace, Leg, Row, TraceError};
pub use units::FieldError;
