//! What the log of a connection has beside the controller's state.

use core::net::SocketAddr;

use units::Time;

use super::super::lifetime::Ended;
use super::super::qlog::{Heading, Migration};
use super::Core;

impl Core {
    /// Logs the beginning of a connection after the first; `addresses` as of `Qlog::new`.
    pub fn log_start(&mut self, now: Time, addresses: [SocketAddr; 2]) {
        if let Some(log) = &mut self.log {
            log.start(now, addresses);
        }
    }

    /// Logs the end of the connection.
    pub fn log_end(&mut self, ended: &Ended) {
        if let Some(log) = &mut self.log {
            log.end(ended);
        }
    }

    /// Logs that the client goes to, or has come to, `address`.
    pub fn log_migration(&mut self, now: Time, step: Migration, address: SocketAddr) {
        if let Some(log) = &mut self.log {
            log.migration(now, step, address);
        }
    }

    /// Logs a datagram, which its sender counts as `number`.
    pub fn log_datagram(&mut self, now: Time, heading: Heading, number: u64, bytes: &[u8]) {
        if let Some(log) = &mut self.log {
            log.datagram(now, heading, number, bytes);
        }
    }
}
