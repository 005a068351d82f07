//! The statements between `%{` and `}%`: the subset of Python that scripts use.
//!
//! Assignments (`x = 1`, `x += 2`), `assert condition, message` and `print(values)`, separated by line ends or `;`,
//! with `\` to continue a line and `#` for comments; expressions with numbers, texts, names, arithmetic, chained
//! comparisons, `and`, `or`, `not`, tuples, `%` of a text, and the functions `abs`, `int`, `min` and `max`.

mod expression;
mod names;
mod problem;
mod tokens;
mod value;

use expression::Parser;
pub use names::Names;
use names::Variables;
pub use problem::Problem;
use tokens::{Token, tokens};
pub use value::Value;

/// The variables of a script, with the values that its statements have assigned.
#[derive(Default)]
pub struct Statements {
    variables: Variables,
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
                        self.variables.assign(word, value);
                        return Ok(());
                    }
                    "+=" | "-=" | "*=" => {
                        let before = self.variables.lookup(word, names)?;
                        let value = self.whole(&tokens[2..], names)?;
                        let value = before.arithmetic(&sign[..1], &value)?;
                        self.variables.assign(word, value);
                        return Ok(());
                    }
                    _ => {}
                }
            }
        }
        self.whole(tokens, names).map(drop)
    }

    fn assert(&self, tokens: &[Token], names: &dyn Names) -> Result<(), Problem> {
        let mut parser = Parser::new(tokens, &self.variables, names);
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
        let mut parser = Parser::new(tokens, &self.variables, names);
        let value = parser.tuple()?;
        parser.end()?;
        Ok(value)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
