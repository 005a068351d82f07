//! Timestamps of a script beside those of the connection.

use std::collections::BTreeMap;

/// Timestamps of the script, and those that the connection sent.
#[derive(Default)]
pub(super) struct Stamps {
    pub real: BTreeMap<u32, u32>,
    pub first: Option<(u32, u32)>,
}
