//! A constellation by itself: where its satellites are, who sees them, and the delays and routes over it.

mod delay;
mod routes;
mod sky;
mod view;

pub use delay::{constellation_delay, constellation_trace};
pub use routes::{RoutesBatch, RoutesOptions, RoutesStudy};
pub use sky::{Instants, linked, look, positions, reference_epoch, sky, sky_warning, stations};
pub use view::{best_elevation, coverage, map, passes};
