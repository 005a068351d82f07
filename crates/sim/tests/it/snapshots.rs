//! Behaviour that must not drift: rounded key numbers and event digests of a few scenarios, side by side.
//!
//! A changed line is a question: say in the commit which behaviour changed and why.

use crate::util::{LABORATORY, LEO, run};

fn row(name: &str, base: &str, edits: &[&str]) -> String {
    let summary = run(base, edits).summary;
    let flow = &summary.flows[0];
    let goodput: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
    format!(
        "{name:30} {} goodput {:5.0} kbit/s, sent {:6}, dupack {:3}, rto {:2}, spurious {:3}, owd {:5.1} ms, \
         harq {:?}/{}\n",
        summary.digest,
        goodput / 1e3,
        flow.sent_packets,
        flow.dupack_events,
        flow.rto_events,
        flow.spurious_retransmissions,
        1e3 * flow.one_way_delay_mean_s.unwrap_or(f64::NAN),
        summary.last_hop.harq.decoded_after,
        summary.last_hop.harq.failed,
    )
}

#[test]
fn runs_are_what_they_were() {
    let jitter = "path.jitter={probability=0.2, extra=\"20 ms\"}";
    let loss = "channel={kind=\"bernoulli\", loss=\"0.5 %\"}";
    let rows = [
        row("clear", LABORATORY, &[]),
        row("newreno", LABORATORY, &["flows.0.transport.congestion=newreno"]),
        row("loss", LABORATORY, &[loss]),
        row("loss without sack", LABORATORY, &[loss, "flows.0.transport.sack=false"]),
        row("jitter", LABORATORY, &[jitter]),
        row("delayed ack", LABORATORY, &["flows.0.transport.delayed_ack=true"]),
        row("four flows", LABORATORY, &["flows.0.count=4", "flows.0.start_spread=1 s"]),
        row("codel", LABORATORY, &["last_hop.queue=codel"]),
        row("red with marks", LABORATORY, &["last_hop.queue=red", "flows.0.transport.ecn=true"]),
        row("proxy", LABORATORY, &[loss, "flows.0.pep={delay=\"20 ms\"}"]),
        row("leo", LEO, &[]),
        row("leo without reordering", LEO, &["last_hop.reordering.enabled=false"]),
        row("leo newreno 7 dB", LEO, &["flows.0.transport.congestion=newreno", "channel.reference_snr=7 dB"]),
    ];
    insta::assert_snapshot!(rows.concat());
}

const VOIP: &str = include_str!("../../../../scenarios/voip.toml");

/// Each scheduler, with calls and downloads to the same users on a link that is too small for them, and each scheme.
#[test]
fn schedulers_and_schemes_are_what_they_were() {
    let schedulers = link::SchedulerConfig::ALL.iter().filter(|kind| **kind != "external").map(|kind| {
        let scheduler = format!("last_hop.scheduler.kind={kind}");
        let calls = format!("flows=[{CALL}, {DOWNLOAD}]");
        row(kind, VOIP, &["duration=5 s", "last_hop.rate=8 Mbit/s", &calls, &scheduler])
    });
    let schemes = link::HarqConfig::ALL.iter().map(|kind| {
        let harq = format!("last_hop.harq={{ kind = \"{kind}\" }}");
        row(kind, LEO, &["duration=10 s", "channel.reference_snr=13 dB", "flows.0.count=3", &harq])
    });
    insta::assert_snapshot!(schedulers.chain(schemes).collect::<String>());
}

const CALL: &str = "{ count = 6, transport = \"udp\", traffic = { kind = \"voice\", activity = \"pareto\" } }";
const DOWNLOAD: &str = "{ count = 6, first_user = 0, transport = \"tcp\", traffic = \"bulk\" }";

/// Each method of the return link with more than it can carry, and each category of capacity.
#[test]
fn return_links_are_what_they_were() {
    const TRANSFER: &str = include_str!("../../../../scenarios/dvbrcs2-transfer.toml");
    let small = ["duration=8 s", "flows.1.traffic.start=2 s", "flows.0.count=60", "access.frame.carriers=25"];
    let row_of = |name: &str, edit: &str| row(name, TRANSFER, &[&small[..], &[edit]].concat());
    let methods = access::AccessMethod::all().filter(|kind| *kind != "table");
    let methods = methods.map(|kind| row_of(kind, &format!("access.method={kind}")));
    let policies = access::SwitchPolicy::ALL.iter();
    let policies =
        policies.map(|kind| row_of(kind, &format!("access.method={{ kind = \"switch\", policy = \"{kind}\" }}")));
    let categories = access::Capacity::ALL.iter();
    let categories = categories.map(|kind| {
        let dedicated = format!("frame = {{ carriers = 25 }}, dedicated = {{ capacity = \"{kind}\" }}");
        row_of(kind, &format!("access={{ method = \"dedicated\", {dedicated} }}"))
    });
    insta::assert_snapshot!(methods.chain(policies).chain(categories).collect::<String>());
}
