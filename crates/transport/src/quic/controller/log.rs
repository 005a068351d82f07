//! What a controller and its sender's state have for the log of the connection.

use core::net::SocketAddr;

use units::Time;

use super::super::lifetime::Ended;
use super::super::qlog::{Heading, Metrics, Migration};
use super::Core;
use crate::state::CongestionState;

impl Core {
    /// Logs the beginning of a connection after the first; `addresses` as of [`Qlog::new`].
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

    /// Logs what has changed; `in_flight` bytes are in flight.
    pub(super) fn log_metrics(&mut self, now: Time, in_flight: u64) {
        let Some(mut log) = self.log.take() else { return };
        let mtu = u64::from(self.facts.mtu);
        log.metrics(
            now,
            Metrics {
                latest: self.rtt.latest,
                smoothed: self.rtt.smoothed.unwrap_or_default(),
                min: self.rtt.min.unwrap_or_default(),
                variation: self.rtt.variation,
                window_bytes: u64::from(self.window()) * mtu,
                threshold_bytes: self.threshold().map(|packets| u64::from(packets) * mtu),
                in_flight_bytes: in_flight,
                in_flight_packets: self.packets.in_flight,
            },
        );
        let grows_fast = self.threshold().is_none_or(|threshold| self.window() < threshold);
        let state = match self.state() {
            CongestionState::Open if grows_fast => "slow_start",
            CongestionState::Open => "congestion_avoidance",
            _ => "recovery",
        };
        log.state(now, if self.app_limited && state != "recovery" { "application_limited" } else { state });
        self.log = Some(log);
    }
}
