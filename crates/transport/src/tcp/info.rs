//! The state of a connection as others see it, and its counters.

use units::{BitRate, Duration};

use crate::state::CongestionState;

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
    /// Our FIN is acknowledged; the peer may go on.
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

/// A connection at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// State of the connection.
    pub state: State,
    /// State of loss recovery.
    pub congestion_state: CongestionState,
    /// Congestion window in segments.
    pub window: u32,
    /// Slow start threshold in segments; `None` while there is none.
    pub slow_start_threshold: Option<u32>,
    /// First offset not acknowledged (SND.UNA).
    pub una: u64,
    /// First offset not sent (SND.NXT).
    pub nxt: u64,
    /// Segments sent and not acknowledged cumulatively (RFC 5681 FlightSize).
    pub unacked: u32,
    /// Unacknowledged segments known to have arrived: by SACK blocks, or one for each duplicate acknowledgment.
    pub sacked: u32,
    /// Unacknowledged segments taken for lost, retransmitted or not.
    pub lost: u32,
    /// Retransmissions in flight.
    pub retransmitted: u32,
    /// Segments by which data may come out of order without being taken for lost.
    pub reordering: u32,
    /// How often data came out of order.
    pub reordering_seen: u32,
    /// Segments ever retransmitted.
    pub total_retransmitted: u64,
    /// Segments known to be delivered, the SYN and duplicates that the peer reported included.
    pub delivered: u64,
    /// Segments known to be delivered with a congestion mark, by accurate feedback (RFC 9768 s.cep).
    pub delivered_marked: u64,
    /// Doublings of the retransmission time-out.
    pub backoff: u32,
    /// Time-outs in a row without progress.
    pub consecutive_timeouts: u32,
    /// Window probes in a row without an answer.
    pub probes: u32,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// Variation of the round-trip time.
    pub rttvar: Option<Duration>,
    /// Retransmission time-out, back-off included.
    pub rto: Duration,
    /// Shortest round-trip time.
    pub min_rtt: Option<Duration>,
    /// The rate at which segments are spaced, if they are.
    pub pacing_rate: Option<BitRate>,
    /// Bytes that the application wrote and that were never sent.
    pub unsent_bytes: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Data of the SYN were taken (TCP Fast Open).
    pub syn_data: bool,
}

/// Counts of what has happened on a connection. Those that change together do not stand side by side: the compiler
/// would add them in one register, which takes three times the instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments received, of any kind.
    pub segments_received: u64,
    /// Segments sent with data, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments sent with data (or a FIN) that had been sent before.
    pub retransmitted_segments: u64,
    /// Bytes of payload sent, retransmissions included.
    pub data_bytes_sent: u64,
    /// Bytes of payload acknowledged cumulatively.
    pub bytes_acked: u64,
    /// Fast recoveries entered.
    pub dupack_events: u64,
    /// Measurements of the round-trip time, the handshake's left out.
    pub rtt_samples: u64,
    /// Expiries of the retransmission timer for data or a FIN.
    pub rto_events: u64,
    /// Sum of the measured round-trip times.
    pub rtt_sum: Duration,
    /// Expiries of the timer for a SYN.
    pub syn_timeouts: u64,
    /// Probes of a zero window.
    pub window_probes: u64,
}

impl Counters {
    /// Counts the round-trip time of an acknowledgment: the age of the newest segment that it is the first to report.
    #[inline(always)]
    pub(crate) fn count_rtt(&mut self, rtt: Duration) {
        self.rtt_samples += 1;
        self.rtt_sum += rtt;
    }
}

/// How a segment that arrives is to be answered in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Data in order, at an end with nothing to send.
    Data,
    /// An acknowledgment, or data at an end that has something to send.
    Acknowledgment,
    /// Any other.
    Other,
}

/// The answer to a segment, written in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// Nothing.
    Nothing,
    /// An acknowledgment, and nothing of what may be sent has changed.
    Acknowledged,
    /// One segment, whose data were sent so often before.
    One(u32),
    /// As above, and [`super::Connection::poll_segment`] may have others.
    First(u32),
}
