//! Plans and their inputs: what is read, what is kept of it, and that a run follows from that alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::util::LABORATORY;
use sim::{Plans, Registered, Scenario, Simulation};
use units::{MemoryFiles, Time};

/// A scenario with two inputs of one base name.
const EDITS: [&str; 3] = [
    "duration=5 s",
    r#"path={ kind = "trace", file = "path/trace.csv" }"#,
    r#"channel={ kind = "trace", file = "channel/trace.csv", reference_snr = "8 dB" }"#,
];
const FILES: [(&str, &str); 2] =
    [("path/trace.csv", "0,0.02\n2,0.03\n4,0.025\n"), ("channel/trace.csv", "0,0\n0.5,3\n1.25,9\n")];

fn edited(scenario: Scenario) -> Scenario {
    EDITS.iter().fold(scenario, |scenario, edit| scenario.assign(edit).expect(edit))
}

fn memory(files: &[(&str, &str)]) -> MemoryFiles {
    files.iter().map(|&(name, text)| (name.to_owned(), text.as_bytes().into())).collect()
}

fn in_memory() -> Scenario {
    edited(Scenario::from_toml(LABORATORY, memory(&FILES)).unwrap())
}

/// A folder of its own with the files.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("inputs-{name}-{}", std::process::id()));
    for (file, text) in FILES {
        let file = folder.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    folder
}

fn summary(scenario: &Scenario) -> sim::Summary {
    let mut run = Simulation::new(scenario, Some(3)).unwrap();
    run.advance(Time::MAX).unwrap();
    run.finish(false).unwrap().summary
}

#[test]
fn files_in_memory_are_as_good_as_those_in_a_folder() {
    let folder = folder("disk");
    let from_disk = summary(&edited(Scenario::from_toml(LABORATORY, folder.as_path()).unwrap()));
    let from_memory = summary(&in_memory());
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(from_memory, from_disk);
    let named: Vec<_> = from_disk.inputs.iter().map(|input| (input.file.as_str(), input.bytes)).collect();
    assert_eq!(named, FILES.map(|(name, text)| (name, text.len() as u64)));
    assert!(from_disk.inputs.iter().all(|input| input.sha256.len() == 64));
}

#[test]
fn what_is_kept_runs_the_same_and_tells_what_has_changed() {
    let scenario = in_memory();
    let plan = scenario.plan().unwrap();
    let kept = plan.kept_inputs();
    let names: Vec<_> = kept.iter().map(|input| input.kept.as_str()).collect();
    assert_eq!(names, ["inputs/trace.csv", "inputs/trace-2.csv"]);
    let mut copies: MemoryFiles = kept.iter().map(|input| (input.kept.clone(), Arc::clone(&input.contents))).collect();
    let recorded: BTreeMap<_, _> = kept.iter().map(|input| (input.kept.clone(), input.sha256.clone())).collect();
    let again = |copies: &MemoryFiles| {
        let scenario = Scenario::from_toml(&plan.kept_toml(3), copies.clone()).unwrap();
        summary(&scenario.with_recorded(recorded.clone()))
    };
    let (first, second) = (summary(&scenario), again(&copies));
    assert_eq!((&second.digest, &second.flows, &second.warnings), (&first.digest, &first.flows, &first.warnings));

    copies.insert("inputs/trace.csv".to_owned(), b"0,0.05\n".as_slice().into());
    let changed = again(&copies);
    let warning = &changed.warnings[0];
    assert!(warning.starts_with("inputs/trace.csv has changed since the result was made: "), "{warning}");
    assert!(warning.contains(&recorded["inputs/trace.csv"]) && warning.contains(&changed.inputs[0].sha256));
    assert_ne!(changed.digest, first.digest);
}

#[test]
fn checking_finds_what_planning_finds() {
    for (broken, expected) in [
        (memory(&FILES[..1]), "channel.file: channel/trace.csv: cannot be read"),
        (
            memory(&[FILES[1], ("path/trace.csv", "0,0.02\n0,0.03\n")]),
            "path.file: path/trace.csv: line 2, column 1 (time): time 0 s must be later",
        ),
    ] {
        let scenario = edited(Scenario::from_toml(LABORATORY, broken).unwrap());
        let error = scenario.check().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(scenario.plan().unwrap_err().to_string(), error);
        assert_eq!(Simulation::new(&scenario, None).err().unwrap().to_string(), error);
    }
}

#[test]
fn plans_that_are_kept_are_of_the_same_values_and_files() {
    let plans = Plans::default();
    let scenario = in_memory();
    let plan = plans.plan(&scenario).unwrap();
    assert!(Arc::ptr_eq(&plan, &plans.plan(&in_memory()).unwrap()));
    assert!(!Arc::ptr_eq(&plan, &plans.plan(&scenario.assign("duration=6 s").unwrap()).unwrap()));
    assert!(Arc::ptr_eq(&plan, &plans.plan(&scenario).unwrap()), "it is still there");
    let other = memory(&[FILES[0], ("channel/trace.csv", "0,0\n0.5,3\n1.25,8\n")]);
    let changed = edited(Scenario::from_toml(LABORATORY, other).unwrap());
    assert!(!Arc::ptr_eq(&plan, &plans.plan(&changed).unwrap()));

    let folder = folder("kept");
    let on_disk = edited(Scenario::from_toml(LABORATORY, folder.as_path()).unwrap());
    let before = plans.plan(&on_disk).unwrap();
    assert!(Arc::ptr_eq(&before, &plans.plan(&on_disk).unwrap()));
    std::fs::write(folder.join("path/trace.csv"), "0,0.04\n").unwrap();
    let after = plans.plan(&on_disk).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(!Arc::ptr_eq(&before, &after) && before.inputs()[0] != after.inputs()[0]);
    // Without files it does not matter where they would be, nor whether defaults are written out.
    let plain = Scenario::from_toml(LABORATORY, Path::new("/")).unwrap();
    let plan = plans.plan(&plain).unwrap();
    let resolved = Scenario::from_toml(&plan.resolved_toml(), Path::new(".")).unwrap();
    for written in [&resolved, &resolved, &plain, &resolved] {
        assert!(Arc::ptr_eq(&plan, &plans.plan(written).unwrap()));
    }
    // A plan is kept of a script's scheduler, whose name is not known where the same is asked for next.
    let scripted = plain.assign("last_hop.scheduler={ kind = \"external\", name = \"mine\" }").unwrap();
    let mine = Registered { schedulers: vec!["mine".to_owned()], ..Registered::default() };
    assert!(plans.plan(&scripted.with_registered(mine)).is_ok());
    assert!(plans.plan(&scripted.with_registered(Registered::default())).is_err());
}

/// The last hop goes down, so the rate from the users is none for it.
#[test]
fn a_rate_from_the_users_only_is_none_of_the_last_hop() {
    let refused = |header: &str| {
        let table = format!("time_s,delay_ms,{header}\n0,20,5\n1,30,8\n");
        let scenario = Scenario::from_toml(LABORATORY, memory(&[("path.csv", &table)])).unwrap();
        let edits = ["path={ kind=\"trace\", file=\"path.csv\" }", "last_hop.rate=path"];
        let scenario = edits.iter().fold(scenario, |scenario, edit| scenario.assign(edit).unwrap());
        scenario.plan().err().map(|error| error.to_string())
    };
    assert_eq!(refused("rate_down_mbps"), None);
    let line = refused("rate_up_mbps").expect("refused");
    assert!(line.starts_with("last_hop.rate: ") && line.contains("from the users only"), "{line}");
}
