//! QUIC in a scenario: what it delivers, how it begins, what it records.

use crate::util::{LABORATORY, LEO, cannot_carry, report, run, run_in_pieces, scenario};
use sim::{FlowSummary, Record};
use transport::Service;

const QUIC: &str = "flows.0.transport=quic";

fn quic(edits: &[&str]) -> Record {
    run(LABORATORY, &[&[QUIC], edits].concat())
}

fn flow(edits: &[&str]) -> Box<FlowSummary> {
    quic(edits).summary.flows[0].clone()
}

#[test]
fn it_fills_a_clear_link_as_tcp_does() {
    let (quic, tcp) = (flow(&[]), run(LABORATORY, &[]).summary.flows[0].clone());
    // Of 10 Mbit/s: 1,174 of the 1,228 bytes of a packet.
    assert!(quic.goodput_bps > 0.90 * 10e6 && quic.goodput_bps < 10e6 * 1174.0 / 1228.0, "{quic:?}");
    assert!((quic.goodput_bps / tcp.goodput_bps - 1.0).abs() < 0.1, "{} {}", quic.goodput_bps, tcp.goodput_bps);
    assert_eq!((quic.transport, quic.congestion.as_deref()), ("quic", Some("cubic")));
    // The round trip has 80 ms and a queue of as much at most.
    assert!((0.080..0.170).contains(&quic.rtt_mean_s.unwrap()), "{quic:?}");
    assert!(quic.cwnd_mean_packets.unwrap() > 80.0);
}

#[test]
fn a_run_is_a_function_of_scenario_and_seed() {
    let lossy = ["channel={kind=\"bernoulli\", loss=\"1 %\"}", "flows.0.count=3"];
    let first = quic(&lossy).summary;
    let thread = std::thread::spawn(move || quic(&lossy).summary);
    assert_eq!(thread.join().unwrap(), first);
    assert_eq!(run_in_pieces(LABORATORY, &[&[QUIC], &lossy[..]].concat(), 37).summary, first);
    assert_eq!(quic(&[lossy[0], lossy[1], "record.series=false"]).summary, first);
    assert_ne!(quic(&[lossy[0], lossy[1], "seed=2"]).summary.digest, first.digest);
}

#[test]
fn a_finite_transfer_is_delivered_to_the_byte_and_closed() {
    let size = "flows.0.traffic={kind=\"bulk\", size=\"1 MB\"}";
    for (channel, loses) in [("clear", false), ("{kind=\"bernoulli\", loss=\"3 %\"}", true)] {
        let summary = quic(&[size, &format!("channel={channel}"), "flows.0.count=3"]).summary;
        for flow in &summary.flows {
            assert_eq!(flow.delivered_bytes, 1_000_000);
            assert!(flow.completion_s.is_some(), "{flow:?}");
            let lost = (flow.loss_ratio.unwrap() * flow.sent_packets as f64).round() as u64;
            assert!(lost > 0 || !loses, "{flow:?}");
            assert!(flow.retransmitted_packets >= lost / 2, "{flow:?}");
            // Loss is told by order, and here nothing overtakes: only probes of the tail can be in vain.
            assert!(flow.spurious_retransmissions <= 3, "{flow:?}");
        }
        assert_eq!(summary.conservation.in_flight, 0);
    }
}

/// One way takes 40 ms. The handshake takes a round trip before data; a client that resumes sends them at once.
#[test]
fn data_leave_after_a_round_trip_or_at_once() {
    let first = |mode: &str| {
        let handshake = format!("flows.0.transport.handshake={mode}");
        flow(&[&handshake, "flows.0.transport.pacing=false"]).first_packet_s.unwrap()
    };
    let (one, zero) = (first("1-rtt"), first("0-rtt"));
    assert!((0.120..0.135).contains(&one), "{one}");
    assert!((0.040..0.050).contains(&zero), "{zero}");
}

/// Datagrams may leave in packets of 0-RTT (RFC 9221 section 3): each way of a game, and one of a call.
#[test]
fn datagrams_leave_after_a_round_trip_or_at_once() {
    let first = |mode: &str, traffic: &str| {
        let transport = format!(
            "flows.0.transport={{kind=\"quic\", datagrams=true, packet=\"1500 B\", handshake=\"{mode}\", pacing=false}}"
        );
        let traffic = format!("flows.0.traffic={{{traffic}}}");
        run(LABORATORY, &[&transport, &traffic, "duration=3 s"]).summary.flows[0].clone()
    };
    let voice = "kind=\"voice\"";
    let (one, zero) = (first("1-rtt", voice), first("0-rtt", voice));
    assert!(one.first_packet_s.unwrap() > 0.120 && one.delivered_bytes > 0, "{one:?}");
    assert!((0.040..0.045).contains(&zero.first_packet_s.unwrap()), "{zero:?}");
    // The user of a game opens, and its server answers before the handshake is over.
    let game = "kind=\"game\"";
    let (one, zero) = (first("1-rtt", game), first("0-rtt", game));
    let sooner = one.first_packet_s.unwrap() - zero.first_packet_s.unwrap();
    assert!(sooner > 0.060, "{sooner}");
    let [late, early] = [one, zero].map(|flow| report!(flow, Game).up_delay_p99_s.unwrap());
    assert!(early < 0.060 && late > 0.080, "{early} {late}");
    // A packet with a long header has no room for a datagram that fills one with a short header: it waits.
    let video = "kind=\"live\", packet=\"1400 B\"";
    let (one, zero) = (first("1-rtt", video), first("0-rtt", video));
    assert!(zero.first_packet_s.unwrap() <= one.first_packet_s.unwrap());
    assert!(zero.delivered_bytes >= one.delivered_bytes && one.delivered_bytes > 500_000, "{zero:?}");
}

/// A server discards packets of 1-RTT until the client's handshake is whole (RFC 9001 section 5.7): what is sent again
/// for that had not been received. Nothing overtakes here, so that only probes are in vain.
#[test]
fn what_came_before_its_keys_was_not_received() {
    let edits = [
        "flows.0.transport={kind=\"quic\", pacing=false}",
        "flows.0.traffic={kind=\"bulk\", size=\"20 kB\"}",
        "channel={kind=\"bernoulli\", loss=\"20 %\"}",
    ];
    for seed in 1..12 {
        let flow = run(LABORATORY, &[&edits[..], &[&format!("seed={seed}")]].concat()).summary.flows[0].clone();
        assert_eq!(flow.delivered_bytes, 20_000);
        assert!(flow.spurious_retransmissions < 5, "{seed}: {flow:?}");
    }
}

/// Datagrams in packets that are discarded for want of keys are lost: those of a call, and the updates of a game.
#[test]
fn datagrams_that_came_before_their_keys_are_lost() {
    let edits = |seed: u32, mode: &str, traffic: &str| {
        [
            format!("flows.0.transport={{kind=\"quic\", datagrams=true, handshake=\"{mode}\", pacing=false}}"),
            format!("flows.0.traffic={{{traffic}}}"),
            "channel={kind=\"bernoulli\", loss=\"20 %\"}".to_owned(),
            "duration=3 s".to_owned(),
            format!("seed={seed}"),
        ]
    };
    let mut unknown = Vec::new();
    for mode in ["1-rtt", "0-rtt"] {
        for seed in 1..20 {
            let calls = edits(seed, mode, "kind=\"voice\"");
            let flow = run(LABORATORY, &calls.each_ref().map(String::as_str)).summary.flows[0].clone();
            let call = report!(&flow, Voice);
            // Each has 20 ms of G.711 behind a header of RTP.
            assert_eq!(flow.delivered_bytes, 172 * call.received_packets, "{mode}, seed {seed}");

            let games = edits(seed, mode, "kind=\"game\"");
            let flow = run(LABORATORY, &games.each_ref().map(String::as_str)).summary.flows[0].clone();
            let game = report!(&flow, Game);
            let received = game.down_received as f64;
            // The others of those whose fate is known were lost.
            let known = game.down_loss_ratio.filter(|&ratio| ratio < 1.0).map(|ratio| received / (1.0 - ratio));
            unknown.push(known.map_or(0.0, |known| game.down_sent as f64 - known));
        }
    }
    // What waits or is in flight at the end: one or two, and some more where the window is small.
    assert!(unknown.iter().all(|&count| count > -1e-6), "{unknown:?}");
    assert!(unknown.iter().sum::<f64>() < 1.5 * unknown.len() as f64, "{unknown:?}");
}

#[test]
fn every_controller_carries_it() {
    for kind in transport::CongestionConfig::ALL {
        let edits = [format!("flows.0.transport.congestion={kind}"), "duration=10 s".to_owned()];
        let edits = [QUIC, &edits[0], &edits[1]];
        if *kind == "external" {
            continue; // its code comes from a script
        }
        // One that sends dummy segments is refused, as Peach.
        let refused = scenario(LABORATORY, &edits).check().err().map(|error| error.to_string());
        assert!(refused.is_some() || *kind != "peach");
        if let Some(error) = refused {
            let why = format!("flows.0.transport.congestion: {kind} has dummy segments sent");
            assert!(error.starts_with(&why), "{error}");
            continue;
        }
        let flow = run(LABORATORY, &edits).summary.flows[0].clone();
        assert!(flow.goodput_bps > 5e6, "{kind}: {flow:?}");
        assert_eq!(flow.congestion.as_deref(), Some(*kind));
    }
}

/// The library's CUBIC and NewReno beside ours, on a link with a short queue.
#[test]
fn the_librarys_controllers_do_what_ours_do() {
    for kind in ["cubic", "newreno"] {
        let goodput = |whose: &str| {
            let edits =
                [format!("flows.0.transport={{kind=\"quic\", congestion=\"{kind}\", controllers=\"{whose}\"}}")];
            run(LABORATORY, &[&edits[0], "duration=60 s"]).summary.flows[0].goodput_bps
        };
        let (own, noq) = (goodput("own"), goodput("noq"));
        assert!((own / noq - 1.0).abs() < 0.1, "{kind}: {own:.0} and {noq:.0} bit/s");
    }
}

#[test]
fn fewer_acknowledgments_are_sent_where_asked() {
    let packets = |every: u32| {
        let record = quic(&[&format!("flows.0.transport.ack_every={every}")]);
        let flow = &record.summary.flows[0];
        (record.summary.conservation.created - flow.sent_packets) as f64 / flow.received_packets as f64
    };
    let shares = [1, 2, 10].map(packets);
    let expected = [1.0, 0.5, 0.1];
    for (share, expected) in shares.into_iter().zip(expected) {
        assert!((0.9 * expected..1.35 * expected).contains(&share), "{shares:?}");
    }
}

/// Of 43 packets at once the link lets one go each millisecond: the mean waits 21 ms, unless the pacer spreads them.
#[test]
fn pacing_and_the_initial_window_are_options() {
    let size = "flows.0.traffic={kind=\"bulk\", size=\"50 kB\"}";
    let of = |options: &str| flow(&[size, &format!("flows.0.transport={{kind=\"quic\", {options}}}")]);
    let (paced, unpaced) = (of("initial_window=60"), of("initial_window=60, pacing=false"));
    let waits = |flow: &FlowSummary| flow.one_way_delay_mean_s.unwrap() - 0.041;
    assert!(waits(&paced) < 0.003, "{paced:?}");
    assert!((0.018..0.025).contains(&waits(&unpaced)), "{unpaced:?}");
    let ten = of("initial_window=10, pacing=false");
    // Two round trips more: 10, 20 and 13 packets.
    let longer = ten.completion_s.unwrap() - unpaced.completion_s.unwrap();
    assert!((0.1..0.17).contains(&longer), "{ten:?} {unpaced:?}");
}

/// RFC 9002 section 7.2: the least window is two packets, with which a handshake comes to its end.
#[test]
fn a_window_has_two_packets_at_least() {
    let hybla = "flows.0.transport={kind=\"quic\", congestion={kind=\"hybla\", initial_rho=true}}";
    let near = ["path.delay=1 ms", "last_hop.delay=1 ms", "duration=5 s"];
    for handshake in ["1-rtt", "0-rtt"] {
        let handshake = format!("flows.0.transport.handshake={handshake}");
        let goodput = run(LABORATORY, &[&[hybla, &handshake], &near[..]].concat()).summary.flows[0].goodput_bps;
        assert!(goodput > 0.8 * 10e6, "{goodput}");
        let two = flow(&["flows.0.transport.initial_window=2", &handshake]);
        assert!(two.goodput_bps > 0.85 * 10e6, "{two:?}");
    }
    let error = scenario(LABORATORY, &[QUIC, "flows.0.transport.initial_window=1"]).check().unwrap_err().to_string();
    assert!(error.starts_with("flows.0.transport.initial_window: 1 was given: must be between 2 and"), "{error}");
}

/// RFC 9002 section 7.8: the peer takes 85 packets of 1,174 bytes, some more with those that it grants at once.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let wide = ["path.delay=40 ms", "last_hop.rate=100 Mbit/s"];
    let mean = |congestion: &str, more: &str| {
        let transport = format!("flows.0.transport={{kind=\"quic\", congestion=\"{congestion}\"{more}}}");
        run(LABORATORY, &[&[transport.as_str()], &wide[..]].concat()).summary.flows[0].cwnd_mean_packets.unwrap()
    };
    for congestion in ["newreno", "cubic", "prague"] {
        let limited = mean(congestion, ", ecn=true, receive_window=\"100 kB\"");
        assert!((85.0..200.0).contains(&limited), "{congestion}: {limited}");
        assert!(mean(congestion, ", ecn=true, receive_window=\"2 MB\"") > 5.0 * limited);
    }
}

/// A controller that takes the count of marks has them, as with TCP, unless they are refused.
#[test]
fn ecn_is_what_the_controller_needs() {
    let queue = "last_hop.queue={kind=\"droptail\", mark_above=\"20 ms\"}";
    let marked = |options: &str| {
        let transport = format!("flows.0.transport={{kind=\"quic\", {options}}}");
        run(LABORATORY, &[&transport, queue]).summary.flows[0].marked_packets
    };
    for kind in ["prague", "dctcp"] {
        assert!(marked(&format!("congestion=\"{kind}\"")) > 0, "{kind}");
        assert_eq!(marked(&format!("congestion=\"{kind}\", ecn=false")), 0, "{kind}");
    }
    assert_eq!(marked("congestion=\"cubic\""), 0);
}

#[test]
fn marks_slow_the_sender_without_a_loss() {
    let queue = "last_hop.queue={kind=\"droptail\", mark_above=\"20 ms\"}";
    let room = "last_hop.scheduler.buffer=4 bdp";
    for kind in ["cubic", "newreno", "dctcp", "prague"] {
        let transport = format!("flows.0.transport={{kind=\"quic\", ecn=true, congestion=\"{kind}\"}}");
        let summary = run(LABORATORY, &[&transport, queue, room, "duration=60 s"]).summary;
        let flow = &summary.flows[0];
        assert!(flow.marked_packets > 0, "{kind}: {flow:?}");
        assert_eq!((flow.retransmitted_packets, summary.conservation.dropped), (0, 0), "{kind}: {flow:?}");
        assert!(flow.goodput_bps > 5e6, "{kind}: {flow:?}");
    }
    let without = run(LABORATORY, &[QUIC, queue, room]).summary;
    assert_eq!(without.flows[0].marked_packets, 0);
}

#[test]
fn marks_of_acknowledgments_are_not_those_of_the_flow() {
    let upload = "flows.0.direction=up";
    let queue = "last_hop.queue={kind=\"droptail\", mark_above=\"1 packets\"}";
    let transport = "flows.0.transport={kind=\"quic\", ecn=true, congestion=\"prague\"}";
    let sets = [upload, queue, transport, "last_hop.rate=300 kbit/s", "flows.0.traffic.size=300 kB"];
    let record = run(LABORATORY, &sets);
    assert!(record.summary.last_hop.marked_packets > 0, "{:?}", record.summary.last_hop);
    assert_eq!(record.summary.flows[0].marked_packets, 0);
}

#[test]
fn a_voice_goes_by_datagrams() {
    let voice = "flows.0.traffic={kind=\"voice\"}";
    let flow = |transport: &str| run(LABORATORY, &[voice, transport, "duration=30 s"]).summary.flows[0].clone();
    let (quic, udp) = (flow("flows.0.transport={kind=\"quic\", datagrams=true}"), flow("flows.0.transport=udp"));
    // Those that were written before the handshake was over share packets.
    assert_eq!(quic.delivered_bytes, udp.delivered_bytes);
    assert!((0..10).contains(&(udp.received_packets - quic.received_packets)), "{quic:?}");
    assert!((quic.mos.unwrap() - udp.mos.unwrap()).abs() < 0.05, "{:?} {:?}", quic.experience, udp.experience);
    assert_eq!((quic.retransmitted_packets, quic.lost_late), (0, udp.lost_late));
}

/// A game sees the wait of datagrams that the window holds back.
#[test]
fn datagrams_wait_at_the_sender_since_they_were_written() {
    let quic = "flows.0.transport={kind=\"quic\", datagrams=true}";
    let narrow = [quic, "duration=10 s", "last_hop.rate=20 kbit/s", "flows.0.traffic={kind=\"game\"}"];
    let played = run(LABORATORY, &narrow).summary.flows[0].clone();
    let game = report!(played, Game);
    assert!(game.down_delay_p95_s.unwrap() > 1.5 * played.one_way_delay_p95_s.unwrap(), "{game:?}, {played:?}");
}

/// However many are lost, the path carries packets of the size that the scenario has.
#[test]
fn losses_do_not_make_packets_smaller() {
    let quic = "flows.0.transport={kind=\"quic\", datagrams=true, packet=\"1500 B\"}";
    let video = "flows.0.traffic={kind=\"live\", packet=\"1400 B\"}";
    let flow = run(LABORATORY, &[quic, video, "duration=60 s", "channel={kind=\"bernoulli\", loss=\"60 %\"}"])
        .summary
        .flows[0]
        .clone();
    assert!(flow.received_packets > 50, "{flow:?}");
}

/// Over a long path with an overflow thousands of pieces wait for those that were lost, some of them many to a packet.
#[test]
fn what_has_arrived_in_many_small_pieces_is_delivered() {
    let path = ["path.delay=270 ms", "last_hop.delay=0 ms", "record.series=false", "duration=60 s"];
    let size = "flows.0.traffic={kind=\"bulk\", size=\"16 MB\"}";
    for (rate, buffer, transport) in [
        ("10 Mbit/s", "1 bdp", "{kind=\"quic\", congestion=\"bbr\"}"),
        ("20 Mbit/s", "1.2 bdp", "{kind=\"quic\", congestion=\"cubic\", client=\"user\"}"),
    ] {
        let rate = format!("last_hop.rate={rate}");
        let queue = format!("last_hop.scheduler={{kind=\"droptail\", buffer=\"{buffer}\"}}");
        let transport = format!("flows.0.transport={transport}");
        let flow = &run(LABORATORY, &[&path[..], &[size, &rate, &queue, &transport]].concat()).summary.flows[0];
        assert_eq!(flow.delivered_bytes, 16_000_000, "{transport}: {flow:?}");
        assert!(flow.completion_s.is_some(), "{transport}: {flow:?}");
    }
}

#[test]
fn the_last_hop_with_harq_carries_it_where_the_blocks_are_large_enough() {
    let error = scenario(LEO, &[QUIC]).check().unwrap_err().to_string();
    assert!(error.starts_with("flows.0.transport.packet: ") && error.contains("1228 B"), "{error}");
    assert!(error.contains("last_hop.harq.block"), "{error}");
}

/// A packet that comes so late that its shortened number stands for another is none, as with a real cipher: the
/// jumps of this path hold packets back for longer than a window.
#[test]
fn a_late_packet_is_not_taken_for_another() {
    let path = ["path={kind=\"starlink\", model=\"seattle-2023\"}", "last_hop.rate=path", "last_hop.delay=0 s"];
    let queue = "last_hop.scheduler={kind=\"droptail\", buffer=\"100 ms\"}";
    for seed in 1..=3 {
        let summary = quic(&[&path[..], &[queue, "duration=40 s", &format!("seed={seed}")]].concat()).summary;
        assert!(summary.flows[0].goodput_bps > 15e6, "{:?}", summary.flows[0]);
    }
}

#[test]
fn wrong_options_are_refused_by_name() {
    let refused = [
        ("flows.0.transport={kind=\"quik\"}", "flows.0.transport.kind", "did you mean \"quic\"?"),
        ("flows.0.transport={kind=\"quic\", pacin=true}", "flows.0.transport.pacin", "did you mean \"pacing\"?"),
        ("flows.0.transport={kind=\"quic\", packet=\"1000 B\"}", "flows.0.transport.packet", "from 1228 B"),
        ("flows.0.transport={kind=\"quic\", handshake=\"2-rtt\"}", "flows.0.transport.handshake", "1-rtt"),
        ("flows.0.transport={kind=\"quic\", ack_every=0}", "flows.0.transport.ack_every", "1"),
        ("flows.0.transport={kind=\"quic\", max_ack_delay=\"0 s\"}", "flows.0.transport.max_ack_delay", "1 ms"),
        (
            "flows.0.transport={kind=\"quic\", controllers=\"noq\", congestion=\"bbr\"}",
            "flows.0.transport.controllers",
            "noq has CUBIC and NewReno",
        ),
        (
            "flows.0.transport={kind=\"quic\", datagrams=true}",
            "flows.0.transport.datagrams",
            "quic carries bulk with datagrams = false",
        ),
        ("flows.0={transport=\"quic\", traffic=\"voice\"}", "flows.0.transport.datagrams", "datagrams = true"),
        (
            "flows.0.transport={kind=\"quic\", controllers=\"noq\", congestion={kind=\"newreno\", beta=0.9}}",
            "flows.0.transport.congestion.beta",
            "the newreno of noq has constants of its own",
        ),
        (
            "flows.0.pep={delay=\"10 ms\", transport={kind=\"quic\"}}",
            "flows.0.pep.transport.kind",
            "a proxy splits connections of tcp, and the transport is quic",
        ),
    ];
    for (edit, field, says) in refused {
        let error = scenario(LABORATORY, &[edit]).check().expect_err(edit).to_string();
        assert!(error.starts_with(field) && error.contains(says), "{edit}: {error}");
    }
}

/// Where each request has a stream, all of them may be over while the application goes on.
#[test]
fn a_browser_whose_user_reads_has_not_finished() {
    let of = |more: &str| {
        let page = format!(
            "flows.0.traffic={{kind=\"web\", requests=\"multiplexed\", main=\"100 kB\", embedded=\"1 kB\", \
             objects={{kind=\"constant\", count=3}}, reading=\"1 h\"{more}}}"
        );
        let record = quic(&[&page, "duration=10 s"]);
        let flow = record.summary.flows[0].clone();
        assert_eq!((flow.delivered_bytes, report!(flow, Web).pages), (103_000, 1));
        flow
    };
    let (reads, leaves) = (of(""), of(", pages=1"));
    assert_eq!((reads.completion_s, reads.goodput_bps), (None, 103_000.0 * 8.0 / 10.0));
    let loaded = leaves.completion_s.unwrap();
    assert!((0.2..2.0).contains(&loaded) && (leaves.goodput_bps * loaded / 8.0 - 103_000.0).abs() < 1e-6, "{leaves:?}");
}

/// Head-of-line blocking: over one byte stream a lost packet holds up every object behind it, over streams of their own
/// only its own. Both have the same transport, and a window that lets a page of 40 objects go at once.
#[test]
fn a_loss_holds_up_one_object_and_not_those_behind_it() {
    let responses = |requests: &str| {
        let traffic = format!(
            "flows.0.traffic={{kind=\"web\", requests=\"{requests}\", main=\"1 kB\", embedded=\"1 kB\", \
             objects={{kind=\"constant\", count=40}}, pages=1, parsing=\"10 ms\"}}"
        );
        let quic = "flows.0.transport={kind=\"quic\", initial_window=200, pacing=false}";
        let users = ["flows.0.count=100", "flows.0.start_spread=40 s", "duration=60 s", "last_hop.rate=100 Mbit/s"];
        let edits = [&[quic, &traffic, "channel={kind=\"bernoulli\", loss=\"2 %\"}"], &users[..]].concat();
        let flows = run(LABORATORY, &edits).summary.flows;
        let times = flows.iter().map(|flow| report!(flow, Web));
        assert!(times.clone().all(|web| web.pages == 1 && web.responses == 41));
        times.map(|web| web.response_mean_s.unwrap()).sum::<f64>() / flows.len() as f64
    };
    let (free, held) = (responses("multiplexed"), responses("pipelined"));
    assert!(free < 0.9 * held, "{free} {held}");
    let error = scenario(LABORATORY, &["flows.0.traffic={kind=\"web\", requests=\"multiplexed\"}"]).check();
    let error = error.unwrap_err().to_string();
    assert_eq!(error, cannot_carry("tcp", "web", &[Service::Streams]));
}
