//! Statements as tokens.

use super::problem::Problem;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Int(i64),
    Float(f64),
    Text(String),
    Sign(&'static str),
    /// The end of a statement.
    Next,
}

/// Longer ones first.
const SIGNS: [&str; 24] = [
    "//", "==", "!=", "<=", ">=", "+=", "-=", "*=", "(", ")", "[", "]", ",", "=", "<", ">", "+", "-", "*", "/", "%",
    "&", "|", ".",
];

pub(super) fn tokens(code: &str) -> Result<Vec<Token>, Problem> {
    let mut tokens = Vec::new();
    let mut rest_of_code = code;
    let mut depth = 0u32; // within parentheses a line end separates nothing
    while let Some(first) = rest_of_code.chars().next() {
        let mut taken = first.len_utf8();
        match first {
            '\n' if depth == 0 => tokens.push(Token::Next),
            ';' => tokens.push(Token::Next),
            '\\' => {
                let after = rest_of_code[1..].trim_start_matches([' ', '\t', '\r']);
                if !after.starts_with('\n') {
                    return Err(Problem::Wrong("expected the end of the line after `\\`".into()));
                }
                taken = rest_of_code.len() - after.len() + 1;
            }
            '#' => taken = rest_of_code.find('\n').unwrap_or(rest_of_code.len()),
            '"' | '\'' => {
                let Some(end) = rest_of_code[1..].find(first) else {
                    return Err(Problem::Wrong(format!("a text is not closed: expected {first}")));
                };
                tokens.push(Token::Text(rest_of_code[1..=end].to_owned()));
                taken = end + 2;
            }
            _ if first.is_whitespace() => {}
            _ if first.is_ascii_alphabetic() || first == '_' => {
                taken =
                    rest_of_code.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest_of_code.len());
                tokens.push(Token::Name(rest_of_code[..taken].to_owned()));
            }
            _ if first.is_ascii_digit()
                || (first == '.' && rest_of_code[1..].starts_with(|c: char| c.is_ascii_digit())) =>
            {
                taken =
                    rest_of_code.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest_of_code.len());
                tokens.push(number(&rest_of_code[..taken])?);
            }
            _ => match SIGNS.iter().find(|sign| rest_of_code.starts_with(**sign)) {
                Some(sign) => {
                    taken = sign.len();
                    match *sign {
                        "(" | "[" => depth += 1,
                        ")" | "]" => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    tokens.push(Token::Sign(sign));
                }
                None => return Err(Problem::Wrong(format!("unexpected character {first:?}"))),
            },
        }
        rest_of_code = &rest_of_code[taken..];
    }
    Ok(tokens)
}

fn number(text: &str) -> Result<Token, Problem> {
    let whole = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    match (whole, text.parse()) {
        (Some(number), _) => Ok(Token::Int(number)),
        (None, Ok(number)) if !text.starts_with("0x") => Ok(Token::Float(number)),
        _ => Err(Problem::Wrong(format!("{text} is not a number"))),
    }
}

/// The tokens as text again, for messages.
pub(super) fn text_of(tokens: &[Token]) -> String {
    let texts = tokens.iter().map(|token| match token {
        Token::Name(name) => name.clone(),
        Token::Int(number) => number.to_string(),
        Token::Float(number) => number.to_string(),
        Token::Text(text) => format!("{text:?}"),
        Token::Sign(sign) => (*sign).to_owned(),
        Token::Next => ";".to_owned(),
    });
    texts.collect::<Vec<_>>().join(" ")
}
