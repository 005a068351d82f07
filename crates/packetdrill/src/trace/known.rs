//! Differences that are known, each with its cause.

use std::path::Path;

use serde::Deserialize;

/// The list: `[[difference]]` with `file` and `cause`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    #[serde(default)]
    difference: Vec<KnownDifference>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownDifference {
    /// Name of the recording, without its folder.
    file: String,
    /// Why it differs.
    cause: String,
}

impl Known {
    /// Reads the list in `path`.
    ///
    /// # Errors
    /// The file cannot be read, or has another format.
    pub fn read(path: &Path) -> Result<Known, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Known::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Reads the list.
    ///
    /// The error in the format.
    pub fn parse(text: &str) -> Result<Known, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// The cause for the recording in `path`, if it is listed.
    pub fn cause(&self, path: &Path) -> Option<&str> {
        let name = path.file_name()?.to_str()?;
        self.difference.iter().find(|entry| entry.file == name).map(|entry| entry.cause.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_their_names() {
        let known = Known::parse("[[difference]]\nfile = \"a.gz\"\ncause = \"b\"").expect("a list");
        assert_eq!(known.cause(Path::new("/x/a.gz")), Some("b"));
        assert_eq!(known.cause(Path::new("/x/b.gz")), None);
        assert!(Known::parse("[[difference]]\nname = 1").is_err());
    }
}
