//! The channels that a scenario can name, and the step from its words to a model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use units::{FieldError, Frequency};

use crate::{Bernoulli, ChannelModel, Clear, Geometry, Lms, P681, Rain, Trace, TraceError};

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
    /// Checks the values, each and together; no file is opened.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        self.entry().check()
    }

    /// Checks the values, looks up the parameters and reads the files, whose paths are relative to `base_dir`. `geometry` is how
    /// the serving satellite is seen, for channels that follow it.
    ///
    /// # Errors
    /// As [`ChannelConfig::check`], or says which file and line cannot be used, or which field follows the orbit without a
    /// satellite to follow.
    pub fn load(&self, base_dir: &Path, geometry: Option<&Arc<Geometry>>) -> Result<Box<dyn ChannelModel>, LoadError> {
        self.check()?;
        self.entry().load(base_dir, geometry)
    }

    /// Whether the channel depends on where the serving satellite is: then it cannot be loaded without a geometry.
    pub fn follows_orbit(&self) -> bool {
        self.entry().follows_orbit()
    }

    /// The carrier frequency, if it matters to the channel or is told.
    pub fn carrier(&self) -> Option<Frequency> {
        match self {
            Self::Lms(config) => Some(config.carrier),
            Self::P681(config) => Some(config.carrier),
            Self::Clear(config) => config.carrier,
            Self::Bernoulli(_) | Self::Trace(_) => None,
        }
    }

    /// The name of the file that it needs.
    pub fn file_mut(&mut self) -> Option<&mut PathBuf> {
        let budget = match self {
            Self::Lms(config) => config.link_budget.as_mut(),
            Self::P681(config) => config.link_budget.as_mut(),
            Self::Clear(config) => config.link_budget.as_mut(),
            Self::Bernoulli(_) => None,
            Self::Trace(trace) => return Some(&mut trace.file),
        };
        match &mut budget?.rain {
            Some(Rain::ByElevation(rain)) => Some(&mut rain.file),
            _ => None,
        }
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
    fn load(&self, base_dir: &Path, geometry: Option<&Arc<Geometry>>) -> Result<Box<dyn ChannelModel>, LoadError>;

    fn follows_orbit(&self) -> bool {
        false
    }
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
