//! What satellites that move do to packets: handovers, outages, links of a limited rate, and a last hop that follows
//! them.

use crate::util::{LABORATORY, LEO, column, run, run_in_pieces, scenario};
use sim::{Column, Record, Scenario, Simulation};
use units::{MemoryFiles, Time};

/// A user under a low shell with links, whose satellite changes at most every 15 s; a clear last hop that follows it.
const SHELL: &str = r#"
title    = "a low shell"
duration = "200 s"
seed     = 1
[path]
kind          = "constellation"
constellation = "starlink-shell-1"
source        = { latitude = "43.6 deg", longitude = "1.4 deg" }
user          = { latitude = "48.9 deg", longitude = "2.3 deg" }
handover      = { kind = "fixed-epochs", every = "15 s" }
[channel]
kind    = "clear"
carrier = "2 GHz"
[last_hop]
rate       = "10 Mbit/s"
delay      = "orbit"
scheduler  = { kind = "droptail", buffer = "300 packets" }
harq       = { kind = "none" }
reordering = { enabled = true, capacity = 125 }
[[flows]]
transport = { kind = "tcp", congestion = "cubic", profile = "linux" }
traffic   = { kind = "bulk" }
"#;

/// A voice, sent steadily whatever happens: what is lost is seen.
const STEADY: [&str; 2] =
    ["flows.0.transport={kind=\"udp\"}", "flows.0.traffic={kind=\"voice\", rate=\"1 Mbit/s\", packet=\"1000 B\"}"];

fn dropped(record: &Record, reason: &str) -> u64 {
    record.summary.conservation.dropped_by_reason[reason]
}

fn refused(base: &str, edits: &[&str]) -> String {
    match Simulation::new(&scenario(base, edits), None) {
        Ok(_) => panic!("accepted: {edits:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn handovers_that_cost_nothing_lose_nothing() {
    let record = run(SHELL, &STEADY);
    assert!(record.summary.path.handovers >= 2, "{:?}", record.summary.path);
    assert_eq!(record.summary.conservation.dropped, 0);
    let user = record.summary.last_hop.handovers;
    assert!((1..=record.summary.path.handovers).contains(&user), "{user}: those of the gateway cost nothing");
}

#[test]
fn what_a_handover_loses_is_what_was_in_flight() {
    let with = |packets: &str| {
        let at_handover = format!("path.at_handover={{interruption=\"40 ms\", packets=\"{packets}\"}}");
        run(SHELL, &[&STEADY[..], &[&at_handover]].concat())
    };
    let [deliver, forward, lose] = ["deliver", "forward", "lose"].map(with);
    assert_eq!(deliver.summary.conservation.dropped, 0);
    // A burst on the air finds nobody, and without HARQ nothing is repeated.
    assert_eq!(forward.summary.conservation.dropped, dropped(&forward, "harq"));
    assert!(dropped(&forward, "harq") <= forward.summary.last_hop.handovers);
    let harq = "last_hop.harq={kind=\"selective-repeat\"}";
    let at_handover = "path.at_handover={interruption=\"40 ms\", packets=\"forward\"}";
    let repeated = run(SHELL, &[&STEADY[..], &[at_handover, harq]].concat());
    assert_eq!(repeated.summary.conservation.dropped, 0);
    // 125 packets a second and some 20 to 70 ms in flight.
    let lost = dropped(&lose, "handover") + dropped(&lose, "path_handover");
    let handovers = lose.summary.last_hop.handovers;
    assert!((2 * handovers..=9 * handovers).contains(&lost), "{handovers}: {:?}", lose.summary.conservation);
    assert_eq!(lose.summary.conservation.dropped, lost);
    assert_eq!(lose.summary.flows[0].lost["lost_handover"], lost);
}

/// A terminal on the return link neither sends nor asks for slots while a handover interrupts it: what comes then waits
/// for a frame after it.
#[test]
fn the_return_link_rests_while_a_handover_interrupts_its_terminals() {
    for method in ["crdsa", "dedicated"] {
        let wait = |interruption: &str| {
            let at_handover = format!("path.at_handover={{interruption=\"{interruption}\", packets=\"lose\"}}");
            let access = format!("access.method={method}");
            let upload = ["flows.0.direction=up", "flows.0.traffic.rate=100 kbit/s", "flows.0.traffic.packet=200 B"];
            run(SHELL, &[&STEADY[..], &upload, &[&*access, &at_handover]].concat()).summary.access.unwrap()
        };
        let (short, long) = (wait("0 s").waiting_mean_s.unwrap(), wait("3 s").waiting_mean_s.unwrap());
        assert!(long > 2.0 * short, "{method}: {short} {long}");
    }
}

#[test]
fn transport_feels_an_interruption() {
    let tcp = |edits: &[&str]| run(SHELL, edits).summary.flows[0].clone();
    let smooth = tcp(&[]);
    let lossy = tcp(&["path.at_handover={interruption=\"500 ms\", packets=\"lose\"}"]);
    let kept = tcp(&["path.at_handover={interruption=\"500 ms\", packets=\"forward\"}"]);
    assert_eq!(smooth.lost["lost_handover"] + kept.lost["lost_handover"], 0);
    assert!(lossy.lost["lost_handover"] > 10, "{lossy:?}");
    assert!(lossy.goodput_bps < kept.goodput_bps && kept.goodput_bps < smooth.goodput_bps);
}

#[test]
fn the_delay_follows_the_range() {
    let record = run(SHELL, &STEADY);
    let path = &record.summary.path;
    let flow = &record.summary.flows[0];
    // One packet takes 0.8 ms on the air; all else is the path, of which the last hop is a part.
    let [least, mean, most] =
        [path.one_way_delay_min_s, path.one_way_delay_mean_s, path.one_way_delay_max_s].map(Option::unwrap);
    let found = flow.one_way_delay_mean_s.unwrap();
    assert!((found - mean - 1000.0 * 8.0 / 10e6).abs() < 2e-4, "{found} s over a path of {mean} s");
    assert!(least < mean && mean < most);
    assert!(path.elevation_min_deg.unwrap() >= 25.0 && path.elevation_max_deg.unwrap() <= 90.0);
    // At most 7 km/s towards the user: 47 kHz at 2 GHz; and some 100 Hz/s or more overhead.
    let doppler = path.doppler_max_hz.unwrap();
    assert!((10e3..50e3).contains(&doppler), "{doppler} Hz");
    assert!((50.0..1000.0).contains(&path.doppler_rate_max_hz_per_s.unwrap()), "{path:?}");
}

#[test]
fn a_last_hop_far_from_the_geometry_is_told() {
    let warnings = |edits: &[&str]| scenario(SHELL, edits).plan().unwrap().warnings().to_vec();
    let told =
        |edits: &[&str]| warnings(edits).iter().any(|warning| warning.starts_with("last_hop.delay: packets take"));
    assert!(!told(&["last_hop.delay=5 ms"]) && !told(&["last_hop.delay=orbit"]));
    assert!(told(&["last_hop.delay=119 ms"]), "{:?}", warnings(&["last_hop.delay=119 ms"]));
}

#[test]
fn symbols_that_do_not_carry_the_last_hops_rate_are_told() {
    let told = |symbol_rate: &str| {
        let budget = format!("eirp=\"60 dBW\", figure_of_merit=\"17 dB/K\", symbol_rate=\"{symbol_rate}\"");
        let budget = format!("{{{budget}, range=\"38000 km\"}}");
        let channel = format!("channel={{kind=\"clear\", carrier=\"20 GHz\", link_budget={budget}}}");
        scenario(LABORATORY, &[&channel]).plan().unwrap().warnings().join("\n")
    };
    assert_eq!(told("5 MHz"), "", "two coded bits for each symbol of QPSK are 10 Mbit/s");
    assert_eq!(told("5.2 MHz"), "");
    let warning = told("1 MHz");
    assert!(warning.starts_with("channel.link_budget.symbol_rate: 1 MHz carries 2 Mbit/s of coded bits"), "{warning}");
    assert!(told("25 MHz").contains("last_hop.rate is 10 Mbit/s"));
}

/// A satellite that comes nearer makes the carrier higher.
#[test]
fn the_doppler_shift_is_positive_while_the_satellite_comes() {
    let record = run(SHELL, &[STEADY[0], STEADY[1], "record.interval=1 s"]);
    let column = |name: &str| match &record.series.columns.iter().find(|column| column.0 == name).unwrap().1 {
        Column::Float(values) => values.clone(),
        other => panic!("{other:?}"),
    };
    let (elevation, doppler) = (column("elevation_deg"), column("doppler_hz"));
    let mut told = 0;
    // From one second to the next a satellite moves by a degree or so; a handover by more.
    for i in 1..elevation.len() {
        let rises = elevation[i] - elevation[i - 1];
        if (0.2..2.0).contains(&rises.abs()) && doppler[i].abs() > 2e3 {
            assert_eq!(rises > 0.0, doppler[i] > 0.0, "after {i} s");
            told += 1;
        }
    }
    assert!(told > 50, "{told}");
}

#[test]
fn without_a_route_packets_are_lost_or_wait() {
    let folder = std::env::temp_dir().join(format!("transorbit-sky-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("gaps.csv"), "0,0.03\n10,\n10.5,0.03\n60,0.03\n").unwrap();
    let gaps = folder.join("gaps.csv").display().to_string();
    let with = |no_route: &str| {
        let path = format!("path={{kind=\"trace\", file=\"{gaps}\", no_route={no_route}}}");
        run(SHELL, &[&STEADY[..], &[&path, "last_hop.delay=10 ms", "duration=20 s"]].concat())
    };
    let lost = with("\"drop\"");
    // Half a second of 125 packets a second.
    assert_eq!(dropped(&lost, "no_route"), 63, "{:?}", lost.summary.conservation);
    assert_eq!(with("{kind=\"queue\", buffer=\"1 MB\"}").summary.conservation.dropped, 0);
    let short = with("{kind=\"queue\", buffer=\"20000 B\"}");
    assert_eq!(dropped(&short, "no_route"), 63 - 20, "twenty fit");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn links_of_a_limited_rate_are_a_bottleneck() {
    let edits = ["path.hops={rate=\"4 Mbit/s\", buffer=\"50 kB\"}", "duration=20 s"];
    let record = run(SHELL, &edits);
    let flow = &record.summary.flows[0];
    assert!((3.2e6..3.9e6).contains(&flow.goodput_bps), "{} bit/s", flow.goodput_bps);
    assert!(dropped(&record, "path_overflow") > 0);
    assert_eq!(flow.lost["lost_overflow"], dropped(&record, "path_overflow"), "the last hop has room");
    let processing = |delay: &str| {
        let hops = format!("path.hops={{processing_delay=\"{delay}\"}}");
        run(LEO, &[&hops, "duration=2 s"]).summary.path.one_way_delay_min_s.unwrap()
    };
    // Six or more satellites on the way to the antipodes.
    let longer = processing("5 ms") - processing("0 ms");
    assert!((0.029..0.06).contains(&longer), "{longer} s");
}

#[test]
fn the_channel_follows_the_elevation() {
    let channel = "channel={kind=\"lms\", environment=\"suburban\", elevation=\"orbit\", carrier=\"2 GHz\", \
                   link_budget={eirp=\"30 dBW\", figure_of_merit=\"-14 dB/K\", symbol_rate=\"5 MHz\"}}";
    let record = run(SHELL, &[channel, "last_hop.harq={kind=\"adaptive\"}"]);
    assert!(record.summary.flows[0].goodput_bps > 1e6, "{:?}", record.summary.flows[0]);
    let pieces = run_in_pieces(SHELL, &[channel, "last_hop.harq={kind=\"adaptive\"}"], 7);
    assert_eq!(record.summary, pieces.summary);
}

#[test]
fn what_follows_the_orbit_needs_a_satellite() {
    let fixed = "path={kind=\"fixed\", delay=\"30 ms\"}";
    assert_eq!(
        refused(SHELL, &[fixed]),
        "last_hop.delay: \"orbit\" follows the satellite that serves the users, and a path of kind fixed knows none: \
         give a delay"
    );
    let channel = "channel={kind=\"lms\", elevation=\"orbit\"}";
    let said = refused(SHELL, &[fixed, "last_hop.delay=10 ms", channel]);
    assert!(said.starts_with("channel.elevation: "), "{said}");
    let said = refused(SHELL, &["last_hop.delay=near"]);
    assert!(said.starts_with("last_hop.delay: \"near\" is not ") && said.contains("or write \"orbit\""), "{said}");
    let said = refused(SHELL, &["path.user={latitude=\"80 deg\", longitude=\"0 deg\"}"]);
    assert!(said.starts_with("path.user: no satellite comes above 25 deg within 200 s: the best is "), "{said}");
}

#[test]
fn a_user_that_moves_at_another_speed_than_its_fading_is_warned_of() {
    let train = |speed: &str| {
        format!(
            "path.user={{speed=\"{speed}\", waypoints=[{{latitude=\"48.8 deg\", longitude=\"2.3 deg\"}}, \
             {{latitude=\"45.8 deg\", longitude=\"4.9 deg\"}}]}}"
        )
    };
    let warnings = |edits: &[&str]| {
        let coded = "last_hop.harq={kind=\"fec\"}";
        scenario(SHELL, &[edits, &[coded]].concat()).plan().unwrap().warnings().join("\n")
    };
    let fading = "channel={kind=\"lms\", speed=\"60 km/h\"}";
    assert_eq!(
        warnings(&[fading, &train("300 km/h")]),
        "channel.speed: the fading is that of a user at 60 km/h, and path.user moves at 300 km/h on average: give the \
         channel that speed"
    );
    // The same within a tenth, a user that stays, a channel without fading.
    for edits in [&[fading, &train("64 km/h")][..], &[fading], &[&train("300 km/h")]] {
        assert_eq!(warnings(edits), "");
    }
}

#[test]
fn a_long_step_of_the_path_is_warned_of() {
    let warnings = |step: &str| scenario(SHELL, &[step]).plan().unwrap().warnings().join("\n");
    assert!(warnings("path.step=30 s").starts_with("path.step: delay, elevation and distance are linear over 30 s, "));
    assert_eq!(warnings("path.step=10 s"), "");
}

#[test]
fn channels_that_are_held_count_their_memory() {
    let users = |held: &str| {
        let channel = format!("channel={{kind=\"lms\"{held}}}");
        refused(SHELL, &[&channel, "last_hop.scheduler={kind=\"round-robin\"}", "flows.0.count=900000"])
    };
    let (time, burst) = (users(""), users(", held={kind=\"burst\", step=\"20 ms\"}"));
    assert!(
        time.starts_with("channel: 900000 users have one of their own") && burst.starts_with("channel: "),
        "{burst}"
    );
}

/// A packet that comes to the satellite that was left is in flight until then.
#[test]
fn a_handover_loses_packets_when_they_come() {
    let lose = "path.at_handover={interruption=\"40 ms\", packets=\"lose\"}";
    let whole = run(SHELL, &[&STEADY[..], &[lose]].concat());
    let ended = |nanos: f64| run(SHELL, &[&STEADY[..], &[lose, &format!("duration={nanos} s")]].concat());
    let scenario = scenario(SHELL, &[&STEADY[..], &[lose]].concat());
    let mut simulation = Simulation::new(&scenario, None).expect("the scenario is good");
    simulation.watch(Time::ZERO, Time::MAX);
    simulation.advance(Time::MAX).expect("time moves");
    let watched = simulation.finish(false).expect("packets are conserved");
    let rows = column(&watched.packets, "sent_s").into_iter().zip(column(&watched.packets, "ended_s"));
    let fates = watched.packets.columns.iter().find(|column| column.0 == "fate").expect("a column");
    let Column::Text(fates) = &fates.1 else { panic!("texts") };
    let lost: Vec<(f64, f64)> =
        rows.zip(fates).filter(|row| row.1.as_deref() == Some("path_handover")).map(|row| row.0).collect();
    assert_eq!(lost.len() as u64, dropped(&whole, "path_handover"));
    let (sent, end) = lost[0];
    assert!(end > sent + 0.001, "{sent} {end}");
    assert_eq!(dropped(&ended((sent + end) / 2.0), "path_handover"), 0, "in flight");
}

/// Packets of 300 kbit/s for some seconds over a path from a file, which is watched.
fn over_trace(trace: &str, edits: &[&str]) -> Record {
    let files: MemoryFiles = [("trace.csv".to_owned(), trace.as_bytes().into())].into_iter().collect();
    let scenario = Scenario::from_toml(LABORATORY, files).expect("the base scenario is TOML");
    let live = ["flows.0.transport={kind=\"udp\"}", "flows.0.traffic={kind=\"live\", rate=\"300 kbit/s\"}"];
    let scenario = live.iter().chain(edits).fold(scenario, |scenario, edit| scenario.assign(edit).expect(edit));
    let mut simulation = Simulation::new(&scenario, None).expect("the scenario is good");
    simulation.watch(Time::ZERO, Time::MAX);
    simulation.advance(Time::MAX).expect("time moves");
    simulation.finish(false).expect("packets are conserved")
}

/// What waits is not lost: neither for a route after which chance will lose half of it, nor for a slow uplink.
#[test]
fn the_path_loses_packets_when_they_are_sent_not_while_they_wait() {
    let outage = "time_s,one_way_delay_ms,loss_percent\n0,40,0\n9.999,40,0\n10,,0\n12,40,50\n20,40,50\n";
    let queue = r#"path={kind="trace", file="trace.csv", no_route={kind="queue", buffer="1 MB"}}"#;
    let waiting = over_trace(outage, &["duration=11 s", queue]);
    assert_eq!((dropped(&waiting, "path_loss"), waiting.summary.flows[0].loss_ratio), (0, Some(0.0)));
    let after = over_trace(outage, &["duration=13 s", queue]);
    let (lost, ended) = (dropped(&after, "path_loss"), column(&after.packets, "ended_s"));
    assert!(lost > 20, "{lost} of those of three seconds");
    let times: Vec<f64> = column(&after.events, "time_s").into_iter().filter(|&at| at > 0.0).collect();
    assert!(times.iter().all(|&at| at >= 12.0) && !ended.iter().any(|at| (10.2..12.0).contains(at)), "{times:?}");

    let slow = "time_s,one_way_delay_ms,rate_up_kbps,loss_up_percent\n0,40,100,0\n8,40,100,50\n60,40,100,50\n";
    let up = ["duration=5 s", "flows.0.direction=up", r#"path={kind="trace", file="trace.csv"}"#];
    let record = over_trace(slow, &up);
    assert_eq!(dropped(&record, "path_loss"), 0, "the loss begins after the run");
    assert!(record.summary.conservation.in_flight > 50, "three times its rate");
    let ends = column(&record.packets, "satellite_s").into_iter().filter(|at| !at.is_nan()).fold(0.0, f64::max);
    assert!((4.9..=5.0).contains(&ends), "{ends} s");
}
