//! Whole runs against what is known on paper.

use crate::util::{LABORATORY, run};
use sim::Record;

fn goodput(record: &Record) -> f64 {
    record.summary.flows.iter().map(|flow| flow.goodput_bps).sum()
}

#[test]
fn a_clear_channel_is_filled() {
    for congestion in ["cubic", "newreno"] {
        let congestion = format!("flows.0.transport.congestion={congestion}");
        for edits in [
            &[congestion.as_str(), "duration=60 s"][..],
            &[&congestion, "duration=60 s", "last_hop.rate=50 Mbit/s", "path.delay=70 ms"],
            &[&congestion, "duration=60 s", "flows.0.count=10"],
        ] {
            let record = run(LABORATORY, edits);
            let rate = if edits.len() > 3 { 50e6 } else { 10e6 };
            let carried = goodput(&record) * 1500.0 / 1448.0;
            assert!(carried > 0.95 * rate && carried <= rate, "{edits:?}: {carried:.0} of {rate:.0} bit/s");
            assert!(record.summary.last_hop.utilisation > 0.95);
        }
    }
}

#[test]
fn an_unloaded_path_has_the_delay_of_its_parts() {
    // One segment at a time: no queue, so delay = path + serialisation + last hop.
    let record = run(LABORATORY, &["flows.0.transport.receive_buffer=1448 B"]);
    let flow = &record.summary.flows[0];
    let one_way = 0.030 + 1500.0 * 8.0 / 10e6 + 0.010;
    assert!((flow.one_way_delay_mean_s.unwrap() - one_way).abs() < 1e-6);
    assert!((flow.rtt_mean_s.unwrap() - (one_way + 0.040)).abs() < 1e-4, "{:?}", flow.rtt_mean_s);
    assert!(flow.jitter_s.unwrap() < 1e-9);
    let per_round_trip = 1448.0 * 8.0 / (one_way + 0.040);
    assert!((flow.goodput_bps / per_round_trip - 1.0).abs() < 0.01, "{} {per_round_trip}", flow.goodput_bps);
}

/// Mathis et al. 1997: 1.22 MSS / (RTT sqrt(p)) for Reno under random loss, an acknowledgment for each segment.
#[test]
fn reno_under_random_loss_follows_the_square_root_law() {
    for loss in [0.1, 0.3, 1.0, 3.0] {
        let edits = [
            format!("channel={{kind=\"bernoulli\", loss=\"{loss} %\"}}"),
            "flows.0.transport.congestion=newreno".into(),
        ];
        let edits: Vec<&str> = edits.iter().map(String::as_str).collect();
        let more = ["duration=1000 s", "last_hop.rate=1 Gbit/s", "record.series=false"];
        let record = run(LABORATORY, &[&edits[..], &more].concat());
        let law = 1.22 * 1448.0 * 8.0 / (0.080 * (loss / 100.0_f64).sqrt());
        let ratio = goodput(&record) / law;
        assert!((0.75..1.25).contains(&ratio), "loss {loss} %: {ratio:.3} of the law");
        let lost = record.summary.flows[0].loss_ratio.unwrap();
        let sigma = (loss / 100.0 / record.summary.flows[0].sent_packets as f64).sqrt();
        assert!((lost - loss / 100.0).abs() < 4.0 * sigma, "loss {loss} % became {lost}");
    }
}

#[test]
fn jitter_reorders_and_three_duplicate_acknowledgments_mistake_it_for_loss() {
    let jitter = "path.jitter={probability=0.2, extra=\"20 ms\"}";
    let record = run(LABORATORY, &[jitter, "last_hop.rate=1 Gbit/s", "duration=60 s"]);
    let flow = &record.summary.flows[0];
    assert_eq!(flow.loss_ratio, Some(0.0));
    assert!(flow.dupack_events > 20, "{} fast retransmissions", flow.dupack_events);
    assert_eq!(flow.spurious_retransmissions, flow.retransmitted_packets, "nothing was lost");
    let repaired =
        run(LABORATORY, &[jitter, "last_hop.rate=1 Gbit/s", "duration=60 s", "flows.0.transport.dupthresh=1000"]);
    assert!(repaired.summary.flows[0].goodput_bps > 5.0 * flow.goodput_bps);
}
