//! Two-line element sets, with a line for the name or without (the format of Spacetrack Report #3 and of CelesTrak's
//! "TLE Format Documentation"; catalogue numbers above 99,999 as Alpha-5).

use std::ops::Range;

use crate::satellites::elements::{ElementSet, ElementsError};
use crate::satellites::epoch::Epoch;

/// Reads all element sets of a text.
///
/// # Errors
/// Names the line and what is wrong with it: its length, its checksum, a field, or that its other half is missing.
pub fn parse(text: &str) -> Result<Vec<ElementSet>, ElementsError> {
    let lines = text.lines().enumerate().map(|(i, line)| Line { number: i + 1, text: line.trim_end() });
    let mut lines = lines.filter(|line| !line.text.is_empty() && !line.text.starts_with('#')).peekable();
    let mut sets = Vec::new();
    while let Some(mut line) = lines.next() {
        let mut name = None;
        if !line.text.starts_with("1 ") {
            name = Some(line.text.strip_prefix("0 ").unwrap_or(line.text).trim().to_owned());
            let named = line.error("a line that begins with \"1 \" must follow the satellite's name");
            if line.text.starts_with("2 ") {
                return Err(line.error("a line that begins with \"1 \" must come before this one"));
            }
            line = lines.next_if(|next| next.text.starts_with("1 ")).ok_or(named)?;
        }
        let missing = || line.error("a line that begins with \"2 \" must follow this one");
        let second = lines.next_if(|next| next.text.starts_with("2 ")).ok_or_else(missing)?;
        sets.push(set(name, line, second)?);
    }
    Ok(sets)
}

#[derive(Clone, Copy)]
struct Line<'a> {
    /// The line's number, from 1.
    number: usize,
    text: &'a str,
}

/// The columns of a field, counted from 0, with its name.
struct Field(&'static str, Range<usize>);

const NUMBER: Field = Field("the catalogue number", 2..7);

fn set(name: Option<String>, first: Line, second: Line) -> Result<ElementSet, ElementsError> {
    first.check()?;
    second.check()?;
    if first.field(NUMBER) != second.field(NUMBER) {
        let message = format!(
            "the catalogue number {} is not that of the line before, {}",
            second.field(NUMBER).trim(),
            first.field(NUMBER).trim()
        );
        return Err(second.error(message));
    }
    if first.field(Field("", 62..63)) == "4" {
        return Err(first.error("the elements are for SGP4-XP (ephemeris type 4), which is not public"));
    }
    let number = first.catalogue_number()?;
    // Two digits: 57 to 99 are of the 20th century, since the first satellite flew in 1957.
    let year = first.integer(Field("the year of the epoch", 18..20))? as i32;
    let day = first.between(Field("the day of the epoch", 20..32), 1.0..367.0)?;
    Ok(ElementSet {
        name: name.filter(|name| !name.is_empty()).unwrap_or_else(|| number.to_string()),
        number,
        epoch: Epoch::from_day_of_year(if year < 57 { 2000 + year } else { 1900 + year }, day),
        drag: first.power(Field("the drag term B*", 53..61))?,
        inclination: second.between(Field("the inclination", 8..16), 0.0..180.000_1)?,
        right_ascension: second.between(Field("the right ascension of the node", 17..25), 0.0..360.000_1)?,
        eccentricity: second.integer(Field("the eccentricity", 26..33))? as f64 / 1e7,
        argument_of_perigee: second.between(Field("the argument of perigee", 34..42), 0.0..360.000_1)?,
        mean_anomaly: second.between(Field("the mean anomaly", 43..51), 0.0..360.000_1)?,
        mean_motion: second.between(Field("the mean motion", 52..63), 0.01..20.0)?,
    })
}

impl Line<'_> {
    fn error(self, message: impl Into<String>) -> ElementsError {
        ElementsError::at(format!("line {}", self.number), message)
    }

    /// Checks length and checksum.
    fn check(self) -> Result<(), ElementsError> {
        if !self.text.is_ascii() {
            return Err(self.error("has characters that are not ASCII"));
        }
        if self.text.len() != 69 {
            return Err(self.error(format!("has {} characters where 69 are expected", self.text.len())));
        }
        let value = |byte: u8| match byte {
            b'0'..=b'9' => u32::from(byte - b'0'),
            b'-' => 1,
            _ => 0,
        };
        let sum = self.text.bytes().take(68).map(value).sum::<u32>() % 10;
        let given = &self.text[68..];
        match given == sum.to_string() {
            true => Ok(()),
            false => Err(self.error(format!("the checksum is {given}, but the line adds up to {sum}"))),
        }
    }

    fn field(&self, Field(_, columns): Field) -> &str {
        &self.text[columns]
    }

    fn refuse(self, field: &Field, reason: &str) -> ElementsError {
        let Field(name, columns) = field;
        let given = &self.text[columns.clone()];
        self.error(format!("{name} (columns {}-{}) \"{given}\" {reason}", columns.start + 1, columns.end))
    }

    fn between(self, field: Field, allowed: Range<f64>) -> Result<f64, ElementsError> {
        let text = self.text[field.1.clone()].trim();
        match text.parse::<f64>() {
            Ok(value) if allowed.contains(&value) && digits(text) => Ok(value),
            Ok(_) => {
                let (low, high) = (allowed.start, (allowed.end * 100.0).round() / 100.0);
                Err(self.refuse(&field, &format!("must be between {low} and {high}")))
            }
            Err(_) => Err(self.refuse(&field, "must be a number")),
        }
    }

    fn integer(self, field: Field) -> Result<u32, ElementsError> {
        // A blank after the digits would shift them.
        let text = self.text[field.1.clone()].trim_start();
        text.parse().ok().filter(|_| digits(text)).ok_or_else(|| self.refuse(&field, "must be digits"))
    }

    /// The decimal notation of two-line elements: ` 12345-3` is 0.12345e-3.
    fn power(self, field: Field) -> Result<f64, ElementsError> {
        let text = &self.text[field.1.clone()];
        let (mantissa, exponent) = text.split_at(6);
        let sign = if mantissa.starts_with('-') { "-" } else { "" };
        let bare = mantissa.trim_start_matches([' ', '+', '-']);
        let value = format!("{sign}0.{}e{}", bare.trim_end(), exponent.trim()).parse();
        let sound = digits(bare.trim_end()) && digits(exponent.trim().trim_start_matches(['+', '-']));
        value.ok().filter(|_| sound).ok_or_else(|| self.refuse(&field, "must be digits with a power of ten"))
    }

    /// Five digits, or Alpha-5: a letter (without I and O) for ten to thirty-three, and four digits.
    fn catalogue_number(self) -> Result<u64, ElementsError> {
        let text = self.field(NUMBER).trim();
        let (first, rest) = text.split_at(text.len().min(1));
        let letters = "ABCDEFGHJKLMNPQRSTUVWXYZ";
        match letters.find(first).filter(|_| !first.is_empty() && rest.len() == 4) {
            Some(index) if digits(rest) => Ok((index as u64 + 10) * 10_000 + rest.parse::<u64>().unwrap_or_default()),
            _ if digits(text) => Ok(text.parse().unwrap_or_default()),
            _ => Err(self.refuse(&NUMBER, "must be five digits, or a letter and four digits")),
        }
    }
}

/// Whether the text has only digits and points, at least one: Rust would also read numbers that no element set has
/// (`nan`, `1e3`).
fn digits(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first case of Vallado and others' verification set: Vanguard 1.
    const VANGUARD: &str = "\
1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753
2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667
";

    fn says(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    /// The text with correct checksums.
    fn summed(text: &str) -> String {
        let sum = |line: &str| {
            let digit =
                |b: u8| if b == b'-' { 1 } else { u32::from(b.saturating_sub(b'0')) * u32::from(b.is_ascii_digit()) };
            format!("{}{}\n", &line[..68], line.bytes().take(68).map(digit).sum::<u32>() % 10)
        };
        text.lines().map(|line| if line.len() == 69 { sum(line) } else { format!("{line}\n") }).collect()
    }

    #[test]
    fn reads_every_field() {
        let set = ElementSet {
            name: "5".to_owned(),
            number: 5,
            epoch: Epoch::from_day_of_year(2000, 179.784_950_62),
            mean_motion: 10.824_191_57,
            eccentricity: 0.185_966_7,
            inclination: 34.2682,
            right_ascension: 348.7242,
            argument_of_perigee: 331.7664,
            mean_anomaly: 19.3264,
            drag: 0.28098e-4,
        };
        assert_eq!(parse(VANGUARD).unwrap(), std::slice::from_ref(&set));
        let named = ElementSet { name: "VANGUARD 1".to_owned(), ..set.clone() };
        let text = format!("# a comment\n\nVANGUARD 1   \r\n{VANGUARD}0 VANGUARD 1\n{VANGUARD}\n{VANGUARD}");
        assert_eq!(parse(&text).unwrap(), [named.clone(), named, set]);
        let other =
            summed(&VANGUARD.replace("00005", "T0005").replace(" 28098-4", "-28098+0").replace("00179", "57179"));
        let other = &parse(&other).unwrap()[0];
        assert_eq!((other.number, other.drag), (270_005, -0.28098));
        assert_eq!(other.epoch, Epoch::from_day_of_year(1957, 179.784_950_62));
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn says_which_line_is_wrong_and_why() {
        let with = |from: &str, to: &str| says(&format!("NAME\n{}", VANGUARD.replace(from, to)));
        assert_eq!(with("4753\n", "4754\n"), "line 2: the checksum is 4, but the line adds up to 3");
        assert_eq!(with("34.2682", "34.2683"), "line 3: the checksum is 7, but the line adds up to 8");
        assert_eq!(with("  4753", "   4753"), "line 2: has 70 characters where 69 are expected");
        assert_eq!(with("413667", ""), "line 3: has 63 characters where 69 are expected");
        assert_eq!(with("34.2682", "34.26é"), "line 3: has characters that are not ASCII");
        let (first, second) = VANGUARD.split_at(70);
        assert_eq!(says(second), "line 1: a line that begins with \"1 \" must come before this one");
        assert_eq!(
            says(&format!("A\n{second}")),
            "line 1: a line that begins with \"1 \" must follow the satellite's name"
        );
        assert_eq!(says(first), "line 1: a line that begins with \"2 \" must follow this one");
        assert_eq!(says(&format!("{first}B\n{second}")), "line 1: a line that begins with \"2 \" must follow this one");
        assert_eq!(says("just a text\n"), "line 1: a line that begins with \"1 \" must follow the satellite's name");
    }

    #[test]
    fn says_which_field_is_wrong() {
        let with = |from: &str, to: &str| says(&summed(&VANGUARD.replace(from, to)));
        assert_eq!(
            with(" 34.2682", "184.2682"),
            "line 2: the inclination (columns 9-16) \"184.2682\" must be between 0 and 180"
        );
        assert_eq!(with("1859667", "185966 "), "line 2: the eccentricity (columns 27-33) \"185966 \" must be digits");
        assert_eq!(with("1859667", "185 667"), "line 2: the eccentricity (columns 27-33) \"185 667\" must be digits");
        assert_eq!(
            with("331.7664", "  nan   "),
            "line 2: the argument of perigee (columns 35-42) \"  nan   \" must be between 0 and 360"
        );
        assert_eq!(
            with("348.7242", "348,7242"),
            "line 2: the right ascension of the node (columns 18-25) \"348,7242\" must be a number"
        );
        assert_eq!(
            with("10.82419157", "00.00000000"),
            "line 2: the mean motion (columns 53-63) \"00.00000000\" must be between 0.01 and 20"
        );
        assert_eq!(
            with("00179.7", "00379.7"),
            "line 1: the day of the epoch (columns 21-32) \"379.78495062\" must be between 1 and 367"
        );
        assert_eq!(
            with(" 28098-4", " 28x98-4"),
            "line 1: the drag term B* (columns 54-61) \" 28x98-4\" must be digits with a power of ten"
        );
        assert_eq!(
            with("1 00005", "1 0O005"),
            "line 2: the catalogue number 00005 is not that of the line before, 0O005"
        );
        assert!(with("00005", "I0005").contains("must be five digits, or a letter and four digits"));
        assert!(with("-4 0  4753", "-4 4  4753").contains("SGP4-XP"));
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in "([12] [ -~]{60,70}\n|[ -~é]{0,80}\n){0,6}") {
            let _ = parse(&text);
        }

        #[test]
        fn a_wrong_digit_is_noticed(column in 2usize..68, up in 1u8..10) {
            for line in [0, 70] {
                let mut text = VANGUARD.as_bytes().to_vec();
                let digit = &mut text[line + column];
                prop_assume!(digit.is_ascii_digit());
                *digit = b'0' + (*digit - b'0' + up) % 10;
                prop_assert!(parse(std::str::from_utf8(&text).unwrap()).is_err());
            }
        }
    }
}
