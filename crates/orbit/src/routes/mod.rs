//! The best routes over the links of an instant: of one pair, and of all pairs.

pub(crate) mod all_pairs;
pub(crate) mod routing;
pub(crate) mod tree;
