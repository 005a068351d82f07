//! Errors in a script.

/// Why a script cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptError {
    /// A syntax error: the line, counted from 1, and what was expected.
    Syntax(u32, String),
    /// A construct of the language that is not supported.
    Unsupported(u32, String),
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ScriptError::Syntax(line, message) => write!(f, "line {line}: {message}"),
            ScriptError::Unsupported(line, construct) => write!(f, "{construct} (line {line})"),
        }
    }
}
