//! A path over time: its configuration, the handovers at its ends, and the delay that follows.

pub(crate) mod change;
pub(crate) mod columns;
pub(crate) mod follow;
pub(crate) mod format;
pub(crate) mod jitter;
pub(crate) mod look;
pub(crate) mod measured;
mod rounding;
pub(crate) mod scene;
pub(crate) mod stretch;
pub(crate) mod table;
pub(crate) mod table_file;
pub(crate) mod trace;
pub(crate) mod transit;

use units::{Bytes, Duration, FieldError, Files};

use self::jitter::Jitter;
use self::trace::DelayTrace;
use self::transit::{AtHandover, HopConfig, NoRoute, UPLINK_BUFFER};

units::registry! {
    /// The path between the gateway and the last hop: its one-way delay over time.
    pub enum PathConfig: dyn Kind {
        "fixed" => Fixed(FixedPath) in fixed,
        "constellation" => Constellation(ConstellationPath) in constellation,
        "trace" => Trace(TracePath) in delay_file,
        "starlink" => Starlink(StarlinkPath) in starlink,
    }
}

/// The options of a path, from which its delays follow.
pub trait Kind {
    /// Checks every value; no file is opened.
    ///
    /// # Errors
    /// Names the field within the path, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// Fills in the defaults that depend on other options, as a run uses them.
    fn resolve(&mut self) {}

    /// Reads what all else follows from, before anything else is asked.
    ///
    /// # Errors
    /// A file cannot be read or is wrong.
    fn prepare(&mut self, _files: &mut dyn Files) -> Result<(), FieldError> {
        Ok(())
    }

    /// Returns the one-way delay from the start of the run for `duration`. `files` reads the files that the path names.
    ///
    /// # Errors
    /// As [`Kind::check`]; or a file cannot be read or is wrong; or an end never sees a satellite.
    fn delays(&self, duration: Duration, files: &mut dyn Files) -> Result<DelayTrace, FieldError>;

    /// Returns the delay of one run, where each run has its own: `uniform` draws from 0 to 1 (1 excluded).
    /// [`Kind::delays`] then returns the mean over runs.
    fn realise(&self, _duration: Duration, _uniform: &mut dyn FnMut() -> f64) -> Option<DelayTrace> {
        None
    }

    /// Returns the most bytes that wait for the uplink, where the path has its rate.
    fn uplink_buffer(&self) -> Bytes {
        UPLINK_BUFFER
    }

    /// The extra delay of some packets.
    fn jitter(&self) -> Option<&Jitter> {
        None
    }

    /// Returns what happens to packets while there is no route.
    fn no_route(&self) -> NoRoute {
        NoRoute::default()
    }

    /// Returns the cost of a handover of the user.
    fn at_handover(&self) -> AtHandover {
        AtHandover::default()
    }

    /// Processing delay, rate and buffer of the satellites and links on the route.
    fn hops(&self) -> HopConfig {
        HopConfig::default()
    }

    /// Returns the names of the files that the path needs.
    fn files_mut(&mut self) -> Vec<&mut String> {
        Vec::new()
    }

    /// The path itself if it goes over a constellation, whose routes can then be studied.
    fn constellation(&self) -> Option<&ConstellationPath> {
        None
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
