//! The files that a configuration names. A stage asks for their bytes and never touches a file system.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::RowError;

/// Hands out files by the names that a configuration gives them.
pub trait Files {
    /// The bytes of the file `name`.
    ///
    /// # Errors
    /// Why it cannot be read, as a clause that follows its name.
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String>;
}

/// Files in memory by name.
pub type MemoryFiles = BTreeMap<String, Arc<[u8]>>;

impl Files for MemoryFiles {
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
        self.get(name).cloned().ok_or_else(|| "cannot be read: there is no such file".to_owned())
    }
}

/// The text of the file `name`.
///
/// # Errors
/// The file cannot be read, or a line is not UTF-8.
pub fn read_text(files: &mut dyn Files, name: &str) -> Result<String, RowError> {
    let bytes = files.read(name).map_err(|message| (None, message))?;
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
            Err((Some(line), "is not UTF-8 text".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_text_names_the_line() {
        let mut files = MemoryFiles::from([("binary.csv".to_owned(), Arc::from(b"1,2\n3,\xff\n".as_slice()))]);
        assert_eq!(read_text(&mut files, "binary.csv"), Err((Some(2), "is not UTF-8 text".to_owned())));
        assert!(read_text(&mut files, "nowhere.csv").unwrap_err().1.starts_with("cannot be read: "));
    }
}
