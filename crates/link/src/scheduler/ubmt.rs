//! Proportional fairness with urgency, in place of UBMT.
//!
//! The utility-based scheduler UBMT (Fairhurst, Giambene, Giannetti, Niephaus, Sacchi and others, IWSSC 2009) combines
//! a utility of throughput with one of delay, but its formula is not published. This is a substitute of the same form:
//! it serves the user with the highest (r_i / R_i) max(1, W_i / D), so that the weight of a packet which has waited for
//! the deadline D grows with its waiting time. A comparison with published results of UBMT could notice; a study of
//! urgency in proportional fairness could not.

use units::{Duration, FieldError};

use super::deadline::{DEFAULT_DEADLINE, check_deadline};
use super::rule::{Known, Rule, WaitingUsers, by_rule};
use super::served::DEFAULT_WINDOW;
use super::user_queues::user_queues_config;

user_queues_config! {
    /// A queue for each user; proportional fairness, in which the weight of a packet beyond its deadline grows with its
    /// waiting time.
    pub struct UbmtConfig {
        /// The waiting time from which a packet is urgent (D).
        pub deadline: Duration = DEFAULT_DEADLINE,
        /// The time over which the service is averaged: it divides the past by e.
        pub window: Duration = DEFAULT_WINDOW,
    }
}

by_rule!(UbmtConfig);

impl UbmtConfig {
    fn rule(&self) -> Result<Ubmt, FieldError> {
        check_deadline(self.deadline)?;
        Ok(Ubmt { per_deadline: 1.0 / self.deadline.as_secs_f64() })
    }
}

/// The rate of the channel over the recent service, times the urgency.
pub struct Ubmt {
    per_deadline: f64,
}

impl Rule for Ubmt {
    const TIMED: bool = true;

    #[inline]
    fn weight(&self, known: Known) -> f64 {
        known.information / known.served
    }

    #[inline(always)]
    fn score(&self, weight: f64, waited_s: f64, _waiting_users: &WaitingUsers) -> f64 {
        let late = waited_s * self.per_deadline;
        weight * if late > 1.0 { late } else { 1.0 }
    }
}
