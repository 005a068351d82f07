//! The file that the log of one end of a connection goes to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use transport::Endpoint;

/// A log's file is open only while it is written to: there may be more of them than a process may have open.
pub(super) struct Log {
    path: PathBuf,
    records: Vec<u8>,
    /// The first error, after which nothing more is written.
    error: Option<io::Error>,
}

/// Bytes that are kept before they are written.
const ENOUGH: usize = 1 << 16;

impl Log {
    /// Creates `flow-FLOW-PLACE.sqlog`, and its folder.
    pub(super) fn create(directory: &Path, flow: u32, place: &str) -> io::Result<Log> {
        let path = directory.join(format!("flow-{flow}-{place}.sqlog"));
        fs::create_dir_all(directory)?;
        File::create(&path)?;
        Ok(Log { path, records: Vec::new(), error: None })
    }

    /// Takes what an end has logged since.
    pub(super) fn take(&mut self, end: &mut dyn Endpoint) {
        end.poll_log(&mut self.records);
        if self.records.len() >= ENOUGH {
            self.write();
        }
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The first error that any write met.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.write();
        self.error.take().map_or(Ok(()), Err)
    }

    fn write(&mut self) {
        if self.error.is_none() {
            let file = OpenOptions::new().append(true).open(&self.path);
            self.error = file.and_then(|mut file| file.write_all(&self.records)).err();
        }
        self.records.clear();
    }
}
