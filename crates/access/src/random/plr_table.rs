//! Packet loss against load, read from a file.

use units::{Files, RowError, number_rows, read_text};

/// A curve of packet loss rates over the packets of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct PlrTable {
    /// Packets of a block and packet loss rate, by increasing packets; not empty.
    rows: Vec<(f64, f64)>,
}

impl PlrTable {
    /// Reads a CSV file of two columns.
    ///
    /// # Errors
    /// Says which file and line cannot be used, and why.
    pub(super) fn read(files: &mut dyn Files, name: &str) -> Result<PlrTable, String> {
        read_text(files, name).and_then(|text| PlrTable::parse(&text)).map_err(|(line, message)| match line {
            Some(line) => format!("{name} line {line}: {message}"),
            None => format!("{name}: {message}"),
        })
    }

    fn parse(text: &str) -> Result<PlrTable, RowError> {
        let mut rows: Vec<(f64, f64)> = Vec::new();
        for mut row in number_rows(text) {
            let packets = row.next("number of packets of a block", 0.0..=1e9)?;
            let plr = row.next("packet loss rate", 0.0..=1.0)?;
            if let Some(&(before, _)) = rows.last()
                && packets <= before
            {
                let message =
                    format!("{packets} packets after {before}: the rows must be sorted by packets, each once");
                return Err(row.wrong(message));
            }
            rows.push((packets, plr));
        }
        if rows.is_empty() {
            return Err((None, "has no rows: expected packets of a block, packet loss rate".to_owned()));
        }
        Ok(PlrTable { rows })
    }

    /// The packet loss rate of a block of so many packets: linear between the rows, and as the first or the last row
    /// beyond them.
    pub(super) fn plr(&self, packets: u32) -> f64 {
        let packets = f64::from(packets);
        let after = self.rows.partition_point(|row| row.0 < packets);
        match (after.checked_sub(1).map(|before| self.rows[before]), self.rows.get(after)) {
            (Some((x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * ((packets - x0) / (x1 - x0)),
            (Some((_, last)), None) => last,
            (None, first) => first.expect("a table has rows").1,
        }
    }
}

#[cfg(test)]
mod tests {
    use units::MemoryFiles;

    use super::*;

    fn refusal(text: &str) -> (Option<usize>, String) {
        PlrTable::parse(text).unwrap_err()
    }

    #[test]
    fn is_linear_between_rows_and_constant_beyond() {
        let table = PlrTable::parse("packets_per_block,plr\n# measured\n10, 0.1\n20;0.3\n\n40\t0.3\n50 1\n").unwrap();
        for (packets, plr) in [
            (0, 0.1),
            (9, 0.1),
            (10, 0.1),
            (15, 0.2),
            (19, 0.28),
            (20, 0.3),
            (33, 0.3),
            (45, 0.65),
            (50, 1.0),
            (99, 1.0),
        ] {
            assert!((table.plr(packets) - plr).abs() < 1e-15, "{packets}: {}", table.plr(packets));
        }
        assert_eq!(PlrTable::parse("0,0.25").unwrap().plr(7), 0.25);
    }

    #[test]
    fn says_which_line_is_wrong_and_why() {
        assert_eq!(refusal("packets,plr\n").0, None);
        assert_eq!(
            refusal("10,0.1\n10,0.2\n"),
            (Some(2), "10 packets after 10: the rows must be sorted by packets, each once".to_owned())
        );
        assert_eq!(refusal("n,plr\n20,0.1\n\n10,0.2\n").0, Some(4));
        assert_eq!(refusal("1,0.1\n2,-0.1"), (Some(2), "the packet loss rate -0.1 is not between 0 and 1".to_owned()));
        assert_eq!(refusal("1,1.0001").1, "the packet loss rate 1.0001 is not between 0 and 1");
        assert_eq!(refusal("-1,0").1, "the number of packets of a block -1 is not between 0 and 1000000000");
        assert_eq!(refusal("1,x").1, "the packet loss rate \"x\" is not a number");
        assert_eq!(refusal("1").1, "the packet loss rate is missing");
        assert!(refusal("1,NaN").1.contains("not between"));
        assert!(refusal("inf,0").1.contains("not between"));
        assert_eq!(refusal("a,b\nc,d").0, Some(2), "one header only");
        assert_eq!(refusal("1.2.3,4").0, Some(1), "a broken number is not a header");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let refusal = |bytes: &[u8]| {
            let mut files = MemoryFiles::from([("curve.csv".to_owned(), bytes.into())]);
            PlrTable::read(&mut files, "curve.csv").unwrap_err()
        };
        let error = PlrTable::read(&mut MemoryFiles::new(), "no/such.csv").unwrap_err();
        assert!(error.starts_with("no/such.csv: cannot be read: "), "{error}");
        assert_eq!(
            refusal(b"n,plr\n1,0\n2,nothing\n"),
            "curve.csv line 3: the packet loss rate \"nothing\" is not a number"
        );
        assert_eq!(refusal(b"1,0\n2,\xff\n"), "curve.csv line 2: is not UTF-8 text");
    }
}
