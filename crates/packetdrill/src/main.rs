//! `packetdrill [--strict] FILE…`: runs scripts in virtual time.
//! `packetdrill --kernel-trace [--known FILE] FILE…`: replays recordings of a kernel.
//! `packetdrill --closed-loop [--known FILE] FILE…`: runs both ends of ours over the paths of recordings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use packetdrill::{Outcome, run, trace};

const USAGE: &str = "\
packetdrill runs packetdrill scripts against the transport in virtual time, or replays recordings of a kernel.

    packetdrill [--strict] [-D NAME=VALUE]… [--OPTION=VALUE]… FILE…
    packetdrill --kernel-trace [--known LIST] [--all] [--exact] FILE…
    packetdrill --closed-loop [--known LIST] [--all] FILE…

A FILE may be a folder: all scripts (*.pkt) or recordings (*.jsonl.gz, *.jsonl) in it are taken, sorted.

    --strict         compare PSH too, and let nothing unexpected be in flight when a packet arrives
    -D NAME=VALUE    put VALUE in the place of NAME
    --OPTION=VALUE   an option of scripts, such as tolerance_usecs or mss; goes before those of a file
    --kernel-trace   the files are recordings
    --closed-loop    the files are recordings, of which only the delays and losses of data segments are taken
    --known LIST     a TOML list of recordings whose difference is known, with its cause
    --all            show every difference up to the first of the segments; of a closed loop both courses
    --exact          compare all recordings as exactly as those of reno

Each file gets a line `FILE: PASS`, `FILE: FAIL reason`, `FILE: SKIP construct` or `FILE: KNOWN cause`; the exit status
is 1 if one failed, and 2 if the command line is wrong.";

/// The command line.
#[derive(Default)]
struct Arguments {
    scripts: run::Options,
    recordings: bool,
    closed_loop: bool,
    known: Option<PathBuf>,
    all: bool,
    exact: bool,
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match arguments(std::env::args().skip(1)) {
        Ok(Some(arguments)) => match execute(&arguments) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(message) => {
                eprintln!("packetdrill: {message}");
                ExitCode::from(2)
            }
        },
        Ok(None) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("packetdrill: {message}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Reads the command line; `None` if help is requested.
fn arguments(mut words: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let mut arguments = Arguments::default();
    while let Some(word) = words.next() {
        let mut value = |what: &str| words.next().ok_or_else(|| format!("{word}: expected {what}"));
        match word.as_str() {
            "-h" | "--help" => return Ok(None),
            "--strict" => arguments.scripts.strict = true,
            "--kernel-trace" => arguments.recordings = true,
            "--closed-loop" => (arguments.recordings, arguments.closed_loop) = (true, true),
            "--all" => arguments.all = true,
            "--exact" => arguments.exact = true,
            "--known" => arguments.known = Some(value("a file")?.into()),
            "-D" => {
                let text = value("NAME=VALUE")?;
                let (name, value) = text.split_once('=').ok_or("-D: expected NAME=VALUE")?;
                arguments.scripts.defines.push((name.into(), value.into()));
            }
            _ => match word.strip_prefix("--") {
                Some(option) => {
                    let (name, value) = option.split_once('=').unwrap_or((option, ""));
                    if !run::OPTIONS.contains(&name) {
                        return Err(format!(
                            "--{name}: expected an option, such as --strict or --tolerance_usecs=4000"
                        ));
                    }
                    arguments.scripts.overrides.push((name.into(), value.into()));
                }
                None => arguments.files.push(word.into()),
            },
        }
    }
    if arguments.files.is_empty() {
        return Err("expected files".into());
    }
    Ok(Some(arguments))
}

/// Runs all files and returns whether none failed.
fn execute(arguments: &Arguments) -> Result<bool, String> {
    let endings: &[&str] = if arguments.recordings { &[".jsonl.gz", ".jsonl"] } else { &[".pkt"] };
    let mut files = Vec::new();
    for path in &arguments.files {
        files.extend(packetdrill::files(path, endings).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    let known = arguments.known.as_deref().map(trace::Known::read).transpose()?.unwrap_or_default();
    let mut counts = [0; 4];
    let mut by_control: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for path in &files {
        let outcome = if arguments.recordings {
            let (outcome, control) = recording(path, &known, arguments);
            let (passed, all) = by_control.entry(control).or_default();
            *passed += u32::from(outcome == Outcome::Pass);
            *all += 1;
            outcome
        } else {
            script(path, &arguments.scripts)
        };
        counts[match outcome {
            Outcome::Pass => 0,
            Outcome::Fail(_) => 1,
            Outcome::Skip(_) => 2,
            Outcome::Known(_) => 3,
        }] += 1;
        println!("{}: {outcome}", path.display());
    }
    for (control, (passed, all)) in &by_control {
        println!("{control} {passed}/{all}");
    }
    let [passed, failed, skipped, known] = counts;
    let known = if arguments.recordings { format!(", {known} known") } else { String::new() };
    println!("{} files: {passed} passed, {failed} failed, {skipped} skipped{known}", files.len());
    Ok(failed == 0)
}

fn script(path: &Path, options: &run::Options) -> Outcome {
    match std::fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => run::run(&text, options),
            Err(error) => {
                let line =
                    error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
                Outcome::Fail(format!("line {line}: expected text in UTF-8"))
            }
        },
        Err(error) => Outcome::Fail(error.to_string()),
    }
}

/// The outcome of a recording and its congestion control.
fn recording(path: &Path, known: &trace::Known, arguments: &Arguments) -> (Outcome, String) {
    let recording = match trace::read(path) {
        Ok(recording) => recording,
        Err(message) => return (Outcome::Fail(message), "unreadable".into()),
    };
    let found = if arguments.closed_loop { closed_loop(&recording, arguments) } else { replay(&recording, arguments) };
    let outcome = match found {
        Err(construct) => Outcome::Skip(construct),
        Ok(differences) if differences.is_empty() => Outcome::Pass,
        Ok(differences) => match known.cause(path) {
            Some(cause) if !arguments.all => Outcome::Known(cause.to_owned()),
            _ => Outcome::Fail(differences.join("\n    ")),
        },
    };
    (outcome, recording.header.cc)
}

fn replay(recording: &trace::Recording, arguments: &Arguments) -> Result<Vec<String>, String> {
    let bounds = trace::Bounds::of(if arguments.exact { "reno" } else { &recording.header.cc });
    let differences = trace::replay(recording, bounds, arguments.all)?;
    Ok(differences.iter().map(ToString::to_string).collect())
}

fn closed_loop(recording: &trace::Recording, arguments: &Arguments) -> Result<Vec<String>, String> {
    let compared = trace::closed_loop(recording)?;
    if arguments.all {
        println!("kernel {}\nours   {}", compared.kernel, compared.ours);
    }
    Ok(compared.differences)
}
