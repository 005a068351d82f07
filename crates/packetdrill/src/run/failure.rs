//! The error with which a connection failed.

use crate::host::Host;

/// The failure of a connection, and whether a call has returned it.
#[derive(Default)]
pub(super) struct Failure {
    /// Whether the peer has reset the connection, and before it was open.
    pub reset: bool,
    pub refused: bool,
    /// Whether a call has returned the error.
    returned: bool,
}

impl Failure {
    /// The name of the error, if the connection failed.
    pub fn name(&self, host: Option<&Host>) -> Option<&'static str> {
        match (self.reset, host.is_some_and(Host::timed_out)) {
            (true, _) if self.refused => Some("ECONNREFUSED"),
            (true, _) => Some("ECONNRESET"),
            (_, true) => Some("ETIMEDOUT"),
            _ => None,
        }
    }

    /// Returns the name of the error, unless it was returned before.
    pub fn take(&mut self, host: Option<&Host>) -> Option<&'static str> {
        let failure = self.name(host).filter(|_| !self.returned);
        self.returned |= failure.is_some();
        failure
    }
}
