//! Exponential proportional fairness: proportional fairness until waiting times differ, then the longest waiting time
//! first.
//!
//! Rhee, Holtzman, Kim, "Scheduling of real/non-real time services: adaptive EXP/PF algorithm", IEEE VTC Spring 2003:
//! serves the user with the highest exp((a_i W_i - m) / (1 + √m)) r_i / R_i, m the mean of a_i W_i over the users who
//! wait, a_i and W_i those of [M-LWDF](super::m_lwdf). The highest logarithm is the same user and takes no exponential
//! for each.
//!
//! What is simplified, and who could notice: the paper's rule for flows without a deadline, which compares the waits of
//! the others with a threshold, is left out; such flows go in a class after these.

use units::{Duration, FieldError, Probability};

use super::deadline::{DEFAULT_DEADLINE, default_loss, urgency};
use super::rule::{Known, Rule, WaitingUsers, by_rule};
use super::served::DEFAULT_WINDOW;
use super::user_queues::user_queues_config;

user_queues_config! {
    /// A queue for each user; proportional fairness, unless others have waited much longer than the mean.
    pub struct ExpPfConfig {
        /// The target of the waiting time (τ).
        pub deadline: Duration = DEFAULT_DEADLINE,
        /// The share of packets that may wait longer (δ).
        pub loss: Probability = default_loss(),
        /// The time over which the service is averaged: it divides the past by e.
        pub window: Duration = DEFAULT_WINDOW,
    }
}

by_rule!(ExpPfConfig);

impl ExpPfConfig {
    fn rule(&self) -> Result<ExpPf, FieldError> {
        Ok(ExpPf { urgency: urgency(self.deadline, self.loss)? })
    }
}

/// The logarithm of the rule, without terms that are the same for all users.
pub struct ExpPf {
    urgency: f64,
}

impl Rule for ExpPf {
    const TIMED: bool = true;

    #[inline]
    fn weight(&self, known: Known) -> f64 {
        libm::log(known.information / known.served)
    }

    #[inline(always)]
    fn score(&self, weight: f64, waited_s: f64, waiting_users: &WaitingUsers) -> f64 {
        // The factor is the same for all users, so the compiler computes it once.
        weight + waited_s * (self.urgency / (1.0 + (self.urgency * waiting_users.mean_wait_s).sqrt()))
    }
}
