//! Comma-separated rows: the syntax of all files that this crate reads.
//!
//! A byte order mark, empty lines and lines that begin with `#` are skipped. A cell may stand in double quotes, where a
//! comma is part of the cell and a doubled quote is one quote. Blanks around a cell are removed.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use units::{FieldError, Files, numbered_lines};

/// A line of a table that is neither empty nor a comment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// The line's number in the file, from 1.
    pub number: usize,
    pub text: &'a str,
}

/// The positions of the columns that are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header<const N: usize> {
    at: [Option<usize>; N],
    columns: usize,
}

/// The cells of a line in the columns that are read.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a, const N: usize> {
    line: Line<'a>,
    cells: [Cow<'a, str>; N],
}

/// The text of the file `name`.
///
/// # Errors
/// Why it cannot be read, or which line is no text.
pub(crate) fn read_text(files: &mut dyn Files, name: &str) -> Result<String, String> {
    let said = |line: Option<usize>| line.map(|line| format!("line {line}: ")).unwrap_or_default();
    units::read_text(files, name).map_err(|(line, message)| said(line) + &message)
}

/// The lines of `text` that are neither empty nor comments.
pub(crate) fn rows(text: &str) -> impl Iterator<Item = Line<'_>> {
    numbered_lines(text).map(|(number, text)| Line { number, text })
}

impl<'a> Line<'a> {
    /// An error about this line of a table.
    pub fn wrong(&self, message: impl Into<String>) -> FieldError {
        FieldError::new(format!("line {}", self.number), message)
    }

    /// Whether the first cell is a word.
    pub fn is_header(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '"') && self.text.parse::<f64>().is_err()
    }

    /// Calls `take` with each cell in turn.
    pub fn each_cell(&self, mut take: impl FnMut(Cow<'a, str>)) -> Result<(), FieldError> {
        let mut rest_of_line = self.text;
        loop {
            let Some(quoted) = rest_of_line.strip_prefix('"') else {
                let (cell, after) =
                    rest_of_line.split_once(',').map_or((rest_of_line, None), |(cell, after)| (cell, Some(after)));
                take(Cow::Borrowed(cell.trim_end()));
                match after {
                    Some(after) => rest_of_line = after.trim_start(),
                    None => return Ok(()),
                }
                continue;
            };
            let (cell, after) = unquote(quoted).ok_or_else(|| self.wrong("a double quote is not closed"))?;
            take(cell);
            match after.trim_start().strip_prefix(',') {
                Some(after) => rest_of_line = after.trim_start(),
                None if after.trim().is_empty() => return Ok(()),
                None => return Err(self.wrong(format!("\"{}\" after a double quote", after.trim()))),
            }
        }
    }

    /// All cells.
    pub fn cells(&self) -> Result<Vec<Cow<'a, str>>, FieldError> {
        let mut cells = Vec::new();
        self.each_cell(|cell| cells.push(cell))?;
        Ok(cells)
    }

    /// Number of cells.
    pub fn columns(&self) -> Result<usize, FieldError> {
        let mut columns = 0;
        self.each_cell(|_| columns += 1)?;
        Ok(columns)
    }

    /// Reads this line as a header, in which each column may have one of several names. The first `needed` columns are
    /// required.
    pub fn header<const N: usize>(&self, names: [&[&str]; N], needed: usize) -> Result<Header<N>, FieldError> {
        let cells = self.cells()?;
        let at = names.map(|accepted| cells.iter().position(|cell| accepted.contains(&cell.as_ref())));
        match at[..needed].iter().position(Option::is_none) {
            Some(missing) => {
                let (column, others) = names[missing].split_first().expect("a column has a name");
                let or = if others.is_empty() { String::new() } else { format!(" (or {})", others.join(", ")) };
                Err(self.wrong(format!("the header \"{}\" has no column {column}{or}", self.text)))
            }
            None => Ok(Header { at, columns: cells.len() }),
        }
    }
}

impl<const N: usize> Header<N> {
    /// The header of rows without one: `columns` columns in their order, of which the first `needed` are required.
    pub fn in_order(columns: usize, needed: usize) -> Header<N> {
        let columns = columns.max(needed);
        Header { at: std::array::from_fn(|column| (column < columns).then_some(column)), columns }
    }

    /// The cells of `line` in the columns that are read.
    pub fn row<'a>(&self, line: &Line<'a>) -> Result<Row<'a, N>, FieldError> {
        let mut cells = [const { Cow::Borrowed("") }; N];
        let mut column_number = 0;
        line.each_cell(|cell| {
            if let Some(column) = self.at.iter().position(|&at| at == Some(column_number)) {
                cells[column] = cell;
            }
            column_number += 1;
        })?;
        match column_number == self.columns {
            true => Ok(Row { line: *line, cells }),
            false => Err(line.wrong(format!("{column_number} columns where {} are expected", self.columns))),
        }
    }
}

impl<const N: usize> Row<'_, N> {
    /// The text in a column; empty if the file does not have the column.
    pub fn cell(&self, column: usize) -> &str {
        &self.cells[column]
    }

    /// The number in a column; messages call the column `name`.
    pub fn number(&self, column: usize, name: &str, range: RangeInclusive<f64>) -> Result<f64, FieldError> {
        let cell = self.cell(column);
        match cell.parse::<f64>() {
            Ok(value) if range.contains(&value) => Ok(value),
            Ok(value) if value.is_finite() => {
                let (least, most) = range.into_inner();
                Err(self.line.wrong(format!("{name}: {cell} must be between {least} and {most}")))
            }
            _ => Err(self.line.wrong(format!("{name}: \"{cell}\" is not a number"))),
        }
    }
}

/// Splits the text after an opening quote: the text up to the closing quote, and the rest.
fn unquote(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let (before, mut rest) = text.split_once('"')?;
    let mut cell = Cow::Borrowed(before);
    while let Some(after) = rest.strip_prefix('"') {
        let (more, behind) = after.split_once('"')?;
        cell.to_mut().push('"');
        cell.to_mut().push_str(more);
        rest = behind;
    }
    Some((cell, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn only(text: &str) -> Line<'_> {
        let mut lines = rows(text);
        let line = lines.next().unwrap();
        assert!(lines.next().is_none());
        line
    }

    #[test]
    fn remarks_and_empty_lines_count_but_are_not_read() {
        let lines: Vec<_> =
            rows("\u{feff}# begin\r\n\n a , b \r\n  # indented\n\t\nc").map(|line| (line.number, line.text)).collect();
        assert_eq!(lines, [(3, "a , b"), (6, "c")]);
    }

    #[test]
    fn cells_may_stand_in_quotes() {
        let cells = |text: &'static str| only(text).cells().map_err(|error| error.to_string());
        assert_eq!(cells("a, b ,,\"c, d\" , \"\"\"e\"\" f\"").unwrap(), ["a", "b", "", "c, d", "\"e\" f"]);
        assert_eq!(cells("a,").unwrap(), ["a", ""]);
        assert_eq!(cells("5\" pipe,b").unwrap(), ["5\" pipe", "b"]);
        assert_eq!(cells("\"a").unwrap_err(), "line 1: a double quote is not closed");
        assert_eq!(cells("\"a\"b,c").unwrap_err(), "line 1: \"b,c\" after a double quote");
        assert_eq!(only("a,\"b,c\",d").columns(), Ok(3));
    }

    #[test]
    fn a_header_finds_columns_by_any_of_their_names() {
        let header = only("x,delay,\"time_s\",altitude")
            .header([&["time_s", "time"], &["delay_s", "delay"], &["no"]], 2)
            .unwrap();
        let row = header.row(&only("1,2,3,4")).unwrap();
        assert_eq!([row.cell(0), row.cell(1), row.cell(2)], ["3", "2", ""]);
        assert_eq!(row.number(0, "time", 0.0..=10.0), Ok(3.0));
        let says = |column, range| row.number(column, "it", range).unwrap_err().to_string();
        assert_eq!(says(1, 5.0..=6.0), "line 1: it: 2 must be between 5 and 6");
        assert_eq!(says(2, 5.0..=6.0), "line 1: it: \"\" is not a number");
        assert_eq!(header.row(&only("1,2,3")).unwrap_err().to_string(), "line 1: 3 columns where 4 are expected");
        let missing = only("a,b").header([&["a"], &["delay_s", "delay"]], 2).unwrap_err().to_string();
        assert_eq!(missing, "line 1: the header \"a,b\" has no column delay_s (or delay)");
    }

    proptest! {
        #[test]
        fn what_is_quoted_comes_back(cells in prop::collection::vec("[a-z,\" #]{0,6}", 1..6)) {
            let line: Vec<_> = cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
            let line = line.join(" , ");
            prop_assert_eq!(only(&line).cells().unwrap(), cells);
        }
    }
}
