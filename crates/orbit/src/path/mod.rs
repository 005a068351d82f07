//! A path over time: its configuration, the handovers at its ends, and the delay that follows.

pub(crate) mod change;
pub(crate) mod config;
pub(crate) mod follow;
pub(crate) mod format;
pub(crate) mod handover;
pub(crate) mod scene;
pub(crate) mod table;
pub(crate) mod trace;
pub(crate) mod transit;
