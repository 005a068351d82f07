//! The project's own scripts hold.

use std::path::Path;

use packetdrill::{Outcome, files, run};

#[test]
fn all_scripts_of_the_project_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packetdrill");
    let scripts = files(&folder, &[".pkt"]).expect("the folder of scripts");
    assert!(scripts.len() >= 60, "only {} scripts", scripts.len());
    let options = run::Options { strict: true, ..run::Options::default() };
    let mut wrong = Vec::new();
    for path in &scripts {
        let text = std::fs::read_to_string(path).expect("a script");
        assert!(text.starts_with("// "), "{} does not say what it shows", path.display());
        let outcome = run::run(&text, &options);
        if outcome != Outcome::Pass {
            wrong.push(format!("{}: {outcome}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
