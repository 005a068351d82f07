//! Places on the ground, users who move, and what they see of the sky.

pub(crate) mod course;
pub(crate) mod place;
pub(crate) mod stations;
pub(crate) mod whereabouts;
