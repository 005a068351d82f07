//! Modified Largest Weighted Delay First: proportional fairness weighted with the waiting time.
//!
//! Andrews, Kumaran, Ramanan, Stolyar, Whiting, Vijayakumar, "Providing quality of service over a shared wireless
//! link", IEEE Communications Magazine 39(2), 2001: serves the user with the highest a_i W_i r_i / R_i, W_i the wait of
//! its first packet and a_i = -log10(δ_i) / τ_i for at most the share δ_i of packets to wait longer than τ_i.
//!
//! What is simplified, and who could notice: all users of a scheduler have the same deadline and share, so that a_i has
//! no effect between them; for other deadlines put flows into classes, which are served in strict order.

use units::{Duration, FieldError, Probability};

use super::deadline::{DEFAULT_DEADLINE, default_loss, urgency};
use super::rule::{Known, Rule, WaitingUsers, by_rule};
use super::served::DEFAULT_WINDOW;
use super::user_queues::user_queues_config;

user_queues_config! {
    /// A queue for each user; proportional fairness weighted with the waiting time.
    pub struct MLwdfConfig {
        /// The target of the waiting time (τ).
        pub deadline: Duration = DEFAULT_DEADLINE,
        /// The share of packets that may wait longer (δ).
        pub loss: Probability = default_loss(),
        /// The time over which the service is averaged: it divides the past by e.
        pub window: Duration = DEFAULT_WINDOW,
    }
}

by_rule!(MLwdfConfig);

impl MLwdfConfig {
    fn rule(&self) -> Result<MLwdf, FieldError> {
        Ok(MLwdf { urgency: urgency(self.deadline, self.loss)? })
    }
}

/// The rate of the channel over the recent service, times the waiting time and the urgency.
pub struct MLwdf {
    urgency: f64,
}

impl Rule for MLwdf {
    const TIMED: bool = true;

    #[inline]
    fn weight(&self, known: Known) -> f64 {
        self.urgency * known.information / known.served
    }

    #[inline(always)]
    fn score(&self, weight: f64, waited_s: f64, _waiting_users: &WaitingUsers) -> f64 {
        weight * waited_s
    }
}
