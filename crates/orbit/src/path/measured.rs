//! The measured rates of a path, and its shares of lost packets.

use std::sync::Arc;

use units::{OverTime, RateOverTime, Time};

/// The rates and losses of a path, beside its delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The rate towards the users.
    pub rate_down: Option<Arc<RateOverTime>>,
    /// The rate from the users.
    pub rate_up: Option<Arc<RateOverTime>>,
    /// The share of lost packets towards the users.
    pub loss_down: Option<LossOverTime>,
    /// The share of lost packets from the users.
    pub loss_up: Option<LossOverTime>,
    /// The last instant of the measurement.
    pub(crate) end: Option<Time>,
}

/// The probability that a packet is lost, over time.
pub type LossOverTime = OverTime<f64>;

impl Measured {
    /// Whether the path has neither rates nor losses beside its delay.
    pub fn is_empty(&self) -> bool {
        *self == Measured { end: self.end, ..Measured::default() }
    }
}
