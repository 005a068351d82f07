//! The satellites of a constellation, by a pattern or by elements: their positions and links, and how one of those in
//! view is chosen to serve a station.

pub(crate) mod choice;
pub(crate) mod constellation;
pub(crate) mod elements;
pub(crate) mod elements_file;
pub(crate) mod epoch;
pub(crate) mod frame;
pub(crate) mod handover;
pub(crate) mod links;
pub(crate) mod omm;
pub(crate) mod presets;
pub(crate) mod propagation;
pub(crate) mod sky;
pub(crate) mod tle;
