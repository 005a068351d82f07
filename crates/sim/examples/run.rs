//! Runs one scenario to its end and prints its summary as JSON: the core without Python, for benchmarks and profilers.
//!
//! `cargo run --release -p transorbit-sim --example run -- scenarios/leo-tcp.toml [key=value …] [--packets FOLDER]`
//!
//! The folder takes the packets of a scenario with `record.packets = "pcapng"`.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use sim::{Scenario, Simulation};
use units::Time;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: run SCENARIO [key=value …] [--packets FOLDER]");
        return ExitCode::from(2);
    };
    match run(Path::new(&file), arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run(file: &Path, mut arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(file)?;
    let mut scenario = Scenario::from_toml(&text, file.parent().unwrap_or(Path::new(".")))?;
    let mut packets = None;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--packets" => packets = Some(arguments.next().ok_or("--packets needs a folder")?),
            edit => scenario = scenario.assign(edit)?,
        }
    }
    let mut simulation = Simulation::new(&scenario, None)?;
    if let Some(folder) = packets {
        simulation.record_packets(Path::new(&folder))?;
    }
    simulation.advance(Time::MAX)?;
    let record = simulation.finish(false)?;
    let mut output = BufWriter::new(std::io::stdout().lock()); // flows come in large parts
    record.write_summary(&mut output)?;
    writeln!(output)?;
    Ok(output.flush()?)
}
