//! What a handover changes.

use units::Duration;

/// The effect of a handover on waiting packets, on the state of the reliability scheme, and on bursts and feedback in
/// flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Nothing is lost: bursts and feedback in flight arrive, and the new satellite has the state of the old one.
    Keep,
    /// The old satellite forwards waiting packets and the state of its scheme. Bursts in flight to the users are not
    /// received; feedback reaches the old satellite and is forwarded.
    Forward {
        /// The delay from the old satellite to the new one.
        delay: Duration,
    },
    /// All is lost: waiting packets, bursts and feedback in flight, and every packet that was started and is not
    /// decoded.
    Lose,
}
