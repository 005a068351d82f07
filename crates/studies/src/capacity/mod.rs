//! How much the last hop can carry when everybody always has something to send, by who is chosen.
//!
//! No transport and no path: the scenario's channel, transmitter and HARQ, and queues that never run empty. Tauran's
//! thesis asks it in section 6.1.2 and figure 6.3, of one user, of many chosen at random, and of many of whom the best
//! channel is always chosen; any scheduler can be asked beside them.
//!
//! What is simplified, and who could notice: queues have no manager, for there is nobody who would slow down; there is
//! no reordering buffer; classes of service are left out. The limits take the channels for independent and each as long
//! as its law, so a short study of few users may lie on either side of them.

mod limits;
mod saturation;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use channel::{Channel, LawRequest};
use engine::Streams;
use link::{Choose, LastHop, LastHopConfig, LastHopReport, QueueConfig, SchedulerConfig};
use serde::Serialize;
use sim::{
    Choosers, Plan, Scenario, ScenarioConfig, ScenarioError, UsersSummary, channel_streams, check_users, draw_law,
    last_hop_streams, positive,
};
use units::{Duration, Time};

use self::limits::{Information, spacing_users};
use self::saturation::{AtRandom, ChannelTap, Saturation};

/// The options of a study of capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityOptions {
    /// Numbers of users.
    pub users: Vec<u32>,
    /// Schedulers by name, beside `random` and `max-rate`: with the scenario's options if it is the scenario's, else
    /// with their defaults. Without this, that of the scenario.
    pub schedulers: Option<Vec<String>>,
    /// Simulated time for each number of users and scheduler.
    pub duration: Duration,
    /// Replaces the scenario's seed.
    pub seed: Option<u64>,
}

/// The result of a study of capacity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CapacityReport {
    /// The title of the scenario.
    pub title: String,
    /// The root of the random streams.
    pub seed: u64,
    /// Whether the study was stopped before its last row.
    pub partial: bool,
    /// Simulated time of each row.
    pub simulated_s: f64,
    /// Coded bits that the transmitter sends in a second.
    pub rate_bps: u64,
    /// A packet with its headers.
    pub packet_bytes: u32,
    /// Information that a decoder needs of a packet: its bits, or those of the block that it is padded to.
    pub packet_information_bits: u64,
    /// Time from the end of a transmission to the beginning of the next one of the same packet.
    pub feedback_rtt_s: f64,
    /// Warnings: what to check before trusting the result.
    pub warnings: Vec<String>,
    /// A single user, who has the whole link.
    pub one_user: CapacityRow,
    /// One entry for each policy and number of users.
    pub rows: Vec<CapacityRow>,
}

/// The capacity for a number of users under a policy, and the limits. A value that was never observed is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CapacityRow {
    /// The choice of the next user: `random`, or the name of a scheduler.
    pub policy: String,
    /// Users.
    pub users: u32,
    /// Packets started per second.
    pub started_pps: f64,
    /// Packets decoded per second.
    pub decoded_pps: f64,
    /// Bits of decoded packets per second, without padding.
    pub useful_bps: f64,
    /// Coded bits sent per second.
    pub coded_bps: f64,
    /// Useful bits for each coded bit.
    pub spectral_efficiency: Option<f64>,
    /// Shares of the packets decoded after 1, 2 … transmissions, of those whose fate is known.
    pub decoded_after_share: Vec<f64>,
    /// Share of them that was not decoded.
    pub failed_share: f64,
    /// Coded bits for each of them: equation 6.6 of Tauran's thesis.
    pub bits_per_packet_mean: Option<f64>,
    /// The time that these take: equation 6.7.
    pub packet_time_mean_s: Option<f64>,
    /// Users beyond whom a packet that comes one transmission later does not make three duplicate acknowledgments, if
    /// all send in turn: equations 6.8 and 6.9.
    pub spacing_users: Option<f64>,
    /// Packets that the scheduler dropped from its queues.
    pub given_up_packets: u64,
    /// Useful rate of the user who got least.
    pub user_useful_min_bps: f64,
    /// Mean useful rate of the users.
    pub user_useful_mean_bps: f64,
    /// Useful rate of the user who got most.
    pub user_useful_max_bps: f64,
    /// Jain's fairness index of the useful rates; `null` if nobody got anything.
    pub jain: Option<f64>,
    /// The mean capacity of the channels, equation 6.1: useful bits per second with an ideal code, whoever is chosen
    /// without a look at the channels.
    pub mean_limit_bps: f64,
    /// `mean_limit_bps` in packets.
    pub mean_limit_pps: f64,
    /// The expected capacity of the best channel, equation 6.2.
    pub best_limit_bps: f64,
    /// `best_limit_bps` in packets.
    pub best_limit_pps: f64,
}

/// A study of capacity in progress.
pub struct CapacityStudy {
    plan: Plan,
    streams: Streams,
    seed: u64,
    duration: Duration,
    packet_bytes: u32,
    information_bits: u64,
    information: Information,
    cases: Vec<CapacityCase>,
    /// The case in progress and how far it is; none between two.
    running: Option<(Saturation, Time)>,
    rows: Vec<CapacityRow>,
}

/// A policy and a number of users.
#[derive(Clone)]
struct CapacityCase {
    policy: String,
    last_hop: LastHopConfig,
    users: u32,
    /// Whether the options ask for it; the study always has the case of one user.
    asked: bool,
}

/// The policy that chooses users at random and looks at nothing.
const RANDOM: &str = "random";
/// The most users of a case; a scenario may have more.
const MOST_CASE_USERS: u32 = 100_000;
/// Sizes of queues follow from it, and do not matter here: two packets of each user wait, whatever the size.
const BASE_RTT: Duration = Duration::from_secs(1);
/// Simulated time of one call of [`CapacityStudy::advance`]: short, so that Ctrl-C and a progress bar need not wait.
const STEP: Duration = Duration::from_millis(500);

impl CapacityStudy {
    /// A study that has not started.
    ///
    /// # Errors
    /// The first field of the scenario, or option (`users.0`, `schedulers.0`), that is wrong.
    pub fn new(scenario: &Scenario, options: &CapacityOptions) -> Result<CapacityStudy, ScenarioError> {
        let plan = scenario.plan()?;
        let config = plan.config();
        positive("duration", options.duration)?;
        let seed = options.seed.unwrap_or(config.seed);
        let cases = cases(scenario, config, options)?;
        for case in &cases {
            check_users(plan.model.as_ref(), case.users)?;
            case.last_hop.check(BASE_RTT, case.users as usize).map_err(|error| error.within("last_hop"))?;
        }
        let one = LawRequest::all(1, feedback_rtt(&plan));
        let information = Information::new(&draw_law(plan.model.as_ref(), one));
        let packet_bytes = config.packet_bytes(&config.flows[0]);
        Ok(CapacityStudy {
            streams: Streams::new(seed),
            seed,
            duration: options.duration,
            packet_bytes,
            information_bits: config.last_hop.information_bits(packet_bytes) as u64,
            information,
            cases,
            running: None,
            rows: Vec::new(),
            plan,
        })
    }

    /// Goes on for a while, some hundred milliseconds of simulated time at most; without effect at the end. `choosers`:
    /// what scripts have registered.
    ///
    /// # Errors
    /// A last hop that cannot be built, for a scheduler that no script has registered.
    pub fn advance(&mut self, choosers: &mut Choosers<'_>) -> Result<(), ScenarioError> {
        let Some(case) = self.cases.get(self.rows.len()).cloned() else { return Ok(()) };
        let (mut saturation, now) = match self.running.take() {
            Some(running) => running,
            None => (self.begin(&case, choosers)?, Time::ZERO),
        };
        let end = Time::ZERO + self.duration;
        let until = (now + STEP).min(end);
        saturation.advance(until);
        if until < end {
            self.running = Some((saturation, until));
        } else {
            self.rows.push(self.row(&case, &saturation));
        }
        Ok(())
    }

    /// Returns the share of the study that is done, 0 to 1.
    pub fn share(&self) -> f64 {
        let part = self.running.as_ref().map_or(0.0, |(_, now)| now.as_secs_f64() / self.duration.as_secs_f64());
        (self.rows.len() as f64 + part) / self.cases.len() as f64
    }

    /// Returns the result so far; `None` before the first case, that of one user, is at its end.
    pub fn report(&self) -> Option<CapacityReport> {
        let one_user = self.rows.iter().find(|row| (row.policy.as_str(), row.users) == (RANDOM, 1));
        let asked = self.rows.iter().zip(&self.cases).filter(|(_, case)| case.asked);
        let most = self.rows.iter().map(|row| row.users).max().unwrap_or(1);
        let mut warnings = self.plan.model.warnings(u64::from(most));
        if !self.plan.config().last_hop.classes.is_empty() {
            warnings.push("last_hop.classes: a study of capacity has one class of packets, without a name".to_owned());
        }
        Some(CapacityReport {
            title: self.plan.config().title.clone(),
            seed: self.seed,
            partial: self.rows.len() < self.cases.len(),
            simulated_s: self.duration.as_secs_f64(),
            rate_bps: self.plan.config().last_hop.mean_rate().as_bps(),
            packet_bytes: self.packet_bytes,
            packet_information_bits: self.information_bits,
            feedback_rtt_s: feedback_rtt(&self.plan).as_secs_f64(),
            warnings,
            one_user: one_user?.clone(),
            rows: asked.map(|(row, _)| row.clone()).collect(),
        })
    }

    /// The last hop of a case, full. Users have the channels that they have in a run with this seed.
    fn begin(&self, case: &CapacityCase, choosers: &mut Choosers<'_>) -> Result<Saturation, ScenarioError> {
        let last_user = Arc::new(AtomicU32::new(0));
        let tap = |user: u32| -> Box<dyn Channel> {
            let channel = self.plan.model.build(u64::from(user), &mut channel_streams(self.streams, u64::from(user)));
            Box::new(ChannelTap { channel, user, last_user: Arc::clone(&last_user) })
        };
        let streams = last_hop_streams(self.streams);
        let mut choosers = |name: &str| -> Option<Box<dyn Choose>> {
            if case.policy == RANDOM {
                return Some(Box::new(AtRandom { rng: Box::new(self.streams.stream("capacity.random", 0)) }));
            }
            choosers(name)
        };
        let (law, channels) = (self.plan.law(), (0..case.users).map(tap).collect());
        let hop = self.plan.hop.clone();
        let hop = LastHop::new(&case.last_hop, hop, BASE_RTT, channels, law, streams, &mut choosers)
            .map_err(|error| error.within("last_hop"))?;
        Ok(Saturation::new(hop, case.users, self.packet_bytes, last_user))
    }

    fn row(&self, case: &CapacityCase, saturation: &Saturation) -> CapacityRow {
        let LastHopReport { useful_bps, coded_bps, spectral_efficiency, harq, .. } =
            saturation.report(Time::ZERO + self.duration);
        let seconds = self.duration.as_secs_f64();
        let decoded: u64 = harq.decoded_after.iter().sum();
        let share = |packets: u64| packets as f64 / (decoded + harq.failed).max(1) as f64;
        let packet_bits = f64::from(self.packet_bytes) * 8.0;
        let user_bps: Vec<f64> = saturation.decoded.iter().map(|&n| n as f64 * packet_bits / seconds).collect();
        let users = UsersSummary::new(&user_bps);
        let rate = self.plan.config().last_hop.mean_rate().as_bps() as f64;
        let packet_time_mean_s = harq.bits_per_packet_mean.map(|bits| bits / rate);
        let limit_pps = |information: f64| rate * information / self.information_bits as f64;
        let mean_limit_pps = limit_pps(self.information.mean());
        let best_limit_pps = limit_pps(self.information.best_of(case.users));
        CapacityRow {
            policy: case.policy.clone(),
            users: case.users,
            started_pps: harq.started as f64 / seconds,
            decoded_pps: decoded as f64 / seconds,
            useful_bps,
            coded_bps,
            spectral_efficiency,
            decoded_after_share: harq.decoded_after.iter().map(|&packets| share(packets)).collect(),
            failed_share: share(harq.failed),
            bits_per_packet_mean: harq.bits_per_packet_mean,
            packet_time_mean_s,
            spacing_users: packet_time_mean_s
                .map(|packet_s| spacing_users(feedback_rtt(&self.plan).as_secs_f64(), packet_s)),
            given_up_packets: saturation.given_up,
            user_useful_min_bps: users.goodput_min_bps,
            user_useful_mean_bps: users.goodput_mean_bps,
            user_useful_max_bps: users.goodput_max_bps,
            jain: users.jain,
            mean_limit_bps: mean_limit_pps * packet_bits,
            mean_limit_pps,
            best_limit_bps: best_limit_pps * packet_bits,
            best_limit_pps,
        }
    }
}

/// The time from the end of a burst until the sender has its feedback, at the mean delay of the last hop.
fn feedback_rtt(plan: &Plan) -> Duration {
    plan.config().last_hop.feedback_rtt(plan.hop.mean())
}

/// Every policy with every number of users, and one user.
fn cases(
    scenario: &Scenario,
    config: &ScenarioConfig,
    options: &CapacityOptions,
) -> Result<Vec<CapacityCase>, ScenarioError> {
    if options.users.is_empty() {
        return Err(ScenarioError::new("users", "at least one number of users is needed"));
    }
    for (i, users) in options.users.iter().enumerate() {
        if !(1..=MOST_CASE_USERS).contains(users) {
            let message = format!("{users} was given, 1 to {MOST_CASE_USERS} are possible");
            return Err(ScenarioError::new(format!("users.{i}"), message));
        }
    }
    let asked: BTreeSet<u32> = options.users.iter().copied().collect();
    let one = (!asked.contains(&1)).then_some((1, false));
    let random = SchedulerConfig::asking(RANDOM);
    let mut policies =
        vec![(RANDOM.to_owned(), random), (best_channel().to_owned(), named(scenario, config, best_channel())?)];
    let own = vec![config.last_hop.scheduler.kind().to_owned()];
    for (i, name) in options.schedulers.as_ref().unwrap_or(&own).iter().enumerate() {
        if policies.iter().all(|(known, _)| known != name) {
            let scheduler = named(scenario, config, name).map_err(|error| {
                // The path of the option, for the scenario has no such key.
                let field = error.field.replacen("last_hop.scheduler.kind", &format!("schedulers.{i}"), 1);
                ScenarioError { field, ..error }
            })?;
            policies.push((name.clone(), scheduler));
        }
    }
    let mut cases = Vec::new();
    for (policy, scheduler) in policies {
        let mut last_hop = LastHopConfig { scheduler, classes: Vec::new(), ..config.last_hop.clone() };
        last_hop.queue = QueueConfig::default();
        last_hop.reordering.enabled = false;
        let one = one.filter(|_| policy == RANDOM);
        for (users, asked) in one.into_iter().chain(asked.iter().map(|&users| (users, true))) {
            cases.push(CapacityCase { policy: policy.clone(), last_hop: last_hop.clone(), users, asked });
        }
    }
    Ok(cases)
}

/// The policy that looks at the channels alone.
fn best_channel() -> &'static str {
    let alone = |kind: &&&str| SchedulerConfig::with_defaults(kind).entry().looks_at_channels_alone();
    SchedulerConfig::ALL.iter().find(alone).expect("the upper bound is a scheduler")
}

/// The scheduler of a name: as the scenario has it, or with its defaults.
fn named(scenario: &Scenario, config: &ScenarioConfig, name: &str) -> Result<SchedulerConfig, ScenarioError> {
    if config.last_hop.scheduler.kind() == name {
        return Ok(config.last_hop.scheduler.clone());
    }
    Ok(scenario.replace("last_hop.scheduler", toml::Value::from(name))?.config()?.last_hop.scheduler)
}

#[cfg(test)]
mod tests;
