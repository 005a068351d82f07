//! The best ways over the links of an instant: of one pair, and of all.

pub(crate) mod all_pairs;
pub(crate) mod routing;
pub(crate) mod tree;
