//! PIE, proportional integral controller enhanced: drops arriving packets at random, so that the waiting time stays at
//! a target.
//!
//! RFC 8033: random dropping (section 4.1), the probability's control law with its auto-tuning (4.2), bursts (4.4),
//! marks (5.1), derandomisation (5.4), cap of the increase (5.5). The waiting time is measured by timestamps (section
//! 4.3) instead of estimated from the departure rate: it is that of the last packet that left, and zero while the queue
//! is empty.
//!
//! There is no timer: the law is computed, for each interval that has passed, before the next arrival or departure. The
//! probability is not read in between.
//!
//! What is simplified, and who could notice:
//! * It is always active; section 5.3 would switch it off while less than a third of the buffer is used, which the
//!   manager does not know. The exceptions for short waiting times and short queues, of section 4.1, apply.
//! * While no packet leaves, because all HARQ processes are in use, the waiting time of the last one holds.

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::chance::unit_interval;
use units::{Bytes, Duration, FieldError, Probability, Time};

use super::{Decision, Kind, QueueManager};
use crate::buffer::{Backlog, LinkFacts};
use crate::packet::PacketRef;

/// Marks or drops at random so that the waiting time stays about a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PieConfig {
    /// The target of the waiting time (QDELAY_REF).
    pub target: Duration,
    /// Time between two computations of the probability (T_UPDATE).
    pub interval: Duration,
    /// The length of a burst after a quiet time that passes without drops (MAX_BURST).
    pub burst: Duration,
    /// Weight of the waiting time's distance from the target, in 1/s.
    pub alpha: f64,
    /// Weight of the waiting time's change, in 1/s.
    pub beta: f64,
    /// Whether packets that can be marked are marked instead of dropped, while the probability is below `mark_below`.
    pub ecn: bool,
    /// The probability above which packets are dropped even if they can be marked (mark_ecnth).
    pub mark_below: Probability,
    /// Size of a typical packet: a queue of at most two is left alone.
    pub mean_packet: Bytes,
}

impl Default for PieConfig {
    /// The values of RFC 8033.
    fn default() -> PieConfig {
        PieConfig {
            target: Duration::from_millis(15),
            interval: Duration::from_millis(15),
            burst: Duration::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            ecn: true,
            mark_below: Probability::new(0.1),
            mean_packet: Bytes::new(1000),
        }
    }
}

impl Kind for PieConfig {
    fn check(&self, _link: &LinkFacts) -> Result<(), FieldError> {
        let positive = [("target", self.target), ("interval", self.interval)];
        if let Some((field, _)) = positive.into_iter().find(|(_, value)| value.is_zero()) {
            return Err(FieldError::new(field, "must be more than 0 s"));
        }
        let weights = [("alpha", self.alpha), ("beta", self.beta)];
        match weights.into_iter().find(|(_, value)| !(0.0..=1000.0).contains(value)) {
            Some((field, value)) => Err(FieldError::new(field, format!("{value} given, 0 to 1000 allowed"))),
            None => Ok(()),
        }
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn build(&self, _link: &LinkFacts, rng: Box<dyn Rng + Send>) -> Option<Box<dyn QueueManager>> {
        Some(Box::new(Pie::new(self, rng)))
    }
}

/// See [`PieConfig`].
pub struct Pie {
    config: PieConfig,
    rng: Box<dyn Rng + Send>,
    probability: f64,
    /// The probability accumulated since the last drop (accu_prob).
    accumulated: f64,
    /// The waiting time now, and at the last computation.
    wait: Duration,
    wait_before: Duration,
    /// The rest of PIE's burst allowance, which passes without drops.
    burst_left: Duration,
    /// When the probability was last computed.
    computed: Time,
}

impl Pie {
    /// Without any state; [`Kind::check`] has passed. `rng`: one draw for each packet that arrives, also where it
    /// cannot change the decision.
    pub fn new(config: &PieConfig, rng: Box<dyn Rng + Send>) -> Pie {
        Pie {
            config: config.clone(),
            rng,
            probability: 0.0,
            accumulated: 0.0,
            wait: Duration::ZERO,
            wait_before: Duration::ZERO,
            burst_left: config.burst,
            computed: Time::ZERO,
        }
    }

    /// The probability with which a packet is marked or dropped, at the last arrival or departure.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Computes PIE's drop probability as often as is due.
    fn advance(&mut self, now: Time) {
        while self.computed + self.config.interval <= now {
            self.computed += self.config.interval;
            let before = (self.probability, self.wait_before, self.burst_left);
            self.compute();
            if before == (self.probability, self.wait_before, self.burst_left) {
                // The result does not change until the waiting time does.
                let passed = now.since(self.computed).as_nanos() / self.config.interval.as_nanos();
                self.computed += self.config.interval * passed;
            }
        }
    }

    /// Sections 4.2, 4.4 and 5.5: one computation of the probability.
    fn compute(&mut self) {
        let (wait, before) = (self.wait.as_secs_f64(), self.wait_before.as_secs_f64());
        let error = wait - self.config.target.as_secs_f64();
        let mut step = (self.config.alpha * error + self.config.beta * (wait - before)) / self.tuning();
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if self.wait.is_zero() && self.wait_before.is_zero() {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.wait_before = self.wait;
        self.burst_left = self.burst_left.saturating_sub(self.config.interval);
    }

    /// Section 4.2: the smaller the probability, the smaller its steps.
    fn tuning(&self) -> f64 {
        const STEPS: [(f64, f64); 6] =
            [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
        STEPS.iter().find(|(below, _)| self.probability < *below).map_or(1.0, |(_, divisor)| *divisor)
    }

    /// Sections 4.1 and 5.4: whether a packet is marked or dropped, given a draw from 0 to 1.
    fn hits(&mut self, draw: f64, waiting: Backlog) -> bool {
        let quiet = self.wait_before < self.config.target / 2;
        if self.probability == 0.0 && quiet && self.wait < self.config.target / 2 {
            self.burst_left = self.config.burst;
        }
        if !self.burst_left.is_zero() {
            return false;
        }
        let short = waiting.bytes <= 2 * self.config.mean_packet.get();
        if (quiet && self.probability < 0.2) || short {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        // Neither too soon after the last drop nor too late.
        let hit = self.accumulated >= 8.5 || (self.accumulated >= 0.85 && draw < self.probability);
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }
}

impl QueueManager for Pie {
    fn on_arrival(&mut self, now: Time, packet: &PacketRef, waiting: Backlog) -> Decision {
        self.advance(now);
        let draw = unit_interval(self.rng.next_u64());
        if !self.hits(draw, waiting) {
            return Decision::Pass;
        }
        // Section 5.1: an overloaded queue drops packets that it could mark.
        Decision::signal(packet, self.config.ecn && self.probability < self.config.mark_below.get())
    }

    fn on_departure(&mut self, now: Time, _packet: &PacketRef, waited: Duration, left: Backlog) -> Decision {
        self.advance(now);
        self.wait = if left.packets == 0 { Duration::ZERO } else { waited };
        Decision::Pass
    }

    fn on_emptied(&mut self, at: Time) {
        self.advance(at);
        self.wait = Duration::ZERO;
    }

    fn reset(&mut self, now: Time) {
        self.advance(now);
        (self.wait, self.wait_before) = (Duration::ZERO, Duration::ZERO);
        (self.probability, self.accumulated) = (0.0, 0.0);
        self.burst_left = self.config.burst;
    }
}
