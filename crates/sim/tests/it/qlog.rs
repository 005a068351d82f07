//! Logs of QUIC connections: what qvis reads of them, and that they agree with the summary.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::util::{LABORATORY, run, scenario};
use serde_json::Value;
use sim::{Record, Simulation};

const QUIC: &str = "flows.0.transport=quic";
const SHORT: &str = "duration=10 s";
const LOSSY: &str = "channel={kind=\"bernoulli\", loss=\"1 %\"}";

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("qlog-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The record of a run, and its logs by their names: each has its header first.
fn logged(name: &str, edits: &[&str]) -> (Record, Vec<(String, Vec<Value>)>) {
    let folder = folder(name);
    let mut simulation = Simulation::new(&scenario(LABORATORY, edits), None).unwrap();
    assert!(simulation.wants_packets());
    simulation.record_packets(&folder).unwrap();
    let end = simulation.duration();
    simulation.advance(units::Time::ZERO + end).unwrap();
    let record = simulation.finish(false).unwrap();
    // Without a log there is no folder.
    let files = fs::read_dir(folder.join("qlog")).into_iter().flatten();
    let mut names: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    names.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let records = text.split('\u{1e}').skip(1).map(|record| serde_json::from_str(record).unwrap()).collect();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), records)
    };
    let logs = names.iter().map(read).collect();
    (record, logs)
}

fn named<'a>(log: &'a [Value], name: &str) -> Vec<&'a Value> {
    log[1..].iter().filter(|event| event["name"] == name).map(|event| &event["data"]).collect()
}

fn carries_data(packet: &&&Value) -> bool {
    packet["frames"].as_array().unwrap().iter().any(|frame| frame["frame_type"] == "stream" && frame["length"] != 0)
}

#[test]
fn a_log_has_what_the_schema_requires() {
    let (_, logs) = logged("schema", &[QUIC, SHORT, LOSSY, "record.qlog=true"]);
    let names: Vec<&str> = logs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["flow-0-receiver.sqlog", "flow-0-sender.sqlog"]);
    for ((_, log), side) in logs.iter().zip(["server", "client"]) {
        let header = &log[0];
        assert_eq!((&header["qlog_version"], &header["qlog_format"]), (&"0.3".into(), &"JSON-SEQ".into()));
        assert_eq!(header["trace"]["vantage_point"]["type"], side);
        assert_eq!(header["trace"]["common_fields"]["time_format"], "relative");
        assert_eq!(log[1]["name"], "connectivity:connection_started");
        assert!(log[1]["data"]["src_ip"].is_string() && log[1]["data"]["dst_ip"].is_string());
        let times: Vec<f64> = log[1..].iter().map(|event| event["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted() && *times.last().unwrap() <= 10_000.0);
        assert!(log[1..].iter().all(|event| event["data"].is_object()));
        for name in ["transport:packet_sent", "transport:packet_received"] {
            for packet in named(log, name) {
                let kind = packet["header"]["packet_type"].as_str().unwrap();
                assert!(["initial", "handshake", "1RTT"].contains(&kind), "{packet}");
                assert!(packet["header"]["packet_number"].is_u64() && packet["raw"]["length"].is_u64(), "{packet}");
                let known = |frame: &Value| frame["frame_type"].as_str().is_some_and(|name| name != "unknown");
                let frames = packet["frames"].as_array().unwrap();
                assert!(!frames.is_empty() && frames.iter().all(known), "{packet}");
            }
        }
    }
}

#[test]
fn its_counts_are_those_of_the_summary() {
    let edits = [QUIC, SHORT, LOSSY, "record.qlog=true"];
    let (record, logs) = logged("counts", &edits);
    let flow = &record.summary.flows[0];
    let [(_, receiver), (_, sender)] = &logs[..] else { panic!("{}", logs.len()) };
    let sent = named(sender, "transport:packet_sent");
    assert_eq!(sent.iter().filter(carries_data).count() as u64, flow.sent_packets);
    let arrived = named(receiver, "transport:packet_received");
    assert_eq!(arrived.iter().filter(carries_data).count() as u64, flow.received_packets);
    // Each number of the application's packets is used once, by what was sent and by what arrived.
    let numbers = |packets: &[&Value]| -> Vec<u64> {
        let ours = packets.iter().filter(|packet| packet["header"]["packet_type"] == "1RTT");
        ours.map(|packet| packet["header"]["packet_number"].as_u64().unwrap()).collect()
    };
    let (ours, theirs) = (numbers(&sent), numbers(&arrived));
    assert!(ours.is_sorted_by(|a, b| a < b));
    let (ours, theirs) = (BTreeSet::from_iter(ours), BTreeSet::from_iter(theirs));
    assert!(theirs.is_subset(&ours));
    // What was taken for lost is what never arrived, but for what was sent last.
    let lost = BTreeSet::from_iter(numbers(&named(sender, "recovery:packet_lost")));
    assert!(lost.len() > 30 && lost.is_disjoint(&theirs), "{lost:?}");
    let last = lost.last().unwrap();
    assert!(ours.difference(&theirs).all(|number| lost.contains(number) || number > last));
    // As many reductions as there were, each over before the next.
    let states = named(sender, "recovery:congestion_state_updated");
    let reductions = states.iter().filter(|state| state["new"] == "recovery").count() as u64;
    assert!(reductions > 3 && reductions <= flow.dupack_events, "{reductions} {flow:?}");
    let windows = named(sender, "recovery:metrics_updated");
    assert!(windows.iter().any(|metrics| metrics["congestion_window"].as_u64() > Some(12_000)));
    assert!(windows.iter().filter_map(|metrics| metrics["latest_rtt"].as_f64()).all(|rtt| rtt > 80.0));
}

/// A window is smaller from the loss on, not from the next acknowledgment on, which may be a round trip later.
#[test]
fn a_reduction_is_logged_with_the_loss_that_begins_it() {
    let (_, logs) = logged("reduction", &[QUIC, SHORT, LOSSY, "record.qlog=true"]);
    let at = |name: &str| -> Vec<(u64, &Value)> {
        let named = logs[1].1[1..].iter().filter(|event| event["name"] == name);
        named.map(|event| (event["time"].as_f64().unwrap().to_bits(), &event["data"])).collect()
    };
    let lost = BTreeSet::from_iter(at("recovery:packet_lost").iter().map(|(time, _)| *time));
    let states = at("recovery:congestion_state_updated");
    let begun: Vec<u64> =
        states.iter().filter(|(_, state)| state["new"] == "recovery").map(|(time, _)| *time).collect();
    assert!(begun.len() > 3 && begun.iter().all(|time| lost.contains(time)), "{begun:?}");
    let metrics = at("recovery:metrics_updated");
    let smaller = |time: &u64| metrics.iter().any(|(at, data)| at == time && data["ssthresh"].is_u64());
    assert!(begun.iter().filter(|time| smaller(time)).count() > begun.len() / 2);
}

/// RFC 9002 section 2: what is in flight was sent, asks for an acknowledgment, and has neither arrived nor been lost.
/// Where the last packet of the client's handshake is lost and repeated among data, it leaves with its keys alone.
#[test]
fn what_is_in_flight_is_what_was_sent_and_is_neither_acknowledged_nor_lost() {
    let lossy = "channel={kind=\"bernoulli\", loss=\"20 %\"}";
    let mut compared = 0;
    for seed in 1..9 {
        let (_, logs) = logged("in-flight", &[QUIC, SHORT, lossy, "record.qlog=true", &format!("seed={seed}")]);
        let (mut flying, mut is_confirmed) = (BTreeSet::new(), false);
        let mut told = None;
        for (event, next) in logs[1].1[1..].iter().zip(&logs[1].1[2..]) {
            let (name, data) = (event["name"].as_str().unwrap(), &event["data"]);
            let number = data["header"]["packet_number"].as_u64();
            let is_ours = data["header"]["packet_type"] == "1RTT";
            let kind = |frame: &Value| frame["frame_type"].as_str().unwrap().to_owned();
            let mut kinds = data["frames"].as_array().into_iter().flatten().map(kind);
            match name {
                "transport:packet_sent" if is_ours && kinds.any(|kind| kind != "ack") => {
                    flying.insert(number.unwrap());
                }
                "transport:packet_received" if is_ours => {
                    is_confirmed |= kinds.any(|kind| kind == "handshake_done");
                    for frame in data["frames"].as_array().unwrap().iter().filter(|frame| kind(frame) == "ack") {
                        for range in frame["acked_ranges"].as_array().unwrap() {
                            let [first, last] = [&range[0], &range[1]].map(|number| number.as_u64().unwrap());
                            flying.retain(|number| !(first..=last).contains(number));
                        }
                    }
                }
                "recovery:packet_lost" if is_ours => drop(flying.remove(&number.unwrap())),
                "recovery:metrics_updated" => told = data["packets_in_flight"].as_u64().or(told),
                _ => {}
            }
            // The log has an instant's metrics last.
            if name == "recovery:metrics_updated" && is_confirmed && next["time"] != event["time"] {
                assert_eq!(told, Some(flying.len() as u64), "seed {seed}, {} ms", event["time"]);
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

/// A page of many objects, each on a stream of its own, with losses: packets hold data of several streams.
const PAGES: &str = "flows.0.traffic={kind=\"web\", requests=\"multiplexed\", main=\"3 kB\", embedded=\"3 kB\", \
    objects={kind=\"constant\", count=30}, reading=\"100 ms\"}";

#[test]
fn a_packet_with_data_sent_before_is_a_retransmission_whatever_stands_first_in_it() {
    let (record, logs) = logged("again", &[QUIC, PAGES, LOSSY, "record.qlog=true"]);
    let mut ends = std::collections::BTreeMap::new();
    let (mut again, mut hidden) = (0, 0);
    for packet in named(&logs[1].1, "transport:packet_sent") {
        let mut old = Vec::new();
        for frame in packet["frames"].as_array().unwrap() {
            let (Some(id), Some(offset)) = (frame["stream_id"].as_u64(), frame["offset"].as_u64()) else { continue };
            let length = frame["length"].as_u64().unwrap();
            if length > 0 {
                let end = ends.entry(id).or_insert(0);
                old.push(offset < *end);
                *end = (offset + length).max(*end);
            }
        }
        again += u64::from(old.contains(&true));
        hidden += u64::from(old.contains(&true) && !old[0]);
    }
    assert_eq!(record.summary.flows[0].retransmitted_packets, again);
    assert!(hidden > 0, "none of {again} begins with new data");
}

/// Round trips by RFC 9002 section 5.1, from what the sender's log has of packets and acknowledgments.
#[test]
fn round_trips_are_timed_by_the_largest_packet_that_is_new() {
    for traffic in [PAGES, "flows.0.traffic=bulk"] {
        let (record, logs) = logged("round-trips", &[QUIC, SHORT, traffic, LOSSY, "record.qlog=true"]);
        let mut sent = std::collections::BTreeMap::new();
        let mut largest = std::collections::BTreeMap::new();
        let mut samples = Vec::new();
        for event in &logs[1].1[1..] {
            let (time, data) = (event["time"].as_f64(), &event["data"]);
            let Some(kind) = data["header"]["packet_type"].as_str() else { continue };
            let frames = data["frames"].as_array().into_iter().flatten();
            if event["name"] == "transport:packet_sent" {
                let asks =
                    frames.clone().any(|frame| !["ack", "padding"].contains(&frame["frame_type"].as_str().unwrap()));
                sent.insert((kind, data["header"]["packet_number"].as_u64().unwrap()), (time.unwrap(), asks));
            } else if event["name"] == "transport:packet_received" {
                for frame in frames.filter(|frame| frame["frame_type"] == "ack") {
                    let ranges = frame["acked_ranges"].as_array().unwrap().iter();
                    let ranges: Vec<Vec<u64>> = ranges
                        .map(|range| range.as_array().unwrap().iter().filter_map(Value::as_u64).collect())
                        .collect();
                    let last = *ranges.iter().flatten().max().unwrap();
                    let numbers = ranges.iter().flat_map(|range| range[0]..=*range.last().unwrap());
                    let acked: Vec<_> =
                        numbers.filter_map(|number| Some((number, sent.remove(&(kind, number))?))).collect();
                    let is_new = largest.insert(kind, last).is_none_or(|before| last > before);
                    if is_new && acked.iter().any(|(_, (_, asks))| *asks) {
                        let (_, (at, _)) = acked.iter().find(|(number, _)| *number == last).unwrap();
                        samples.push(time.unwrap() - at);
                    }
                }
            }
        }
        let mean = samples.iter().sum::<f64>() / samples.len() as f64 / 1e3;
        let told = record.summary.flows[0].rtt_mean_s.unwrap();
        assert!(samples.len() > 50 && (told - mean).abs() < 1e-6, "{traffic}: {told} {mean} of {}", samples.len());
    }
}

#[test]
fn a_log_changes_nothing_and_is_the_same_each_time() {
    let edits = [QUIC, SHORT, LOSSY, "record.qlog=true"];
    let (first, second) = (logged("first", &edits), logged("second", &edits));
    assert_eq!(first.1, second.1);
    assert_eq!(first.0.summary.digest, run(LABORATORY, &edits[..3]).summary.digest);
}

#[test]
fn each_flow_has_logs_of_its_own_and_other_transports_have_none() {
    let web = "flows.0.traffic={kind=\"web\", requests=\"sequential\", connections=2}";
    let (_, logs) = logged("web", &[QUIC, SHORT, web, "record.qlog=true"]);
    assert_eq!(logs.len(), 4);
    assert_eq!(logs[2].0, "flow-1-receiver.sqlog");
    // The user opens.
    assert_eq!(logs[0].1[0]["trace"]["vantage_point"]["type"], "client");
    assert!(logged("tcp", &[SHORT, "record.qlog=true"]).1.is_empty());
}

/// The state that a controller of little to send is in, between those of much.
#[test]
fn an_application_with_little_to_send_is_told_of() {
    let pages = "flows.0.traffic={kind=\"web\", requests=\"multiplexed\", reading=\"500 ms\"}";
    let (_, logs) = logged("limited", &[QUIC, SHORT, pages, "record.qlog=true"]);
    let (_, sender) = logs.last().unwrap();
    let states = named(sender, "recovery:congestion_state_updated");
    assert!(states.iter().any(|state| state["new"] == "application_limited"), "{states:?}");
    assert!(states.windows(2).all(|pair| pair[0]["new"] == pair[1]["old"]), "{states:?}");
    let (_, bulk) = logged("unlimited", &[QUIC, SHORT, "record.qlog=true"]);
    let states = named(&bulk[1].1, "recovery:congestion_state_updated");
    assert!(states.iter().filter(|state| state["new"] == "application_limited").count() <= 1, "{states:?}");
}

#[test]
fn the_end_of_a_connection_is_logged_with_its_cause() {
    let idle = "flows.0.transport={kind=\"quic\", idle_timeout=\"1 s\"}";
    let size = "flows.0.traffic={kind=\"bulk\", size=\"10 kB\"}";
    let (_, logs) = logged("idle", &[idle, size, SHORT, "record.qlog=true"]);
    let closed = named(&logs[0].1, "connectivity:connection_closed");
    assert_eq!((&closed[0]["owner"], &closed[0]["trigger"]), (&"local".into(), &"idle_timeout".into()));
}

#[test]
fn tells_that_no_connection_keeps_a_log() {
    let warnings = |edits: &[&str]| scenario(LABORATORY, edits).plan().unwrap().warnings().to_vec();
    assert_eq!(warnings(&["record.qlog=true"]), ["record.qlog: no flow's transport is quic: no log is written"]);
    assert_eq!(warnings(&["record.qlog=true", QUIC]), [""; 0]);
    assert_eq!(warnings(&[]), [""; 0]);
}
