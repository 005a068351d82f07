//! A constellation by itself: where its satellites are, what the ground sees of them, delays and routes over them.

mod all_pairs;
pub(crate) mod delays;
mod globe;
pub(crate) mod ground;
pub(crate) mod sky;

pub use all_pairs::{RoutesBatch, RoutesOptions, RoutesStudy};
pub use globe::{Globe, Route};
