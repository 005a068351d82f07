//! The summary of a proxy.

use units::report;

report! {
    /// The proxy of a flow: the connection between the server and the gateway, and what the gateway held.
    pub struct PepSummary {
        /// The congestion controller of the connection on the ground.
        congestion: String,
        /// Packets with data that were sent on the ground towards the receiver of the flow, retransmissions included.
        sent_packets: u64,
        /// Packets of them that were retransmissions.
        retransmitted_packets: u64,
        /// Expiries of their sender's retransmission timer.
        rto_events: u64,
        /// Mean round-trip time of their sender, as `rtt_mean_s` of the flow.
        rtt_mean_s: Option<f64>,
        /// Data that reached the gateway for the receiver of the flow.
        relayed_bytes: u64,
        /// Data that reached the gateway the other way, as requests for web pages do.
        returned_bytes: u64,
        /// The most data that the gateway held in one direction: arrived, and not acknowledged beyond it.
        held_bytes_max: u64,
    }
}
