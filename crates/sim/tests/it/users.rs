//! Many users on one last hop: who they are, what they are sent, and what they feel.

use crate::util::{LABORATORY, LEO, cannot_carry, column, report, run, scenario};
use link::DropReason;
use serde_json::Value as Json;
use sim::{FlowSummary, Record};
use transport::Service;

/// Calls of the papers to users with shadowed channels.
const CALLS: &str = r#"
title    = "calls"
duration = "20 s"
path     = { kind = "fixed", delay = "80 ms" }
record   = { series = false }
[channel]
kind          = "lms"
environment   = "intermediate-tree-shadowed"
elevation     = "40 deg"
speed         = "60 km/h"
reference_snr = "10 dB"
[last_hop]
rate       = "5 Mbit/s"
delay      = "10 ms"
scheduler  = { kind = "pf" }
harq       = { kind = "adaptive", padding = true }
[[flows]]
count        = 6
start_spread = "1 s"
transport    = "udp"
traffic      = { kind = "voice", packet = "210 B", rate = "64 kbit/s", activity = "pareto" }
"#;

fn flows(record: &Record) -> &[Box<FlowSummary>] {
    &record.summary.flows
}

/// Every packet with data is received, lost for one of the reasons, or in flight at the end; `only_data`: there are no
/// others.
fn check_reasons(record: &Record, only_data: bool) {
    let sum = |count: &dyn Fn(&FlowSummary) -> u64| flows(record).iter().map(|flow| count(flow)).sum::<u64>();
    let lost = |flow: &FlowSummary| flow.lost.total();
    let (conservation, last_hop) = (&record.summary.conservation, &record.summary.last_hop);
    let open = sum(&|flow| flow.sent_packets) - sum(&|flow| flow.received_packets) - sum(&lost);
    let reasons = [
        (sum(&|flow| flow.lost["lost_overflow"]), last_hop.dropped[DropReason::Overflow]),
        (sum(&|flow| flow.lost["lost_early"]), last_hop.dropped[DropReason::Early]),
        (sum(&|flow| flow.lost["lost_timeout"]), last_hop.dropped[DropReason::Timeout]),
        (sum(&|flow| flow.lost["lost_harq"]), last_hop.dropped[DropReason::Harq]),
        (sum(&lost), conservation.dropped),
        (open, conservation.in_flight),
    ];
    for (of_flows, of_all) in reasons {
        assert!(of_flows <= of_all && (of_flows == of_all || !only_data), "{reasons:?}");
    }
    assert!(flows(record).iter().all(|flow| flow.lost_late.is_none_or(|late| late <= flow.received_packets)));
}

#[test]
fn a_call_on_a_clear_link_is_as_good_as_its_delay_allows() {
    let record = run(CALLS, &["channel.kind=clear", "channel={ kind = \"clear\" }", "last_hop.rate=50 Mbit/s"]);
    for flow in flows(&record) {
        let voice = report!(flow, Voice);
        assert_eq!((voice.loss_ratio, flow.lost_late, flow.lost["lost_harq"]), (0.0, Some(0), 0));
        // 90 ms of the way and 0.2 to 1 ms of the transmitter; the play-out buffer adds 60 ms to the first packet's.
        assert!((flow.one_way_delay_mean_s.unwrap() - 0.0905).abs() < 2e-3, "{:?}", flow.one_way_delay_mean_s);
        let playout = voice.playout_delay_s.unwrap();
        assert!((playout - 0.1505).abs() < 2e-3, "{playout}");
        assert!(flow.mos.unwrap() > 4.3 && flow.mos.unwrap() <= 4.5);
        assert!(flow.jitter_s.unwrap() < 2e-3 && flow.jitter_rfc3550_s.unwrap() < 2e-3);
        assert_eq!((flow.transport, flow.congestion.as_deref(), flow.completion_s), ("udp", None, None));
        // 64 kbit/s for 500 of 550 ms on average, less 28 of 210 bytes of headers.
        assert!((flow.goodput_bps / 50_400.0 - 1.0).abs() < 0.15, "{}", flow.goodput_bps);
    }
    assert_eq!(record.summary.users.count, 6);
    assert!(record.summary.users.jain.unwrap() > 0.98);
}

#[test]
fn packets_that_are_overtaken_at_the_end_are_in_no_burst_of_losses() {
    let voice = "flows.0.traffic={ kind = \"voice\", activity = { kind = \"continuous\" }, \
                 playout = { kind = \"fixed\", delay = \"2 s\" } }";
    let jitter = "path.jitter={ probability = \"90 %\", extra = \"500 ms\" }";
    let record = run(LABORATORY, &["flows.0.transport={ kind = \"udp\" }", voice, jitter]);
    let voice = report!(flows(&record)[0], Voice);
    assert_eq!((voice.loss_ratio, voice.burst_ratio), (0.0, 1.0));
}

#[test]
fn an_overloaded_hop_loses_calls_for_causes_that_add_up() {
    for scheduler in ["droptail", "round-robin", "pf", "codes"] {
        let kind = format!("last_hop.scheduler.kind={scheduler}");
        let record = run(CALLS, &[&kind, "flows.0.count=20"]);
        check_reasons(&record, true);
        let last_hop = &record.summary.last_hop;
        assert!(last_hop.utilisation > 0.97, "{scheduler}: {}", last_hop.utilisation);
        assert!(flows(&record).iter().all(|flow| flow.loss_ratio.unwrap() > 0.1 && flow.mos.unwrap() < 3.0));
        let efficiency = last_hop.spectral_efficiency.unwrap();
        assert!(
            (efficiency - last_hop.useful_bps / last_hop.coded_bps).abs() < 1e-9 && efficiency > 0.05,
            "{efficiency}"
        );
    }
}

#[test]
fn a_time_limit_bounds_the_wait_and_is_a_cause_of_its_own() {
    let record = run(CALLS, &["flows.0.count=20", "last_hop.scheduler.kind=codes", "last_hop.scheduler.limit=40 ms"]);
    check_reasons(&record, true);
    let timeouts: u64 = flows(&record).iter().map(|flow| flow.lost["lost_timeout"]).sum();
    assert!(timeouts > 0 && timeouts == record.summary.last_hop.dropped[DropReason::Timeout]);
    // 90 ms of the way, 40 of the queue, at most four bursts of 5 ms and three feedback round trips of 20, and in
    // order.
    let longest = flows(&record).iter().map(|flow| flow.one_way_delay_p95_s.unwrap()).fold(0.0, f64::max);
    assert!(longest < 0.09 + 0.04 + 4.0 * 0.011 + 3.0 * 0.02 + 0.03, "{longest}");
    let without = run(CALLS, &["flows.0.count=20"]);
    let mean = |record: &Record| {
        let sum: f64 = flows(record).iter().map(|flow| flow.one_way_delay_mean_s.unwrap()).sum();
        sum / flows(record).len() as f64
    };
    assert!(mean(&record) < mean(&without));
}

#[test]
fn transfers_say_when_they_are_complete() {
    let record = run(LABORATORY, &["flows.0.traffic.size=100 kB", "flows.0.traffic.start=2 s"]);
    let flow = &flows(&record)[0];
    assert_eq!(flow.delivered_bytes, 100_000);
    // SYN and SYN-ACK, then windows of 10, 20, 40 segments: 3.5 to 4.5 round trips of 80 ms and 80 ms of transmission.
    let completion = flow.completion_s.expect("it has ended");
    assert!((0.28..0.5).contains(&completion), "{completion}");
    assert_eq!(flows(&run(LABORATORY, &[]))[0].completion_s, None, "it has no end");
    let cut = run(LABORATORY, &["flows.0.traffic.size=100 MB"]);
    assert_eq!(flows(&cut)[0].completion_s, None, "it had not ended");
}

#[test]
fn what_comes_after_the_last_delivery_changes_no_goodput() {
    let of = |duration: &str| {
        let duration = format!("duration={duration}");
        let sets = [duration.as_str(), "flows.0.traffic.size=10 kB", "path.delay=100 ms", "last_hop.delay=50 ms"];
        let record = run(LABORATORY, &sets);
        let flow = &flows(&record)[0];
        (flow.completion_s, flow.goodput_bps)
    };
    let long = of("20 s");
    let completion = long.0.expect("it has ended");
    assert!((long.1 * completion / 80_000.0 - 1.0).abs() < 1e-9, "{long:?}");
    // The last acknowledgments are in flight, or have not even left.
    for more in [1, 20, 100, 150, 250] {
        let duration = format!("{} ms", (completion * 1e3) as u64 + more);
        assert_eq!(of(&duration), long, "{duration}");
    }
}

#[test]
fn the_mean_window_of_one_burst_is_the_initial_window() {
    // Nearly all of its time passes before the first acknowledgment, and the seven of them come within 5 ms.
    let sets = ["flows.0.traffic.size=10 kB", "path.delay=100 ms", "last_hop.delay=50 ms"];
    let mean = flows(&run(LABORATORY, &sets))[0].cwnd_mean_packets.expect("it has a window");
    assert!((10.0..10.2).contains(&mean), "{mean}");
}

#[test]
fn short_flows_arrive_each_as_a_flow_of_the_same_user() {
    let traffic = "flows.0.traffic={ kind = \"short-flows\", interval = \"200 ms\", \
                   size = { kind = \"exponential\", mean = \"30 kB\" } }";
    let record = run(LABORATORY, &[traffic, "flows.0.count=3"]);
    // Three users, 20 s / 200 ms each: 300 flows, give or take.
    assert!((230..370).contains(&flows(&record).len()), "{}", flows(&record).len());
    assert!(flows(&record).iter().all(|flow| flow.user < 3));
    assert_eq!(record.summary.users.count, 3);
    let complete = flows(&record).iter().filter(|flow| flow.completion_s.is_some()).count();
    assert!(complete as f64 > 0.95 * flows(&record).len() as f64, "{complete}");
    // What takes two round trips at least: the handshake's, and half of one for the data.
    assert!(flows(&record).iter().filter_map(|flow| flow.completion_s).all(|completion| completion > 0.115));
}

#[test]
fn users_without_a_flow_do_not_count() {
    let traffic = "flows.0.traffic={ kind = \"short-flows\", interval = \"30 s\", size = \"10 kB\" }";
    let record = run(LABORATORY, &[traffic, "flows.0.count=10"]);
    let users: std::collections::BTreeSet<u32> = flows(&record).iter().map(|flow| flow.user).collect();
    assert!((1..10).contains(&users.len()), "some of ten get a flow in 20 s: {users:?}");
    assert_eq!(record.summary.users.count, users.len() as u64);
    assert!(record.summary.users.goodput_min_bps > 0.0);
}

#[test]
fn a_call_with_an_end_is_measured_to_its_end() {
    let record =
        run(CALLS, &["channel={ kind = \"clear\" }", "flows.0.traffic={ kind = \"voice\", length = \"5 s\" }"]);
    for flow in flows(&record) {
        // 160 bytes of speech and 12 of RTP each 20 ms.
        assert!((flow.goodput_bps / 68_800.0 - 1.0).abs() < 0.03, "{}", flow.goodput_bps);
    }
}

#[test]
fn pages_are_asked_for_by_the_user_and_loaded_over_one_connection() {
    let record = run(
        LABORATORY,
        &[
            "flows.0.traffic={ kind = \"web\", reading = \"500 ms\" }",
            "duration=60 s",
            "last_hop.scheduler.buffer=8 bdp",
        ],
    );
    let web = report!(flows(&record)[0], Web);
    assert!(web.pages >= 20 && web.clicks - web.pages <= 1, "{web:?}");
    // A page takes a request and an answer for the main object, and again for those in it: two round trips of 80 ms.
    let (median, p95) = (web.load_median_s.unwrap(), web.load_p95_s.unwrap());
    assert!(median > 0.08 && median < 1.5 && p95 >= median, "{web:?}");
    assert!(flows(&record)[0].delivered_bytes > 100_000);
    assert_eq!(record.summary.conservation.dropped, 0);
}

const MIXED: &str = r#"
duration = "20 s"
path     = { kind = "fixed", delay = "30 ms" }
[last_hop]
rate       = "10 Mbit/s"
delay      = "10 ms"
scheduler  = { kind = "droptail", buffer = "2 bdp" }
[[flows]]
count     = 2
transport = { kind = "tcp", congestion = "cubic", mss = "1000 B" }
traffic   = "bulk"
[[flows]]
count      = 2
first_user = 0
transport  = "udp"
traffic    = { kind = "voice", codec = "g711" }
"#;

#[test]
fn a_class_of_service_spares_calls_the_queue_of_downloads() {
    let delay = |edits: &[&str]| {
        let record = run(MIXED, edits);
        check_reasons(&record, false);
        assert_eq!(record.summary.users.count, 2, "both kinds go to the same users");
        assert!(record.summary.last_hop.utilisation > 0.95);
        flows(&record)[2].one_way_delay_mean_s.unwrap()
    };
    let shared = delay(&[]);
    let apart = delay(&["last_hop.classes=[{ name = \"voice\", scheduler = \"round-robin\" }]", "flows.1.class=voice"]);
    // A call waits for at most the packet that is being sent, 0.9 ms.
    assert!(apart < 0.0415 && shared > apart + 0.03, "{apart} against {shared}");
}

#[test]
fn what_cannot_be_is_refused_with_its_path() {
    let refusal = |base: &str, edit: &str| scenario(base, &[edit]).check().unwrap_err().to_string();
    assert_eq!(refusal(CALLS, "flows.0.transport=tcp"), cannot_carry("tcp", "voice", &[Service::Datagrams]));
    assert_eq!(refusal(CALLS, "flows.0.traffic=bulk"), cannot_carry("udp", "bulk", &[Service::ByteStream]));
    for (edit, wanted) in [
        ("flows.0.first_user=1", "flows.0.first_user: 1 was given, at most 0 is allowed"),
        ("flows.0.class=gold", "flows.0.class: \"gold\" was given: last_hop.classes has none"),
        ("last_hop.scheduler.limit=0 s", "last_hop.scheduler.limit: must be more than 0 s"),
        ("last_hop.scheduler.kind=proportional", "last_hop.scheduler.kind: \"proportional\" is unknown"),
        ("last_hop.scheduler.windw=1 s", "last_hop.scheduler.windw: is an unknown key, did you mean \"window\"?"),
        ("flows.0.traffic.packet=1200 B", "flows.0.traffic.packet: a full packet of 1200 B"),
    ] {
        let message = refusal(CALLS, edit);
        assert!(message.starts_with(wanted), "{edit}: {message}");
    }
    let many = refusal(LABORATORY, "flows.0.traffic={ kind = \"short-flows\", interval = \"1 us\" }");
    assert!(many.starts_with("flows: about 20000000 flows would arrive"), "{many}");
    let crowd = scenario(CALLS, &["flows.0.count=1000000"]).check().unwrap_err().to_string();
    assert!(
        crowd.starts_with("channel: 1000000 users have one of their own, each of 18 KiB of memory: at most"),
        "{crowd}"
    );
}

#[test]
fn any_scheduler_takes_the_options_that_are_set_on_another() {
    for kind in link::SchedulerConfig::ALL.iter().filter(|kind| **kind != "external") {
        let kind = format!("last_hop.scheduler.kind={kind}");
        scenario(CALLS, &["last_hop.scheduler.buffer=1 bdp/sqrt(n)", &kind, "last_hop.scheduler.limit=50 ms"])
            .check()
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
    }
}

#[test]
fn the_summary_has_its_keys() {
    let record = run(CALLS, &["duration=2 s"]);
    let json: Json = serde_json::to_value(&record.summary).unwrap();
    for key in ["mos", "lost_overflow", "lost_timeout", "lost_harq", "lost_late", "completion_s"] {
        assert!(json["flows"][0].get(key).is_some(), "flows[].{key}");
    }
    for key in ["goodput_min_bps", "goodput_mean_bps", "goodput_max_bps", "goodput_sd_bps", "jain"] {
        assert!(json["users"][key].is_number(), "users.{key}");
    }
    assert!(json["last_hop"]["spectral_efficiency"].is_number());
}

/// A packet of 210 B in a block of 1,115 B is padding by four fifths; without padding, or with packets of more than
/// half a block, there is nothing to say.
#[test]
fn tells_whose_packets_are_mostly_padding() {
    let warnings = |base: &str, edits: &[&str]| scenario(base, edits).plan().unwrap().warnings().to_vec();
    let [told] = &warnings(CALLS, &[])[..] else { panic!("{:?}", warnings(CALLS, &[])) };
    assert!(told.starts_with("last_hop.harq.padding: packets of flows.0 have 210 B"), "{told}");
    assert!(told.contains("1115 B: 81 %"), "{told}");
    assert_eq!(warnings(CALLS, &["last_hop.harq={ kind = \"adaptive\" }"]), [""; 0]);
    assert_eq!(warnings(CALLS, &["flows.0.traffic.packet=600 B"]), [""; 0]);
    assert_eq!(warnings(LEO, &[]), [""; 0]);
    let told = &warnings(LEO, &["flows.0.direction=up"])[0];
    assert!(told.starts_with("last_hop.harq.padding: acknowledgments of flows.0 have"), "{told}");
}

/// The default buffer for so many users, of whom each has an equal part, holds three packets of each.
#[test]
fn tells_that_queues_of_users_hold_hardly_a_packet() {
    let warnings = |edits: &[&str]| {
        let many = ["flows.0.count=25", "last_hop.rate=20 Mbit/s", "path.delay=80 ms"];
        scenario(LABORATORY, &[&many[..], edits].concat()).plan().unwrap().warnings().to_vec()
    };
    let has_queues = |kind: &&&str| {
        let config = link::SchedulerConfig::with_defaults(kind);
        let needs_script = config.entry().check_chooser(&[]).is_err();
        config.entry().user_queues().is_some() && !needs_script
    };
    for kind in link::SchedulerConfig::ALL.iter().filter(has_queues) {
        let kind = format!("last_hop.scheduler={kind}");
        let [told] = &warnings(&[&kind])[..] else { panic!("{:?}", warnings(&[&kind])) };
        assert!(
            told.starts_with("last_hop.scheduler.buffer: each of 25 users has a queue of 3600 B, and a full"),
            "{told}"
        );
        assert_eq!(warnings(&[&kind, "last_hop.scheduler.buffer=2 MB"]), [""; 0]);
        assert_eq!(warnings(&[&kind, "flows.0.count=5"]), [""; 0]);
    }
    let classes = "last_hop.classes=[{ name = \"best\", scheduler = \"pf\" }]";
    let told = &warnings(&[classes, "flows.0.class=best"])[0];
    assert!(told.starts_with("last_hop.classes.0.scheduler.buffer: each of 25 users"), "{told}");
    assert_eq!(warnings(&[]), [""; 0], "they share one queue");
    assert_eq!(warnings(&["last_hop.scheduler=fq-codel"]), [""; 0]);
}

#[test]
fn tells_that_no_queue_marks_packets_with_ecn() {
    let warnings = |edits: &[&str]| scenario(LABORATORY, edits).plan().unwrap().warnings().to_vec();
    let ecn =
        ["flows.0.transport.ecn=true", "flows.0.transport.congestion=prague", "flows.0.transport.congestion=dctcp"];
    for ecn in ecn.into_iter().chain(["flows.0.transport={kind=\"quic\", ecn=true}"]) {
        let [told] = &warnings(&[ecn])[..] else { panic!("{ecn}: {:?}", warnings(&[ecn])) };
        assert!(told.starts_with("flows.0: its packets may be marked (ECN), and no queue"), "{told}");
        for queue in ["codel", "pie", "red", "dualpi2", "{kind=\"droptail\", mark_above=\"20 packets\"}"] {
            assert_eq!(warnings(&[ecn, &format!("last_hop.queue={queue}")]), [""; 0], "{ecn} {queue}");
        }
        assert_eq!(warnings(&[ecn, "last_hop.scheduler=fq-codel"]), [""; 0]);
        assert_eq!(warnings(&[ecn, "last_hop.queue={kind=\"codel\", ecn=false}"]).len(), 1);
    }
    assert_eq!(warnings(&[]), [""; 0]);
}

#[test]
fn tells_that_a_play_out_buffer_cannot_adapt() {
    let warnings = |edits: &[&str]| {
        let quiet = "last_hop.harq={ kind = \"adaptive\" }";
        scenario(CALLS, &[&[quiet], edits].concat()).plan().unwrap().warnings().to_vec()
    };
    let adaptive = "flows.0.traffic.playout=adaptive";
    let [told] = &warnings(&[adaptive, "flows.0.traffic.activity=continuous"])[..] else { panic!("it is told once") };
    assert!(told.starts_with("flows.0.traffic.playout: \"adaptive\" adapts where a talk-spurt begins"), "{told}");
    assert_eq!(warnings(&[adaptive, "flows.0.traffic.activity=exponential"]), [""; 0]);
    assert_eq!(warnings(&["flows.0.traffic.activity=continuous"]), [""; 0]);
}

#[test]
fn tells_that_fades_meet_packets_without_a_code() {
    let warnings = |edits: &[&str]| scenario(LEO, edits).plan().unwrap().warnings().to_vec();
    let [told] = &warnings(&["last_hop.harq=none"])[..] else { panic!("it is told once") };
    assert!(told.starts_with("last_hop.harq: with \"none\" packets have no code"), "{told}");
    assert_eq!(warnings(&["last_hop.harq=fec"]), [""; 0]);
    assert_eq!(warnings(&["last_hop.harq=none", "channel={kind=\"bernoulli\", loss=\"1 %\"}"]), [""; 0]);
    assert_eq!(warnings(&["last_hop.harq=none", "channel={kind=\"clear\"}"]), [""; 0]);
}

#[test]
fn tells_that_nothing_limits_uploads_without_a_return_link() {
    let warnings = |edits: &[&str]| scenario(LABORATORY, edits).plan().unwrap().warnings().to_vec();
    let [told] = &warnings(&["flows.0.direction=up"])[..] else { panic!("it is told once") };
    assert!(told.contains("nothing limits their rate") && told.contains("[access]"), "{told}");
    assert_eq!(warnings(&["flows.0.direction=up", "access={}"]), [""; 0]);
    let slow = "path={kind=\"constellation\", constellation=\"leo-66\", \
                source={latitude=\"43.6 deg\", longitude=\"1.4 deg\"}, \
                user={latitude=\"-36.9 deg\", longitude=\"174.8 deg\"}, hops={rate=\"4 Mbit/s\", buffer=\"50 kB\"}}";
    assert_eq!(warnings(&["flows.0.direction=up", slow]), [""; 0]);
    assert_eq!(warnings(&[]), [""; 0]);
}

/// All packets but those that the first bursts delivered are dropped in the queue; nothing waits afterwards.
#[test]
fn a_transmitter_rests_no_longer_than_packets_wait() {
    const CALL: &str = r#"
duration = "60 s"
path     = { kind = "fixed", delay = "20 ms" }
flows    = [{ traffic = { kind = "voice", length = "1 s" }, transport = "udp" }]
[last_hop]
rate  = "1 Mbit/s"
delay = "200 ms"
queue = { kind = "time-limit", limit = "50 ms" }
harq  = { kind = "stop-and-wait" }
"#;
    let record = run(CALL, &[]);
    let stalled = record.summary.last_hop.stalled_ratio * 60.0;
    assert!(record.summary.conservation.in_flight == 0 && 0.5 < stalled && stalled < 1.5, "{stalled} s");
}

#[test]
fn waits_are_told_up_to_the_end_of_a_run() {
    let download = |duration: &str| {
        let traffic = "flows.0.traffic={ kind = \"bulk\", size = \"10 kB\" }";
        let hop = ["last_hop.rate=1 Mbit/s", "last_hop.delay=250 ms", "path.delay=20 ms"];
        let noted = ["record={ queue_delays = true, interval = \"20 ms\" }", duration, traffic];
        run(LABORATORY, &[&hop[..], &noted].concat())
    };
    let (early, late) = (download("duration=0.8 s"), download("duration=0.9 s"));
    let mean = |record: &Record| flows(record)[0].queue_delay_mean_s.unwrap();
    assert!(mean(&early) > 0.01 && mean(&early) == mean(&late), "{} {}", mean(&early), mean(&late));
    // The last sample at which packets wait, and the first that knows how long the longest did.
    let (waits, told) = (column(&early.series, "queue_packets"), column(&early.series, "queue_delay_s"));
    assert!(waits.last() == Some(&0.0) && told.last().is_some_and(|&told| told > 0.05), "{told:?}");
}
