//! The names of statements: those of the connection, and the variables of the script.

use std::collections::BTreeMap;

use super::problem::Problem;
use super::value::Value;

/// The values of names.
pub trait Names {
    /// The value of a name that the script has not assigned; `None` if there is no such name.
    ///
    /// The name exists, but its value is not available here.
    fn value(&self, name: &str) -> Result<Option<Value>, Problem>;
}

/// The variables that a script has assigned.
#[derive(Default)]
pub(super) struct Variables {
    values: BTreeMap<String, Value>,
}

impl Variables {
    pub(super) fn assign(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
    }

    /// The value of a variable, or of a name of the connection.
    pub(super) fn lookup(&self, name: &str, names: &dyn Names) -> Result<Value, Problem> {
        if let Some(value) = self.values.get(name) {
            return Ok(value.clone());
        }
        match name {
            "True" => return Ok(Value::Int(1)),
            "False" => return Ok(Value::Int(0)),
            _ => {}
        }
        match names.value(name)? {
            Some(value) => Ok(value),
            None => Err(Problem::Wrong(format!("name `{name}` is not known"))),
        }
    }
}
