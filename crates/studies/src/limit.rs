//! How large an answer may be.

/// The most rows of a table: some gigabytes.
pub(crate) const MOST_ROWS: u64 = 20_000_000;
