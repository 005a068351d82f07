//! The channels that a scenario can name, and the step from its words to a model.

use std::path::Path;

use units::FieldError;

use crate::{Bernoulli, ChannelModel, Clear, Lms, P681, Trace, TraceError};

units::registry! {
    /// The radio channel of the last hop.
    pub enum ChannelConfig {
        "lms" => Lms(Lms),
        "p681" => P681(P681),
        "clear" => Clear(Clear),
        "bernoulli" => Bernoulli(Bernoulli),
        "trace" => Trace(Trace),
    }
}

impl ChannelConfig {
    /// Whether the values can be used together. Reads no file.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        self.entry().check()
    }

    /// Checks the values, looks up the parameters and reads the files, whose paths are relative to `base_dir`.
    ///
    /// # Errors
    /// As [`ChannelConfig::check`], or says which file and line cannot be used.
    pub fn load(&self, base_dir: &Path) -> Result<Box<dyn ChannelModel>, LoadError> {
        self.check()?;
        self.entry().load(base_dir)
    }

    fn entry(&self) -> &dyn Entry {
        match self {
            Self::Lms(config) => config,
            Self::P681(config) => config,
            Self::Clear(config) => config,
            Self::Bernoulli(config) => config,
            Self::Trace(config) => config,
        }
    }
}

/// What the configuration of a channel can do.
pub(crate) trait Entry {
    fn check(&self) -> Result<(), FieldError>;
    /// Called after [`Entry::check`] has passed.
    fn load(&self, base_dir: &Path) -> Result<Box<dyn ChannelModel>, LoadError>;
}

/// Why a channel cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A value cannot be used.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The file named by the field `file` cannot be used.
    #[error("file: {0}")]
    Trace(#[from] TraceError),
}

impl From<LoadError> for FieldError {
    fn from(error: LoadError) -> FieldError {
        match error {
            LoadError::Field(error) => error,
            LoadError::Trace(error) => FieldError::new("file", error.to_string()),
        }
    }
}
