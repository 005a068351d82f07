//! An episode of loss recovery.

/// The variables of loss recovery beside its state.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::send) struct Recovery {
    /// SND.NXT when the last reduction began: losses below it cause no other reduction.
    pub high_seq: u64,
    /// Whether the time-out in progress may turn out to be spurious (RFC 5682).
    pub frto: bool,
    /// The retransmissions that the last acknowledgment allows.
    pub rexmit: Rexmit,
    /// The segment that is sent next, whatever the window is.
    pub forced: Forced,
    /// The rescue retransmission of this recovery was used (RFC 6675 RescueRxt).
    pub rescued: bool,
    /// The acknowledgment at hand shows that a retransmission was lost.
    pub lost_again: bool,
    /// Fast recoveries entered.
    pub count: u64,
}

/// The retransmissions that may be sent besides new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::send) enum Rexmit {
    /// No retransmission.
    None,
    /// Lost segments.
    Lost,
    /// New data first, to find out whether a time-out was spurious (RFC 5682 step 2b).
    New,
}

/// A segment that is sent whatever the window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::send) enum Forced {
    Nothing,
    /// The oldest segment.
    Head,
    /// The first segment that is lost.
    FirstLost,
    /// A tail loss probe.
    Tail,
    /// A probe of the peer's window.
    WindowProbe,
    /// The segment sent last, a second time.
    Copy,
    /// New data, or the FIN.
    New,
}

/// The tail loss probe in progress: SND.NXT after it, and whether it was a retransmission.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::send) struct TailProbe {
    pub high: Option<u64>,
    pub retransmission: bool,
}

impl Recovery {
    pub fn new() -> Recovery {
        Recovery {
            high_seq: 1,
            frto: false,
            rexmit: Rexmit::None,
            forced: Forced::Nothing,
            rescued: false,
            lost_again: false,
            count: 0,
        }
    }
}
