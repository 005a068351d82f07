//! The summary of a proxy.

use units::report;

report! {
    /// The proxy of a flow: the connection from the server to the gateway, and what the gateway held.
    pub struct PepSummary {
        /// The congestion controller of the server.
        congestion: String,
        /// Packets with data that the server sent, retransmissions included.
        sent_packets: u64,
        /// Packets that the server retransmitted.
        retransmitted_packets: u64,
        /// Expiries of the server's retransmission timer.
        rto_events: u64,
        /// Mean of the round-trip times that the server measured.
        rtt_mean_s: Option<f64>,
        /// Data that reached the gateway.
        relayed_bytes: u64,
        /// The most data that the gateway held: arrived from the server and not acknowledged by the user.
        held_bytes_max: u64,
    }
}
