//! orbit
