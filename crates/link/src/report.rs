//! The summary of a run on the last hop.

use crate::harq::HarqCounters;
use crate::packet::Dropped;
use crate::reordering::ReorderingCounters;

units::report! {
    /// The downlink of the serving satellite, which all users share.
    pub struct LastHopReport {
        /// Packets that reached its queue.
        offered_packets: u64,
        /// Their bytes.
        offered_bytes: u64,
        /// Packets that left towards the transport.
        delivered_packets: u64,
        /// Their bytes.
        delivered_bytes: u64,
        /// Packets lost, by reason.
        [flat] dropped: Dropped,
        /// Handovers of the users, each of which an interruption follows if there is one.
        handovers: u64,
        /// Packets that the queue's manager marked (congestion experienced); of all flows, also those not yet arrived.
        marked_packets: u64,
        /// Choices of a scheduler in Python that could not be followed; only if there were any.
        [optional] overruled_choices: Option<u64>,
        /// Packets that were cut into fragments, each a block; only with `last_hop.segmentation`. What HARQ and the
        /// reordering buffers count are fragments then.
        [optional] cut_packets: Option<u64>,
        /// Packets still inside at the end.
        in_flight: usize,
        /// The most packets in the queue at once, one that leaves as it arrives included.
        "Longest queue" queue_packets_max: usize,
        /// Coded bits sent per second, redundancy and retransmissions included: what occupies the link.
        "Coded rate of the last hop" coded_bps: f64,
        /// Bits of decoded packets per second, with their headers and without padding.
        "Useful rate of the last hop" useful_bps: f64,
        /// `useful_bps` over `coded_bps`: useful bits for each coded bit, 0 to 1; `null` if none was sent.
        ([0.0, 1.0]) spectral_efficiency: Option<f64>,
        /// Share of the time in which the link was sending. Bursts that wait for a path's rate to return count.
        ([0.0, 1.0]) utilisation: f64,
        /// Share of the time in which it rested although packets waited, because the reliability scheme had no process
        /// free for them.
        stalled_ratio: f64,
        /// What HARQ did.
        harq: HarqReport,
        /// What the reordering buffers did.
        reordering: ReorderingReport,
    }
}

units::report! {
    /// What happened in the reliability scheme.
    pub struct HarqReport {
        /// How many packets were decoded after the first, second, … transmission.
        decoded_after: Vec<u64>,
        /// Packets that all transmissions together could not bring through.
        failed: u64,
        /// Packets that were started and given up at handovers.
        abandoned: u64,
        /// Coded bits sent for a packet, on average over all packets whose fate is known; `null` if there was none.
        (units::report::NEVER_NEGATIVE) bits_per_packet_mean: Option<f64>,
        /// Packets that were started.
        started: u64,
        /// Transmissions that arrived.
        bursts: u64,
        /// Coded bits that arrived.
        coded_bits: u64,
        /// Bits of the packets decoded.
        useful_bits: u64,
        /// Feedback messages that reached the sender and told that the packet was decoded.
        acks: u64,
        /// Feedback messages that reached the sender and told that it was not yet.
        nacks: u64,
        /// Feedback messages that were due and were lost.
        lost_answers: u64,
        /// The most packets in flight at once, from first transmission to last feedback.
        processes_max: usize,
    }
}

units::report! {
    /// What happened in the reordering buffers.
    pub struct ReorderingReport {
        /// Packets that had to wait for an earlier one.
        held_packets: u64,
        /// How long the packets that were held and have left had waited, on average; `null` if there was none.
        wait_mean_s: Option<f64>,
        /// Times a buffer was emptied because it was full.
        flushed_full: u64,
        /// Times a buffer in which packets waited was emptied because a packet could not be decoded.
        flushed_failed: u64,
        /// Packets that came after their flow had stopped waiting for them.
        late_packets: u64,
        /// The most packets stored for one user.
        stored_max: usize,
    }
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
            lost_answers: counters.lost_feedback,
            processes_max: counters.processes_max,
        }
    }
}

impl ReorderingReport {
    pub(crate) fn new(counters: &ReorderingCounters) -> ReorderingReport {
        ReorderingReport {
            held_packets: counters.held_packets,
            // A packet that finds the buffer full is released at once.
            wait_mean_s: mean(counters.wait.as_secs_f64(), counters.released_packets - counters.flushed_full),
            flushed_full: counters.flushed_full,
            flushed_failed: counters.flushed_failed,
            late_packets: counters.late_packets,
            stored_max: counters.stored_max,
        }
    }
}

fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}
