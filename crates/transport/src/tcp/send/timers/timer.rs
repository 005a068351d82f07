//! The timer of the send half: as in Linux one is armed at a time.

use units::Time;

/// The timer that is armed.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::send) struct Timer {
    pub kind: TimerKind,
    pub at: Time,
    /// Retransmission time-outs in a row without an acknowledgment that advanced.
    pub timeouts: u32,
    /// Window probes in a row without an answer.
    pub window_probes: u32,
    /// A segment is to be cut to the window that there is: the persist timer overrides silly window avoidance.
    pub cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::send) enum TimerKind {
    None,
    Retransmission,
    /// Tail loss probe.
    Probe,
    /// A segment that was overtaken is lost then.
    Reordering,
    Persist,
}

impl Default for Timer {
    fn default() -> Timer {
        Timer { kind: TimerKind::None, at: Time::MAX, timeouts: 0, window_probes: 0, cut: false }
    }
}

impl Timer {
    #[inline]
    pub fn arm(&mut self, kind: TimerKind, at: Time) {
        (self.kind, self.at) = (kind, at);
    }

    #[inline]
    pub fn disarm(&mut self) {
        (self.kind, self.at) = (TimerKind::None, Time::MAX);
    }
}
