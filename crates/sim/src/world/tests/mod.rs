//! What a world does to save time and memory changes nothing.

mod late;
mod over;

use std::path::Path;

use super::build::build;
use super::{Nobody, World};
use crate::plan::Plan;
use crate::scenario::Scenario;

fn world(text: &str) -> (World, Plan) {
    let plan = Scenario::from_toml(text, Path::new(".")).unwrap().plan().unwrap();
    (build(&plan, 1, &mut Nobody).unwrap(), plan)
}
