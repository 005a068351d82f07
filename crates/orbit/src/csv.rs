//! Reading comma-separated rows: their cells, and a trace of delays from them.

use units::{Duration, Time};

use crate::trace::{DelayTrace, Row, TraceError};

impl DelayTrace {
    /// Reads comma-separated rows of time and one-way delay, both in seconds; an empty delay begins an outage, which ends at
    /// the next row with a delay.
    ///
    /// A header is optional. With one, the columns `time` (or `time_s`) and `delay` (or `delay_s`, `one_way_delay_s`) are
    /// read wherever they stand and others are left alone; without, a row has exactly these two. Empty lines and lines
    /// that begin with `#` are skipped.
    ///
    /// # Errors
    /// Names the line and what is wrong with it.
    pub fn from_csv(text: &str) -> Result<DelayTrace, TraceError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().enumerate().map(|(i, line)| (Row::Line(i + 1), line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
        let layout = match lines.peek() {
            None => return Err(TraceError::Empty),
            Some(&(row, line)) if is_header(line) => {
                lines.next();
                Layout::read(row, line)?
            }
            Some(_) => Layout { time: 0, delay: 1, columns: 2 },
        };
        let rows = lines.map(|(row, line)| layout.row(row, line)).collect::<Result<Vec<_>, _>>()?;
        DelayTrace::from_rows(rows.into_iter())
    }
}

/// The cells of a row; quotes protect commas, and a doubled quote is one.
pub(crate) fn cells(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    cells.push(cell);
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// A first line whose first column starts like a word.
fn is_header(line: &str) -> bool {
    line.starts_with(|c: char| c.is_alphabetic() || c == '"') && line.parse::<f64>().is_err()
}

struct Layout {
    time: usize,
    delay: usize,
    columns: usize,
}

impl Layout {
    fn read(row: Row, header: &str) -> Result<Layout, TraceError> {
        let names: Vec<&str> = header.split(',').map(|name| name.trim().trim_matches('"')).collect();
        let find = |accepted: &[&str], missing| {
            let place = names.iter().position(|name| accepted.contains(name));
            place.ok_or_else(|| TraceError::Header { row, header: header.to_owned(), missing })
        };
        Ok(Layout {
            time: find(&["time", "time_s"], "time (or time_s)")?,
            delay: find(&["delay", "delay_s", "one_way_delay_s"], "delay (or delay_s, one_way_delay_s)")?,
            columns: names.len(),
        })
    }

    fn row(&self, row: Row, line: &str) -> Result<(Row, Time, Option<Duration>), TraceError> {
        let mut cells = [""; 2];
        let mut found = 0;
        for (column, cell) in line.split(',').enumerate() {
            found += 1;
            if column == self.time {
                cells[0] = cell.trim();
            } else if column == self.delay {
                cells[1] = cell.trim();
            }
        }
        if found != self.columns {
            return Err(TraceError::Columns { row, found, expected: self.columns });
        }
        let time = Time::from_secs_f64(seconds(row, "time", cells[0])?);
        let delay = match cells[1] {
            "" => None,
            delay => Some(Duration::from_secs_f64(seconds(row, "delay", delay)?)),
        };
        Ok((row, time, delay))
    }
}

fn seconds(row: Row, column: &'static str, given: &str) -> Result<f64, TraceError> {
    match given.parse::<f64>() {
        Ok(value) if (0.0..=3.2e9).contains(&value) => Ok(value),
        Ok(_) => Err(TraceError::Value { row, column, given: given.to_owned(), allowed: "zero or more seconds" }),
        Err(_) => Err(TraceError::Value { row, column, given: given.to_owned(), allowed: "a number of seconds" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Time;

    fn says(text: &str) -> String {
        DelayTrace::from_csv(text).unwrap_err().to_string()
    }

    #[test]
    fn reads_with_and_without_header() {
        let plain = DelayTrace::from_csv("0,0.075\n1.5, 0.08\n2,0.08\n").unwrap();
        assert_eq!(plain.delay(Time::from_secs_f64(0.75)), Some(Duration::from_micros(77_500)));
        for text in [
            "time,delay\n0,0.075\n1.5,0.08\n2,0.08",
            "\u{feff}time_s,one_way_delay_s,hops\r\n0,0.075,5\r\n1.5,0.08,5\r\n2,0.08,6\r\n",
            "# measured\n\n\"delay_s\",\"note\",\"time_s\"\n0.075,a,0\n0.08,,1.5\n# end\n0.08,,2\n",
        ] {
            assert_eq!(DelayTrace::from_csv(text).as_ref(), Ok(&plain), "{text}");
        }
    }

    #[test]
    fn an_empty_delay_is_an_outage() {
        let trace = DelayTrace::from_csv("time,delay\n0,0.075\n1,\n2,\n3,0.08\n4,0.09\n").unwrap();
        let delay = |seconds| trace.delay(Time::from_secs_f64(seconds)).map(|d| d.as_nanos());
        assert_eq!(delay(0.9), Some(75_000_000));
        assert_eq!((delay(1.0), delay(2.999)), (None, None));
        assert_eq!((delay(3.0), delay(3.5)), (Some(80_000_000), Some(85_000_000)));
        assert_eq!(trace.outage(), Duration::from_secs(2));
        assert_eq!(trace.mean(), Some(Duration::from_millis(80)));
    }

    #[test]
    fn says_which_line_is_wrong() {
        assert_eq!(says(""), "the trace is empty: it needs at least one row of time and delay");
        assert!(says("time,delay\n").starts_with("the trace is empty"));
        assert_eq!(says("0,0.07\n\n1,fast\n"), "line 3: delay \"fast\" must be a number of seconds");
        assert_eq!(says("0,0.07\n1,-0.01\n"), "line 2: delay \"-0.01\" must be zero or more seconds");
        assert_eq!(says("0,nan"), "line 1: delay \"nan\" must be zero or more seconds");
        assert_eq!(says("-1,0.07"), "line 1: time \"-1\" must be zero or more seconds");
        assert_eq!(says("0,0.07\n,0.07"), "line 2: time \"\" must be a number of seconds");
        assert_eq!(
            says("time,delay\n1,0.07\n0.5,0.07\n"),
            "line 3: time 0.5 s must be later than 1 s, the time of the row before"
        );
        assert_eq!(says("0,0.07\n1\n"), "line 2: 1 columns where 2 are expected");
        assert_eq!(says("0;0.07"), "line 1: 1 columns where 2 are expected");
        assert_eq!(says("0,0.07,9"), "line 1: 3 columns where 2 are expected");
        assert_eq!(
            says("time,latency\n0,0.07"),
            "line 1: the header \"time,latency\" has no column delay (or delay_s, one_way_delay_s)"
        );
    }
}
