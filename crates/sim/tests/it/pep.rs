//! A proxy that splits the connection at the gateway.

use crate::util::{self, LABORATORY, report, run, run_in_pieces};
use proptest::prelude::*;
use sim::{FlowSummary, Record};

fn pep(delay: &str, buffer: &str, transport: &str) -> String {
    format!(
        "flows.0.pep={{delay=\"{delay}\", buffer=\"{buffer}\", \
         transport={{kind=\"tcp\", mss=\"1448 B\", {transport}}}}}"
    )
}

fn first(record: &Record) -> &FlowSummary {
    &record.summary.flows[0]
}

#[test]
fn every_byte_passes_the_gateway_once_and_the_end_is_handed_on() {
    let pep = pep("20 ms", "100 kB", "congestion=\"newreno\"");
    let loss = "channel={kind=\"bernoulli\", loss=\"2 %\"}";
    let edits = [&pep, loss, "flows.0.traffic={kind=\"bulk\", size=\"300 kB\"}", "flows.0.count=3"];
    let record = run(LABORATORY, &edits);
    for flow in &record.summary.flows {
        let pep = flow.pep.as_ref().unwrap();
        assert_eq!((flow.delivered_bytes, pep.relayed_bytes), (300_000, 300_000));
        assert!(pep.held_bytes_max <= 100_000, "{pep:?}");
        assert_eq!(pep.retransmitted_packets, 0, "the ground loses nothing");
        assert!(flow.retransmitted_packets > 0);
        assert!(flow.goodput_bps > 5e5, "measured until the last byte, not until the end of the run");
        assert_eq!((flow.congestion.as_deref(), pep.congestion.as_str()), (Some("newreno"), "cubic"));
    }
    assert_eq!(record.summary.conservation.in_flight, 0, "both connections have ended");
}

/// Segments that are no multiple of what the window's scale can tell, and a buffer that is always full: what the
/// gateway has once offered to take it takes.
#[test]
fn a_full_gateway_discards_nothing() {
    let pep = pep("20 ms", "1 MB", "congestion=\"newreno\"");
    let edits = [&pep, "last_hop.rate=\"2 Mbit/s\"", "flows.0.transport.mss=\"1063 B\"", "duration=30 s"];
    let record = run(LABORATORY, &edits);
    let pep = first(&record).pep.as_ref().unwrap();
    assert!(pep.held_bytes_max > 990_000, "{pep:?}");
    assert_eq!((pep.retransmitted_packets, pep.rto_events), (0, 0), "{pep:?}");
}

#[test]
fn a_flow_without_a_proxy_has_no_such_key() {
    let flow = serde_json::to_value(first(&run(LABORATORY, &["duration=1 s"]))).unwrap();
    assert!(flow.get("pep").is_none());
}

#[test]
fn the_delays_are_those_of_the_two_parts() {
    // One segment in the gateway at a time: a segment's round trip over the ground, then one over the satellites.
    let record = run(LABORATORY, &[&pep("20 ms", "1448 B", "congestion=\"newreno\"")]);
    let flow = first(&record);
    let satellite = 0.080 + 1500.0 * 8.0 / 10e6;
    assert!((flow.rtt_mean_s.unwrap() - satellite).abs() < 1e-3, "{flow:?}");
    let pep = flow.pep.as_ref().unwrap();
    assert_eq!(pep.held_bytes_max, 1448);
    let cycle = 0.040 + satellite;
    let expected = 1448.0 * 8.0 / cycle;
    assert!((flow.goodput_bps / expected - 1.0).abs() < 0.02, "{} of {expected}", flow.goodput_bps);
}

/// The window that the gateway offers the server is what is left of its buffer: with a rate of C over the satellites
/// and a buffer of B, what is in flight to the user and not acknowledged never exceeds B.
#[test]
fn a_small_buffer_holds_the_server_back() {
    for buffer in [20_000u64, 50_000, 200_000] {
        let record = run(LABORATORY, &[&pep("20 ms", &format!("{buffer} B"), "congestion=\"cubic\"")]);
        let flow = first(&record);
        let pep = flow.pep.as_ref().unwrap();
        assert!(pep.held_bytes_max <= buffer && pep.held_bytes_max > buffer / 2, "{buffer}: {pep:?}");
        // Room is filled for a round trip of the satellites, and then empty for one of the ground: window update and
        // data.
        let bound = (buffer as f64 * 8.0 / (0.0812 + 0.040)).min(10e6 * 1448.0 / 1500.0);
        assert!(flow.goodput_bps < bound, "{buffer}: {} of at most {bound}", flow.goodput_bps);
        // Segments do not fill the window to the byte, and room is told where it is twice what the server knows.
        assert!(flow.goodput_bps > 0.85 * bound, "{buffer}: {} of at most {bound}", flow.goodput_bps);
    }
}

/// RFC 3135 section 3.1.1 and RFC 2760: what a split is for. Losses on the satellite part are repaired from the
/// gateway, by a controller whose growth does not suffer from the long round trip.
#[test]
fn losses_over_satellites_hurt_less_behind_a_proxy_with_a_suited_controller() {
    let satellite =
        ["path.delay=250 ms", "channel={kind=\"bernoulli\", loss=\"0.1 %\"}", "duration=300 s", "record.series=false"];
    let newreno = "flows.0.transport.congestion=newreno";
    // End to end over the same way: the 20 ms of the ground added to the path.
    let whole = run(LABORATORY, &[&satellite[1..], &[newreno, "path.delay=270 ms"]].concat());
    let split = pep("20 ms", "4 bdp", "congestion=\"hybla\"");
    let split = run(LABORATORY, &[&satellite[..], &[newreno, &split]].concat());
    let (whole, split) = (first(&whole).goodput_bps, first(&split).goodput_bps);
    assert!(split > 2.0 * whole, "{split:.0} with the proxy, {whole:.0} without");
}

/// A page of one segment: the user's handshake and the request go over the satellites once each, and the gateway has
/// opened its connection to the server before the request comes.
#[test]
fn a_page_takes_a_handshake_and_a_round_trip_over_both_parts() {
    let web = "flows.0.traffic={kind=\"web\", pages=1, request=\"350 B\", \
               main=\"1000 B\", objects={kind=\"constant\", count=0}}";
    let linux = "flows.0.transport={kind=\"tcp\", profile=\"linux\", mss=\"1448 B\"}";
    let edits = [web, linux, &pep("20 ms", "100 kB", "profile=\"linux\"")];
    let record = run(LABORATORY, &edits);
    let flow = first(&record);
    let (satellite, ground) = (0.080, 0.040);
    let page = 8.0 * (1000.0 + 52.0) / 10e6;
    // The SYN-ACK has its own time on the last hop.
    let syn_ack = 8.0 * 60.0 / 10e6;
    let expected = satellite + syn_ack + satellite + ground + page;
    let measured = report!(flow, Web).load_mean_s.unwrap();
    assert!((measured - expected).abs() < 1e-6, "{measured} s, {expected} s expected");
    let pep = flow.pep.as_ref().unwrap();
    assert_eq!((pep.relayed_bytes, pep.returned_bytes, pep.held_bytes_max), (1000, 350, 1000));
    assert_eq!(flow.delivered_bytes, 1000);
    assert_eq!(record.summary.conservation.in_flight, 0, "both connections have ended");
}

/// What a split is used for most: pages over a geostationary satellite, whose window grows over the satellites only as
/// the gateway's options have it.
#[test]
fn pages_over_a_geostationary_satellite_come_sooner_with_a_large_first_window() {
    let web = "flows.0.traffic={kind=\"web\", pages=5, main=\"50 kB\", objects={kind=\"constant\", count=20}, \
               embedded=\"20 kB\", reading=\"1 s\"}";
    let linux = "flows.0.transport={kind=\"tcp\", profile=\"linux\", mss=\"1448 B\"}";
    let common = ["duration=120 s", web, linux, "record.series=false"];
    let mean = |edits: &[&str]| {
        let record = run(LABORATORY, &[&common[..], edits].concat());
        let web = report!(first(&record), Web);
        assert_eq!(web.pages, 5);
        web.load_mean_s.unwrap()
    };
    let whole = mean(&["path.delay=270 ms"]);
    let alike = mean(&["path.delay=250 ms", &pep("20 ms", "4 bdp", "profile=\"linux\"")]);
    let large = mean(&["path.delay=250 ms", &pep("20 ms", "4 bdp", "profile=\"linux\", initial_window=100")]);
    assert!(alike < whole, "{alike} s with a proxy, {whole} s without");
    assert!(large < 0.75 * whole, "{large} s with a proxy and a large window, {whole} s without");
}

#[test]
fn uploads_pass_the_gateway_too() {
    let up = ["flows.0.direction=\"up\"", "flows.0.traffic={kind=\"bulk\", size=\"300 kB\"}"];
    let record = run(LABORATORY, &[&up[..], &[&pep("20 ms", "100 kB", "congestion=\"newreno\"")]].concat());
    let flow = first(&record);
    let pep = flow.pep.as_ref().unwrap();
    assert_eq!((flow.delivered_bytes, pep.relayed_bytes, pep.returned_bytes), (300_000, 300_000, 0));
    assert!(pep.held_bytes_max > 0 && pep.held_bytes_max <= 100_000, "{pep:?}");
    assert_eq!((flow.congestion.as_deref(), pep.congestion.as_str()), (Some("newreno"), "cubic"));
    assert!((pep.rtt_mean_s.unwrap() - 0.040).abs() < 1e-6, "{pep:?}");
    assert!((flow.rtt_mean_s.unwrap() - 0.080).abs() < 1e-3, "{flow:?}");
    // The series has what the server got, not the gateway.
    let (times, rates) = (util::column(&record.series, "time_s"), util::column(&record.series, "goodput_bps"));
    let steps = || times.windows(2).zip(&rates[1..]);
    let bytes: f64 = steps().map(|(step, rate)| (step[1] - step[0]) * rate / 8.0).sum();
    assert!((bytes - 300_000.0).abs() < 1.0, "{bytes} B");
    let last = steps().rfind(|(_, rate)| **rate > 0.0).unwrap().0;
    assert!((last[0]..=last[1]).contains(&flow.completion_s.unwrap()), "{last:?} and {:?}", flow.completion_s);
}

/// A first window of data with the SYN fills a small buffer: what the gateway offers is what is left.
#[test]
fn data_with_the_syn_are_in_the_buffer() {
    let bulk = "flows.0.traffic={kind=\"bulk\", size=\"30 kB\"}";
    let cached = "flows.0.transport={kind=\"tcp\", profile=\"linux\", mss=\"1448 B\", fast_open=\"cached\"}";
    for buffer in ["2 kB", "5 kB", "10 kB"] {
        let record = run(LABORATORY, &[bulk, cached, &pep("20 ms", buffer, "profile=\"linux\"")]);
        let pep = first(&record).pep.as_ref().unwrap();
        assert_eq!((pep.relayed_bytes, pep.retransmitted_packets, pep.rto_events), (30_000, 0, 0), "{buffer}");
    }
}

/// What counts is what the server has: 200 ms after the gateway.
#[test]
fn an_upload_ends_at_the_server() {
    let up = ["flows.0.direction=\"up\"", "flows.0.traffic={kind=\"bulk\", size=\"300 kB\"}"];
    let split = |ground: &str| pep(ground, "1 MB", "congestion=\"newreno\"");
    let [near, far] = ["0 s", "200 ms"].map(|ground| run(LABORATORY, &[&up[..], &[&split(ground)]].concat()));
    let after = |record: &Record| first(record).completion_s.unwrap();
    assert!(after(&far) > after(&near) + 0.2, "{} and {} s", after(&near), after(&far));
    let cut = format!("duration={} s", after(&far) - 0.1);
    let record = run(LABORATORY, &[&up[..], &[&split("200 ms"), &cut]].concat());
    let (flow, pep) = (first(&record), first(&record).pep.as_ref().unwrap());
    assert!(flow.delivered_bytes < pep.relayed_bytes, "{} of {}", flow.delivered_bytes, pep.relayed_bytes);
}

/// The cookie that a server gave a gateway is not one that a gateway gave a server.
#[test]
fn a_cookie_is_of_who_calls() {
    let of = |direction: &str, start: &str| {
        format!(
            "{{ first_user=0, direction=\"{direction}\", traffic={{kind=\"bulk\", size=\"1 kB\", start=\"{start}\"}}, \
             transport={{kind=\"tcp\", mss=\"1448 B\", profile=\"linux\", fast_open=true}}, pep={{delay=\"50 ms\"}} }}"
        )
    };
    let (up, down, again) = (of("up", "0 s"), of("down", "2 s"), of("down", "4 s"));
    let first_packets = |flows: &[&String]| {
        let flows = flows.iter().map(|flow| flow.as_str()).collect::<Vec<_>>().join(", ");
        let record = run(LABORATORY, &[&format!("flows=[{flows}]")]);
        record.summary.flows.iter().map(|flow| flow.first_packet_s.unwrap()).collect::<Vec<_>>()
    };
    let (alone, after) = (first_packets(&[&down, &again]), first_packets(&[&up, &down]));
    assert_eq!(after[1], alone[0], "the upload's connections tell the download's nothing");
    assert!(alone[1] < alone[0] - 0.05, "those of a download tell those of the next: {alone:?}");
}

/// The window that the gateway offers the user is what is left of its buffer.
#[test]
fn a_small_buffer_holds_the_user_back() {
    let edits = ["flows.0.direction=\"up\""];
    for buffer in [20_000u64, 50_000] {
        let record =
            run(LABORATORY, &[&edits[..], &[&pep("20 ms", &format!("{buffer} B"), "congestion=\"cubic\"")]].concat());
        let flow = first(&record);
        let pep = flow.pep.as_ref().unwrap();
        assert!(pep.held_bytes_max <= buffer && pep.held_bytes_max > buffer / 2, "{buffer}: {pep:?}");
        let bound = buffer as f64 * 8.0 / (0.080 + 0.040);
        assert!(flow.goodput_bps < bound && flow.goodput_bps > 0.8 * bound, "{} of at most {bound}", flow.goodput_bps);
    }
}

#[test]
fn runs_with_a_proxy_are_functions_of_scenario_and_seed() {
    let pep = pep("20 ms", "1 bdp", "congestion=\"hybla\"");
    let edits =
        [pep.as_str(), "channel={kind=\"bernoulli\", loss=\"1 %\"}", "flows.0.count=3", "flows.0.start_spread=1 s"];
    let base = run(LABORATORY, &edits).summary;
    assert_eq!(base, run(LABORATORY, &edits).summary);
    assert_eq!(base, run_in_pieces(LABORATORY, &edits, 53).summary);
    assert_eq!(base, run(LABORATORY, &[&edits[..], &["record.series=false"]].concat()).summary);
    let pages = [&edits[..], &["flows.0.traffic={kind=\"web\", reading=\"1 s\"}"]].concat();
    assert_eq!(run(LABORATORY, &pages).summary, run_in_pieces(LABORATORY, &pages, 53).summary);
}

#[test]
fn what_cannot_be_is_refused_with_its_path() {
    let says = |edit: &str| util::scenario(LABORATORY, &[edit]).check().unwrap_err().to_string();
    assert!(says("flows.0.pep={buffer=\"1 MB\"}").starts_with("flows.0.pep.delay: is missing"));
    assert!(
        says("flows.0.pep={delay=\"1 ms\", buffer=\"1 kB\"}").starts_with("flows.0.pep.buffer: \"1 kB\" is 1000 B")
    );
    assert!(says("flows.0.pep={delay=\"1 ms\", buffer=\"2 GB\"}").starts_with("flows.0.pep.buffer: \"2 GB\""));
    let line = says("flows.0.pep={delay=\"1 ms\", transport={kind=\"tcp\", initial_window=0}}");
    assert!(line.starts_with("flows.0.pep.transport.initial_window: "), "{line}");
    let line = says("flows.0.pep={delay=\"1 ms\", transport=\"udp\"}");
    assert!(line.starts_with("flows.0.pep.transport.kind: udp cannot carry bulk, tcp"), "{line}");
    assert!(!line.contains("quic"), "it advertises no window: {line}");
    let voice = ["flows.0.traffic=voice", "flows.0.transport=quic", "flows.0.pep={delay=\"1 ms\"}"];
    let line = util::scenario(LABORATORY, &voice).check().unwrap_err().to_string();
    assert_eq!(line, "flows.0.transport.kind: quic cannot carry voice, nor can another transport that a proxy splits");
    let line = util::scenario(util::LEO, &["flows.0.pep={delay=\"1 ms\", transport={kind=\"tcp\", mss=\"1448 B\"}}"]);
    let line = line.check().unwrap_err().to_string();
    assert!(line.starts_with("flows.0.pep.transport.mss: ") && line.contains("1115 B"), "{line}");
    // The server's packets do not cross the HARQ.
    let edits = ["flows.0.transport.mss=1448 B", "flows.0.pep={delay=\"1 ms\", transport=\"tcp\"}"];
    util::scenario(util::LEO, &edits).check().unwrap();
    let resolved = util::scenario(LABORATORY, &["flows.0.pep={delay=\"1 ms\"}"]).resolved_toml().unwrap();
    assert!(resolved.contains("[flows.pep.transport]") && resolved.contains("buffer = \"2 bdp\""), "{resolved}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) })]

    /// Conservation is checked at the end of each run: an error would panic in `run`.
    #[test]
    fn nothing_is_lost_or_made_in_the_gateway(
        seed in 0u64..1000,
        flows in 1u32..4,
        loss in 0.0f64..10.0,
        ground_ms in 0u64..60,
        buffer in 1_500u64..300_000,
        size in 1u64..400_000,
        up in any::<bool>(),
        profile in prop_oneof![Just("classic"), Just("linux"), Just("ns2-linux")],
    ) {
        let direction = if up { "up" } else { "down" };
        let edits = [
            format!("seed={seed}"),
            format!("flows.0.count={flows}"),
            format!("flows.0.direction=\"{direction}\""),
            format!("channel={{kind=\"bernoulli\", loss=\"{loss} %\"}}"),
            pep(&format!("{ground_ms} ms"), &format!("{buffer} B"), &format!("profile=\"{profile}\"")),
            format!("flows.0.traffic={{kind=\"bulk\", size=\"{size} B\"}}"),
            "duration=120 s".to_owned(),
            "record.series=false".to_owned(),
        ];
        let summary = run(LABORATORY, &edits.iter().map(String::as_str).collect::<Vec<_>>()).summary;
        for flow in &summary.flows {
            let pep = flow.pep.as_ref().unwrap();
            prop_assert!(flow.delivered_bytes <= pep.relayed_bytes && pep.relayed_bytes <= size);
            prop_assert!(pep.held_bytes_max <= buffer, "{:?}", pep);
            prop_assert!(pep.relayed_bytes - flow.delivered_bytes <= buffer);
            prop_assert_eq!((pep.retransmitted_packets, pep.returned_bytes), (0, 0));
            // 120 s are enough for a loss of a few percent.
            prop_assert!(loss > 5.0 || flow.delivered_bytes == size, "{} of {}", flow.delivered_bytes, size);
        }
    }

    /// Both directions of one connection at once: all requests and all responses pass, whatever the buffer holds.
    #[test]
    fn pages_pass_the_gateway_whole(
        seed in 0u64..1000,
        loss in 0.0f64..5.0,
        ground_ms in 0u64..60,
        buffer in 1_500u64..100_000,
        request in 1u64..20_000,
        object in 1u64..60_000,
        objects in 0u64..12,
        pages in 1u64..4,
        connections in 1u32..4,
        sequential in any::<bool>(),
        profile in prop_oneof![Just("classic"), Just("linux")],
    ) {
        let requests = if sequential { "sequential" } else { "pipelined" };
        let edits = [
            format!("seed={seed}"),
            format!("channel={{kind=\"bernoulli\", loss=\"{loss} %\"}}"),
            format!("flows.0.transport={{kind=\"tcp\", mss=\"1448 B\", profile=\"{profile}\"}}"),
            pep(&format!("{ground_ms} ms"), &format!("{buffer} B"), &format!("profile=\"{profile}\"")),
            format!(
                "flows.0.traffic={{kind=\"web\", pages={pages}, request=\"{request} B\", main=\"{object} B\", \
                 embedded=\"{object} B\", objects={{kind=\"constant\", count={objects}}}, requests=\"{requests}\", \
                 connections={connections}, reading=\"1 s\"}}"
            ),
            "duration=600 s".to_owned(),
            "record.series=false".to_owned(),
        ];
        let summary = run(LABORATORY, &edits.iter().map(String::as_str).collect::<Vec<_>>()).summary;
        prop_assert_eq!(report!(summary.flows[0], Web).pages, pages);
        let all = pages * (1 + objects);
        let (mut down, mut up) = (0, 0);
        for flow in &summary.flows {
            let pep = flow.pep.as_ref().unwrap();
            prop_assert!(pep.held_bytes_max <= buffer, "{:?}", pep);
            prop_assert_eq!(pep.relayed_bytes, flow.delivered_bytes);
            prop_assert_eq!(pep.retransmitted_packets, 0, "the ground loses nothing");
            (down, up) = (down + pep.relayed_bytes, up + pep.returned_bytes);
        }
        prop_assert_eq!((down, up), (all * object, all * request));
        prop_assert_eq!(summary.conservation.in_flight, 0, "all connections have ended");
    }
}
