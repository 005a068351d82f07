//! Files that a scenario names.

use std::path::Path;

/// Reads the files that a constellation names; relative names start from `base`.
pub fn reader(base: &Path) -> impl Fn(&str) -> Result<String, String> {
    move |file| std::fs::read_to_string(base.join(file)).map_err(|error| format!("cannot be read: {error}"))
}
