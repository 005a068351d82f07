//! The plan of a return link: a configuration that is checked, with its files read.

use units::{FieldError, Files};

use crate::config::AccessConfig;
use crate::random::{RandomAccess, Scheme};

/// A configuration whose values are checked and whose files are read.
#[derive(Clone, Debug)]
pub struct AccessPlan {
    pub(crate) config: AccessConfig,
    /// The kind of random access, and its scheme.
    pub(crate) random: Option<(&'static str, Scheme)>,
    /// Useful bits of a slot of dedicated access.
    pub(crate) dedicated_slot_bits: Option<u32>,
}

impl AccessConfig {
    /// Checks the values and reads the files.
    ///
    /// # Errors
    /// As [`AccessConfig::check`]; or a file cannot be read or is wrong: names the line.
    pub fn plan(&self, files: &mut dyn Files) -> Result<AccessPlan, FieldError> {
        self.check()?;
        let load = |random: &RandomAccess| match random.load(&self.random, files) {
            Ok(scheme) => Ok((random.kind(), scheme)),
            Err(error) => Err(error.within(self.method.random_path())),
        };
        let random = self.random().map(load).transpose()?;
        let slot_bits = || self.dedicated.slot_bits().map_err(|error| error.within("dedicated"));
        let dedicated_slot_bits = self.method.entry().has_dedicated().then(slot_bits).transpose()?;
        Ok(AccessPlan { config: self.clone(), random, dedicated_slot_bits })
    }
}
