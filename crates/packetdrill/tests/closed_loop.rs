//! Both ends of ours over the delays and losses of recordings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use packetdrill::{files, trace};

/// Recordings for each congestion controller that tell their path, and how many of them agree.
const RECORDINGS: [(&str, usize, usize); 3] = [("bbr", 27, 26), ("cubic", 43, 38), ("reno", 43, 37)];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn recording(name: &str) -> trace::Recording {
    trace::read(&folder().join("recordings").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn both_ends_do_over_a_recorded_path_what_the_kernel_did() {
    let known = trace::Known::read(&folder().join("known_closed_loop.toml")).expect("the list of known differences");
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut unknown = Vec::new();
    for path in files(&folder().join("recordings"), &[".jsonl.gz"]).expect("recordings") {
        let recording = trace::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let Ok(compared) = trace::closed_loop(&recording) else { continue };
        let count = counts.entry(recording.header.cc.clone()).or_default();
        count.0 += 1;
        count.1 += usize::from(compared.differences.is_empty());
        match (compared.differences.first(), known.cause(&path)) {
            (None, Some(_)) => unknown.push(format!("{}: agrees and is listed as different", path.display())),
            (Some(difference), None) => unknown.push(format!("{}: {difference}", path.display())),
            _ => {}
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    assert_eq!(counts, RECORDINGS.map(|(control, all, agree)| (control.to_owned(), (all, agree))).into());
}

/// The losses are the recording's: one more is repaired by one more transmission, in a recovery.
#[test]
fn a_loss_of_the_recording_is_met() {
    let mut recording = recording("ss_ack1.reno.jsonl.gz");
    let without = trace::closed_loop(&recording).expect("a path").ours;
    assert_eq!((without.transmissions, without.recoveries.len()), (120, 0));
    recording.lines.push(trace::Line { number: 0, at: 0.0, what: trace::What::Dropped(60) });
    let with = trace::closed_loop(&recording).expect("a path").ours;
    assert_eq!((with.transmissions, with.recoveries.len(), with.acknowledged), (121, 1, without.acknowledged));
}

/// So are the delays: a recording whose acknowledgments come 50 ms later has a lower goodput.
#[test]
fn a_delay_of_the_recording_is_met() {
    let mut recording = recording("n_leo_jump.reno.jsonl.gz");
    let before = trace::closed_loop(&recording).expect("a path");
    assert_eq!(before.differences, Vec::<String>::new());
    for line in recording.lines.iter_mut().filter(|line| line.at > 500.0) {
        if matches!(line.what, trace::What::In(_) | trace::What::Info(_)) {
            line.at += 50.0;
        }
    }
    let after = trace::closed_loop(&recording).expect("a path").ours;
    assert!(after.lasted > before.ours.lasted + 50.0, "{after}; {}", before.ours);
}
