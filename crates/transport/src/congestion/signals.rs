//! The signals from a sender to its controller: acknowledgments in small samples, and events.

use units::{Duration, Time};

use crate::state::CongestionState;

/// An acknowledgment brought news. All counts are in segments.
///
/// The order of its fields is that of memory, and counted: what is zero or constant in most samples is written at once.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AckSample {
    /// When it arrived.
    pub now: Time,
    /// All segments known to be delivered since the connection opened.
    pub delivered_total: u64,
    /// All segments ever taken for lost.
    pub lost_total: u64,
    /// SND.UNA and SND.NXT after it, as offsets in the byte stream: for controllers that count round trips by sequence.
    pub una: u64,
    /// See `una`.
    pub nxt: u64,
    /// Smoothed round-trip time (RFC 6298); zero before the first measurement.
    pub srtt: Duration,
    /// Shortest round-trip time measured so far; zero before the first measurement.
    pub min_rtt: Duration,
    /// A round-trip time measured by this acknowledgment, of the newest segment that it covers.
    pub rtt: Option<Duration>,
    /// The delivery rate measured by it, for controllers that ask ([`super::Needs::rates`]).
    pub rate: Option<RateSample>,
    /// Segments newly acknowledged cumulatively.
    pub acked: u32,
    /// Segments newly known to be delivered, cumulatively or selectively, each counted once.
    pub delivered: u32,
    /// Segments in flight before this acknowledgment.
    pub in_flight_before: u32,
    /// Segments in flight after this acknowledgment.
    pub in_flight: u32,
    /// Payload bytes of the segments in `marked`.
    pub marked_bytes: u64,
    /// Segments newly known to be delivered with a congestion mark, by accurate feedback (RFC 9768).
    pub marked: u32,
    /// Segments newly taken for lost.
    pub lost: u32,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Whether it acknowledged data while the window may grow: neither in fast recovery nor in a reduction for a mark.
    /// Otherwise a controller that does not drive only measures.
    pub may_grow: bool,
    /// The acknowledgment echoes a congestion mark (RFC 3168 ECE), or reports one to a controller that does not take
    /// the count.
    pub ece: bool,
    /// The sender's state of loss recovery after this acknowledgment.
    pub state: CongestionState,
    /// Segments are spaced by the sender, not by acknowledgments alone.
    pub paced: bool,
    /// Whether the window was full: if not, the application or the receiver limits, and the window must not grow (RFC
    /// 7661).
    pub window_limited: bool,
    /// Whether the window was full at some point of the last round trip, which is less than `window_limited` takes for
    /// limited in slow start (C.is_cwnd_limited of draft-ietf-ccwg-bbr).
    pub window_full: bool,
}

impl AckSample {
    /// Whether anything was delivered or lost, or a mark is reported.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.delivered > 0 || self.acked > 0 || self.lost > 0 || self.ece || self.marked > 0
    }
}

/// A delivery rate (draft-cheng-iccrg-delivery-rate-estimation). All counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Segments delivered between the sending of the newest segment that the acknowledgment covers and now.
    pub delivered: u32,
    /// Segments taken for lost in the same time.
    pub lost: u32,
    /// [`AckSample::delivered_total`] when that segment was sent: a round trip ends when it reaches that of the round's
    /// start.
    pub prior_delivered: u64,
    /// Segments in flight when that segment had been sent, it included.
    pub tx_in_flight: u32,
    /// The longer of the times it took to send them and to have them acknowledged; `None` where neither is certain
    /// (shorter than the shortest round-trip time).
    pub interval: Option<Duration>,
    /// Whether the application left the path idle in that time: the rate may then be too low.
    pub app_limited: bool,
    /// Whether that segment was a retransmission.
    pub retransmitted: bool,
}

/// A segment that is taken for lost, for controllers that ask for rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LostSegment {
    /// Segments in flight when it had been sent, it included.
    pub tx_in_flight: u32,
    /// Segments taken for lost since it was sent, it included.
    pub lost_since: u32,
    /// Whether the application left the path idle when it was sent.
    pub app_limited: bool,
}

/// Why the window is to be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A segment is lost: a fast recovery begins, or a tail loss probe repaired the loss.
    Loss,
    /// A congestion mark was echoed.
    Mark,
    /// The retransmission timer expired.
    Timeout,
}

/// A reduction begins, once for each loss event.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When.
    pub now: Time,
    /// Why.
    pub cause: Cause,
    /// The segments to reduce from: the window as Linux does, or FlightSize as RFC 5681 equation (4), as the profile
    /// says.
    pub from: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
    /// Shortest round-trip time measured so far; zero before the first measurement.
    pub min_rtt: Duration,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// An event at a sender other than an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The connection is established, and no data have been sent yet: the initial window may be set.
    Established {
        /// The round-trip time of the handshake, zero if it was not measured.
        srtt: Duration,
    },
    /// A segment goes out after nothing was in flight.
    Starts {
        /// The application, not the window, had left it so; or nothing was delivered yet.
        app_limited: bool,
        /// When a segment was sent before this one.
        last_sent: Option<Time>,
    },
    /// New data or a retransmission went out, for controllers that ask ([`super::Needs::sent`]).
    Sent {
        /// Segments in flight, this one included.
        in_flight: u32,
    },
    /// A segment is taken for lost, for controllers that ask ([`super::Needs::rates`]).
    Lost(LostSegment),
    /// A reduction begins: the controller sets the slow start threshold, at least 2, and the sender takes the window
    /// there.
    Congestion(Congestion),
    /// The retransmission timer expired and the sender took the window down. [`Event::Congestion`] came before if this
    /// is a new loss event.
    TimedOut,
    /// A reduction is over: the window is at the threshold.
    Recovered,
    /// A reduction was undone: the loss was none.
    Undone,
    /// Nothing was sent for longer than a retransmission time-out, and the window fell to the restart window (RFC 5681
    /// section 4.1).
    Restarted,
    /// A probe was acknowledged.
    ProbeAcked {
        /// The state of loss recovery.
        state: CongestionState,
    },
    /// The time of [`super::CongestionController::poll_timeout`] is reached.
    Timeout {
        /// Segments in flight.
        in_flight: u32,
    },
}

impl Event {
    /// Returns the event's name, a word or two.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Established { .. } => "established",
            Event::Starts { .. } => "starts",
            Event::Sent { .. } => "sent",
            Event::Lost(_) => "lost",
            Event::Congestion(_) => "congestion",
            Event::TimedOut => "timed-out",
            Event::Recovered => "recovered",
            Event::Undone => "undone",
            Event::Restarted => "restarted",
            Event::ProbeAcked { .. } => "probe-acked",
            Event::Timeout { .. } => "timeout",
        }
    }
}

impl Cause {
    /// Returns its name, a word.
    pub fn name(self) -> &'static str {
        ["loss", "mark", "timeout"][self as usize]
    }
}
