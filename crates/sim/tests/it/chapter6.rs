//! The core of chapter 6 of Tauran's thesis: what schedulers that know the channel change for calls and downloads. The
//! whole comparison, with numbers, is `docs/validation/chapter-6.md`.

use crate::util;
use link::DropReason;
use sim::{Record, Simulation};
use units::Time;

const VOIP: &str = include_str!("../../../../scenarios/voip.toml");
const TCP_USERS: &str = include_str!("../../../../scenarios/tcp-users.toml");

fn run(base: &str, edits: &[&str]) -> Record {
    let mut simulation = Simulation::new(&util::scenario(base, edits), None).expect("the scenario is good");
    simulation.advance(Time::MAX).expect("time moves");
    simulation.finish(false).expect("packets are conserved")
}

fn calls(users: u32, scheduler: &str) -> Record {
    let (users, scheduler) = (format!("flows.0.count={users}"), format!("last_hop.scheduler={scheduler}"));
    run(VOIP, &["duration=15 s", "record.series=false", &users, &scheduler])
}

fn downloads(users: u32, scheduler: &str, edits: &[&str]) -> Record {
    let (users, scheduler) = (format!("flows.0.count={users}"), format!("last_hop.scheduler={scheduler}"));
    run(TCP_USERS, &[&["duration=20 s", "record.series=false", &users, &scheduler], edits].concat())
}

fn mean(record: &Record, value: fn(&sim::FlowSummary) -> Option<f64>) -> f64 {
    let flows = &record.summary.flows;
    flows.iter().filter_map(|flow| value(flow)).sum::<f64>() / flows.len() as f64
}

const DT_S: &str = r#"{ kind = "droptail", buffer = "1 bdp/sqrt(n)/n" }"#;
const DT_H: &str = r#"{ kind = "droptail", buffer = "1 bdp/sqrt(n)" }"#;
const RR: &str = r#"{ kind = "round-robin" }"#;
const PF: &str = r#"{ kind = "pf" }"#;
const CODES: &str = r#"{ kind = "codes" }"#;

/// Figures 6.6, 6.7 and 6.9: at saturation PF carries 6 Mbit/s where the others carry less than 5, for it sends when
/// channels are good.
#[test]
fn proportional_fairness_carries_more_calls_at_saturation() {
    let runs = [DT_S, DT_H, RR, PF].map(|scheduler| calls(150, scheduler).summary.last_hop);
    let first = |hop: &link::LastHopReport| hop.harq.decoded_after[0] as f64 / hop.harq.started as f64;
    let [dt_s, dt_h, rr, pf] = &runs;
    for other in [dt_s, dt_h, rr] {
        assert!(pf.useful_bps > 1.3 * other.useful_bps, "{} and {}", pf.useful_bps, other.useful_bps);
        assert!(pf.spectral_efficiency > other.spectral_efficiency);
        assert!(first(pf) > first(other) + 0.15, "{} and {}", first(pf), first(other));
    }
    assert!((rr.useful_bps / dt_h.useful_bps - 1.0).abs() < 0.02, "who does not look at channels gains nothing");
}

/// Section 6.3.4: with 75 calls PF loses about 3 %, the small queue about 20 %; below saturation nothing differs.
#[test]
fn the_small_queue_loses_calls_that_proportional_fairness_carries() {
    let loss = |record: &Record| mean(record, |flow| flow.loss_ratio);
    let (pf, dt_s) = (calls(75, PF), calls(75, DT_S));
    assert!(loss(&pf) < 0.03 && loss(&dt_s) > 0.06, "{} and {}", loss(&pf), loss(&dt_s));
    assert!(mean(&pf, |flow| flow.mos) > 3.5 && mean(&pf, |flow| flow.mos) > mean(&dt_s, |flow| flow.mos) + 0.3);
    let (few_pf, few_dt) = (calls(40, PF).summary.last_hop, calls(40, DT_H).summary.last_hop);
    assert!((few_pf.useful_bps / few_dt.useful_bps - 1.0).abs() < 0.01);
}

/// Section 6.3.5, figures 6.13 to 6.17: a time limit takes delay and jitter from PF, and drops by time what overflowed
/// before.
#[test]
fn codes_takes_jitter_and_delay_from_proportional_fairness() {
    let (pf, codes) = (calls(100, PF), calls(100, CODES));
    for value in [|flow: &sim::FlowSummary| flow.jitter_s, |flow: &sim::FlowSummary| flow.one_way_delay_mean_s] {
        assert!(mean(&codes, value) < 0.93 * mean(&pf, value));
    }
    assert!(mean(&codes, |flow| flow.mos) > mean(&pf, |flow| flow.mos) + 0.3);
    assert!((mean(&codes, |flow| flow.loss_ratio) - mean(&pf, |flow| flow.loss_ratio)).abs() < 0.03);
    let (pf, codes) = (pf.summary.last_hop, codes.summary.last_hop);
    assert!(pf.dropped[DropReason::Overflow] > 0 && pf.dropped[DropReason::Timeout] == 0);
    assert!(codes.dropped[DropReason::Timeout] > 5 * codes.dropped[DropReason::Overflow]);
    assert!(codes.useful_bps > 0.97 * pf.useful_bps);
}

/// Sections 6.4.2 and 6.4.3: with the reordering buffer PF gives every download more than the single queue does, and
/// CoDeS less than PF; Round Robin with 80 users needs no buffer.
#[test]
fn downloads_gain_by_proportional_fairness_and_not_by_codes() {
    let buffer = "last_hop.scheduler.buffer=5.3 bdp/sqrt(n)";
    let users = |scheduler, edits: &[&str]| downloads(40, scheduler, &[&[buffer], edits].concat()).summary.users;
    let (pf, queue, codes) = (users(PF, &[]), users(DT_H, &[]), users(CODES, &[]));
    assert!(pf.goodput_mean_bps > 1.15 * queue.goodput_mean_bps, "{pf:?} {queue:?}");
    assert!(codes.goodput_mean_bps < 0.98 * pf.goodput_mean_bps, "{codes:?}");
    assert!(pf.jain > queue.jain);
    let goodput = |edits: &[&str]| downloads(80, RR, &[&[buffer], edits].concat()).summary.users.goodput_mean_bps;
    let (with, without) = (goodput(&[]), goodput(&["last_hop.reordering.enabled=false"]));
    assert!((without / with - 1.0).abs() < 0.08, "{without} and {with}");
}
