//! The inputs of a plan as a result folder keeps them: copies beside a scenario that names these.

use std::sync::Arc;

use super::Plan;
use crate::scenario::ScenarioConfig;

/// Where copies of inputs stand in a result folder.
const FOLDER: &str = "inputs";

/// A copy of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptInput {
    /// The file's name, as the scenario gives it.
    pub file: String,
    /// The name of the copy, relative to the result folder; no two are the same, in any case of letters.
    pub kept: String,
    /// The SHA-256 of its contents, in hexadecimal.
    pub sha256: String,
    /// The bytes of the file.
    pub contents: Arc<[u8]>,
}

impl Plan {
    /// Copies of the inputs, in the order of reading.
    pub fn kept_inputs(&self) -> Vec<KeptInput> {
        let mut kept_inputs: Vec<KeptInput> = Vec::new();
        for ((file, contents), described) in self.files.contents().iter().zip(&self.inputs) {
            let taken = |name: &str| kept_inputs.iter().any(|other| other.kept.eq_ignore_ascii_case(name));
            let name = numbered(file).find(|name| !taken(name)).expect("endless");
            let (file, sha256) = (file.clone(), described.sha256.clone());
            kept_inputs.push(KeptInput { file, kept: name, sha256, contents: Arc::clone(contents) });
        }
        kept_inputs
    }

    /// The scenario of a run with this seed as TOML with every default filled in, naming the copies of its inputs.
    pub fn kept_toml(&self, seed: u64) -> String {
        let kept = self.kept_inputs();
        let rename = &mut |name: &str| {
            let copy = kept.iter().find(|input| input.file == name);
            copy.map_or_else(|| name.to_owned(), |input| input.kept.clone())
        };
        let resolved = ScenarioConfig { seed, ..self.config.resolved(rename) };
        toml::to_string_pretty(&resolved).expect("a scenario is TOML")
    }
}

/// Names for a copy of `file`: `inputs/x.csv`, `inputs/x-2.csv`, `inputs/x-3.csv` …
fn numbered(file: &str) -> impl Iterator<Item = String> {
    let base = file.rsplit(['/', '\\']).next().filter(|base| !matches!(*base, "" | "." | "..")).unwrap_or("input");
    let (stem, suffix) = match base.rfind('.').filter(|&place| place > 0) {
        Some(place) => base.split_at(place),
        None => (base, ""),
    };
    let more = (2..).map(move |number| format!("{FOLDER}/{stem}-{number}{suffix}"));
    std::iter::once(format!("{FOLDER}/{base}")).chain(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_names_of_their_own() {
        let names = |file: &str| numbered(file).take(2).collect::<Vec<_>>();
        assert_eq!(names("/data/a/x.csv"), ["inputs/x.csv", "inputs/x-2.csv"]);
        assert_eq!(names("x.tar.gz"), ["inputs/x.tar.gz", "inputs/x.tar-2.gz"]);
        assert_eq!(names("..\\trace"), ["inputs/trace", "inputs/trace-2"]);
        assert_eq!(names("inputs/.hidden"), ["inputs/.hidden", "inputs/.hidden-2"]);
    }
}
