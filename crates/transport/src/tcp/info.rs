//! What can be seen of a connection.

use units::Duration;

/// State of a connection (RFC 9293 section 3.3.2). After the last FIN it is closed at once: there is no TIME-WAIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waits for a SYN.
    Listen,
    /// Has sent a SYN.
    SynSent,
    /// Has answered a SYN.
    SynReceived,
    /// Open both ways.
    Established,
    /// Has sent a FIN.
    FinWait1,
    /// Its FIN is acknowledged; the peer may go on.
    FinWait2,
    /// The peer has sent a FIN; we may go on.
    CloseWait,
    /// Both have sent a FIN before seeing the other's.
    Closing,
    /// Has answered the peer's FIN with its own.
    LastAck,
    /// Over.
    Closed,
}

/// What the sender thinks of the path, named as in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionState {
    /// Nothing unusual.
    Open,
    /// Duplicate or selective acknowledgments, too few for a loss.
    Disorder,
    /// Fast recovery.
    Recovery,
    /// The retransmission timer expired.
    Loss,
}

/// A connection at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// State of the connection.
    pub state: State,
    /// State of loss recovery.
    pub congestion_state: CongestionState,
    /// Congestion window.
    pub window_bytes: u64,
    /// Slow start threshold; `None` while there is none.
    pub slow_start_threshold: Option<u64>,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// Variation of the round-trip time.
    pub rttvar: Option<Duration>,
    /// Retransmission time-out, back-off included.
    pub rto: Duration,
    /// Shortest round-trip time.
    pub min_rtt: Option<Duration>,
    /// Bytes on their way (RFC 6675 pipe).
    pub in_flight_bytes: u64,
    /// Bytes sent and not acknowledged cumulatively (RFC 5681 FlightSize).
    pub outstanding_bytes: u64,
    /// Bytes that the application wrote and that were never sent.
    pub unsent_bytes: u64,
    /// Bytes of the outstanding ones that are selectively acknowledged.
    pub sacked_bytes: u64,
    /// Bytes of the outstanding ones that are taken for lost, retransmitted or not.
    pub lost_bytes: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// What has happened on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments received, of any kind.
    pub segments_received: u64,
    /// Segments sent with data, retransmissions included.
    pub data_segments_sent: u64,
    /// Bytes of payload sent, retransmissions included.
    pub data_bytes_sent: u64,
    /// Segments sent with data (or a FIN) that had been sent before.
    pub retransmitted_segments: u64,
    /// Segments sent that only acknowledge.
    pub acks_sent: u64,
    /// Bytes of payload acknowledged cumulatively.
    pub bytes_acked: u64,
    /// Fast recoveries entered.
    pub dupack_events: u64,
    /// Expiries of the retransmission timer for data or a FIN.
    pub rto_events: u64,
    /// Expiries of the timer for a SYN.
    pub syn_timeouts: u64,
    /// Probes of a zero window.
    pub window_probes: u64,
    /// Measurements of the round-trip time, the handshake's left out.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
}
