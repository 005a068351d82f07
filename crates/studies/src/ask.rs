//! Questions by their names, their options as JSON: the door through which the Python binding asks.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use sim::{ScenarioError, Table};

use crate::access::equations;
use crate::channel;
use crate::constellation::{delays, ground, sky};
use crate::path;

/// The answer to a question.
pub struct Answer {
    /// Numbers and texts; null where the answer is its tables.
    pub value: Json,
    /// Tables by name.
    pub tables: Vec<(&'static str, Table)>,
}

impl From<Json> for Answer {
    fn from(value: Json) -> Answer {
        Answer { value, tables: Vec::new() }
    }
}

impl From<Table> for Answer {
    fn from(table: Table) -> Answer {
        Answer { value: Json::Null, tables: vec![("table", table)] }
    }
}

impl<const N: usize> From<[(&'static str, Table); N]> for Answer {
    fn from(tables: [(&'static str, Table); N]) -> Answer {
        Answer { value: Json::Null, tables: tables.into() }
    }
}

/// Answers the question of a name. `options` is a JSON object, the fields of the question's struct; names of files in
/// it start from `base`.
///
/// # Errors
/// Names the option that is wrong.
pub fn ask(question: &str, options: &str, base: &Path) -> Result<Answer, ScenarioError> {
    match question {
        "access.added_delay" => by(equations::added_delay, options, base),
        "access.break_even_users" => by(equations::break_even_users, options, base),
        "access.datagram_loss" => by(equations::datagram_loss, options, base),
        "access.loss_from_retransmissions" => by(equations::loss_from_retransmissions, options, base),
        "access.retransmission_probability" => by(equations::retransmission_probability, options, base),
        "channel.series" => by(channel::series, options, base),
        "channel.statistics" => by(channel::statistics, options, base),
        "constellation.best_elevation" => by(ground::best_elevation, options, base),
        "constellation.coverage" => by(ground::coverage, options, base),
        "constellation.delay" => by(delays::delay, options, base),
        "constellation.delay_trace" => by(delays::delay_trace, options, base),
        "constellation.epoch" => by(sky::epoch, options, base),
        "constellation.links" => by(sky::links, options, base),
        "constellation.look" => by(sky::look, options, base),
        "constellation.map" => by(ground::map, options, base),
        "constellation.passes" => by(ground::passes, options, base),
        "constellation.positions" => by(sky::positions, options, base),
        "constellation.stations" => by(sky::stations, options, base),
        "constellation.warning" => by(sky::age_warning, options, base),
        "path.course" => by(path::course, options, base),
        _ => Err(ScenarioError::new("", format!("\"{question}\" is no question"))),
    }
}

/// Reads the options of a question and answers it.
fn by<Q: DeserializeOwned, A: Into<Answer>>(
    answer: impl FnOnce(&Q, &Path) -> Result<A, ScenarioError>,
    options: &str,
    base: &Path,
) -> Result<Answer, ScenarioError> {
    let question = serde_json::from_str(options).map_err(|error| ScenarioError::new("", error.to_string()))?;
    answer(&question, base).map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_by_name() {
        let here = Path::new("");
        let passes = r#"{ "constellation": "leo-66", "at": [43.6, 1.4], "duration_s": 600.0 }"#;
        let answer = ask("constellation.passes", passes, here).unwrap();
        assert!(answer.value.is_null() && answer.tables[0].1.rows() > 3);
        let says = |question: &str, options: &str| ask(question, options, here).err().unwrap().to_string();
        assert_eq!(says("constellation.phases", "{}"), "\"constellation.phases\" is no question");
        assert!(says("constellation.epoch", "{}").starts_with("missing field `constellation`"));
        assert!(
            says("constellation.epoch", r#"{ "constellation": "leo-66", "at": 1 }"#).starts_with("unknown field `at`")
        );
        assert!(says("constellation.passes", &passes.replace("600.0", "-1")).starts_with("duration: -1 s"));
    }
}
