//! The statements between `%{` and `}%`: the subset of Python that scripts use.
//!
//! Assignments (`x = 1`, `x += 2`), `assert condition, message` and `print(values)`, separated by line ends or `;`,
//! with `\` to continue a line and `#` for comments; expressions with numbers, texts, names, arithmetic, chained
//! comparisons, `and`, `or`, `not`, tuples, `%` of a text, and the functions `abs`, `int`, `min` and `max`.

mod expression;
mod tokens;
mod value;

use std::collections::BTreeMap;

use expression::Parser;
use tokens::{Token, tokens};
pub use value::Value;

/// Why statements fail, or cannot be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// An assertion that fails, or a syntax error.
    Wrong(String),
    /// A name or statement of the language that this evaluator does not have.
    Unsupported(String),
}

/// The values of names.
pub trait Names {
    /// The value of a name that the script has not assigned; `None` if there is no such name.
    ///
    /// The name exists, but its value is not available here.
    fn value(&self, name: &str) -> Result<Option<Value>, Problem>;
}

/// The variables of a script, with the values that its statements have assigned.
#[derive(Default)]
pub struct Statements {
    variables: BTreeMap<String, Value>,
    printed: Vec<String>,
}

impl Statements {
    /// Runs a block of statements.
    ///
    /// # Errors
    /// The first statement that fails.
    pub fn run(&mut self, code: &str, names: &dyn Names) -> Result<(), Problem> {
        let tokens = tokens(code)?;
        for statement in tokens.split(|token| *token == Token::Next).filter(|tokens| !tokens.is_empty()) {
            self.statement(statement, names)?;
        }
        Ok(())
    }

    /// The texts of the calls of `print`, one line for each.
    pub fn printed(&self) -> &[String] {
        &self.printed
    }

    fn statement(&mut self, tokens: &[Token], names: &dyn Names) -> Result<(), Problem> {
        if let Token::Name(word) = &tokens[0] {
            match word.as_str() {
                "assert" => return self.assert(&tokens[1..], names),
                "if" | "for" | "while" | "def" | "import" | "from" | "try" | "with" | "del" | "return" => {
                    return Err(Problem::Unsupported(format!("statement `{word}`")));
                }
                "print" => {
                    let value = self.whole(&tokens[1..], names)?;
                    self.printed.push(value.to_string());
                    return Ok(());
                }
                _ => {}
            }
            if let Some(Token::Sign(sign)) = tokens.get(1) {
                match *sign {
                    "=" => {
                        let value = self.whole(&tokens[2..], names)?;
                        self.variables.insert(word.clone(), value);
                        return Ok(());
                    }
                    "+=" | "-=" | "*=" => {
                        let before = self.lookup(word, names)?;
                        let value = self.whole(&tokens[2..], names)?;
                        let value = before.arithmetic(&sign[..1], &value)?;
                        self.variables.insert(word.clone(), value);
                        return Ok(());
                    }
                    _ => {}
                }
            }
        }
        self.whole(tokens, names).map(drop)
    }

    fn assert(&self, tokens: &[Token], names: &dyn Names) -> Result<(), Problem> {
        let mut parser = Parser::new(tokens, self, names);
        let condition = parser.expression()?;
        let message = if parser.accept(",") { Some(parser.tuple()?) } else { None };
        parser.end()?;
        if condition.truth() {
            return Ok(());
        }
        let text = tokens::text_of(parser.before_comma());
        let message = message.map_or(String::new(), |message| format!(": {message}"));
        let seen = parser.seen();
        let seen = if seen.is_empty() { String::new() } else { format!(" ({})", seen.join(", ")) };
        Err(Problem::Wrong(format!("assertion `{text}` does not hold{message}{seen}")))
    }

    fn whole(&self, tokens: &[Token], names: &dyn Names) -> Result<Value, Problem> {
        let mut parser = Parser::new(tokens, self, names);
        let value = parser.tuple()?;
        parser.end()?;
        Ok(value)
    }

    fn lookup(&self, name: &str, names: &dyn Names) -> Result<Value, Problem> {
        if let Some(value) = self.variables.get(name) {
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

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
