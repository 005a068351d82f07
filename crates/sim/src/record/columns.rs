//! Everything that a run leaves behind, by name: what documentation, labels and lists of columns are made from.

use serde_json::{Value, json};
use units::report::{Line, Reported, UNITS};

use super::drops::REASONS;
use super::series;
use super::summary::Summary;

/// Returns name, unit, label, meaning and scale of the summary's keys and the series' columns, with the keys below; the
/// reasons of loss; and the endings of names that are units.
pub fn columns() -> Value {
    let reasons =
        REASONS.iter().map(|reason| json!({"name": reason.name, "words": reason.words, "column": reason.column}));
    json!({
        "summary": of(Summary::lines()),
        "series": of(series::lines()),
        "reasons": reasons.collect::<Vec<_>>(),
        "units": UNITS,
    })
}

fn of(lines: Vec<Line>) -> Vec<Value> {
    let of_line = |line: Line| {
        let meaning = line.meaning.split_whitespace().collect::<Vec<_>>().join(" ");
        let below = of((line.below)());
        let (unit, scale) = (line.unit(), line.scale());
        json!({
            "name": line.name, "unit": unit, "label": line.label, "meaning": meaning, "scale": scale, "below": below,
        })
    };
    lines.into_iter().map(of_line).collect()
}
