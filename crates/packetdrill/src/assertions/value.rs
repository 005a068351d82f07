//! Values of expressions.

use std::cmp::Ordering;
use std::fmt;

use super::problem::Problem;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number; also a Boolean.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Text(String),
    /// A tuple.
    Tuple(Vec<Value>),
}

impl Value {
    /// Whether an assertion of the value holds.
    pub fn truth(&self) -> bool {
        match self {
            Value::Int(number) => *number != 0,
            Value::Float(number) => *number != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::Tuple(values) => !values.is_empty(),
        }
    }

    pub(super) fn from_truth(truth: bool) -> Value {
        Value::Int(i64::from(truth))
    }

    fn number(&self) -> Result<f64, Problem> {
        match self {
            Value::Int(number) => Ok(*number as f64),
            Value::Float(number) => Ok(*number),
            other => Err(Problem::Wrong(format!("expected a number, found {other}"))),
        }
    }

    /// The order of two numbers or two texts.
    pub(super) fn compare(&self, other: &Value) -> Result<Option<Ordering>, Problem> {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => Ok(Some(a.cmp(b))),
            (Value::Text(a), Value::Text(b)) => Ok(Some(a.cmp(b))),
            (Value::Tuple(a), Value::Tuple(b)) => Ok((a == b).then_some(Ordering::Equal)),
            _ => Ok(self.number()?.partial_cmp(&other.number()?)),
        }
    }

    /// `self sign other` for `+ - * / // %`.
    pub(super) fn arithmetic(&self, sign: &str, other: &Value) -> Result<Value, Problem> {
        if let (Value::Text(format), "%") = (self, sign) {
            return fill(format, other).map(Value::Text);
        }
        if let (Value::Text(a), Value::Text(b), "+") = (self, other, sign) {
            return Ok(Value::Text(format!("{a}{b}")));
        }
        let overflow = || Problem::Wrong(format!("{self} {sign} {other} is too large"));
        if let (Value::Int(a), Value::Int(b)) = (self, other) {
            let number = match sign {
                "+" => a.checked_add(*b),
                "-" => a.checked_sub(*b),
                "*" => a.checked_mul(*b),
                "//" | "%" if *b == 0 => return Err(Problem::Wrong(format!("{self} {sign} 0"))),
                // Rounded towards minus infinity; the remainder has the sign of the divisor.
                "//" => a.checked_div_euclid(*b).map(|q| if *b < 0 && a.rem_euclid(*b) != 0 { q - 1 } else { q }),
                "%" => a.checked_rem_euclid(*b).map(|r| if *b < 0 && r != 0 { r + b } else { r }),
                _ => return self.fractional(sign, other),
            };
            return number.map(Value::Int).ok_or_else(overflow);
        }
        self.fractional(sign, other)
    }

    fn fractional(&self, sign: &str, other: &Value) -> Result<Value, Problem> {
        let (a, b) = (self.number()?, other.number()?);
        if b == 0.0 && matches!(sign, "/" | "//" | "%") {
            return Err(Problem::Wrong(format!("{self} {sign} 0")));
        }
        Ok(Value::Float(match sign {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "/" => a / b,
            "//" => (a / b).floor(),
            _ => a - b * (a / b).floor(),
        }))
    }

    pub(super) fn negated(&self) -> Result<Value, Problem> {
        match self {
            Value::Int(number) => Ok(Value::Int(number.wrapping_neg())),
            other => other.number().map(|number| Value::Float(-number)),
        }
    }

    /// `abs`, `int`, `min`, `max`.
    pub(super) fn function(name: &str, args: &[Value]) -> Result<Value, Problem> {
        let wrong = || Problem::Wrong(format!("{name}() with {} values", args.len()));
        let mut best = args.first().ok_or_else(wrong)?.clone();
        match name {
            "abs" => match best {
                Value::Int(number) => Ok(Value::Int(number.saturating_abs())),
                other => other.number().map(|number| Value::Float(number.abs())),
            },
            "int" => best.number().map(|number| Value::Int(number as i64)),
            "min" | "max" => {
                let wanted = if name == "min" { Ordering::Less } else { Ordering::Greater };
                for value in &args[1..] {
                    if value.compare(&best)? == Some(wanted) {
                        best = value.clone();
                    }
                }
                Ok(best)
            }
            "str" => Ok(Value::Text(best.to_string())),
            other => Err(Problem::Unsupported(format!("function {other}()"))),
        }
    }
}

/// `format % value`: `%d`, `%s`, `%f` and the like take one value each, in order.
fn fill(format: &str, value: &Value) -> Result<String, Problem> {
    let one = [value.clone()];
    let mut values = match value {
        Value::Tuple(values) => values.iter(),
        _ => one.iter(),
    };
    let mut filled = String::new();
    let mut rest_of_format = format.chars();
    while let Some(c) = rest_of_format.next() {
        if c != '%' {
            filled.push(c);
            continue;
        }
        let conversion = rest_of_format.by_ref().find(|c| c.is_ascii_alphabetic() || *c == '%');
        match conversion {
            Some('%') => filled.push('%'),
            Some(_) => match values.next() {
                Some(value) => filled.push_str(&value.to_string()),
                None => return Err(Problem::Wrong(format!("{format:?} has more places than values"))),
            },
            None => return Err(Problem::Wrong(format!("{format:?} ends within a place"))),
        }
    }
    Ok(filled)
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number}"),
            Value::Text(text) => f.write_str(text),
            Value::Tuple(values) => {
                let texts: Vec<String> = values.iter().map(Value::to_string).collect();
                write!(f, "({})", texts.join(", "))
            }
        }
    }
}
