//! Runs over paths that are given as tables: delays that differ by direction, and rates that stay zero.

use sim::{FileSource, Record, Scenario, Simulation};
use units::Time;

use crate::util::LABORATORY;

/// Runs the laboratory, without a delay of the last hop, over the path of a table.
fn run(table: &str, edits: &[&str]) -> Record {
    let files = FileSource::Memory([("path.csv".to_owned(), table.as_bytes().into())].into());
    let scenario = Scenario::from_toml(LABORATORY, files).unwrap();
    let path = ["path={ kind=\"trace\", file=\"path.csv\" }", "last_hop.delay=0 ms", "duration=5 s"];
    let scenario = path.iter().chain(edits).fold(scenario, |scenario, edit| scenario.assign(edit).expect(edit));
    let mut simulation = Simulation::new(&scenario, None).expect("the scenario is good");
    simulation.advance(Time::MAX).expect("time moves");
    simulation.finish(false).expect("packets are conserved")
}

const ONE_ROW: &str = "time_s,delay_down_ms,delay_up_ms\n0,40,150\n";

#[test]
fn a_delay_from_the_users_counts_where_it_never_changes() {
    let (one, two) = (run(ONE_ROW, &[]), run(&format!("{ONE_ROW}99,40,150\n"), &[]));
    assert_eq!(one.summary.digest, two.summary.digest);
    // The SYN, its answer and the data.
    let first = one.summary.flows[0].first_packet_s.unwrap();
    assert!((first - 0.230).abs() < 0.002, "{first}");
}

/// "1 bdp" of a buffer, and the time after which the network control centre answers.
#[test]
fn a_round_trip_has_the_delays_of_both_directions() {
    let even = run("time_s,delay_ms\n0,95\n", &["last_hop.rate=2 Mbit/s"]);
    let uneven = run(ONE_ROW, &["last_hop.rate=2 Mbit/s"]);
    assert_eq!(uneven.summary.last_hop.queue_packets_max, even.summary.last_hop.queue_packets_max);
    let upload =
        ["access={ method = \"dedicated\" }", "flows=[{ direction=\"up\", transport=\"udp\", traffic=\"voice\" }]"];
    let told = [&upload[..], &["access.dedicated.round_trip=190 ms"]].concat();
    assert_eq!(run(ONE_ROW, &upload).summary.digest, run(ONE_ROW, &told).summary.digest);
    assert_ne!(run("time_s,delay_ms\n0,40\n", &upload).summary.digest, run(ONE_ROW, &told).summary.digest);
}

#[test]
fn coded_bits_of_a_burst_that_a_rate_of_zero_stops_are_those_that_were_sent() {
    let coded = |more: &str| {
        let table = format!("time_s,delay_ms,rate_down_kbps\n0,20,64\n0.1,20,0\n{more}");
        let edits = ["last_hop.rate=path", "flows=[{ transport=\"udp\", traffic=\"voice\" }]", "duration=2 s"];
        run(&table, &edits).summary.last_hop.coded_bps * 2.0
    };
    // Packets come after the path's 20 ms, and are sent at 64 kbit/s up to 100 ms.
    assert!((coded("") - 5120.0).abs() < 1.0, "{}", coded(""));
    assert!((coded("50,20,64\n") - coded("")).abs() < 1.0);
}
