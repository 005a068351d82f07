//! Recordings of a kernel, where they are at hand: they are no part of this repository.

use std::collections::BTreeMap;
use std::path::Path;

use packetdrill::{files, trace};

#[test]
fn recordings_of_the_kernel_are_reproduced() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = crate_folder.join("../../../shared/reference/kernel_traces");
    if !folder.is_dir() {
        println!("no recordings at {}: nothing is compared", folder.display());
        return;
    }
    let known =
        trace::Known::read(&crate_folder.join("known_differences.toml")).expect("the list of known differences");
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut unknown = Vec::new();
    for path in files(&folder, &[".jsonl.gz"]).expect("recordings") {
        let recording = trace::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let control = recording.header.cc.clone();
        let differences = trace::replay(&recording, trace::Bounds::of(&control), false).expect("settings of ours");
        let (passed, all) = counts.entry(control).or_default();
        *all += 1;
        match differences.first() {
            None => {
                *passed += 1;
                assert_eq!(known.cause(&path), None, "{} passes and is listed as different", path.display());
            }
            Some(difference) if known.cause(&path).is_none() => {
                unknown.push(format!("{}: {difference}", path.display()));
            }
            Some(_) => {}
        }
    }
    println!("{counts:?}");
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    for (control, least) in [("reno", 90), ("cubic", 80)] {
        let (passed, all) = counts.get(control).copied().unwrap_or_default();
        assert!(100 * passed >= least * all, "{control}: {passed} of {all} pass");
    }
}
