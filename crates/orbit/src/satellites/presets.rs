//! Named constellations, each from a data file.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::satellites::constellation::Constellation;

/// A constellation with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// The name that scenarios use.
    pub name: &'static str,
    /// A summary in one line.
    pub summary: String,
    /// The parameters of the constellation.
    pub constellation: Constellation,
}

/// The name of every preset with its file.
const FILES: &[(&str, &str)] = &[
    ("leo-66", include_str!("../../presets/leo-66.toml")),
    ("iridium-66", include_str!("../../presets/iridium-66.toml")),
    ("iridium-next", include_str!("../../presets/iridium-next.toml")),
    ("oneweb", include_str!("../../presets/oneweb.toml")),
    ("starlink-shell-1", include_str!("../../presets/starlink-shell-1.toml")),
    ("kuiper-630", include_str!("../../presets/kuiper-630.toml")),
    ("orbcomm-og2", include_str!("../../presets/orbcomm-og2.toml")),
    ("o3b", include_str!("../../presets/o3b.toml")),
    ("geo", include_str!("../../presets/geo.toml")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    summary: String,
    constellation: Constellation,
}

/// Every preset, in the order of the documentation.
pub fn presets() -> impl Iterator<Item = &'static Preset> {
    (0..FILES.len()).map(preset_of)
}

/// The preset of a file by its place, which is read when it is first asked for.
fn preset_of(index: usize) -> &'static Preset {
    static PRESETS: [OnceLock<Preset>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];
    PRESETS[index].get_or_init(|| {
        let (name, text) = FILES[index];
        let File { summary, constellation } =
            toml::from_str(text).unwrap_or_else(|error| panic!("preset {name}: {error}"));
        Preset { name, summary, constellation }
    })
}

/// The names of all presets; none is read.
pub(super) fn preset_names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|&(name, _)| name)
}

/// The preset called `name`.
pub fn preset(name: &str) -> Option<&'static Preset> {
    FILES.iter().position(|file| file.0 == name).map(preset_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_sound_and_introduced_in_a_line() {
        for Preset { name, summary, constellation } in presets() {
            assert_eq!(constellation.check(), Ok(()), "{name}");
            assert!(!summary.is_empty() && !summary.contains('\n') && summary.len() <= 110, "{name}: {summary}");
            assert!(summary.contains(&constellation.satellites().to_string()), "{name}: {summary}");
            assert_eq!(preset(name).unwrap().name, *name);
            assert_eq!(presets().filter(|other| other.name == *name).count(), 1);
        }
        assert_eq!(preset("leo66"), None);
    }
}
