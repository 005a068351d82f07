//! A test tool for the transport: it runs [packetdrill](https://github.com/google/packetdrill) scripts in virtual time,
//! and replays conversations recorded from a kernel.
//!
//! [`script`] parses the language, [`run`] runs a script against a connection, [`assertions`] evaluates the statements
//! between `%{` and `}%`, [`trace`] replays recordings. Only [`host`] calls the connection.
//!
//! What is simplified, and who could notice: a script has one connection at a time and one application; there is no
//! network device, so commands that change routes, queues or links end in `SKIP`, except those that only enable pacing;
//! calls take no time; options in outbound headers have Linux' layout, because the transport's segments have none.

pub mod assertions;
pub mod host;
pub mod kernel;
mod outcome;
pub mod run;
pub mod script;
pub mod trace;

use std::path::{Path, PathBuf};

pub use outcome::Outcome;

/// The files of a path on the command line: the file itself, or all files with one of the `endings` in the folder,
/// sorted.
///
/// # Errors
/// The folder or file cannot be read, or has no such files.
pub fn files(path: &Path, endings: &[&str]) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        path.metadata()?;
        return Ok(vec![path.to_owned()]);
    }
    let mut entries = std::fs::read_dir(path)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::path);
    let mut script_files = Vec::new();
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            script_files.extend(files(&path, endings)?);
        } else if endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
            script_files.push(path);
        }
    }
    Ok(script_files)
}
