//! The sources of a scenario's files, and the files that were read. The only place that reads the file system.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use units::{Files, MemoryFiles};

/// The size of the largest file that is read, enough for hundreds of hours of a trace.
const MOST_BYTES: u64 = 256 << 20;

/// Where the names of files in a scenario lead.
#[derive(Clone, Debug, PartialEq)]
pub enum FileSource {
    /// Files whose paths are relative to this folder.
    Folder(PathBuf),
    /// As [`FileSource::Folder`], and a Parquet file is turned into the comma-separated table that the stages read.
    Tables(PathBuf, TableReader),
    /// Files in memory.
    Memory(MemoryFiles),
}

/// Turns the bytes of a Parquet file into those of a comma-separated table, or says why it cannot.
#[derive(Clone)]
pub struct TableReader(Arc<ReadTable>);

type ReadTable = dyn Fn(&[u8]) -> Result<Vec<u8>, String> + Send + Sync;

impl TableReader {
    /// Returns a reader that calls `read`.
    pub fn new(read: impl Fn(&[u8]) -> Result<Vec<u8>, String> + Send + Sync + 'static) -> TableReader {
        TableReader(Arc::new(read))
    }
}

impl std::fmt::Debug for TableReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TableReader")
    }
}

impl PartialEq for TableReader {
    fn eq(&self, other: &TableReader) -> bool {
        let _ = other; // all read alike
        true
    }
}

/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

units::report! {
    /// A file that a run was made from.
    #[derive(Eq)]
    pub struct InputFile {
        /// The file's name, as the scenario gives it.
        file: String,
        /// The SHA-256 of its contents, in hexadecimal.
        sha256: String,
        /// The file's size.
        bytes: u64,
    }
}

/// Files read from a source: each once, and kept.
#[derive(Clone, Debug)]
pub struct InputFiles {
    source: FileSource,
    /// In the order of the first reading.
    read: Vec<(String, Arc<[u8]>)>,
}

impl FileSource {
    /// The name that leads to the same file from any folder: the absolute path, or the name of a file in memory.
    pub(crate) fn absolute(&self, name: &str) -> String {
        match self {
            FileSource::Folder(folder) | FileSource::Tables(folder, _) => {
                let path = folder.join(name);
                std::path::absolute(&path).unwrap_or(path).display().to_string()
            }
            FileSource::Memory(_) => name.to_owned(),
        }
    }
}

impl From<&Path> for FileSource {
    fn from(folder: &Path) -> FileSource {
        FileSource::Folder(folder.to_owned())
    }
}

impl From<MemoryFiles> for FileSource {
    fn from(files: MemoryFiles) -> FileSource {
        FileSource::Memory(files)
    }
}

impl InputFiles {
    /// Returns the files of a source, of which nothing is read yet.
    pub fn new(source: impl Into<FileSource>) -> InputFiles {
        InputFiles { source: source.into(), read: Vec::new() }
    }

    /// Returns name and contents of each file that was read, in the order of the first reading.
    pub fn contents(&self) -> &[(String, Arc<[u8]>)] {
        &self.read
    }

    /// Name, hash and size of what was read, in the same order.
    pub fn described(&self) -> Vec<InputFile> {
        let described = |(file, bytes): &(String, Arc<[u8]>)| InputFile {
            file: file.clone(),
            sha256: sha256(bytes),
            bytes: bytes.len() as u64,
        };
        self.read.iter().map(described).collect()
    }
}

impl Files for InputFiles {
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
        if let Some((_, bytes)) = self.read.iter().find(|(read, _)| read == name) {
            return Ok(Arc::clone(bytes));
        }
        let bytes: Arc<[u8]> = match &mut self.source {
            FileSource::Memory(files) => files.read(name)?,
            FileSource::Folder(folder) | FileSource::Tables(folder, _) => {
                let path = folder.join(name);
                let told = |error| match path == Path::new(name) {
                    true => format!("cannot be read: {error}"),
                    false => format!("cannot be read: {error}: {}", path.display()),
                };
                read_at_most(&path, MOST_BYTES).map_err(told)?.into()
            }
        };
        let bytes = match &self.source {
            FileSource::Tables(_, reader) if bytes.starts_with(PARQUET) => (reader.0)(&bytes)?.into(),
            _ => bytes,
        };
        self.read.push((name.to_owned(), Arc::clone(&bytes)));
        Ok(bytes)
    }
}

/// Returns the contents of a file of at most `most` bytes: a device has no end.
fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    match read as u64 > most {
        true => Err(io::Error::other(format!("it has more than {most} bytes"))),
        false => Ok(bytes),
    }
}

/// The SHA-256 of some bytes, in hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of FIPS 180-2, appendix B.1.
    #[test]
    fn what_is_read_is_described() {
        let memory = MemoryFiles::from([("abc.csv".to_owned(), b"abc".as_slice().into())]);
        let mut files = InputFiles::new(memory);
        assert!(files.read("abd.csv").unwrap_err().starts_with("cannot be read: "));
        for _ in 0..2 {
            assert_eq!(&*files.read("abc.csv").unwrap(), b"abc");
        }
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
        assert_eq!(files.described(), [InputFile { file: "abc.csv".to_owned(), sha256, bytes: 3 }]);
    }

    #[test]
    fn a_file_is_read_once() {
        let folder = std::env::temp_dir().join(format!("transorbit-inputs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.csv"), "1").unwrap();
        let mut files = InputFiles::new(folder.as_path());
        assert_eq!(&*files.read("a.csv").unwrap(), b"1");
        std::fs::write(folder.join("a.csv"), "2").unwrap();
        assert_eq!(&*files.read("a.csv").unwrap(), b"1");
        assert!(read_at_most(&folder.join("a.csv"), 1).is_ok());
        assert!(read_at_most(&folder.join("a.csv"), 0).unwrap_err().to_string().contains("more than 0 bytes"));
        std::fs::remove_dir_all(&folder).unwrap();
        let refused = files.read("b.csv").unwrap_err();
        assert!(refused.starts_with("cannot be read: ") && refused.ends_with("b.csv"), "{refused}");
    }
}
