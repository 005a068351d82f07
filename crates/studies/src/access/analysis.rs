//! Random beside dedicated access in closed form, for a return link of a scenario.

use access::AccessConfig;
use access::closed_form::{Comparison, added_delay, retransmission_probability};
use serde::Serialize;
use sim::{Scenario, ScenarioError};
use toml::Value;
use units::{BitRate, Duration};

use super::schemes::{Named, named_schemes, return_link};

/// The options of the comparison in closed form.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalysisOptions {
    /// Schemes of random access, as in [`super::PlrOptions`].
    pub methods: Option<Vec<Value>>,
    /// Numbers of users.
    pub users: Vec<u32>,
    /// Probabilities that a datagram is lost.
    pub losses: Vec<f64>,
    /// Datagrams of a short flow.
    pub datagrams: u32,
    /// Retransmissions of a datagram, up to this many.
    pub retransmissions: u32,
    /// The least time of a retransmission.
    pub round_trip: Duration,
}

/// The results of the equations of Kuhn et al. 2015.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnalysisReport {
    /// Timeslots of a carrier (N_S).
    pub timeslots: u32,
    /// Carriers of a frame, all of them for the access in question.
    pub carriers: u32,
    /// Slots of a random access block (N_ra).
    pub block_slots: u32,
    /// Duration of a frame.
    pub frame_s: f64,
    /// Useful bits of a slot of dedicated access.
    pub dedicated_bits: u32,
    /// Properties of this return link that the equations leave out.
    pub warnings: Vec<String>,
    /// The schemes of random access, and when they carry more.
    pub methods: Vec<SchemeThroughput>,
    /// One entry for each scheme and number of users.
    pub users: Vec<UsersRow>,
    /// Datagrams of a short flow.
    pub datagrams: u32,
    /// The least time of a retransmission.
    pub round_trip_s: f64,
    /// One entry for each loss and number of retransmissions.
    pub retransmissions: Vec<RetransmissionRow>,
}

/// The throughput of a terminal by a scheme of random access, and the number of users from which on it is more than by
/// dedicated access.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SchemeThroughput {
    /// The scheme.
    pub method: String,
    /// Useful bits of a packet.
    pub random_bits: u32,
    /// Replicas of a packet, each in a slot of its own.
    pub replicas: u32,
    /// Packets that a terminal may send in a frame.
    pub packets_per_frame: u32,
    /// Useful bits of these packets.
    pub random_frame_bits: u64,
    /// The smallest number of users with whom dedicated access carries no more of each (equations 1 and 2).
    pub break_even_users: u64,
    /// Packets in a random access block if so many send all they may: what the scheme would have to decode.
    pub break_even_packets_per_block: f64,
}

/// The throughput of each of so many users.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UsersRow {
    /// The scheme of random access.
    pub method: String,
    /// Users who all have data.
    pub users: u32,
    /// Slots of a user in a frame of dedicated access.
    pub dedicated_slots: f64,
    /// Useful bits of these packets.
    pub dedicated_frame_bits: f64,
    /// Useful bits of a user in a frame of random access, without loss.
    pub random_frame_bits: u64,
    /// Packets in a random access block.
    pub packets_per_block: f64,
}

/// How often a short flow waits for retransmissions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RetransmissionRow {
    /// The probability that a datagram is lost.
    pub loss: f64,
    /// How often the datagram is retransmitted that is retransmitted most often.
    pub retransmissions: u32,
    /// How probable that is (equations 4 and 6).
    pub probability: f64,
    /// The least time that the retransmission adds to the flow.
    pub added_delay_s: f64,
}

/// More than anybody reads.
const MOST_RETRANSMISSIONS: u32 = 1000;

impl AnalysisReport {
    /// Evaluates the equations for a scenario's return link.
    ///
    /// # Errors
    /// The first field of the scenario's `access` table, or option (`methods.0`, `users.0`, `losses.0` …), that is
    /// wrong.
    pub fn new(scenario: &Scenario, options: &AnalysisOptions) -> Result<AnalysisReport, ScenarioError> {
        let (_, access) = return_link(scenario)?;
        let schemes = named_schemes(scenario, &access, options.methods.as_deref())?;
        let compared = schemes.into_iter().map(|named| Compared::new(named, &access)).collect::<Result<Vec<_>, _>>()?;
        for (i, &users) in options.users.iter().enumerate() {
            ScenarioError::unless_positive(&format!("users.{i}"), users.into())?;
        }
        let block_slots = access.frame.block_slots;
        let dedicated_bits = compared[0].comparison.dedicated_bits;
        Ok(AnalysisReport {
            timeslots: access.frame.timeslots,
            carriers: access.frame.carriers,
            block_slots,
            frame_s: access.frame.duration.as_secs_f64(),
            dedicated_bits,
            warnings: warnings(&access, &compared),
            methods: compared.iter().map(|own| own.share(block_slots)).collect(),
            users: compared.iter().flat_map(|own| own.rows(&options.users, block_slots)).collect(),
            datagrams: options.datagrams,
            round_trip_s: options.round_trip.as_secs_f64(),
            retransmissions: retransmission_rows(options)?,
        })
    }
}

/// A scheme beside dedicated access.
struct Compared {
    label: String,
    comparison: Comparison,
}

impl Compared {
    fn new(named: Named, access: &AccessConfig) -> Result<Compared, ScenarioError> {
        let comparison = Comparison::of(access, &named.scheme).map_err(|error| match error.field.as_str() {
            "random_bits" | "replicas" => ScenarioError { field: named.field.clone(), ..error },
            _ => error.within("access"),
        })?;
        Ok(Compared { label: named.label, comparison })
    }

    fn share(&self, block_slots: u32) -> SchemeThroughput {
        let comparison = &self.comparison;
        let break_even_users = comparison.break_even_users();
        SchemeThroughput {
            method: self.label.clone(),
            random_bits: comparison.random_bits,
            replicas: comparison.replicas,
            packets_per_frame: comparison.random_packets(),
            random_frame_bits: comparison.random_frame_bits(),
            break_even_users,
            break_even_packets_per_block: comparison.packets_per_block(break_even_users, block_slots),
        }
    }

    fn rows(&self, users: &[u32], block_slots: u32) -> impl Iterator<Item = UsersRow> {
        let comparison = &self.comparison;
        users.iter().map(move |&users| UsersRow {
            method: self.label.clone(),
            users,
            dedicated_slots: comparison.dedicated_slots(users),
            dedicated_frame_bits: comparison.dedicated_frame_bits(users),
            random_frame_bits: comparison.random_frame_bits(),
            packets_per_block: comparison.packets_per_block(u64::from(users), block_slots),
        })
    }
}

fn retransmission_rows(options: &AnalysisOptions) -> Result<Vec<RetransmissionRow>, ScenarioError> {
    let &AnalysisOptions { datagrams, retransmissions: most, round_trip, .. } = options;
    if !(1..=MOST_RETRANSMISSIONS).contains(&most) {
        let message = format!("{most} was given, 1 to {MOST_RETRANSMISSIONS} are possible");
        return Err(ScenarioError::new("retransmissions", message));
    }
    let mut rows = Vec::new();
    for (i, &loss) in options.losses.iter().enumerate() {
        for retransmissions in 1..=most {
            let probability = retransmission_probability(loss, retransmissions, datagrams).map_err(|error| {
                let field = if error.field == "loss" { format!("losses.{i}") } else { error.field };
                ScenarioError { field, message: error.message }
            })?;
            let added_delay_s = added_delay(retransmissions, round_trip).as_secs_f64();
            rows.push(RetransmissionRow { loss, retransmissions, probability, added_delay_s });
        }
    }
    Ok(rows)
}

/// Returns the properties of this return link that the equations leave out.
fn warnings(access: &AccessConfig, compared: &[Compared]) -> Vec<String> {
    let mut warnings = Vec::new();
    if !access.one_amplifier {
        warnings.push("access.one_amplifier: the equations are of terminals with one amplifier".to_owned());
    }
    let most = compared
        .iter()
        .map(|own| own.comparison.dedicated_frame_bits(1).max(own.comparison.random_frame_bits() as f64));
    let most = most.fold(0.0, f64::max) / access.frame.duration.as_secs_f64();
    if let Some(limit) = access.max_rate.filter(|limit| (limit.as_bps() as f64) < most) {
        let most = BitRate::from_bps(most as u64);
        warnings.push(format!(
            "access.max_rate: the equations know no limit, and {limit} is less than the {most} of a terminal"
        ));
    }
    warnings
}
