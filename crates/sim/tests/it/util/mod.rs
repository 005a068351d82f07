//! Scenarios for tests: one to start from, edited as on the command line.

use std::path::Path;

use sim::{Column, Record, Scenario, Simulation, Table};
use transport::{Service, TransportConfig};
use units::Time;

/// One CUBIC flow over a clear 10 Mbit/s link, 80 ms round trip, 20 s.
pub const LABORATORY: &str = r#"
title    = "laboratory"
duration = "20 s"
path     = { kind = "fixed", delay = "30 ms" }
channel  = { kind = "clear" }
[last_hop]
rate       = "10 Mbit/s"
delay      = "10 ms"
scheduler  = { kind = "droptail", buffer = "1 bdp" }
harq       = { kind = "none" }
reordering = { enabled = false }
[[flows]]
transport = { kind = "tcp", congestion = "cubic", profile = "classic", mss = "1448 B" }
traffic   = { kind = "bulk" }
"#;

/// The scenario of the thesis' chapter 4, for 60 s.
pub const LEO: &str = r#"
title    = "TCP to a mobile user over LEO"
duration = "60 s"
seed     = 1
[path]
kind          = "constellation"
constellation = "leo-66"
source        = { latitude = "43.6 deg", longitude = "1.4 deg" }
user          = { latitude = "-36.9 deg", longitude = "174.8 deg" }
[channel]
kind          = "lms"
environment   = "intermediate-tree-shadowed"
elevation     = "40 deg"
speed         = "60 km/h"
reference_snr = "10 dB"
[last_hop]
rate       = "50 Mbit/s"
delay      = "10 ms"
scheduler  = { kind = "droptail", buffer = "1 bdp" }
harq       = { kind = "adaptive", transmissions = 4, padding = true }
reordering = { enabled = true, capacity = 125 }
[[flows]]
count     = 1
transport = { kind = "tcp", congestion = "cubic", profile = "classic", delayed_ack = false }
traffic   = { kind = "bulk" }
"#;

/// `base` with edits, `key=value` each.
pub fn scenario(base: &str, edits: &[&str]) -> Scenario {
    let scenario = Scenario::from_toml(base, Path::new(".")).expect("the base scenario is TOML");
    edits.iter().fold(scenario, |scenario, edit| scenario.assign(edit).expect(edit))
}

/// Runs `base` with edits to its end.
pub fn run(base: &str, edits: &[&str]) -> Record {
    run_in_pieces(base, edits, 1)
}

/// As [`run`], advancing in `pieces` equal steps.
pub fn run_in_pieces(base: &str, edits: &[&str], pieces: u64) -> Record {
    let mut simulation = Simulation::new(&scenario(base, edits), None).expect("the scenario is good");
    for piece in 1..=pieces {
        simulation.advance(Time::ZERO + simulation.duration() * piece / pieces).expect("time moves");
    }
    simulation.finish(false).expect("packets are conserved")
}

/// The refusal of a transport that offers none of the services which its traffic needs.
pub fn cannot_carry(transport: &str, traffic: &str, needed: &[Service]) -> String {
    let able = TransportConfig::names(|kind| kind.services().iter().any(|service| needed.contains(service)));
    format!("flows.0.transport.kind: {transport} cannot carry {traffic}, {able} can")
}

/// A column of numbers.
pub fn column(table: &Table, name: &str) -> Vec<f64> {
    match table.columns.iter().find(|column| column.0 == name) {
        Some((_, Column::Float(values))) => values.clone(),
        Some((_, Column::Count(values))) => values.iter().map(|&value| value as f64).collect(),
        Some((_, Column::Number(values))) => values.iter().map(|value| value.map_or(f64::NAN, |n| n as f64)).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

/// The report of a flow's application, which is of this variant of [`traffic::Experience`].
macro_rules! report {
    ($flow:expr, $kind:ident) => {
        match $flow.experience.as_deref() {
            Some(traffic::Experience::$kind(report)) => report,
            other => panic!("{other:?}"),
        }
    };
}
pub(crate) use report;
