//! The summary of a run on the last hop.

use serde::Serialize;

use units::Duration;

use crate::harq::HarqCounters;
use crate::reordering::ReorderingCounters;

/// What happened on the last hop; the keys say the units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LastHopReport {
    /// Packets that came in.
    pub offered_packets: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// Packets that left towards the transport layer.
    pub delivered_packets: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Packets lost because the queue was full.
    pub dropped_overflow: u64,
    /// Packets lost because the queue's manager dropped them although there was room.
    pub dropped_early: u64,
    /// Packets lost because they had waited too long in the queue.
    pub dropped_timeout: u64,
    /// Packets lost because they could not be decoded.
    pub dropped_harq: u64,
    /// Packets lost because another satellite took over that knew nothing of them.
    pub dropped_handover: u64,
    /// Times that another satellite took over the users.
    pub handovers: u64,
    /// Packets that the queue's manager marked (congestion experienced).
    pub marked_packets: u64,
    /// Choices of a script that could not be followed; left out of JSON if none.
    #[serde(skip_serializing_if = "is_zero")]
    pub overruled_choices: u64,
    /// Packets that are still inside.
    pub in_flight: usize,
    /// Most packets that waited in the queue.
    pub queue_packets_max: usize,
    /// Coded bits sent per second: redundancy and repetitions included.
    pub coded_bps: f64,
    /// Bits of decoded packets per second, with the packets' headers and without padding.
    pub useful_bps: f64,
    /// Bits of decoded packets, without padding, for each coded bit sent; `None` if none was sent.
    pub spectral_efficiency: Option<f64>,
    /// Share of the time in which the transmitter was sending, 0 to 1.
    pub utilisation: f64,
    /// Share of the time in which it rested although packets waited: none of them might be started by the reliability scheme,
    /// 0 to 1.
    pub stalled_ratio: f64,
    /// The reliability scheme.
    pub harq: HarqReport,
    /// The reordering buffers.
    pub reordering: ReorderingReport,
}

/// What happened in the reliability scheme.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HarqReport {
    /// Packets decoded after 1, 2 … transmissions.
    pub decoded_after: Vec<u64>,
    /// Packets that were not decoded.
    pub failed: u64,
    /// Packets given up at handovers, begun and not decoded.
    pub abandoned: u64,
    /// Coded bits for each packet whose fate is known; `None` if there was none.
    pub bits_per_packet_mean: Option<f64>,
    /// Packets started.
    pub started: u64,
    /// Bursts that arrived.
    pub bursts: u64,
    /// Coded bits that arrived.
    pub coded_bits: u64,
    /// Bits of the packets decoded.
    pub useful_bits: u64,
    /// Positive acknowledgments that reached the sender.
    pub acks: u64,
    /// Negative acknowledgments that reached the sender.
    pub nacks: u64,
    /// Answers that were due and did not come.
    pub lost_answers: u64,
    /// Most packets under way at once, from first burst to last feedback.
    pub processes_max: usize,
}

/// What happened in the reordering buffers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReorderingReport {
    /// Packets that were stored because an earlier one was missing.
    pub held_packets: u64,
    /// How long the stored ones that have left had waited, mean in seconds; `None` if there was none.
    pub wait_mean_s: Option<f64>,
    /// Times that a full buffer was emptied.
    pub flushed_full: u64,
    /// Times that a packet which could not be decoded emptied a buffer in which packets waited.
    pub flushed_failed: u64,
    /// Packets that came after their flow had stopped waiting for them.
    pub late_packets: u64,
    /// Most packets stored for one user.
    pub stored_max: usize,
}

impl HarqReport {
    pub(crate) fn new(counters: &HarqCounters) -> HarqReport {
        let finished = counters.decoded() + counters.failed;
        HarqReport {
            decoded_after: counters.decoded_after.clone(),
            failed: counters.failed,
            abandoned: counters.abandoned,
            bits_per_packet_mean: mean(counters.finished_bits as f64, finished),
            started: counters.started,
            bursts: counters.bursts,
            coded_bits: counters.coded_bits,
            useful_bits: counters.useful_bits,
            acks: counters.acks,
            nacks: counters.nacks,
            lost_answers: counters.lost_answers,
            processes_max: counters.processes_max,
        }
    }
}

impl ReorderingReport {
    pub(crate) fn new(counters: &ReorderingCounters) -> ReorderingReport {
        ReorderingReport {
            held_packets: counters.held_packets,
            wait_mean_s: mean(counters.wait.as_secs_f64(), counters.released_packets),
            flushed_full: counters.flushed_full,
            flushed_failed: counters.flushed_failed,
            late_packets: counters.late_packets,
            stored_max: counters.stored_max,
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

/// `amount` per second; 0 in no time.
pub(crate) fn per_second(amount: f64, elapsed: Duration) -> f64 {
    if elapsed.is_zero() { 0.0 } else { amount / elapsed.as_secs_f64() }
}
