//! Video and games over whole worlds: what their users get follows from the path, packets are conserved, runs repeat.

use std::collections::BTreeSet;

use crate::util::{self, LABORATORY, cannot_carry, report, run, run_in_pieces};
use serde_json::Value as Json;
use sim::{FlowSummary, Record};
use transport::Service;

/// Constant bit rate of 1 Mbit/s in segments of 4 s.
const VIDEO: &str = "flows.0.traffic={ kind = \"dash\", ladder = [\"1 Mbit/s\"], adaptation = { kind = \"fixed\" } }";
const LIVE: &str = "flows.0.traffic={ kind = \"live\", rate = \"160 kbit/s\", latency = \"500 ms\" }";
const GAME: &str = "flows.0.traffic={ kind = \"game\" }";
const UDP: &str = "flows.0.transport={ kind = \"udp\" }";
const LOSS: &str = "channel={ kind = \"bernoulli\", loss = \"2 %\" }";

fn flow(record: &Record) -> &FlowSummary {
    &record.summary.flows[0]
}

fn near(value: Option<f64>, expected: f64, within: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() <= within)
}

#[test]
fn video_over_a_fast_link_never_stalls() {
    let record = run(LABORATORY, &[VIDEO]);
    let video = report!(flow(&record), Video);
    assert_eq!((video.rebuffers, flow(&record).rebuffers, video.bitrate_mean_bps), (0, Some(0), Some(1e6)));
    // Two round trips of 80 ms, and 500 kB at 10 Mbit/s with slow start: 0.56 s at least, a few round trips more.
    let startup = flow(&record).startup_s.unwrap();
    assert!((0.56..1.3).contains(&startup), "{startup}");
    assert!((video.played_s + startup - 20.0).abs() < 1e-9, "{video:?}");
    assert!(video.played_s * 125_000.0 <= flow(&record).delivered_bytes as f64);
    assert_eq!(flow(&record).mos, Some(5.0));
}

#[test]
fn video_over_a_link_that_is_too_slow_stalls_for_what_is_missing() {
    let record = run(LABORATORY, &[VIDEO, "last_hop.rate=800 kbit/s", "duration=200 s"]);
    let video = report!(flow(&record), Video);
    // A segment of 4 s takes 500 kB over the throughput, and the stall is the difference.
    let segment_s = 4e6 / video.throughput_bps.unwrap();
    assert!(segment_s > 5.0 && segment_s < 5.6, "{segment_s}");
    let stall_s = video.rebuffer_s / video.rebuffers as f64;
    assert!((stall_s - (segment_s - 4.0)).abs() < 0.1, "{stall_s} s with segments of {segment_s} s");
    assert!((video.played_s + video.rebuffer_s + video.startup_s.unwrap() - 200.0).abs() < 1e-9);
}

#[test]
fn a_slower_link_plays_a_lower_bit_rate() {
    for rule in ["buffer-based", "bola", "rate-based"] {
        let traffic = format!("flows.0.traffic={{ kind = \"dash\", adaptation = {{ kind = \"{rule}\" }} }}");
        let mean = |rate| {
            let record = run(LABORATORY, &[&traffic, rate, "duration=120 s", "record.series=false"]);
            flow(&record).bitrate_mean_bps.unwrap()
        };
        let (slow, fast) = (mean("last_hop.rate=1 Mbit/s"), mean("last_hop.rate=8 Mbit/s"));
        assert!(slow < 0.95e6 && fast > 1.5 * slow, "{rule}: {slow} and {fast}");
    }
}

#[test]
fn live_video_over_a_clear_link_is_shown_at_its_age() {
    for edits in [[LIVE, UDP], [LIVE, "duration=20 s"]] {
        let record = run(LABORATORY, &edits);
        let live = report!(flow(&record), Live);
        assert_eq!((live.skipped_frames, live.rebuffers, live.late_ratio), (0, 0, Some(0.0)));
        assert!(near(flow(&record).latency_mean_s, 0.5, 1e-6) && near(flow(&record).latency_p95_s, 0.5, 1e-6));
        assert!((486..=488).contains(&live.shown_frames) && live.sent_frames >= 500, "{live:?}");
    }
}

#[test]
fn datagrams_that_are_lost_are_frames_that_are_skipped_and_a_stream_repairs_them() {
    // A packet for each frame.
    let record = run(LABORATORY, &[LIVE, UDP, LOSS, "duration=100 s"]);
    let (live, lost) = (report!(flow(&record), Live), flow(&record).lost.total());
    // All but those that were still to be shown.
    assert!(lost > 30 && live.skipped_frames <= lost && live.skipped_frames + 4 >= lost, "{lost} lost, {live:?}");
    assert!(near(flow(&record).latency_p95_s, 0.5, 1e-6));
    let record = run(LABORATORY, &[LIVE, LOSS, "duration=100 s"]);
    let live = report!(flow(&record), Live);
    assert_eq!((live.skipped_frames, live.late_frames), (0, 0));
    assert!(flow(&record).retransmitted_packets > 30 && live.latency_max_s.unwrap() >= 0.5);
}

#[test]
fn a_game_measures_the_path_each_way() {
    let record = run(LABORATORY, &[GAME, UDP]);
    let (flow, game) = (flow(&record), report!(flow(&record), Game));
    assert_eq!((game.down_sent, game.down_received), (flow.sent_packets, flow.received_packets));
    assert_eq!((game.down_loss_ratio, game.up_loss_ratio, flow.late_ratio), (Some(0.0), Some(0.0), Some(0.0)));
    // 30 ms of the path and 10 ms of the last hop, and up to 868 B at 10 Mbit/s.
    assert!(near(game.down_delay_p50_s, 0.0402, 3e-4) && near(game.down_delay_p99_s, 0.0404, 4e-4), "{game:?}");
    assert!(near(game.up_delay_p50_s, 0.04, 2e-4) && near(game.up_delay_p99_s, 0.04, 2e-4), "{game:?}");
    // The newest command waits for a tick of the server: at most the time to the next command, 40 ms and a little.
    let [median, slow] = [game.response_p50_s, flow.response_p99_s].map(Option::unwrap);
    assert!(median > 0.08 && slow < 0.15 && median < slow, "{median} and {slow}");
    let lossy = run(LABORATORY, &[GAME, UDP, LOSS, "duration=100 s"]);
    let game = report!(lossy.summary.flows[0], Game);
    assert!(near(game.down_loss_ratio, 0.02, 0.012) && game.up_loss_ratio == Some(0.0), "{game:?}");
}

#[test]
fn runs_repeat_and_recording_does_not_steer() {
    for edits in [[VIDEO, LOSS, "seed=3"], [LIVE, UDP, LOSS], [LIVE, LOSS, "seed=3"], [GAME, UDP, LOSS]] {
        let record = run(LABORATORY, &edits);
        let again = run_in_pieces(LABORATORY, &edits, 7);
        assert_eq!(record.summary.digest, again.summary.digest, "{edits:?}");
        assert_eq!(flow(&record), flow(&again), "{edits:?}");
        let bare = run(LABORATORY, &[&edits[..], &["record.series=false"]].concat());
        assert_eq!((&record.summary.digest, flow(&record)), (&bare.summary.digest, flow(&bare)), "{edits:?}");
    }
}

#[test]
fn series_have_the_columns_of_their_applications_only() {
    let names = |edits: &[&str]| {
        let table = run(LABORATORY, edits).series;
        let all = ["buffer_s", "bitrate_bps", "latency_s", "down_delay_s", "up_delay_s"];
        all.map(|name| table.columns.iter().any(|column| column.0 == name))
    };
    assert_eq!(names(&["duration=2 s"]), [false; 5]);
    assert_eq!(names(&[VIDEO]), [true, true, false, false, false]);
    assert_eq!(names(&[LIVE, UDP]), [true, false, true, false, false]);
    assert_eq!(names(&[GAME, UDP]), [false, false, false, true, true]);
}

/// Whatever the kind of its report, a flow has the values of those of its keys that are columns of flows too.
#[test]
fn columns_of_a_flow_are_those_of_its_report() {
    const VOICE: &str = "flows.0.traffic={ kind = \"voice\" }";
    let mut filled = BTreeSet::new();
    for (edits, key) in
        [(&[VIDEO, LOSS][..], "video"), (&[LIVE, UDP], "live"), (&[GAME, UDP], "game"), (&[VOICE, UDP], "voice")]
    {
        let row = serde_json::to_value(flow(&run(LABORATORY, edits))).unwrap();
        let mut report = row[key].as_object().expect(key).clone();
        for (name, called) in [("late_packets", "lost_late"), ("switches", "bitrate_switches")] {
            let value = report.get(name).cloned();
            report.extend(value.map(|value| (called.to_owned(), value)));
        }
        // Those of a call are of the packets heard, the flow's of those that the network carried.
        report.retain(|name, _| !["loss_ratio", "received_packets", "jitter_s"].contains(&name.as_str()));
        for (name, value) in report.iter().filter(|(name, _)| row.get(name).is_some()) {
            assert_eq!(&row[name], value, "{name} of {key}");
            filled.extend((!value.is_null()).then(|| name.clone()));
        }
    }
    let columns = [
        "bitrate_mean_bps",
        "bitrate_switches",
        "late_ratio",
        "latency_mean_s",
        "latency_p95_s",
        "lost_late",
        "mos",
        "qoe",
        "rebuffer_ratio",
        "rebuffer_s",
        "rebuffers",
        "response_p95_s",
        "response_p99_s",
        "startup_s",
    ];
    assert_eq!(filled.iter().collect::<Vec<_>>(), columns);
}

#[test]
fn columns_are_null_for_other_traffic_and_a_wrong_transport_is_refused() {
    let record = run(LABORATORY, &["duration=2 s"]);
    let row: Json = serde_json::to_value(flow(&record)).unwrap();
    for column in ["startup_s", "rebuffers", "qoe", "latency_mean_s", "late_ratio", "response_p95_s", "mos"] {
        assert!(row[column].is_null(), "{column}");
    }
    assert!(row.get("video").is_none() && row.get("live").is_none() && row.get("game").is_none());
    let refused = |edits: &[&str]| sim::Simulation::new(&util::scenario(LABORATORY, edits), None).err().unwrap();
    let (stream, datagrams) = (Service::ByteStream, Service::Datagrams);
    assert_eq!(refused(&[VIDEO, UDP]).to_string(), cannot_carry("udp", "dash", &[stream]));
    assert_eq!(refused(&[GAME]).to_string(), cannot_carry("tcp", "game", &[datagrams]));
    let external = refused(&[LIVE, "flows.0.transport={ kind = \"external\" }"]);
    assert_eq!(external.to_string(), cannot_carry("external", "live", &[stream, datagrams]));
}

/// A SYN that is repeated fills the gap before data that came in front of it, and the application hears of them: with
/// this seed a user who does not waits for the rest of a page to the end.
#[test]
fn data_in_front_of_a_lost_syn_reach_the_application() {
    let record = run(
        LABORATORY,
        &[
            "flows.0.traffic={ kind = \"web\" }",
            "flows.0.transport={ kind = \"tcp\", handshake = false, syn = true }",
            "channel={ kind = \"bernoulli\", loss = \"10 %\" }",
            "duration=60 s",
            "seed=7",
        ],
    );
    let delivered = record.summary.flows[0].delivered_bytes;
    assert!(delivered > 50_000, "{delivered} B");
}
