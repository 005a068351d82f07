//! Places on the ground, users who move, and the satellites that they see.

pub(crate) mod course;
pub(crate) mod place;
pub(crate) mod stations;
pub(crate) mod waypoints;
pub(crate) mod whereabouts;
