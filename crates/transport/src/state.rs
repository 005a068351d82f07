//! The state of a sender: of its loss recovery, which congestion controllers see, and for time series.

use units::Duration;

/// The sender's state of loss recovery, named as in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionState {
    /// Nothing unusual.
    Open,
    /// Duplicate or selective acknowledgments, too few for a loss.
    Disorder,
    /// A reduction for a congestion mark, without loss.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// The retransmission timer expired.
    Loss,
}

impl CongestionState {
    /// Returns the state's name, a word.
    pub fn name(self) -> &'static str {
        ["open", "disorder", "cwr", "recovery", "loss"][self as usize]
    }
}

/// The state of a sender at an instant, for time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderSample {
    /// Congestion window in packets.
    pub window: u32,
    /// Slow start threshold in packets; `None` while there is none.
    pub slow_start_threshold: Option<u32>,
    /// Packets in flight (RFC 6675 pipe, RFC 9002 bytes in flight).
    pub in_flight: u32,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// Retransmission time-out of TCP, back-off included; probe time-out of QUIC without it.
    pub rto: Duration,
}
