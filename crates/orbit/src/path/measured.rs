//! What a path has beside its delay: rates, and shares of lost packets.

use std::sync::Arc;

use units::{RateOverTime, Time};

/// What a path has beside its delay.
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
    /// The last instant that was measured.
    pub(crate) end: Option<Time>,
}

/// The probability that a packet is lost, over time: constant from each instant to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct LossOverTime(Vec<(Time, f64)>);

impl LossOverTime {
    /// From (instant, probability), in the order of time; `None` without any.
    pub fn new(mut steps: Vec<(Time, f64)>) -> Option<LossOverTime> {
        steps.dedup_by(|after, before| after.1 == before.1);
        steps.first_mut()?.0 = Time::ZERO;
        Some(LossOverTime(steps))
    }

    /// The instants from which a probability holds.
    pub fn steps(&self) -> &[(Time, f64)] {
        &self.0
    }

    /// The probability at `now`.
    pub fn at(&self, now: Time) -> f64 {
        self.0[self.0.partition_point(|step| step.0 <= now).saturating_sub(1)].1
    }
}

impl Measured {
    /// Whether there is nothing beside a delay.
    pub fn is_empty(&self) -> bool {
        *self == Measured { end: self.end, ..Measured::default() }
    }
}
