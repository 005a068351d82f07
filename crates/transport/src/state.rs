//! The states of loss recovery, which congestion controllers see.

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
