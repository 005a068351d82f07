//! DualPI2: two queues, of which one stays nearly empty, whose signals are coupled so that flows in both have about the
//! same rate (RFC 9332; L4S is the architecture of RFC 9330).
//!
//! What is ECT(1), or CE already, goes to the low-latency queue "L", all else to the Classic queue "C" (section 2.3). A
//! proportional integral controller turns the waiting time of C's first packet into a base probability p' (appendix
//! A.1): every T_update = min(target, RTT_max / 3)
//!
//! ```text
//! p'   = p' + alpha (w_C - target) + beta (w_C - w_C before),  alpha = 0.1 T_update / RTT_max^2,  beta = 0.3 / RTT_max
//! p_C  = p'^2         C: marked where the packet can be, else dropped
//! p_CL = k p'         L: marked with max(p_CL, p'_L), where p'_L grows from 0 to 1 over a ramp of the wait in L
//! ```
//!
//! Squared, since Reno's and CUBIC's rate falls with 1/sqrt(p_C), that of a scalable controller with 1/p_L (section
//! 2.1). While p_C is at least 1/k^2, and p_CL at least 1, both queues drop with p_C (section 2.5.1 and appendix A.2).
//! Signals are spread by accumulation (`recur` in appendix A.1), so nothing is drawn.
//!
//! There is no timer: the law is computed, for each interval that has passed, before the next event. It is not read in
//! between. A packet that comes or is served alone in L is not marked for its own waiting time, since at a low rate the
//! time of one packet may exceed the ramp (Th_len).
//!
//! What is simplified, and who could notice:
//! * p' follows C alone, as in appendix A.1 (Linux takes the longer of the two waiting times): where nothing but ECT(1)
//!   comes and does not respond, the limit of the queue is what drops.
//! * Under a scheduler with a queue for each user, each of them is a pair of its own, coupled within itself.

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Ecn, FieldError, Probability, Time};

use super::{Decision, Heads, Kind, Lane, QueueManager};
use crate::buffer::{Backlog, LinkFacts};
use crate::packet::{DropReason, PacketRef};

/// Two queues, one of low latency for L4S, whose marks and drops are coupled so that rates are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DualPi2Config {
    /// The target of the waiting time in the Classic queue.
    pub target: Duration,
    /// The longest typical round-trip time, from which the gains of the controller follow. Paths over geostationary
    /// satellites need more than the default.
    pub rtt_max: Duration,
    /// How many times the base probability packets of low latency are marked with (k); 2 makes rates alike at equal
    /// round-trip times.
    pub coupling: f64,
    /// The waiting time in the low-latency queue from which on packets are marked for it (minTh).
    pub mark_from: Duration,
    /// The waiting time from which on all are (maxTh); the same as `mark_from` is a step.
    pub mark_all: Duration,
    /// Which of the two queues is served when packets wait in both.
    pub service: Service,
    /// With `"weighted"`: the share of the bytes that the Classic queue has at least while packets wait in both.
    pub classic_share: Probability,
    /// With `"time-shifted"`: by how much longer a Classic packet waits than one of low latency; by default twice the
    /// target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_shift: Option<Duration>,
}

/// Which of the two queues is served (RFC 9332 section 4.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// Weighted round robin: the low-latency queue, but for the share of the Classic one.
    #[default]
    Weighted,
    /// The queue whose first packet came first, the Classic ones counted as if they came later by the time shift.
    TimeShifted,
}

impl Default for DualPi2Config {
    /// The values of appendix A.1 of RFC 9332; the share is that of Linux.
    fn default() -> DualPi2Config {
        DualPi2Config {
            target: Duration::from_millis(15),
            rtt_max: Duration::from_millis(100),
            coupling: 2.0,
            mark_from: Duration::from_micros(800),
            mark_all: Duration::from_micros(1200),
            service: Service::Weighted,
            classic_share: Probability::new(0.1),
            time_shift: None,
        }
    }
}

impl Kind for DualPi2Config {
    fn check(&self, _link: &LinkFacts) -> Result<(), FieldError> {
        let least = [("target", self.target, LEAST_TARGET), ("rtt_max", self.rtt_max, LEAST_RTT_MAX)];
        if let Some((field, value, least)) = least.into_iter().find(|(_, value, least)| value < least) {
            return Err(FieldError::new(field, format!("{value} given, at least {least} needed")));
        }
        if !(1.0..=100.0).contains(&self.coupling) {
            return Err(FieldError::new("coupling", format!("{} given, 1 to 100 allowed", self.coupling)));
        }
        if self.mark_all < self.mark_from {
            let reason = format!("{} given, at least mark_from, {}, needed", self.mark_all, self.mark_from);
            return Err(FieldError::new("mark_all", reason));
        }
        if !(0.01..=0.99).contains(&self.classic_share.get()) {
            let reason = format!("{} given, 0.01 to 0.99 allowed", self.classic_share);
            return Err(FieldError::new("classic_share", reason));
        }
        if self.time_shift.is_some() && self.service != Service::TimeShifted {
            let reason = "has no effect unless service = \"time-shifted\": leave it out";
            return Err(FieldError::new("time_shift", reason));
        }
        Ok(())
    }

    fn marks(&self) -> bool {
        true
    }

    fn build(&self, _link: &LinkFacts, _rng: Box<dyn Rng + Send>) -> Option<Box<dyn QueueManager>> {
        Some(Box::new(DualPi2::new(self.clone())))
    }
}

/// The base probability is computed every `target`, or more often for a short `rtt_max`: no more often than this asks.
const LEAST_TARGET: Duration = Duration::from_micros(100);
const LEAST_RTT_MAX: Duration = Duration::from_millis(1);

/// The bytes of the packet that the credit of an idle queue is counted in.
const FULL_PACKET: f64 = 1500.0;

/// See [`DualPi2Config`].
#[derive(Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    /// T_update, and alpha and beta in 1/s.
    interval: Duration,
    alpha: f64,
    beta: f64,
    /// The base probability p'.
    base: f64,
    /// The waiting time at the last computation (prevq).
    wait_before: Duration,
    /// When the law was last computed.
    computed: Time,
    /// Likelihood of each lane that has not yet become a signal.
    classic_count: f64,
    low_count: f64,
    /// The likelihood of a drop from the low-latency lane, in overload.
    low_drop_count: f64,
    /// Bytes that the Classic queue is owed, if above 0; weighted by the shares.
    credit: f64,
    heads: Heads,
}

impl DualPi2 {
    /// Without any state; [`Kind::check`] has passed.
    pub fn new(config: DualPi2Config) -> DualPi2 {
        let rtt_max = config.rtt_max.as_secs_f64();
        let interval = config.target.min(config.rtt_max / 3);
        let mut queue = DualPi2 {
            interval,
            alpha: 0.1 * interval.as_secs_f64() / (rtt_max * rtt_max),
            beta: 0.3 / rtt_max,
            base: 0.0,
            wait_before: Duration::ZERO,
            computed: Time::ZERO,
            classic_count: 0.0,
            low_count: 0.0,
            low_drop_count: 0.0,
            credit: 0.0,
            heads: Heads::default(),
            config,
        };
        queue.reset_credit();
        queue
    }

    /// The base probability p' at the last event.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// The time between two computations of the base probability (T_update).
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The first low-latency packet to come goes before Classic ones.
    fn reset_credit(&mut self) {
        let share = self.config.classic_share.get();
        self.credit = FULL_PACKET * (share - (1.0 - share));
    }

    /// Does the computations that are due; the heads have not changed since the last event.
    fn advance(&mut self, now: Time) {
        while self.computed + self.interval <= now {
            self.computed += self.interval;
            let before = (self.base, self.wait_before);
            let wait = self.heads.classic.map_or(Duration::ZERO, |since| self.computed.since(since));
            self.compute(wait);
            if before == (self.base, self.wait_before) {
                // An empty queue at rest.
                let passed = now.since(self.computed).as_nanos() / self.interval.as_nanos();
                self.computed += self.interval * passed;
            }
        }
    }

    /// Appendix A.1, `dualpi2_update`.
    fn compute(&mut self, wait: Duration) {
        let (now, before) = (wait.as_secs_f64(), self.wait_before.as_secs_f64());
        let error = now - self.config.target.as_secs_f64();
        self.base = (self.base + self.alpha * error + self.beta * (now - before)).clamp(0.0, 1.0);
        self.wait_before = wait;
    }

    /// p'_L: the ramp of the waiting time (appendix A.1, `laqm`).
    fn native(&self, waited: Duration, left: Backlog) -> f64 {
        let (from, all) = (self.config.mark_from, self.config.mark_all);
        match () {
            () if left.packets == 0 || waited < from => 0.0,
            () if waited >= all => 1.0,
            () => waited.saturating_sub(from).as_secs_f64() / all.saturating_sub(from).as_secs_f64(),
        }
    }

    fn decide_low(&mut self, packet: &PacketRef, waited: Duration, left: Backlog) -> Decision {
        let coupled = self.config.coupling * self.base;
        if coupled < 1.0 {
            let likelihood = self.native(waited, left).max(coupled);
            return if recur(&mut self.low_count, likelihood) { mark(packet) } else { Decision::Pass };
        }
        // Appendix A.2: saturated, L drops as C does, and marks all else.
        let drops = recur(&mut self.low_drop_count, self.base * self.base);
        if drops { Decision::Drop(DropReason::Early) } else { mark(packet) }
    }

    fn decide_classic(&mut self, packet: &PacketRef) -> Decision {
        let saturated = self.config.coupling * self.base >= 1.0;
        match recur(&mut self.classic_count, self.base * self.base) {
            true => Decision::signal(packet, !saturated),
            false => Decision::Pass,
        }
    }

    /// As Linux: a queue that is served while the other waits pays, weighted by the other's share.
    fn pay(&mut self, lane: Lane, size: u32) {
        let (share, bytes) = (self.config.classic_share.get(), f64::from(size));
        match (lane, self.heads.classic, self.heads.low_latency) {
            (Lane::LowLatency, Some(_), _) => self.credit += bytes * share,
            (Lane::Classic, _, Some(_)) => self.credit -= bytes * (1.0 - share),
            _ => {}
        }
    }
}

/// Appendix A.1: whether a signal is due, `likelihood` after the last time.
fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    let due = *count > 1.0;
    if due {
        *count -= 1.0;
    }
    due
}

/// A packet of the low-latency queue can be marked: it is ECT(1), or marked already.
fn mark(packet: &PacketRef) -> Decision {
    Decision::signal(packet, true)
}

impl QueueManager for DualPi2 {
    fn is_dual(&self) -> bool {
        true
    }

    fn lane(&self, packet: &PacketRef) -> Lane {
        match packet.ecn {
            Ecn::Ect1 | Ecn::Ce => Lane::LowLatency,
            Ecn::NotEct | Ecn::Ect0 => Lane::Classic,
        }
    }

    fn first(&self, heads: Heads) -> Lane {
        match self.config.service {
            Service::Weighted if self.credit > 0.0 => Lane::Classic,
            Service::Weighted => Lane::LowLatency,
            Service::TimeShifted => {
                let shift = self.config.time_shift.unwrap_or(self.config.target * 2);
                Heads { classic: heads.classic.map(|since| since + shift), ..heads }.older()
            }
        }
    }

    fn on_progress(&mut self, now: Time, heads: Heads) {
        self.heads = heads;
        self.advance(now);
        if heads == Heads::default() {
            self.reset_credit();
        }
    }

    fn on_departure(&mut self, _now: Time, packet: &PacketRef, waited: Duration, left: Backlog) -> Decision {
        let lane = self.lane(packet);
        let decision = match lane {
            Lane::LowLatency => self.decide_low(packet, waited, left),
            Lane::Classic => self.decide_classic(packet),
        };
        if !matches!(decision, Decision::Drop(_)) {
            self.pay(lane, packet.size);
        }
        decision
    }

    fn on_emptied(&mut self, at: Time) {
        self.on_progress(at, Heads::default());
    }

    fn reset(&mut self, now: Time) {
        let config = self.config.clone();
        *self = DualPi2 { computed: now, ..DualPi2::new(config) };
    }

    fn drops_at_departure(&self) -> bool {
        true
    }
}
