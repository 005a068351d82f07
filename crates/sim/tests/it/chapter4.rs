//! Chapter 4 of Tauran's thesis (2018): one TCP flow over LEO satellites to a mobile user, Adaptive-HARQ on the last
//! hop, with and without the reordering buffer. The claims that must hold for the model to be the one described there.

use crate::util::{LEO, run};
use sim::Summary;

/// Runs of 600 s as in the thesis, over two seeds.
fn runs(congestion: &str, snr_db: u32, reordering: bool) -> Vec<Summary> {
    let edits = |seed: u64| {
        [
            "duration=600 s".to_owned(),
            "record.series=false".to_owned(),
            format!("seed={seed}"),
            format!("channel.reference_snr={snr_db} dB"),
            format!("last_hop.reordering.enabled={reordering}"),
            format!("flows.0.transport.congestion={congestion}"),
        ]
    };
    (1..=2).map(|seed| run(LEO, &edits(seed).iter().map(String::as_str).collect::<Vec<_>>()).summary).collect()
}

fn mean(runs: &[Summary], value: impl Fn(&Summary) -> f64) -> f64 {
    runs.iter().map(value).sum::<f64>() / runs.len() as f64
}

fn goodput(summary: &Summary) -> f64 {
    summary.flows[0].goodput_bps
}

fn dupack_share(summary: &Summary) -> f64 {
    summary.flows[0].dupack_events as f64 / summary.flows[0].sent_packets as f64
}

fn harq_success(summary: &Summary) -> f64 {
    let harq = &summary.last_hop.harq;
    let decoded: u64 = harq.decoded_after.iter().sum();
    decoded as f64 / (decoded + harq.failed) as f64
}

#[test]
fn without_reordering_goodput_stays_below_1_mbit_per_second_though_a_clear_channel_gives_35() {
    for congestion in ["newreno", "cubic"] {
        let mut before = 0.0;
        for snr in [7, 10, 13] {
            let bps = mean(&runs(congestion, snr, false), goodput);
            assert!(bps < 1e6, "{congestion} at {snr} dB: {bps:.0} bit/s");
            assert!(bps > before, "{congestion}: a better channel must not be slower");
            before = bps;
        }
    }
    let clear = run(LEO, &["channel={kind=\"clear\"}"]).summary;
    assert!(goodput(&clear) > 35e6, "{:.0} bit/s over a clear channel", goodput(&clear));
}

#[test]
fn harq_success_grows_from_about_95_to_over_99_percent() {
    let success = |snr| mean(&runs("cubic", snr, true), harq_success);
    let (worst, best) = (success(7), success(13));
    // 0.965 over five seeds; one run has a standard deviation of 0.005, so two have 0.0035: three of them on either
    // side.
    assert!((0.954..0.976).contains(&worst), "7 dB: {worst:.4}");
    assert!(best > 0.99, "13 dB: {best:.4}");
}

#[test]
fn the_reordering_buffer_gives_cubic_at_13_db_three_times_the_goodput_and_a_third_of_the_fast_retransmits() {
    let (with, without) = (runs("cubic", 13, true), runs("cubic", 13, false));
    let gain = mean(&with, goodput) / mean(&without, goodput);
    assert!(gain >= 3.0, "goodput times {gain:.2}");
    let fewer = mean(&without, dupack_share) / mean(&with, dupack_share);
    assert!(fewer >= 3.0, "fast retransmits per packet divided by {fewer:.2}");
}

#[test]
fn packets_are_decoded_after_10_30_50_or_70_ms() {
    // One segment at a time and no reordering buffer: the one-way delays show the steps of the HARQ.
    let edits = [
        "path={kind=\"fixed\", delay=\"0 ms\"}",
        "last_hop.reordering.enabled=false",
        "flows.0.transport.mss=1063 B",
        "flows.0.transport.receive_buffer=1063 B",
        "duration=120 s",
    ];
    let summary = run(LEO, &edits).summary;
    let shares: Vec<f64> = {
        let decoded = &summary.last_hop.harq.decoded_after;
        let all: u64 = decoded.iter().sum();
        decoded.iter().map(|n| *n as f64 / all as f64).collect()
    };
    let expected: f64 = shares.iter().zip([0.010, 0.030, 0.050, 0.070]).map(|(share, delay)| share * delay).sum();
    let mean = summary.flows[0].one_way_delay_mean_s.unwrap();
    // Serialisation of up to 53,520 bits at 50 Mbit/s is at most 1.1 ms.
    assert!(mean > expected && mean < expected + 0.0011, "mean {mean:.4} s, steps alone {expected:.4} s");
}
