//! Tables and positions as bytes that a page reads without parsing: the length of a JSON text (four bytes,
//! little-endian), the text, blanks up to a multiple of eight, then the columns.

use std::borrow::Cow;

use serde_json::{Value as Json, json};
use sim::{Column, Table};

/// The packed value of a text that is not there.
const NONE: u32 = u32::MAX;

/// A table: in the JSON its `rows`, and of each column `name`, `type` and `offset` in the data; `f64` values, or for
/// `text` the `u32` place of each among its `words`.
pub(crate) fn table(table: &Table) -> Vec<u8> {
    let mut column_bytes = Vec::new();
    let columns: Vec<Json> =
        table.columns.iter().map(|(name, values)| column(name, values, &mut column_bytes)).collect();
    packed(&json!({ "rows": table.rows(), "columns": columns }), &column_bytes)
}

fn column(name: &str, column: &Column, data: &mut Vec<u8>) -> Json {
    data.resize(data.len().next_multiple_of(8), 0);
    let offset = data.len();
    match column {
        Column::Float(values) => {
            data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            json!({ "name": name, "type": "f64", "offset": offset })
        }
        // Exact up to 2^53.
        Column::Count(values) => {
            data.extend(values.iter().flat_map(|&value| (value as f64).to_le_bytes()));
            json!({ "name": name, "type": "f64", "offset": offset })
        }
        Column::Number(values) => {
            let known = |value: &Option<u64>| value.map_or(f64::NAN, |value| value as f64);
            data.extend(values.iter().flat_map(|value| known(value).to_le_bytes()));
            json!({ "name": name, "type": "f64", "offset": offset })
        }
        Column::Text(values) => {
            let mut words: Vec<&str> = values.iter().flatten().map(|text| &**text).collect();
            words.sort_unstable();
            words.dedup();
            let place = |value: &Option<Cow<'static, str>>| match value {
                Some(text) => words.binary_search(&&**text).map_or(NONE, |place| place as u32),
                None => NONE,
            };
            data.extend(values.iter().flat_map(|value| place(value).to_le_bytes()));
            json!({ "name": name, "type": "text", "offset": offset, "words": words })
        }
    }
}

/// A JSON text and `f32` values.
pub(crate) fn floats(head: &Json, values: impl Iterator<Item = f32>) -> Vec<u8> {
    packed(head, &values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>())
}

fn packed(head: &Json, data: &[u8]) -> Vec<u8> {
    let mut text = head.to_string();
    while !(4 + text.len()).is_multiple_of(8) {
        text.push(' ');
    }
    let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_begin_where_the_head_says() {
        let mut made = Table::default();
        made.text("cause", [Some("late"), None, Some("early")]);
        made.float("time_s", [0.5, f64::NAN, 2.0]);
        made.count("flow", [1, 2, 3]);
        made.number("number", [Some(7), None, None]);
        let bytes = table(&made);
        let len = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let head: Json = serde_json::from_slice(&bytes[4..4 + len]).unwrap();
        let data = &bytes[4 + len..];
        assert_eq!((4 + len) % 8, 0);
        assert_eq!(head["columns"][0]["words"], json!(["early", "late"]));
        assert_eq!(data[..12], [[1, 0, 0, 0], [255; 4], [0; 4]].concat());
        assert_eq!(head["columns"][1]["offset"], 16);
        assert_eq!(data[16..24], 0.5f64.to_le_bytes());
        assert_eq!(data[40 + 16..40 + 24], 3f64.to_le_bytes());
        assert_eq!(data[64..72], 7f64.to_le_bytes());
        assert!(f64::from_le_bytes(data[72..80].try_into().unwrap()).is_nan());
        assert_eq!((head["rows"].as_u64(), data.len()), (Some(3), 88));
    }
}
