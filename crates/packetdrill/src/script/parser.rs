//! From tokens to a script.

use units::Duration;

use super::ast::{Action, Call, Event, Expr, Script, When};
use super::cursor::Parser;
use super::error::ScriptError;
use super::lexer::{ScriptOption, Token, TokenKind, tokens};
use super::packet;

/// Reads a script; `defines` are symbols of the command line, with precedence over those of the file.
///
/// # Errors
/// The line and what was expected there, or the construct that is not supported.
pub fn parse(text: &str, defines: &[(String, String)]) -> Result<Script, ScriptError> {
    let tokens = substitute(tokens(text)?, defines)?;
    let mut parser = Parser::new(tokens);
    let mut script = Script::default();
    while let TokenKind::Option(option) = parser.peek().clone() {
        parser.advance();
        script.options.push(option);
    }
    while let TokenKind::Command(text) = parser.peek().clone() {
        script.setup.push((parser.line(), text));
        parser.advance();
    }
    loop {
        match parser.peek().clone() {
            TokenKind::End => break,
            // The clean-up command has no effect in a simulation.
            TokenKind::Command(_) => {
                parser.advance();
                match parser.peek() {
                    TokenKind::End | TokenKind::Command(_) => {}
                    other => {
                        return parser.error(format!("expected the end of the file after its command, found {other}"));
                    }
                }
            }
            _ => script.events.push(parser.event()?),
        }
    }
    if script.events.is_empty() {
        return parser.error("expected an event, found none");
    }
    Ok(script)
}

/// Replaces the names of `--define=NAME=value` by their values.
fn substitute(tokens: Vec<Token>, given: &[(String, String)]) -> Result<Vec<Token>, ScriptError> {
    let mut symbols: Vec<(String, Vec<TokenKind>)> = Vec::new();
    let mut define = |line: u32, name: &str, value: &str| -> Result<(), ScriptError> {
        if symbols.iter().any(|(known, _)| known == name) {
            return Ok(());
        }
        let mut kinds: Vec<TokenKind> = self::tokens(value)
            .map_err(|_| ScriptError::Syntax(line, format!("--define: {value:?} is not text of a script")))?
            .into_iter()
            .map(|token| token.kind)
            .collect();
        kinds.pop(); // the end
        symbols.push((name.to_owned(), kinds));
        Ok(())
    };
    for (name, value) in given {
        define(0, name, value)?;
    }
    for token in &tokens {
        if let TokenKind::Option(ScriptOption { line, name, value }) = &token.kind
            && name == "define"
        {
            match value.split_once('=') {
                Some((name, value)) => define(*line, name, value)?,
                None => return Err(ScriptError::Syntax(*line, "--define: expected NAME=value".into())),
            }
        }
    }
    let mut replaced_tokens = Vec::with_capacity(tokens.len());
    for token in tokens {
        match &token.kind {
            TokenKind::Word(word) if symbols.iter().any(|(name, _)| name == word) => {
                let replacement = symbols.iter().find(|(name, _)| name == word);
                let values = replacement.map_or(&[][..], |(_, kinds)| kinds);
                replaced_tokens.extend(values.iter().map(|kind| Token { line: token.line, kind: kind.clone() }));
            }
            _ => replaced_tokens.push(token),
        }
    }
    Ok(replaced_tokens)
}

impl Parser {
    fn event(&mut self) -> Result<Event, ScriptError> {
        let line = self.line();
        let (when, until) = self.time()?;
        let action = match self.peek().clone() {
            TokenKind::Sign('<') => {
                self.advance();
                Action::Inbound(packet::inbound(self)?)
            }
            TokenKind::Sign('>') => {
                self.advance();
                Action::Outbound(packet::outbound(self)?)
            }
            TokenKind::Word(_) => Action::Call(self.call(until)?),
            TokenKind::Code(code) => {
                self.advance();
                Action::Code(code)
            }
            TokenKind::Command(command) => {
                self.advance();
                Action::Command(command)
            }
            _ => return self.expected("`<`, `>`, a call, code or a command after the time"),
        };
        let outbound = matches!(action, Action::Outbound(_));
        if !outbound && !matches!(when, When::At(_) | When::After(_)) {
            let message = "a range of times or `*` stands only before an outbound packet";
            return Err(ScriptError::Syntax(line, message.into()));
        }
        if until.is_some() && !matches!(action, Action::Call(_)) {
            return Err(ScriptError::Syntax(line, "`...` in a time stands only before a call".into()));
        }
        Ok(Event { line, when, action })
    }

    /// The time of an event, and the end of a blocking call.
    fn time(&mut self) -> Result<(When, Option<Duration>), ScriptError> {
        if self.accept('*') {
            return Ok((When::Any, None));
        }
        let relative = self.accept('+');
        let start = self.seconds()?;
        let second = |parser: &mut Parser| {
            let plus = parser.accept('+');
            if plus && !relative {
                return parser.error("expected a time without `+`, as the first is without");
            }
            let end = parser.seconds()?;
            if end < start {
                return parser.error("expected a second time that is not before the first");
            }
            Ok(end)
        };
        if self.accept('~') {
            let end = second(self)?;
            return Ok((if relative { When::AfterRange(start, end) } else { When::AtRange(start, end) }, None));
        }
        let until = if *self.peek() == TokenKind::Ellipsis {
            self.advance();
            Some(second(self)?)
        } else {
            None
        };
        Ok((if relative { When::After(start) } else { When::At(start) }, until))
    }

    /// Seconds to the nearest microsecond.
    fn seconds(&mut self) -> Result<Duration, ScriptError> {
        let seconds = match *self.peek() {
            TokenKind::Int(number) => number as f64,
            TokenKind::Float(number) => number,
            _ => return self.expected("a time in seconds"),
        };
        if seconds > 1e6 {
            return self.error(format!("expected a time of at most 1000000 s, found {seconds}"));
        }
        self.advance();
        Ok(Duration::from_micros((seconds * 1e6).round() as u64))
    }

    fn call(&mut self, until: Option<Duration>) -> Result<Call, ScriptError> {
        let name = self.word("a call")?;
        self.expect('(')?;
        let args = self.list(')')?;
        self.expect('=')?;
        let returned = self.expr()?;
        let mut errno = None;
        if let TokenKind::Word(word) = self.peek().clone()
            && word.starts_with('E')
        {
            self.advance();
            errno = Some(word);
        }
        if self.accept('(') {
            self.remark()?;
        }
        Ok(Call { until, name, args, result: returned, errno })
    }

    /// Skips the text in parentheses behind a result.
    fn remark(&mut self) -> Result<(), ScriptError> {
        while *self.peek() != TokenKind::Sign(')') {
            if *self.peek() == TokenKind::End {
                return self.expected("`)`");
            }
            self.advance();
        }
        self.expect(')')
    }

    /// The expressions up to `end`, which is taken too.
    fn list(&mut self, end: char) -> Result<Vec<Expr>, ScriptError> {
        let mut list = Vec::new();
        while !self.accept(end) {
            if !list.is_empty() {
                self.expect(',')?;
                if self.accept(end) {
                    break;
                }
            }
            list.push(self.expr()?);
        }
        Ok(list)
    }

    fn expr(&mut self) -> Result<Expr, ScriptError> {
        match self.peek().clone() {
            TokenKind::Ellipsis => {
                self.advance();
                Ok(Expr::Whatever)
            }
            TokenKind::Int(number) => {
                self.advance();
                Ok(Expr::Int(number))
            }
            TokenKind::Sign('-') => {
                self.advance();
                let TokenKind::Int(number) = *self.peek() else { return self.expected("a number after `-`") };
                self.advance();
                Ok(Expr::Int(-number))
            }
            TokenKind::Text(text) => {
                self.advance();
                Ok(Expr::Text(text))
            }
            TokenKind::Sign('[') => {
                self.advance();
                Ok(Expr::List(self.list(']')?))
            }
            TokenKind::Sign('{') => {
                self.advance();
                self.members()
            }
            TokenKind::Word(word) => {
                self.advance();
                if self.accept('(') {
                    return Ok(Expr::Function(word, self.list(')')?));
                }
                let mut symbols = vec![word];
                while self.accept('|') {
                    symbols.push(self.word("a symbol after `|`")?);
                }
                Ok(Expr::Symbols(symbols))
            }
            _ => self.expected("a value"),
        }
    }

    fn members(&mut self) -> Result<Expr, ScriptError> {
        let mut members = Vec::new();
        while !self.accept('}') {
            if !members.is_empty() {
                self.expect(',')?;
            }
            let value = self.expr()?;
            if self.accept('=') {
                let name = match value {
                    Expr::Symbols(mut names) if names.len() == 1 => names.remove(0),
                    Expr::Function(name, _) => name,
                    _ => return self.error("expected the name of a member before `=`"),
                };
                members.push((name, self.expr()?));
            } else {
                members.push((String::new(), value));
            }
        }
        Ok(Expr::Struct(members))
    }
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;
