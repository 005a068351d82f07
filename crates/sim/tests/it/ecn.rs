//! Congestion marks from a queue manager through the receiver back to the sender.

use crate::util::{LABORATORY, run};
use link::DropReason;
use sim::{FlowSummary, Summary};

const RED: &str = "last_hop.queue={kind=\"red\", min=\"20 ms\", max=\"60 ms\"}";
const CODEL: &str = "last_hop.queue={kind=\"codel\", target=\"5 ms\", interval=\"100 ms\"}";
const THRESHOLD: &str = "last_hop.queue={kind=\"droptail\", mark_above=\"20 ms\"}";
/// Room for a slow start that no manager stops in time.
const ROOMY: &str = "last_hop.scheduler.buffer=4 bdp";

fn summary(edits: &[&str]) -> Summary {
    run(LABORATORY, &[edits, &["duration=60 s", "record.series=false", ROOMY]].concat()).summary
}

fn marks(flow: &FlowSummary) -> u64 {
    flow.marked_packets
}

#[test]
fn a_marking_queue_slows_the_sender_without_a_loss() {
    // An average that follows slow start, and an upper threshold out of its reach: above it even what could be marked
    // is dropped.
    let red = "last_hop.queue={kind=\"red\", min=\"20 ms\", max=\"300 ms\", weight=0.05}";
    for queue in [red, CODEL, THRESHOLD] {
        for congestion in ["newreno", "cubic"] {
            let congestion = format!("flows.0.transport.congestion={congestion}");
            let summary = summary(&[queue, "flows.0.transport.ecn=true", &congestion]);
            let flow = &summary.flows[0];
            assert!(marks(flow) > 0, "{queue}: {flow:?}");
            let (arrived, made) = (marks(flow), summary.last_hop.marked_packets);
            assert!(arrived <= made && made - arrived <= summary.last_hop.in_flight as u64, "every mark arrives");
            assert_eq!(summary.conservation.dropped, 0, "{queue} {congestion}: {summary:?}");
            assert_eq!(flow.retransmitted_packets, 0);
            assert!(flow.goodput_bps > 5e6, "{queue} {congestion}: {:.0} bit/s", flow.goodput_bps);
        }
    }
}

#[test]
fn without_marks_the_same_queue_drops_early() {
    for queue in [RED, CODEL] {
        let summary = summary(&[queue]);
        assert_eq!((summary.last_hop.marked_packets, summary.flows[0].marked_packets), (0, 0));
        assert!(summary.last_hop.dropped[DropReason::Early] > 0, "{queue}");
        assert_eq!(summary.conservation.dropped_by_reason["early"], summary.last_hop.dropped[DropReason::Early]);
        assert_eq!(summary.conservation.dropped, summary.last_hop.dropped[DropReason::Early], "{queue}: {summary:?}");
    }
}

#[test]
fn a_threshold_marks_those_who_understand_and_leaves_the_rest_to_the_limit() {
    let summary = summary(&[THRESHOLD]);
    assert_eq!((summary.last_hop.marked_packets, summary.last_hop.dropped[DropReason::Early]), (0, 0));
    assert!(summary.last_hop.dropped[DropReason::Overflow] > 0);
}

/// What the managers are for: the delay of a full buffer goes, the goodput stays.
#[test]
fn a_managed_queue_is_short() {
    let delay = |queue: &[&str]| summary(queue).flows[0].one_way_delay_mean_s.unwrap();
    let unmanaged = delay(&["last_hop.queue=droptail"]);
    assert!(unmanaged > 0.150, "{unmanaged}");
    for queue in [RED, CODEL] {
        let managed = delay(&[queue, "flows.0.transport.ecn=true"]);
        // 41 ms without a queue; the thresholds of RED allow 20 to 60 ms more.
        assert!(managed < 0.105, "{queue}: {managed}");
    }
}

#[test]
fn managed_runs_are_functions_of_scenario_and_seed() {
    for queue in [RED, CODEL, THRESHOLD] {
        let digest = |edits: &[&str]| run(LABORATORY, &[&[queue, "flows.0.count=3"], edits].concat()).summary.digest;
        let ecn = "flows.0.transport.ecn=true";
        assert_eq!(digest(&[ecn]), digest(&[ecn]));
        assert_ne!(digest(&[ecn]), digest(&[]), "{queue} with and without marks");
        assert_eq!(digest(&[]), digest(&["record.series=false"]));
    }
}
