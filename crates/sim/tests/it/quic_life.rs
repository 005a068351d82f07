//! How connections of QUIC end, begin again, and follow a user to another address.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::util::{LABORATORY, report, run, run_in_pieces, scenario};
use sim::{FlowSummary, Record};

/// Over three gateways, of which the nearest by the satellites' links serves: it is another five times.
const GATEWAYS: &str = r#"
title    = "a user between three gateways"
duration = "90 s"
[path]
kind            = "constellation"
constellation   = "starlink-shell-1"
handover        = { kind = "fixed-epochs", every = "15 s" }
source_handover = "shortest-path"
source = [
    { latitude = "50.98 deg", longitude = "2.13 deg" },
    { latitude = "44.77 deg", longitude = "-0.57 deg" },
    { latitude = "45.27 deg", longitude = "7.81 deg" },
]
user = { latitude = "47.05 deg", longitude = "4.02 deg" }
[channel]
kind = "clear"
[last_hop]
rate      = "20 Mbit/s"
delay     = "orbit"
scheduler = { kind = "droptail", buffer = "100 ms" }
harq      = { kind = "none" }
[[flows]]
transport = { kind = "quic", client = "user" }
traffic   = "bulk"
"#;

fn flow(record: &Record) -> &FlowSummary {
    &record.summary.flows[0]
}

/// A path without a route from 8 s to 12 s, one way 20 ms.
fn outage() -> String {
    // Written once: tests that run side by side would read it half written.
    static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("quic-outage.csv");
        fs::write(&file, "time_s,delay_ms\n0,20\n8,\n12,20\n").unwrap();
        file
    });
    format!("path={{kind=\"trace\", file=\"{}\"}}", FILE.display())
}

/// What the user opens, in whose options are `more`.
fn quic(more: &str) -> String {
    format!("flows.0.transport={{kind=\"quic\", client=\"user\", pacing=false{more}}}")
}

fn warned(record: &Record, words: &str) -> bool {
    record.summary.warnings.iter().any(|warning| warning.contains(words))
}

/// Every other packet of a first window of 10,000 comes a second late, which leaves some 2,500 gaps. A packet of
/// the handshake may be late by that second, too.
#[test]
fn a_window_may_have_any_number_of_gaps() {
    let late = "path={kind=\"fixed\", delay=\"30 ms\", jitter={probability=0.5, extra=\"1 s\"}}";
    let wide = ["last_hop.rate=1 Gbit/s", "last_hop.scheduler.buffer=100 MB", "duration=5 s"];
    for window in ["64 MiB", "1 MB"] {
        let record = run(
            LABORATORY,
            &[&[&*quic(&format!(", initial_window=10000, receive_window=\"{window}\"")), late], &wide[..]].concat(),
        );
        assert_eq!((flow(&record).ended_connections, flow(&record).end_cause.as_deref()), (Some(0), None), "{window}");
        assert!(!warned(&record, "ended before"), "{:?}", record.summary.warnings);
    }
}

/// What waits for a gap holds a window back as long as it is less than 2,000 pieces.
#[test]
fn a_gap_closes_a_narrow_window_and_no_wide_one() {
    let lossy = ["channel={kind=\"bernoulli\", loss=\"0.2 %\"}", "path={kind=\"fixed\", delay=\"150 ms\"}"];
    let wide = ["last_hop.rate=100 Mbit/s", "last_hop.scheduler.buffer=4 MB", "duration=30 s"];
    let goodput = |window: &str| {
        let transport = quic(&format!(", congestion=\"bbr\", receive_window=\"{window}\""));
        let record = run(LABORATORY, &[&[&*transport], &lossy[..], &wide[..]].concat());
        assert_eq!(flow(&record).ended_connections, Some(0), "{window}");
        flow(&record).goodput_bps
    };
    let (narrow, broad) = (goodput("2 MB"), goodput("64 MiB"));
    assert!(broad > 1.3 * narrow, "{narrow} {broad}");
}

/// Small writes are small pieces, of which a narrow window has many.
#[test]
fn small_pieces_may_wait_in_any_number() {
    let video = "flows.0.traffic={kind=\"live\", rate=\"8 Mbit/s\", packet=\"228 B\"}";
    let path = ["path={kind=\"fixed\", delay=\"300 ms\"}", "channel={kind=\"bernoulli\", loss=\"0.5 %\"}"];
    let transport = "flows.0.transport={kind=\"quic\", congestion=\"bbr\", receive_window=\"2 MB\"}";
    let record =
        run(LABORATORY, &[&[video, transport, "last_hop.rate=20 Mbit/s", "duration=20 s"], &path[..]].concat());
    assert_eq!((flow(&record).ended_connections, flow(&record).end_cause.as_deref()), (Some(0), None));
    assert!(flow(&record).delivered_bytes > 5_000_000, "{:?}", flow(&record));
}

#[test]
fn an_idle_connection_ends_and_only_what_is_cut_off_is_warned_of() {
    let cut_off = run(LABORATORY, &[&quic(", idle_timeout=\"2 s\""), &outage()]);
    let ended = flow(&cut_off);
    assert_eq!((ended.ended_connections, ended.end_cause.as_deref()), (Some(1), Some("idle-timeout")));
    // The last packet before the outage at 8 s is in flight for less than 0.1 s.
    assert!((10.0..10.1).contains(&ended.ended_after_s.unwrap()), "{ended:?}");
    assert!(warned(&cut_off, "1 of 1 flows ended before their time"));
    // A transfer that is over ends in silence, and so do many.
    let size = "flows.0.traffic={kind=\"bulk\", size=\"100 kB\"}";
    let over = run(LABORATORY, &[&quic(", idle_timeout=\"2 s\""), size]);
    let short = "flows.0.traffic={kind=\"short-flows\", size=\"20 kB\", interval=\"2 s\"}";
    let many = run(LABORATORY, &[&quic(", idle_timeout=\"2 s\""), short]);
    assert_eq!(flow(&over).delivered_bytes, 100_000);
    assert!(many.summary.flows.iter().filter(|flow| flow.completion_s.is_some()).count() > 3);
    for record in [&over, &many] {
        for flow in &record.summary.flows {
            let ended = (flow.ended_connections.unwrap_or(0), flow.end_cause.as_deref(), flow.ended_after_s);
            assert_eq!(ended, (0, None, None), "{flow:?}");
        }
        assert!(!warned(record, "ended before"), "{:?}", record.summary.warnings);
    }
    // Without a path a transfer is not over, whatever its size.
    let large = "flows.0.traffic={kind=\"bulk\", size=\"14 MB\"}";
    let cut_off = run(LABORATORY, &[&quic(", idle_timeout=\"2 s\""), large, &outage()]);
    assert_eq!(
        (flow(&cut_off).ended_connections, flow(&cut_off).end_cause.as_deref()),
        (Some(1), Some("idle-timeout"))
    );
    // A time-out that is longer than the outage ends nothing, as none.
    for transport in [quic(", idle_timeout=\"10 s\""), quic("")] {
        let whole = run(LABORATORY, &[&transport, &outage()]);
        assert_eq!(flow(&whole).ended_connections, Some(0));
        assert!(flow(&whole).goodput_bps > 1.3 * ended.goodput_bps);
    }
}

/// One way takes 30 ms: the first data after an outage come after one round trip with a ticket, and after two without.
#[test]
fn a_ticket_saves_a_round_trip_after_an_outage() {
    let after = |mode: &str| {
        let record = run(LABORATORY, &[&quic(&format!(", idle_timeout=\"2 s\", reopen=\"{mode}\"")), &outage()]);
        let flow = flow(&record);
        // At 10 s nothing gets through: a second attempt at 12 s does.
        assert_eq!((flow.ended_connections, flow.reopened_connections), (Some(2), Some(2)), "{flow:?}");
        assert!(flow.goodput_bps > 0.6 * 10e6 && !warned(&record, "ended before"), "{flow:?}");
        flow.resumption_s.unwrap()
    };
    let (one, zero) = (after("1-rtt"), after("0-rtt"));
    assert!((0.060..0.064).contains(&zero), "{zero}");
    assert!((one - zero - 0.060).abs() < 0.004, "{one} {zero}");
}

#[test]
fn a_transfer_and_pages_go_on_where_they_were_cut_off() {
    let reopens = quic(", idle_timeout=\"1 s\", reopen=\"0-rtt\"");
    let size = "flows.0.traffic={kind=\"bulk\", size=\"14 MB\", start=\"7.9 s\"}";
    let (up, down) = ("flows.0.direction=up", "flows.0.direction=down");
    for direction in [up, down] {
        let record = run(LABORATORY, &[&reopens, size, direction, &outage(), "duration=40 s"]);
        let flow = flow(&record);
        assert!(flow.reopened_connections > Some(0), "{flow:?}");
        assert_eq!(flow.delivered_bytes, 14_000_000, "{direction}");
        assert!(flow.completion_s.is_some(), "{direction}: {flow:?}");
    }
    let pages = |requests: &str, connections: u32| {
        let web = format!(
            "flows.0.traffic={{kind=\"web\", requests=\"{requests}\", connections={connections}, reading=\"100 ms\"}}"
        );
        let record = run(LABORATORY, &[&reopens, &web, &outage(), "duration=40 s"]);
        assert!(record.summary.flows.iter().any(|flow| flow.reopened_connections > Some(0)));
        let web = report!(flow(&record), Web);
        (web.pages, record.summary.flows.iter().map(|flow| flow.delivered_bytes).sum::<u64>())
    };
    for (requests, connections) in [("multiplexed", 1), ("pipelined", 1), ("sequential", 2)] {
        let (pages, bytes) = pages(requests, connections);
        assert!(pages > 20 && bytes > 0, "{requests}: {pages} pages, {bytes} B");
    }
}

/// A user reads for longer than the idle time-out: the next page opens the next connection, not the end of the last.
/// The resumption holds no reading time: a round trip of 80 ms after a handshake of as much, or none.
#[test]
fn a_user_who_reads_opens_a_connection_for_the_next_page() {
    for (mode, trips) in [("1-rtt", 2.0), ("0-rtt", 1.0)] {
        for requests in ["pipelined", "sequential", "multiplexed"] {
            let web =
                format!("flows.0.traffic={{kind=\"web\", requests=\"{requests}\", connections=1, reading=\"20 s\"}}");
            let reopens = quic(&format!(", idle_timeout=\"2 s\", reopen=\"{mode}\""));
            let record = run(LABORATORY, &[&reopens, &web, "duration=200 s"]);
            let (flow, what) = (flow(&record), format!("{mode} {requests}"));
            let pages = report!(flow, Web).pages;
            let reopened = flow.reopened_connections.unwrap();
            assert!(pages > 4, "{what}: {flow:?}");
            // Some pages are read in less than the idle time-out.
            assert!((pages / 2..=pages).contains(&reopened), "{what}: {reopened} of {pages}");
            let resumption = flow.resumption_s.unwrap() / 0.080;
            assert!((trips..trips + 0.5).contains(&resumption), "{what}: {resumption}");
            assert!(!warned(&record, "ended before"), "{what}: {:?}", record.summary.warnings);
        }
    }
}

#[test]
fn a_migrating_connection_validates_its_address_and_begins_anew() {
    let of = |more: &str| run(GATEWAYS, &[&format!("flows.0.transport={{kind=\"quic\", client=\"user\"{more}}}")]);
    let (stays, migrates) = (of(""), of(", migration=true"));
    assert_eq!((flow(&stays).migrations, flow(&migrates).migrations), (Some(0), Some(5)));
    assert_eq!(flow(&migrates).ended_connections, Some(0));
    let lost = |record: &Record| record.summary.conservation.dropped_by_reason["old_address"];
    assert_eq!(lost(&stays), 0);
    // What the server sends until it hears from the new address: some 10 ms of 20 Mbit/s, and a burst.
    assert!((10..300).contains(&lost(&migrates)), "{}", lost(&migrates));
    let ratio = flow(&migrates).goodput_bps / flow(&stays).goodput_bps;
    assert!((0.97..1.0).contains(&ratio), "{ratio}");
    // Slow start at each address: it overshoots there, as at the beginning.
    assert!(flow(&migrates).retransmitted_packets > 3 * flow(&stays).retransmitted_packets);
    let pieces = run_in_pieces(GATEWAYS, &["flows.0.transport={kind=\"quic\", client=\"user\", migration=true}"], 17);
    assert_eq!(pieces.summary, migrates.summary);
}

#[test]
fn a_connection_that_may_not_migrate_ends_and_another_takes_its_place() {
    let of = |more: &str| run(GATEWAYS, &[&format!("flows.0.transport={{kind=\"quic\", client=\"user\"{more}}}")]);
    let dies = of(", migration=false, idle_timeout=\"3 s\"");
    assert_eq!((flow(&dies).migrations, flow(&dies).end_cause.as_deref()), (Some(0), Some("idle-timeout")));
    assert!(flow(&dies).goodput_bps < 5e6 && warned(&dies, "1 of 1 flows ended before their time"));
    let reopens = of(", migration=false, idle_timeout=\"3 s\", reopen=\"0-rtt\"");
    // Two of the five changes are within the time that a connection takes to end.
    assert_eq!((flow(&reopens).migrations, flow(&reopens).reopened_connections), (Some(0), Some(4)));
    // 3 s of 90 s are lost each time.
    let migrates = flow(&of(", migration=true")).goodput_bps;
    let ratio = flow(&reopens).goodput_bps / migrates;
    assert!((1.0 - 5.0 * 3.0 / 90.0..1.0 - 3.0 * 3.0 / 90.0).contains(&ratio), "{ratio}");
}

#[test]
fn what_cannot_be_is_refused_by_its_option() {
    for (options, says) in [
        ("reopen=\"0-rtt\"", "flows.0.transport.idle_timeout: reopen needs one"),
        ("client=\"user\", migration=false", "flows.0.transport.idle_timeout: migration = false needs one"),
        ("migration=true", "flows.0.transport.client: the address of a client may change"),
        ("idle_timeout=\"1 ms\"", "flows.0.transport.idle_timeout: 1 ms is not from 10 ms to"),
    ] {
        let edit = format!("flows.0.transport={{kind=\"quic\", {options}}}");
        let error = scenario(LABORATORY, &[&edit]).check().unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    }
}
