//! Wrong input never panics.

use std::path::Path;

use proptest::prelude::*;

use crate::util::hostile;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_segments_in_any_order(script in prop::collection::vec(any::<u8>(), 0..2000)) {
        hostile::drive(&script);
    }

    #[test]
    fn any_segments_are_answered_in_place_as_the_general_way(script in prop::collection::vec(any::<u8>(), 0..2000)) {
        hostile::answer_both_ways(&script);
    }

    #[test]
    fn what_is_close_to_scripts_that_broke_it_once(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        more in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let scripts = reproducers();
        let mut script = scripts[which.index(scripts.len())].1.clone();
        for (at, byte) in changes {
            let at = at.index(script.len());
            script[at] = byte;
        }
        script.extend(more);
        hostile::drive(&script);
    }
}

/// Inputs of the fuzz target that a connection did not survive once, with their names.
fn reproducers() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reproducers");
    let mut scripts: Vec<_> = folder
        .read_dir()
        .expect("a folder")
        .map(|entry| {
            let path = entry.expect("a file").path();
            (path.display().to_string(), std::fs::read(&path).expect("a script"))
        })
        .collect();
    scripts.sort();
    scripts
}

#[test]
fn scripts_that_broke_it_once() {
    let scripts = reproducers();
    assert!(scripts.len() >= 6, "{} scripts", scripts.len());
    for (name, script) in scripts {
        println!("{name}");
        hostile::drive(&script);
    }
}
