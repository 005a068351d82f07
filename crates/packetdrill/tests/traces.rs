//! Recordings of a kernel, segment by segment.

use std::collections::BTreeMap;
use std::path::Path;

use packetdrill::{files, trace};

/// How many recordings there are for each congestion controller.
const RECORDINGS: [(&str, usize); 3] = [("bbr", 33), ("cubic", 60), ("reno", 67)];

#[test]
fn recordings_of_the_kernel_are_reproduced() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let known =
        trace::Known::read(&crate_folder.join("known_differences.toml")).expect("the list of known differences");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut unknown = Vec::new();
    for path in files(&crate_folder.join("recordings"), &[".jsonl.gz"]).expect("recordings") {
        let recording = trace::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let control = recording.header.cc.clone();
        let differences = trace::replay(&recording, trace::Bounds::of(&control), false).expect("settings of ours");
        *counts.entry(control).or_default() += 1;
        match differences.first() {
            None => assert_eq!(known.cause(&path), None, "{} passes and is listed as different", path.display()),
            Some(difference) if known.cause(&path).is_none() => {
                unknown.push(format!("{}: {difference}", path.display()));
            }
            Some(_) => {}
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    assert_eq!(counts, RECORDINGS.map(|(control, count)| (control.to_owned(), count)).into());
}

/// The first difference of a recording, one of whose segments is recorded so much later, in ms.
fn moved(name: &str, line: usize, by: f64) -> Option<(&'static str, usize)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings").join(name);
    let mut recording = trace::read(&path).expect("a recording");
    let bounds = trace::Bounds::of(&recording.header.cc);
    let moved = recording.lines.iter_mut().find(|at| at.number == line).expect("a line");
    assert!(matches!(moved.what, trace::What::Out(_)), "{name}: line {line} is sent");
    moved.at += by;
    let differences = trace::replay(&recording, bounds, false).expect("settings of ours");
    differences.first().map(|difference| (difference.kind, difference.line))
}

/// A repetition by the timer, a delayed acknowledgment and one at once: while nothing arrives the kernel's comes
/// up to two ticks after ours is due (more after a longer wait), and a tick before at the earliest.
#[test]
fn instants_are_compared() {
    for (name, line, by) in [("tail1", 37, 60.0), ("rcv_burst", 70, 12.0), ("rcv_delack", 8, 6.0)] {
        let name = format!("{name}.reno.jsonl.gz");
        for (by, found) in [(0.0, None), (-by, Some(("instant", line))), (by, Some(("instant", line)))] {
            assert_eq!(moved(&name, line, by), found, "{name}: {by} ms later");
        }
    }
}
