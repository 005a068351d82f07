//! Expressions, parsed and evaluated in one pass, because each is used once.

use std::cmp::Ordering;

use super::names::{Names, Variables};
use super::problem::Problem;
use super::tokens::Token;
use super::value::Value;

const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
/// No script nests parentheses deeper than this.
const MAX_DEPTH: u32 = 100;

pub(super) struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: u32,
    variables: &'a Variables,
    names: &'a dyn Names,
    /// The position of the first comma outside of parentheses.
    comma: Option<usize>,
    seen: Vec<String>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(tokens: &'a [Token], variables: &'a Variables, names: &'a dyn Names) -> Parser<'a> {
        Parser { tokens, at: 0, depth: 0, variables, names, comma: None, seen: Vec::new() }
    }

    /// The names that were evaluated, with their values, for messages.
    pub(super) fn seen(&self) -> &[String] {
        &self.seen
    }

    /// The tokens before the first comma outside of parentheses.
    pub(super) fn before_comma(&self) -> &'a [Token] {
        &self.tokens[..self.comma.unwrap_or(self.tokens.len())]
    }

    pub(super) fn accept(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Sign(found)) if *found == sign);
        if found {
            if sign == "," && self.depth == 0 && self.comma.is_none() {
                self.comma = Some(self.at);
            }
            self.at += 1;
        }
        found
    }

    fn accept_name(&mut self, name: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Name(found)) if found == name);
        self.at += usize::from(found);
        found
    }

    pub(super) fn end(&self) -> Result<(), Problem> {
        match self.tokens.get(self.at) {
            None => Ok(()),
            Some(token) => {
                let found = super::tokens::text_of(std::slice::from_ref(token));
                Err(Problem::Wrong(format!("expected the end of the statement, found `{found}`")))
            }
        }
    }

    /// One or more expressions, separated by commas.
    pub(super) fn tuple(&mut self) -> Result<Value, Problem> {
        let first = self.expression()?;
        if !self.accept(",") {
            return Ok(first);
        }
        let mut values = vec![first];
        while self.at < self.tokens.len() && self.tokens[self.at] != Token::Sign(")") {
            values.push(self.expression()?);
            if !self.accept(",") {
                break;
            }
        }
        Ok(Value::Tuple(values))
    }

    pub(super) fn expression(&mut self) -> Result<Value, Problem> {
        let mut value = self.conjunction()?;
        while self.accept_name("or") {
            let right = self.conjunction()?;
            value = if value.truth() { value } else { right };
        }
        Ok(value)
    }

    fn conjunction(&mut self) -> Result<Value, Problem> {
        let mut value = self.negation()?;
        while self.accept_name("and") {
            let right = self.negation()?;
            value = if value.truth() { right } else { value };
        }
        Ok(value)
    }

    fn negation(&mut self) -> Result<Value, Problem> {
        let mut negations = 0;
        while self.accept_name("not") {
            negations += 1;
        }
        let value = self.comparison()?;
        Ok(if negations == 0 { value } else { Value::from_truth(value.truth() == (negations % 2 == 0)) })
    }

    /// `a <= b < c` holds if each of its comparisons does.
    fn comparison(&mut self) -> Result<Value, Problem> {
        let mut left = self.bits()?;
        let mut holds = None;
        while let Some(sign) = COMPARISONS.into_iter().find(|sign| self.accept(sign)) {
            let right = self.bits()?;
            let order = if matches!(sign, "==" | "!=") && mixed(&left, &right) { None } else { left.compare(&right)? };
            let this = match sign {
                "==" => order == Some(Ordering::Equal),
                "!=" => order != Some(Ordering::Equal),
                "<=" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
                ">=" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
                "<" => order == Some(Ordering::Less),
                _ => order == Some(Ordering::Greater),
            };
            holds = Some(holds.unwrap_or(true) && this);
            left = right;
        }
        Ok(holds.map_or(left, Value::from_truth))
    }

    fn bits(&mut self) -> Result<Value, Problem> {
        let mut value = self.sum()?;
        while self.accept("&") {
            let right = self.sum()?;
            value = match (value, right) {
                (Value::Int(left), Value::Int(right)) => Value::Int(left & right),
                _ => return Err(Problem::Wrong("expected whole numbers beside `&`".into())),
            };
        }
        Ok(value)
    }

    fn sum(&mut self) -> Result<Value, Problem> {
        let mut value = self.product()?;
        while let Some(sign) = ["+", "-"].into_iter().find(|sign| self.accept(sign)) {
            let right = self.product()?;
            value = value.arithmetic(sign, &right)?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Value, Problem> {
        let mut value = self.unary()?;
        while let Some(sign) = ["*", "//", "/", "%"].into_iter().find(|sign| self.accept(sign)) {
            let right = self.unary()?;
            value = value.arithmetic(sign, &right)?;
        }
        Ok(value)
    }

    fn unary(&mut self) -> Result<Value, Problem> {
        let mut negative = false;
        loop {
            if self.accept("-") {
                negative = !negative;
            } else if !self.accept("+") {
                break;
            }
        }
        let value = self.atom()?;
        if negative { value.negated() } else { Ok(value) }
    }

    fn atom(&mut self) -> Result<Value, Problem> {
        let Some(token) = self.tokens.get(self.at) else {
            return Err(Problem::Wrong("expected a value, found the end of the statement".into()));
        };
        match token {
            Token::Int(number) => {
                self.at += 1;
                Ok(Value::Int(*number))
            }
            Token::Float(number) => {
                self.at += 1;
                Ok(Value::Float(*number))
            }
            Token::Text(text) => {
                self.at += 1;
                Ok(Value::Text(text.clone()))
            }
            Token::Name(name) => {
                self.at += 1;
                self.name(name)
            }
            Token::Sign("(") => {
                self.at += 1;
                self.parenthesis()
            }
            other => {
                let found = super::tokens::text_of(std::slice::from_ref(other));
                Err(Problem::Wrong(format!("expected a value, found `{found}`")))
            }
        }
    }

    fn name(&mut self, name: &str) -> Result<Value, Problem> {
        if self.accept("(") {
            return match self.parenthesis()? {
                Value::Tuple(args) => Value::function(name, &args),
                one => Value::function(name, &[one]),
            };
        }
        let value = self.variables.lookup(name, self.names)?;
        let seen = format!("{name} = {value}");
        if self.comma.is_none() && !self.seen.contains(&seen) {
            self.seen.push(seen);
        }
        Ok(value)
    }

    /// The expression up to the closing parenthesis.
    fn parenthesis(&mut self) -> Result<Value, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Problem::Wrong(format!("more than {MAX_DEPTH} parentheses within each other")));
        }
        if self.accept(")") {
            self.depth -= 1;
            return Ok(Value::Tuple(Vec::new()));
        }
        let value = self.tuple()?;
        if !self.accept(")") {
            return Err(Problem::Wrong("expected `)`".into()));
        }
        self.depth -= 1;
        Ok(value)
    }
}

/// Whether one value is a text and the other a number: they are unequal, without an error.
fn mixed(a: &Value, b: &Value) -> bool {
    matches!(a, Value::Text(_)) != matches!(b, Value::Text(_))
}
