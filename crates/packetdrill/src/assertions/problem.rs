//! Errors in statements.

/// Why statements fail, or cannot be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// An assertion that fails, or a syntax error.
    Wrong(String),
    /// A name or statement of the language that this evaluator does not have.
    Unsupported(String),
}
