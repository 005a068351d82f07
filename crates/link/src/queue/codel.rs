//! Controlled delay: acts on the waiting time of packets, not on their number.
//!
//! RFC 8289, the pseudo-code of its section 5. Where that drops, a packet that can be marked is marked instead, one
//! each time the control law is due (as RFC 8290 does). The pseudo-code takes the next packet itself after a drop; here
//! each call decides on one packet and the queue calls again for the next, so that a scheduler may choose another user
//! in between.
//!
//! What is simplified, and who could notice: the transmitter of the last hop counts coded bits, so with HARQ one burst
//! time has fewer packets than the RFC's; the user sets interval and target.

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, FieldError, Time};

use super::{Decision, Kind, QueueManager};
use crate::buffer::{Backlog, LinkFacts};
use crate::packet::PacketRef;

/// Marks or drops when packets have waited too long for a whole interval, and more often the longer it lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodelConfig {
    /// The acceptable waiting time: 5 to 10 % of the interval (RFC 8289 section 4.3).
    pub target: Duration,
    /// How long the waiting time may stay above the target before packets are dropped: about the longest round-trip
    /// time (RFC 8289 section 4.2). Paths over satellites need more than the default.
    pub interval: Duration,
    /// Whether packets that can be marked are marked instead of dropped.
    pub ecn: bool,
    /// A queue of at most this size is left alone.
    pub full_packet: Bytes,
}

impl Default for CodelConfig {
    fn default() -> CodelConfig {
        CodelConfig {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
            full_packet: Bytes::new(1500),
        }
    }
}

impl Kind for CodelConfig {
    fn check(&self, _link: &LinkFacts) -> Result<(), FieldError> {
        if self.interval.is_zero() {
            return Err(FieldError::new("interval", "must be more than 0 s"));
        }
        if self.target >= self.interval {
            let reason = format!("{} given, less than the interval of {} needed", self.target, self.interval);
            return Err(FieldError::new("target", reason));
        }
        Ok(())
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn build(&self, _link: &LinkFacts, _rng: Box<dyn Rng + Send>) -> Option<Box<dyn QueueManager>> {
        Some(Box::new(Codel::new(self.clone())))
    }
}

/// See [`CodelConfig`].
#[derive(Debug)]
pub struct Codel {
    config: CodelConfig,
    /// When the waiting time will have been above the target for an interval; `None` while it is below.
    first_above: Option<Time>,
    /// Whether it is in the dropping state (dropping or marking).
    dropping: bool,
    /// When the control law is due.
    drop_next: Time,
    /// Whether the control law dropped the packet before; the law advances if this packet still waited too long.
    law_due: bool,
    /// Signals since the dropping state began, and their number when it last began.
    count: u32,
    last_count: u32,
}

impl Codel {
    /// Not dropping; [`Kind::check`] has passed.
    pub fn new(config: CodelConfig) -> Codel {
        Codel {
            config,
            first_above: None,
            dropping: false,
            drop_next: Time::ZERO,
            law_due: false,
            count: 0,
            last_count: 0,
        }
    }

    /// Whether packets have waited longer than the target for an interval (the function `dodequeue` of the RFC).
    fn waited_too_long(&mut self, now: Time, waited: Duration, left: Backlog) -> bool {
        if waited < self.config.target || left.bytes <= self.config.full_packet.get() {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            Some(at) => now >= at,
            None => {
                self.first_above = Some(now + self.config.interval);
                false
            }
        }
    }

    /// The time of the next signal: an interval divided by the square root of their number (section 4.4).
    fn control_law(&self, from: Time) -> Time {
        from + self.config.interval.mul_f64(1.0 / f64::from(self.count).sqrt())
    }

    /// Starts the dropping state, at its last rate if that was a short while ago.
    fn start(&mut self, now: Time) {
        let since_last = self.count - self.last_count;
        let recently = now.since(self.drop_next) < self.config.interval * 16;
        self.count = if since_last > 1 && recently { since_last } else { 1 };
        self.dropping = true;
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }
}

impl QueueManager for Codel {
    fn on_departure(&mut self, now: Time, packet: &PacketRef, waited: Duration, left: Backlog) -> Decision {
        let law_due = std::mem::take(&mut self.law_due);
        if !self.waited_too_long(now, waited, left) {
            self.dropping = false;
            return Decision::Pass;
        }
        let decision = Decision::signal(packet, self.config.ecn);
        if !self.dropping {
            self.start(now);
            return decision;
        }
        if law_due {
            self.drop_next = self.control_law(self.drop_next);
        }
        if now < self.drop_next {
            return Decision::Pass;
        }
        self.count += 1;
        match decision {
            Decision::Drop(_) => self.law_due = true,
            _ => self.drop_next = self.control_law(self.drop_next),
        }
        decision
    }

    /// As the RFC's `dodequeue` when the queue is empty.
    fn on_emptied(&mut self, _at: Time) {
        (self.first_above, self.dropping, self.law_due) = (None, false, false);
    }

    fn reset(&mut self, _now: Time) {
        *self = Codel::new(self.config.clone());
    }

    fn drops_at_departure(&self) -> bool {
        true
    }
}
