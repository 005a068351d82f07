//! A constellation of real satellites: a file of elements and its options.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Angle, FieldError, Length};

use crate::satellites::constellation::LinkPattern;
use crate::satellites::epoch::Epoch;

/// Real satellites from a file of two-line element sets or orbit mean-elements messages (JSON, CSV, KVN or XML), moved
/// by SGP4.
///
/// Satellites are numbered from 0 in the order of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ElementsFile {
    /// The file, relative to the scenario's.
    pub file: String,
    /// The reference instant, from which `start` counts; by default the latest epoch in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// Elevation below which a station cannot use a satellite.
    #[serde(default = "ten_degrees")]
    pub minimum_elevation: Angle,
    /// The pattern of the inter-satellite links: none, or the pairs of a file. Elements have no planes for a plus-grid.
    #[serde(default = "unlinked")]
    pub links: LinkPattern,
    /// Height above the equatorial radius below which an inter-satellite link must not pass.
    #[serde(default = "mesosphere")]
    pub minimum_link_altitude: Length,
}

impl ElementsFile {
    /// All satellites of `file`, without links, all else by default.
    pub fn new(file: &str) -> ElementsFile {
        ElementsFile {
            file: file.to_owned(),
            epoch: None,
            minimum_elevation: ten_degrees(),
            links: unlinked(),
            minimum_link_altitude: mesosphere(),
        }
    }

    /// Checks every value; the files are not opened.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        let mask = self.minimum_elevation.as_degrees();
        if !(0.0..=90.0).contains(&mask) {
            let message = format!("{mask} deg must be between 0 deg and 90 deg");
            return Err(FieldError::new("minimum_elevation", message));
        }
        if self.links == LinkPattern::PlusGrid {
            let message = "\"plus-grid\" needs planes and places in them, which elements do not tell: \
                list the pairs in a file, { pairs = \"links.csv\" }, or write \"none\"";
            return Err(FieldError::new("links", message));
        }
        Ok(())
    }
}

fn ten_degrees() -> Angle {
    Angle::from_degrees(10.0)
}

fn unlinked() -> LinkPattern {
    LinkPattern::None
}

/// Returns the default altitude, the one for Walker constellations.
fn mesosphere() -> Length {
    Length::from_metres(80e3)
}
