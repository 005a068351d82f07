//! Random early detection.
//!
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on Networking
//! 1(4), 1993: figure 2 and section 4 (the average), section 5 (uniform spacing of the signals by a count); RFC 2309.
//! "Gentle" is Floyd, "Recommendation on using the gentle variant of RED", 2000: beyond the upper threshold the
//! probability grows to 1 at twice that threshold instead of jumping to 1. Packets are marked instead of dropped below
//! the upper threshold only: an overloaded queue drops packets that it could mark (RFC 7567 section 4.2.1).
//!
//! What is simplified, and who could notice:
//! * While the queue is empty the average decays as if packets of `mean_packet` left one after the other at the rate of
//!   the link; with HARQ they take more coded bits than that. Only the first packets after a pause could notice.
//! * The size of a packet has no weight in its probability, even where the queue is measured in bytes: RFC 7141 section
//!   2.3 recommends this, and the original paper offers both.

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::chance::unit_interval;
use units::{Bytes, Duration, FieldError, Probability, Time};

use super::{Decision, Kind, QueueManager};
use crate::buffer::{Backlog, Buffer, Limit, LinkFacts};
use crate::packet::PacketRef;

/// Marks or drops at random, with a probability that grows with the average length of the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedConfig {
    /// Average length of the queue above which some packets are marked or dropped: packets, bytes, time at the rate of
    /// the link, or bandwidth-delay products. The queue is measured in packets if this is, else in bytes.
    pub min: Buffer,
    /// Average length at which the share `max_p` is marked or dropped, and above which packets are dropped and no
    /// longer marked; of the same kind as `min`.
    pub max: Buffer,
    /// The share marked or dropped when the average reaches `max`.
    pub max_p: Probability,
    /// Weight of each arrival in the average: 0 to 1.
    pub weight: f64,
    /// Whether the share grows from `max_p` at `max` to 1 at twice `max`; without it all packets are dropped above
    /// `max`.
    pub gentle: bool,
    /// Whether packets that can be marked are marked instead of dropped.
    pub ecn: bool,
    /// Size of a typical packet, by which the average decays while the queue is empty.
    pub mean_packet: Bytes,
}

impl Default for RedConfig {
    /// Thresholds and weight of Floyd's notes on setting parameters (1997); share of the gentle variant.
    fn default() -> RedConfig {
        RedConfig {
            min: Buffer::Packets(5),
            max: Buffer::Packets(15),
            max_p: Probability::new(0.1),
            weight: 0.002,
            gentle: true,
            ecn: true,
            mean_packet: Bytes::new(1000),
        }
    }
}

/// Both thresholds of the average queue, in the unit of the lower one.
#[derive(Clone, Copy, Debug)]
struct Thresholds {
    min: Limit,
    max: Limit,
}

impl RedConfig {
    /// The thresholds on `link`.
    fn resolve(&self, link: &LinkFacts) -> Result<Thresholds, FieldError> {
        let refuse = |field, reason: String| Err(FieldError::new(field, reason));
        let min = self.min.resolve_as("min", link)?;
        let max = self.max.resolve_as("max", link)?;
        if std::mem::discriminant(&min) != std::mem::discriminant(&max) {
            return refuse("max", format!("\"{}\" and min = \"{}\": both in packets or neither", self.max, self.min));
        }
        if min.count() >= max.count() {
            return refuse("max", format!("\"{}\" must be more than min = \"{}\"", self.max, self.min));
        }
        if !(self.weight > 0.0 && self.weight <= 1.0) {
            return refuse("weight", format!("{} given, more than 0 and at most 1 allowed", self.weight));
        }
        if self.max_p.get() == 0.0 {
            return refuse("max_p", "0 % given: nothing would be marked or dropped below max".to_owned());
        }
        if self.mean_packet.get() == 0 {
            return refuse("mean_packet", "0 B given, at least 1 B needed".to_owned());
        }
        Ok(Thresholds { min, max })
    }
}

impl Kind for RedConfig {
    fn check(&self, link: &LinkFacts) -> Result<(), FieldError> {
        self.resolve(link).map(drop)
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn build(&self, link: &LinkFacts, rng: Box<dyn Rng + Send>) -> Option<Box<dyn QueueManager>> {
        Some(Box::new(Red::new(self, link, rng).expect("checked before")))
    }
}

/// See [`RedConfig`].
pub struct Red {
    config: RedConfig,
    measure: Limit,
    min: f64,
    max: f64,
    /// The transmission time of a typical packet.
    packet_time: f64,
    rng: Box<dyn Rng + Send>,
    average: f64,
    /// Packets since the last signal, -1 while the average is below the lower threshold.
    count: f64,
    /// When RED's queue became empty, if it is.
    empty_since: Time,
}

impl Red {
    /// `rng`: one draw for each packet that arrives, also where it cannot change the decision.
    ///
    /// # Errors
    /// If a value cannot be.
    pub fn new(config: &RedConfig, link: &LinkFacts, rng: Box<dyn Rng + Send>) -> Result<Red, FieldError> {
        let Thresholds { min, max } = config.resolve(link)?;
        Ok(Red {
            config: config.clone(),
            measure: min,
            min: min.count() as f64,
            max: max.count() as f64,
            packet_time: link.rate.tx_time(config.mean_packet.bits()).as_secs_f64(),
            rng,
            average: 0.0,
            count: -1.0,
            empty_since: Time::ZERO,
        })
    }

    /// The average length of the queue: packets, or bytes if the thresholds are in bytes.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// Figure 2 of the paper: the average at an arrival.
    fn update_average(&mut self, now: Time, waiting: Backlog) {
        let weight = self.config.weight;
        if waiting.packets > 0 {
            self.average += weight * (self.measure.measure(waiting) as f64 - self.average);
        } else {
            let missed = now.since(self.empty_since).as_secs_f64() / self.packet_time;
            self.average *= libm::pow(1.0 - weight, missed);
            self.empty_since = now;
        }
    }

    /// The probability of a signal by the average alone (section 4, and the gentle variant); `None` below the
    /// thresholds.
    fn base_probability(&self) -> Option<f64> {
        let (average, max_p) = (self.average, self.config.max_p.get());
        if average < self.min {
            None
        } else if average < self.max {
            Some(max_p * (average - self.min) / (self.max - self.min))
        } else if self.config.gentle {
            Some((max_p + (1.0 - max_p) * (average - self.max) / self.max).min(1.0))
        } else {
            Some(1.0)
        }
    }
}

impl QueueManager for Red {
    fn on_arrival(&mut self, now: Time, packet: &PacketRef, waiting: Backlog) -> Decision {
        self.update_average(now, waiting);
        let draw = unit_interval(self.rng.next_u64());
        let Some(base) = self.base_probability() else {
            self.count = -1.0;
            return Decision::Pass;
        };
        self.count += 1.0;
        // Section 5: p_a = p_b / (1 - count p_b), so that the packets between two signals are uniform over 1 to 1/p_b.
        let room = 1.0 - self.count * base;
        if room > 0.0 && draw * room >= base {
            return Decision::Pass;
        }
        self.count = 0.0;
        Decision::signal(packet, self.config.ecn && self.average < self.max)
    }

    fn on_departure(&mut self, now: Time, _packet: &PacketRef, _waited: Duration, left: Backlog) -> Decision {
        if left.packets == 0 {
            self.empty_since = now;
        }
        Decision::Pass
    }

    fn on_emptied(&mut self, at: Time) {
        self.empty_since = at;
    }

    fn reset(&mut self, now: Time) {
        (self.average, self.count, self.empty_since) = (0.0, -1.0, now);
    }
}
