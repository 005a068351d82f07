//! A path through time: what a scenario says of it, who serves its ends, and the delay that follows.

pub(crate) mod change;
pub(crate) mod config;
pub(crate) mod follow;
pub(crate) mod format;
pub(crate) mod handover;
pub(crate) mod scene;
pub(crate) mod table;
pub(crate) mod trace;
pub(crate) mod transit;
