//! The equations of Kuhn et al. 2015, each by itself.

use std::path::Path;

use access::closed_form;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use sim::ScenarioError;
use units::{Duration, Quantity};

/// Asks for the fewest users with whom dedicated access carries no more of each (equations 1 and 2).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreakEvenUsers {
    timeslots: u32,
    carriers: u32,
    dedicated_bits: u32,
    random_bits: u32,
    replicas: u32,
}

/// Asks how probable it is that a datagram is retransmitted so often (equations 4 and 6).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetransmissionProbability {
    loss: f64,
    retransmissions: u32,
    datagrams: u32,
}

/// Asks for the loss that gives a probability of retransmissions (equation 6).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossFromRetransmissions {
    probability: f64,
    retransmissions: u32,
    datagrams: u32,
}

/// Asks for the loss of a datagram of several packets.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatagramLoss {
    packet_loss: f64,
    packets: u32,
}

/// Asks for the seconds that retransmissions add.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddedDelay {
    retransmissions: u32,
    /// With its unit.
    round_trip: String,
}

/// The fewest users with whom dedicated access carries no more: equations 1 and 2.
pub(crate) fn break_even_users(question: &BreakEvenUsers, _: &Path) -> Result<Json, ScenarioError> {
    let &BreakEvenUsers { timeslots, carriers, dedicated_bits, random_bits, replicas } = question;
    let comparison = closed_form::Comparison { timeslots, carriers, dedicated_bits, random_bits, replicas };
    comparison.check()?;
    Ok(json!(comparison.break_even_users()))
}

/// The probability that a datagram is retransmitted so often: equations 4 and 6.
pub(crate) fn retransmission_probability(
    question: &RetransmissionProbability,
    _: &Path,
) -> Result<Json, ScenarioError> {
    let &RetransmissionProbability { loss, retransmissions, datagrams } = question;
    Ok(json!(closed_form::retransmission_probability(loss, retransmissions, datagrams)?))
}

/// Equation 6, solved for the loss.
pub(crate) fn loss_from_retransmissions(question: &LossFromRetransmissions, _: &Path) -> Result<Json, ScenarioError> {
    let &LossFromRetransmissions { probability, retransmissions, datagrams } = question;
    Ok(json!(closed_form::loss_from_retransmissions(probability, retransmissions, datagrams)?))
}

/// The loss of a datagram of several packets, each lost independently of the others.
pub(crate) fn datagram_loss(question: &DatagramLoss, _: &Path) -> Result<Json, ScenarioError> {
    Ok(json!(closed_form::datagram_loss(question.packet_loss, question.packets)?))
}

/// A round trip for each retransmission.
pub(crate) fn added_delay(question: &AddedDelay, _: &Path) -> Result<Json, ScenarioError> {
    let round_trip =
        Duration::parse(&question.round_trip).map_err(|error| ScenarioError::new("round_trip", error.to_string()))?;
    Ok(json!(closed_form::added_delay(question.retransmissions, round_trip).as_secs_f64()))
}
