//! The text of a scenario: the line of a key, and a value changed with the comments left as they are.

use serde_json::Value as Json;
use toml_edit::{Document, DocumentMut, InlineTable, Item, Table, Value};

/// The line, from 1, of what an error is about: of the syntax, or of the key at a dotted path, or of the table that
/// should have it.
pub(crate) fn line(toml: &str, field: &str) -> Option<usize> {
    let document = match Document::parse(toml) {
        Ok(document) => document,
        Err(error) => return error.span().map(|span| line_at(toml, span.start)),
    };
    let mut place_in_text = None;
    let mut item = document.as_item();
    for part in field.split('.').filter(|part| !part.is_empty()) {
        let below = match (part.parse::<usize>(), item) {
            (Ok(place), item) => item.get(place).map(|below| (None, below)),
            (Err(_), item) => {
                item.as_table_like().and_then(|table| table.get_key_value(part)).map(|(key, below)| (key.span(), below))
            }
        };
        let Some((key, below)) = below else { break };
        place_in_text = key.or_else(|| below.span()).or(place_in_text);
        item = below;
    }
    place_in_text.map(|span| line_at(toml, span.start))
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// The text with the value at a dotted path replaced, or taken out where there is none. Tables on the way are made.
///
/// # Errors
/// The reason why the value cannot be changed, as a clause.
pub(crate) fn edited(toml: &str, path: &str, value: Option<&Json>) -> Result<String, String> {
    let mut document: DocumentMut = toml.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let mut parts: Vec<&str> = path.split('.').collect();
    let last = parts.pop().filter(|part| !part.is_empty()).ok_or("names no key")?;
    let mut item = document.as_item_mut();
    for part in parts {
        item = match part.parse::<usize>() {
            Ok(place) => item.get_mut(place).ok_or_else(|| format!("there is no {part}"))?,
            Err(_) => {
                // A word that stands for a table with this kind: `harq = "none"`.
                if let Some(kind) = item.as_str().map(str::to_owned) {
                    *item = Item::Value(InlineTable::from_iter([("kind", Value::from(kind))]).into());
                }
                let is_root = item.is_table();
                let table = item.as_table_like_mut().ok_or_else(|| format!("{part} is below a value"))?;
                let fresh = || match is_root {
                    true => Item::Table(Table::new()),
                    false => Item::Value(InlineTable::new().into()),
                };
                table.entry(part).or_insert_with(fresh)
            }
        };
    }
    if let Some(kind) = item.as_str().map(str::to_owned) {
        *item = Item::Value(InlineTable::from_iter([("kind", Value::from(kind))]).into());
    }
    set(item, last, value)?;
    Ok(document.to_string())
}

fn set(item: &mut Item, key: &str, value: Option<&Json>) -> Result<(), String> {
    if let Ok(place) = key.parse::<usize>() {
        let fresh = value.and_then(of_json).ok_or("an item of a list cannot be taken out")?;
        *item.get_mut(place).ok_or_else(|| format!("there is no {key}"))? = Item::Value(fresh);
        return Ok(());
    }
    let table = item.as_table_like_mut().ok_or("its table is a value")?;
    let Some(mut fresh) = value.and_then(of_json) else {
        table.remove(key);
        return Ok(());
    };
    // The blanks and the comment behind the old value stay.
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *fresh.decor_mut() = old.decor().clone();
            *old = fresh;
        }
        Some(old @ Item::Table(_)) => {
            let Value::InlineTable(inner) = fresh else { return Err("a table is expected".to_owned()) };
            let (Item::Table(before), mut table) = (std::mem::take(old), inner.into_table()) else {
                unreachable!("matched")
            };
            *table.decor_mut() = before.decor().clone();
            table.set_position(before.position());
            *old = Item::Table(table);
        }
        _ => {
            table.insert(key, Item::Value(fresh));
        }
    }
    Ok(())
}

fn of_json(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => return None,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::Array(items.iter().filter_map(of_json).collect()),
        Json::Object(fields) => {
            let fields = fields.iter().filter_map(|(key, value)| Some((key.as_str(), of_json(value)?)));
            Value::InlineTable(fields.collect())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEXT: &str =
        "# first\nseed = 1   # of the run\n\n[channel]\nkind = \"clear\"   # no loss\n\n[[flows]]\ncount = 2\n";

    #[test]
    fn comments_stay_where_values_change() {
        let change = |path: &str, value: Json| edited(TEXT, path, Some(&value)).unwrap();
        assert_eq!(change("seed", json!(7)), TEXT.replace("seed = 1", "seed = 7"));
        assert_eq!(change("flows.0.count", json!(9)), TEXT.replace("count = 2", "count = 9"));
        let channel = change("channel", json!({ "kind": "bernoulli", "loss": "1 %" }));
        assert!(channel.contains("[channel]\nkind = \"bernoulli\"\nloss = \"1 %\"\n"), "{channel}");
        assert!(channel.find("[channel]").unwrap() < channel.find("[[flows]]").unwrap(), "{channel}");
        let (_, rest) = TEXT.split_once("# of the run\n").unwrap();
        assert_eq!(edited(TEXT, "seed", None).unwrap(), rest, "with its comments");
        assert!(change("record.series", json!(true)).contains("[record]\nseries = true"));
        let inline = "last_hop = { harq = \"none\" }\n";
        let harq = edited(inline, "last_hop.harq.transmissions", Some(&json!(4))).unwrap();
        assert_eq!(harq, "last_hop = { harq = { kind = \"none\", transmissions = 4 } }\n");
        assert!(edited(TEXT, "flows.3.count", Some(&json!(1))).is_err() && edited(TEXT, "", None).is_err());
    }

    #[test]
    fn keys_have_lines() {
        assert_eq!(line(TEXT, "channel.kind"), Some(5));
        assert_eq!(line(TEXT, "flows.0.count"), Some(8));
        assert_eq!(line(TEXT, "flows.0.traffic"), Some(7));
        assert_eq!(line("seed = 1\nseeed = 2\n", "seeed"), Some(2));
        assert_eq!(line("a = 1\nb = \n", ""), Some(2));
        assert_eq!(line("", "duration"), None);
    }
}
