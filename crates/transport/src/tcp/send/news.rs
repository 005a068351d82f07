//! The news of an acknowledgment, and the state before it.

use units::{Duration, Time};

use crate::tcp::accecn::Marks;

/// Changes that an acknowledgment brings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// The cumulative acknowledgment advanced, by so many segments and bytes.
    pub advanced: bool,
    pub acked: u32,
    /// The segment carries data or a new window: then it is no duplicate.
    pub data: bool,
    pub window_update: bool,
    /// The acknowledgment echoes a congestion mark.
    pub ece: bool,
    /// Marks that accurate feedback newly reports.
    pub marks: Marks,
    /// A block reported data not known to have arrived.
    pub sacked: bool,
    /// The acknowledgment reports a duplicate; a duplicate of a tail loss probe.
    pub duplicate: bool,
    pub probe_duplicate: bool,
    /// Data that were retransmitted were acknowledged cumulatively.
    pub retransmitted_acked: bool,
    /// Data sent before the last reduction and never again were acknowledged.
    pub original_acked: bool,
    /// A retransmission was lost.
    pub retransmission_lost: bool,
    /// The timer is to start anew.
    pub set_timer: bool,
    /// The timestamp that it echoes.
    pub echo: u32,
    /// When the first and the last of the segments sent only once that it acknowledges left: cumulatively and by
    /// blocks.
    pub acked_sent: Option<(Time, Time)>,
    pub sacked_sent: Option<(Time, Time)>,
    /// The round-trip time of the newest segment that the acknowledgment covers.
    pub rtt: Option<Duration>,
    /// The lowest offset that came late.
    pub late: Option<u64>,
}

impl News {
    /// Whether it shows data, a window or progress: otherwise it may be a duplicate acknowledgment (RFC 5681 section
    /// 2).
    pub fn is_no_duplicate(&self) -> bool {
        self.data || self.window_update || self.acked > 0
    }

    pub fn is_late(&mut self, seq: u64) {
        self.late = Some(self.late.map_or(seq, |late| late.min(seq)));
    }
}

/// The state before an acknowledgment.
pub(super) struct Before {
    pub una: u64,
    pub out: u32,
    pub in_flight: u32,
    pub delivered: u64,
    pub lost: u64,
    /// Offset after the highest byte known to have arrived, with SACK and an acknowledgment that advances; otherwise
    /// SND.UNA.
    pub forward: u64,
}
