//! The tokens of a script and a place among them.

use super::error::ScriptError;
use super::lexer::{Token, TokenKind};

/// Reads a script token after token. The grammar is in `parser.rs` and `packet.rs`.
pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    /// `tokens` end with the end token.
    pub(super) fn new(tokens: Vec<Token>) -> Parser {
        Parser { tokens, at: 0 }
    }

    pub(super) fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    pub(super) fn line(&self) -> u32 {
        self.tokens[self.at].line
    }

    /// The end token is never passed.
    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn error<T>(&self, message: impl Into<String>) -> Result<T, ScriptError> {
        Err(ScriptError::Syntax(self.line(), message.into()))
    }

    pub(super) fn unsupported<T>(&self, construct: impl Into<String>) -> Result<T, ScriptError> {
        Err(ScriptError::Unsupported(self.line(), construct.into()))
    }

    pub(super) fn expected<T>(&self, what: &str) -> Result<T, ScriptError> {
        self.error(format!("expected {what}, found {}", self.peek()))
    }

    /// Takes `sign` if it is next. Returns whether it was.
    pub(super) fn accept(&mut self, sign: char) -> bool {
        let found = *self.peek() == TokenKind::Sign(sign);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, sign: char) -> Result<(), ScriptError> {
        if self.accept(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), TokenKind::Word(found) if found == word);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn word(&mut self, what: &str) -> Result<String, ScriptError> {
        let TokenKind::Word(word) = self.peek() else { return self.expected(what) };
        let word = word.clone();
        self.advance();
        Ok(word)
    }

    /// A whole number from 0 to `max`.
    pub(super) fn number(&mut self, what: &str, max: u64) -> Result<u64, ScriptError> {
        let TokenKind::Int(number) = *self.peek() else { return self.expected(what) };
        match u64::try_from(number) {
            Ok(number) if number <= max => {
                self.advance();
                Ok(number)
            }
            _ => self.error(format!("expected {what} from 0 to {max}, found {number}")),
        }
    }
}
