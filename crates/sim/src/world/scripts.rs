//! Code from elsewhere that a scenario names: of schedulers, congestion controllers and traffic sources.

use link::Choose;
use traffic::MakeProgram;
use transport::congestion::MakeControl;

/// Finds code from elsewhere by the name that a scenario gives.
pub trait Scripts {
    /// A scheduler.
    fn scheduler(&mut self, _name: &str) -> Option<Box<dyn Choose>> {
        None
    }

    /// What makes a congestion controller for each end of a connection.
    fn controller(&mut self, _name: &str) -> Option<MakeControl> {
        None
    }

    /// What makes a traffic source for each user.
    fn source(&mut self, _name: &str) -> Option<MakeProgram> {
        None
    }
}

/// Knows no code.
pub struct Nobody;

impl Scripts for Nobody {}
