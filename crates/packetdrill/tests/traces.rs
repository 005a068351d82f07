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
