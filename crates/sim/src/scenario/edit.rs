//! Reaching into a scenario by dotted path: `flows.0.transport.congestion`.

use toml::{Table, Value};
use units::FieldError as ScenarioError;

use super::whole;

/// Splits `key=value`; the value is any TOML value, and bare words that are none are a string.
pub(super) fn parse_assignment(assignment: &str) -> Result<(String, Value), ScenarioError> {
    let Some((path, text)) = assignment.split_once('=') else {
        return Err(ScenarioError::new(assignment, "write key=value, as in channel.reference_snr=\"7 dB\""));
    };
    let (path, text) = (path.trim(), text.trim());
    if path.is_empty() {
        return Err(ScenarioError::new(assignment, "has no key before the =: write key=value"));
    }
    let line = format!("value = {text}");
    if let Some(error) = whole::refusal(&line) {
        return Err(ScenarioError::new(error.field.replacen("value", path, 1), error.message));
    }
    let value = match toml::from_str::<Table>(&line) {
        Ok(mut table) if table.len() == 1 => table.remove("value").expect("its only key"),
        _ if text.is_empty() || text.starts_with(['[', '{', '"', '\'']) => {
            return Err(ScenarioError::new(path, format!("`{text}` is not a TOML value")));
        }
        _ => Value::String(text.to_owned()),
    };
    Ok((path.to_owned(), value))
}

/// Sets the value at `path`. Tables on the way are made, list entries are not; a table replaces the table.
pub(super) fn set(root: &mut Table, path: &str, value: Value) -> Result<(), ScenarioError> {
    let steps: Vec<&str> = path.split('.').collect();
    if steps.iter().any(|step| step.is_empty()) {
        return Err(ScenarioError::new(path, "is not a dotted path, as in flows.0.count"));
    }
    set_in_table(root, &steps, value).map_err(|message| ScenarioError::new(path, message))
}

fn set_in_table(table: &mut Table, steps: &[&str], value: Value) -> Result<(), String> {
    match steps {
        [last] => _ = table.insert((*last).to_owned(), value),
        [step, rest @ ..] => {
            set_below(table.entry(*step).or_insert_with(|| Value::Table(Table::new())), step, rest, value)?;
        }
        [] => unreachable!("a path has at least one step"),
    }
    Ok(())
}

fn set_below(node: &mut Value, name: &str, steps: &[&str], value: Value) -> Result<(), String> {
    match node {
        Value::Table(table) => set_in_table(table, steps, value),
        Value::Array(list) => {
            let length = list.len();
            let entry = steps[0].parse().ok().and_then(|index: usize| list.get_mut(index));
            let entry =
                entry.ok_or_else(|| format!("`{name}` has entries 0 to {}, not `{}`", length as i64 - 1, steps[0]))?;
            match &steps[1..] {
                [] => *entry = value,
                rest => set_below(entry, steps[0], rest, value)?,
            }
            Ok(())
        }
        // `congestion = "cubic"` is short for `{ kind = "cubic" }`, so it can be reached into.
        Value::String(kind) => {
            let mut table = kind_table(kind);
            set_in_table(&mut table, steps, value)?;
            *node = Value::Table(table);
            Ok(())
        }
        other => Err(format!("cannot reach into `{name}`, which is {other}")),
    }
}

/// Returns the table that a bare `"name"` stands for where a choice with options is expected.
pub(super) fn kind_table(kind: &str) -> Table {
    Table::from_iter([("kind".to_owned(), Value::String(kind.to_owned()))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(assignment: &str) -> Result<String, String> {
        let mut table: Table = toml::from_str(
            "title = 't'\n\
             [last_hop]\nrate = '1 Mbit/s'\nharq = { kind = 'adaptive', transmissions = 4 }\n\
             [[flows]]\ntransport = { congestion = 'cubic' }",
        )
        .unwrap();
        let (path, value) = parse_assignment(assignment).map_err(|e| e.to_string())?;
        set(&mut table, &path, value).map_err(|e| e.to_string())?;
        Ok(table.to_string().replace('\n', ";"))
    }

    #[test]
    fn reaches_into_tables_lists_and_short_forms() {
        assert!(edited("seed=7").unwrap().contains("seed = 7"));
        assert!(edited("flows.0.count = 100").unwrap().contains("count = 100"));
        assert!(edited("title=two words").unwrap().contains("title = \"two words\""));
        assert!(edited("path.jitter.probability='20 %'").unwrap().contains("[path.jitter];probability = \"20 %\""));
        let cubic = edited("flows.0.transport.congestion.beta=0.8").unwrap();
        assert!(
            cubic.contains("[flows.transport.congestion]")
                && cubic.contains("kind = \"cubic\"")
                && cubic.contains("beta = 0.8")
        );
    }

    #[test]
    fn a_table_replaces_the_table() {
        let replaced = edited("last_hop.harq={ kind = \"none\" }").unwrap();
        assert!(replaced.contains("kind = \"none\"") && !replaced.contains("transmissions"));
    }

    #[test]
    fn says_what_cannot_be_reached() {
        assert_eq!(edited("flows.3.count=1"), Err("flows.3.count: `flows` has entries 0 to 0, not `3`".into()));
        assert!(
            edited("last_hop.harq.transmissions.x=1")
                .unwrap_err()
                .contains("cannot reach into `transmissions`, which is 4")
        );
        assert!(edited("=3").unwrap_err().starts_with("=3: has no key"));
        assert!(edited("seed").unwrap_err().contains("key=value"));
        assert!(edited("seed={").unwrap_err().contains("not a TOML value"));
        let large = "18446744073709551616 was given: a whole number is at most 9223372036854775807";
        assert_eq!(edited("seed=18446744073709551616"), Err(format!("seed: {large}")));
        assert_eq!(edited("flows.0.sizes=[1, 18_446_744_073_709_551_616]"), Err(format!("flows.0.sizes.1: {large}")));
        assert!(edited("a..b=1").unwrap_err().contains("dotted path"));
    }
}
