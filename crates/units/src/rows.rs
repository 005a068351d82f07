//! Text files of numbers in columns.

use std::ops::RangeInclusive;

/// An error in a file: the number of the line, from 1, if it concerns a line, and the message.
pub type RowError = (Option<usize>, String);

/// The lines of a text with their numbers, from 1: without a byte order mark, blanks around them, empty lines and lines
/// that begin with #.
pub fn numbered_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The rows of a text: columns are separated by commas, semicolons, tabs or spaces. A header in the first line, empty
/// lines and lines that begin with # are skipped.
pub fn number_rows(text: &str) -> impl Iterator<Item = NumberRow<'_>> {
    let mut header_allowed = true;
    let lines = numbered_lines(text);
    lines.filter(move |(_, line)| !(std::mem::take(&mut header_allowed) && is_header(line))).map(|(number, rest)| {
        let separator = [',', ';', '\t'].into_iter().find(|&c| rest.contains(c)).unwrap_or(' ');
        NumberRow { number, separator, rest }
    })
}

/// A row whose columns are taken one after the other.
#[derive(Clone, Debug)]
pub struct NumberRow<'a> {
    number: usize,
    separator: char,
    rest: &'a str,
}

impl NumberRow<'_> {
    /// The number in the next column; messages call the column `name`.
    ///
    /// The column is missing, is not a number, or is out of range.
    pub fn next(&mut self, name: &str, range: RangeInclusive<f64>) -> Result<f64, RowError> {
        let column = loop {
            let (column, rest) = self.rest.split_once(self.separator).unwrap_or((self.rest, ""));
            if column.is_empty() && rest.is_empty() {
                return Err(self.wrong(format!("the {name} is missing")));
            }
            self.rest = rest;
            if !column.trim().is_empty() {
                break column.trim();
            }
        };
        match column.parse::<f64>() {
            Ok(value) if range.contains(&value) => Ok(value),
            Ok(value) => {
                Err(self.wrong(format!("the {name} {value} is not between {} and {}", range.start(), range.end())))
            }
            Err(_) => Err(self.wrong(format!("the {name} \"{column}\" is not a number"))),
        }
    }

    /// An error about this row.
    pub fn wrong(&self, message: String) -> RowError {
        (Some(self.number), message)
    }
}

/// Whether the first column is a word.
fn is_header(line: &str) -> bool {
    let column = line.split([',', ';', '\t', ' ']).next().unwrap_or_default().trim();
    column.parse::<f64>().is_err() && column.starts_with(|c: char| c.is_alphabetic() || c == '"')
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: RangeInclusive<f64> = -1e9..=1e9;

    fn pairs(text: &str) -> Result<Vec<(f64, f64)>, RowError> {
        number_rows(text).map(|mut row| Ok((row.next("time", ANY)?, row.next("value", ANY)?))).collect()
    }

    #[test]
    fn all_common_separators_headers_and_comments_are_understood() {
        let expected = Ok(vec![(1.0, 2.5), (3.0, -4.0)]);
        for text in [
            "1,2.5\n3,-4",
            "\u{feff}time_s,value\n# a remark\n\n1, 2.5, and more\n3,-4\n",
            "\"time (s)\";v\n1;2.5\n3;-4",
            "1\t2.5\r\n3\t-4\r\n",
            "  1   2.5\n3 -4",
            "inf_time value\n1 2.5\n3 -4",
        ] {
            assert_eq!(pairs(text), expected, "{text:?}");
        }
        assert_eq!(pairs("# nothing\n"), Ok(vec![]));
    }

    #[test]
    fn says_which_line_is_wrong_and_why() {
        assert_eq!(pairs("1,2\n3"), Err((Some(2), "the value is missing".to_owned())));
        assert_eq!(pairs("1,2\nx,4"), Err((Some(2), "the time \"x\" is not a number".to_owned())));
        assert_eq!(
            pairs("1,2\n\n3,nan"),
            Err((Some(3), "the value NaN is not between -1000000000 and 1000000000".to_owned()))
        );
        assert_eq!(pairs("a,b\nc,d").unwrap_err().0, Some(2)); // one header, not two
    }
}
