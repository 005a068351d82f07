//! Proportional fairness: the best channel relative to the recent service.
//!
//! Kelly, Maulloo and Tan, Journal of the Operational Research Society 49 (1998); Tauran's thesis, equations 6.3 and
//! 6.4: serves the user with the highest r_i / R_i, where r_i is the rate of its channel and R_i its recent service.
//!
//! No user starves, whatever the channels. Let user i always have packets that may start, let each r be the information
//! I of a coded bit between 1/ρ and 1 (ρ = 1000, [`LEAST_INFORMATION`](super::rule::LEAST_INFORMATION)), let n users be
//! sent c bits in a second in packets of at most L bits, and let i have been served the smoothed sum of p bits at the
//! end of its service. While it waits its p decays by e^(-t/w) and no user is chosen whose sum is more than ρ times
//! that; so after a time T the others' sums are at most (n - 1)(ρ p e^(-T/w) + L) together. But they have been sent all
//! bits, smoothed c w (1 - e^(-T/w)). Hence T ≤ w ln((c w + (n - 1) ρ p) / (c w - (n - 1) L)), for windows w in which
//! more than n - 1 packets are sent. A user with a channel without information, beside others with the best, waits
//! about that long: a few windows.

use units::{Duration, FieldError};

use super::rule::{ProportionalFairness, by_rule};
use super::served::DEFAULT_WINDOW;
use super::user_queues::user_queues_config;

user_queues_config! {
    /// A queue for each user; serves the user with the best channel relative to its recent service.
    pub struct PfConfig {
        /// The time over which the service is averaged: it divides the past by e.
        pub window: Duration = DEFAULT_WINDOW,
    }
}

by_rule!(PfConfig);

impl PfConfig {
    fn rule(&self) -> Result<ProportionalFairness, FieldError> {
        Ok(ProportionalFairness)
    }
}
