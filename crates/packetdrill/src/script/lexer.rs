//! From text to tokens.

use super::error::ScriptError;

/// `--name=value` at the head of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// Line in the file, from 1.
    pub line: u32,
    /// Name without the dashes.
    pub name: String,
    /// Value, empty if there is none.
    pub value: String,
}

/// A token and its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub line: u32,
    pub kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Option(ScriptOption),
    Word(String),
    Int(i64),
    Float(f64),
    Text(String),
    /// `command`
    Command(String),
    /// %{ code }%
    Code(String),
    Ellipsis,
    Sign(char),
    End,
}

impl std::fmt::Display for TokenKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TokenKind::Option(option) => write!(f, "the option --{}", option.name),
            TokenKind::Word(word) => write!(f, "`{word}`"),
            TokenKind::Int(number) => write!(f, "{number}"),
            TokenKind::Float(number) => write!(f, "{number}"),
            TokenKind::Text(text) => write!(f, "{text:?}"),
            TokenKind::Command(_) => f.write_str("a command"),
            TokenKind::Code(_) => f.write_str("code"),
            TokenKind::Ellipsis => f.write_str("`...`"),
            TokenKind::Sign(sign) => write!(f, "`{sign}`"),
            TokenKind::End => f.write_str("the end of the file"),
        }
    }
}

/// All tokens of a text, [`TokenKind::End`] last.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ScriptError> {
    let mut lexer = Lexer { rest: text, line: 1 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank()?;
        let line = lexer.line;
        let kind = lexer.next()?;
        let end = kind == TokenKind::End;
        tokens.push(Token { line, kind });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Lexer<'a> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, ScriptError> {
        Err(ScriptError::Syntax(self.line, message.into()))
    }

    /// Takes `bytes` bytes and counts the lines in them.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count() as u32;
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Takes the text before `end`, and `end` itself.
    fn take_until(&mut self, end: &str, what: &str) -> Result<&'a str, ScriptError> {
        let Some(at) = self.rest.find(end) else {
            return self.error(format!("{what} is not closed: expected `{end}` before the end of the file"));
        };
        let text = self.take(at);
        self.take(end.len());
        Ok(text)
    }

    fn skip_blank(&mut self) -> Result<(), ScriptError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                self.take(2);
                self.take_until("*/", "a comment")?;
            } else {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> Result<TokenKind, ScriptError> {
        let mut ahead = self.rest.chars();
        let Some(first) = ahead.next() else { return Ok(TokenKind::End) };
        let second = ahead.next().unwrap_or(' ');
        match first {
            '-' if second == '-' => self.option(),
            '`' => {
                self.take(1);
                Ok(TokenKind::Command(self.take_until("`", "a command")?.to_owned()))
            }
            '%' if second == '{' => {
                self.take(2);
                Ok(TokenKind::Code(self.take_until("}%", "code")?.to_owned()))
            }
            '"' => self.text(),
            '.' if self.rest.starts_with("...") => {
                self.take(3);
                Ok(TokenKind::Ellipsis)
            }
            '.' if second.is_ascii_digit() => self.number(),
            _ if first.is_ascii_digit() => self.number(),
            _ if first.is_ascii_alphabetic() || first == '_' => {
                Ok(TokenKind::Word(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_').to_owned()))
            }
            _ if first.is_ascii_punctuation() => {
                self.take(1);
                Ok(TokenKind::Sign(first))
            }
            _ => self.error(format!("unexpected character {first:?}")),
        }
    }

    fn option(&mut self) -> Result<TokenKind, ScriptError> {
        let line = self.line;
        self.take(2);
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_').to_owned();
        if name.is_empty() {
            return self.error("expected the name of an option after `--`");
        }
        let mut value = String::new();
        if self.rest.starts_with('=') {
            self.take(1);
            while let Some(c) = self.rest.chars().next().filter(|c| !c.is_whitespace()) {
                if c == '"' {
                    self.take(1);
                    value.push_str(self.take_until("\"", "the value of an option")?);
                } else {
                    value.push_str(self.take(c.len_utf8()));
                }
            }
        }
        Ok(TokenKind::Option(ScriptOption { line, name, value }))
    }

    fn text(&mut self) -> Result<TokenKind, ScriptError> {
        self.take(1);
        let mut text = String::new();
        let mut escaped = false;
        let mut hexadecimal = String::new();
        for (at, c) in self.rest.char_indices() {
            match c {
                // `\x1f`: a byte in two digits
                'x' if escaped && hexadecimal.is_empty() => hexadecimal.push('x'),
                _ if escaped && !hexadecimal.is_empty() => {
                    hexadecimal.push(c);
                    if hexadecimal.len() == 3 {
                        let Ok(byte) = u8::from_str_radix(&hexadecimal[1..], 16) else {
                            return self.error("expected two hexadecimal digits after `\\x`");
                        };
                        text.push(char::from(byte));
                        hexadecimal.clear();
                        escaped = false;
                    }
                }
                _ if escaped => {
                    text.push(match c {
                        'n' => '\n',
                        't' => '\t',
                        other => other,
                    });
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    self.take(at + 1);
                    return Ok(TokenKind::Text(text));
                }
                '\n' => break,
                other => text.push(other),
            }
        }
        self.error("a text is not closed: expected `\"` before the end of the line")
    }

    /// `10`, `0x1f`, `.5`, `1.25`. A point that more points follow is not part of the number: `0...0.1` is a range.
    fn number(&mut self) -> Result<TokenKind, ScriptError> {
        if let Some(digits) = self.rest.strip_prefix("0x") {
            let len = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
            let text = &self.take(2 + len)[2..];
            return match i64::from_str_radix(text, 16) {
                Ok(number) => Ok(TokenKind::Int(number)),
                Err(_) => self.error(format!("0x{text} is not a hexadecimal number of at most 63 bits")),
            };
        }
        let whole = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let after = &self.rest[whole..];
        let fraction = after.strip_prefix('.').map_or(0, |digits| {
            let len = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            if len == 0 { 0 } else { 1 + len }
        });
        // A cookie in hexadecimal digits: letters among them, or zeros before them.
        let run = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        if fraction == 0 && (run > whole || whole > 1 && self.rest.starts_with('0')) {
            return Ok(TokenKind::Word(self.take(run).to_owned()));
        }
        let text = self.take(whole + fraction);
        if fraction > 0 {
            return match text.parse() {
                Ok(number) => Ok(TokenKind::Float(number)),
                Err(_) => self.error(format!("{text} is not a number")),
            };
        }
        match text.parse() {
            Ok(number) => Ok(TokenKind::Int(number)),
            Err(_) => self.error(format!("{text} is larger than 63 bits")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).expect("tokens").into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn points_belong_to_numbers_flags_or_ellipses() {
        use TokenKind::{Ellipsis, End, Float, Int, Sign, Word};
        assert_eq!(kinds("0...0.25"), [Int(0), Ellipsis, Float(0.25), End]);
        assert_eq!(kinds("+.1 S. 1"), [Sign('+'), Float(0.1), Word("S".into()), Sign('.'), Int(1), End]);
        assert_eq!(kinds(".5~0x1F"), [Float(0.5), Sign('~'), Int(31), End]);
    }

    #[test]
    fn comments_vanish_and_lines_are_counted_through_them() {
        let tokens = tokens("a /* x\n y */ b // c\n`two\nlines` d").expect("tokens");
        let lines: Vec<u32> = tokens.iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 4]);
        assert_eq!(tokens[2].kind, TokenKind::Command("two\nlines".into()));
    }

    #[test]
    fn options_take_quoted_values() {
        let option = |name: &str, value: &str| {
            TokenKind::Option(ScriptOption { line: 1, name: name.into(), value: value.into() })
        };
        assert_eq!(
            kinds("--define=X=\"1 2\" --strict_segments"),
            [option("define", "X=1 2"), option("strict_segments", ""), TokenKind::End]
        );
    }

    #[test]
    fn what_is_not_closed_is_told_with_its_line() {
        for (text, line) in [("a\n`b", 2), ("/* x", 1), ("\n\n%{ a", 3), ("\"x\n\"", 1)] {
            let Err(ScriptError::Syntax(at, message)) = tokens(text) else { panic!("{text:?} was taken") };
            assert_eq!(at, line, "{text:?}: {message}");
            assert!(message.contains("expected"), "{message}");
        }
        assert!(tokens("99999999999999999999").is_err());
        assert!(tokens("0x").is_err());
        assert!(tokens("\u{e9}").is_err());
    }
}
