//! The timestamps of our segments (RFC 7323), and the round-trip times from their echoes.

use units::{Duration, Time};

/// TSval: milliseconds, as RFC 7323 section 5.4 allows, from 1 on since 0 echoes nothing.
#[inline]
pub(in crate::tcp) fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000 + 1) as u32
}

/// Returns how long ago a timestamp that is echoed was sent, at least the clock's tick.
pub(in crate::tcp) fn echo_age(now: Time, echo: u32) -> Option<Duration> {
    (echo != 0).then(|| Duration::from_millis(u64::from(timestamp(now).wrapping_sub(echo)).max(1)))
}
