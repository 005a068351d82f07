//! The interface of a user's own scheduler, which [`super::external`] asks.

use units::{Duration, Time};

/// Chooses the user to serve.
pub trait Choose: Send {
    /// The user to serve now, one of `queues`: all users with packets that may start, the lowest number first, at least
    /// one.
    ///
    /// If the answer is another user, the first is served, and counted in
    /// [`Scheduler::overruled`](super::Scheduler::overruled).
    fn choose(&mut self, now: Time, queues: &[QueueState]) -> Option<u32>;
}

/// The state of a user's queue, for a choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueState {
    /// The user.
    pub user: u32,
    /// Waiting packets.
    pub packets: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The waiting time of the first packet.
    pub head_wait: Duration,
    /// The bytes of the first packet.
    pub head_size: u32,
    /// Mutual information of a coded bit, 0 to 1, as the sender estimates it; the achievable rate is proportional to
    /// it.
    pub information: f64,
    /// The bit rate of the user's recent transmissions, smoothed over a second.
    pub served_bps: f64,
}
