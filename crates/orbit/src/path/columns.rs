//! The quantities of a measured file, by the names of its columns: `time_s,rtt_ms,rate_down_mbps,loss_percent`.
//!
//! A name says what is measured, perhaps one direction, and the unit, in any order of the words after the first:
//! `loss_down_percent`, `one_way_delay_ms`, `download_mbps`, `rate_up [Mbit/s]`.

use std::fmt;

use crate::satellites::sky::nearest_names;

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// When.
    Time,
    /// The delay of one way.
    Delay,
    /// The delay there and back.
    RoundTrip,
    /// Bits per second.
    Rate,
    /// The share of packets that are lost.
    Loss,
}

/// For which direction a column of a measured file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directions {
    Both,
    Downlink,
    Uplink,
}

/// A column of a measured file that is understood.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) quantity: Quantity,
    pub(crate) directions: Directions,
    pub(crate) unit: Unit,
    /// The column's name as the file's header has it.
    pub(crate) name: String,
    /// The index of the column in a row, from 0.
    pub(crate) index: usize,
}

/// A unit, and what it is in seconds, bits per second or parts of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    dimension: Dimension,
    pub(crate) factor: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Time,
    Rate,
    Share,
}

const fn unit(name: &'static str, dimension: Dimension, factor: f64) -> Unit {
    Unit { name, dimension, factor }
}

const SECONDS: Unit = unit("s", Dimension::Time, 1.0);
const RATIO: Unit = unit("ratio", Dimension::Share, 1.0);
/// The first of each dimension's names for a factor is the one that messages use.
const UNITS: &[Unit] = &[
    SECONDS,
    unit("sec", Dimension::Time, 1.0),
    unit("seconds", Dimension::Time, 1.0),
    unit("ms", Dimension::Time, 1e-3),
    unit("us", Dimension::Time, 1e-6),
    unit("ns", Dimension::Time, 1e-9),
    unit("mbps", Dimension::Rate, 1e6),
    unit("bps", Dimension::Rate, 1.0),
    unit("kbps", Dimension::Rate, 1e3),
    unit("gbps", Dimension::Rate, 1e9),
    unit("percent", Dimension::Share, 0.01),
    unit("pct", Dimension::Share, 0.01),
    RATIO,
    unit("share", Dimension::Share, 1.0),
    unit("fraction", Dimension::Share, 1.0),
    unit("probability", Dimension::Share, 1.0),
];

const QUANTITIES: &[(&str, Quantity)] = &[
    ("time", Quantity::Time),
    ("timestamp", Quantity::Time),
    ("unix_time", Quantity::Time),
    ("one_way_delay", Quantity::Delay),
    ("delay", Quantity::Delay),
    ("owd", Quantity::Delay),
    ("rtt", Quantity::RoundTrip),
    ("round_trip", Quantity::RoundTrip),
    ("round_trip_time", Quantity::RoundTrip),
    ("rate", Quantity::Rate),
    ("throughput", Quantity::Rate),
    ("bandwidth", Quantity::Rate),
    ("capacity", Quantity::Rate),
    ("loss", Quantity::Loss),
    ("packet_loss", Quantity::Loss),
];

const DIRECTIONS: &[(&str, Directions)] = &[
    ("down", Directions::Downlink),
    ("downlink", Directions::Downlink),
    ("download", Directions::Downlink),
    ("up", Directions::Uplink),
    ("uplink", Directions::Uplink),
    ("upload", Directions::Uplink),
];

impl Quantity {
    fn dimension(self) -> Dimension {
        match self {
            Quantity::Time | Quantity::Delay | Quantity::RoundTrip => Dimension::Time,
            Quantity::Rate => Dimension::Rate,
            Quantity::Loss => Dimension::Share,
        }
    }

    /// Returns the range of possible values, in the base unit.
    fn range(self) -> (f64, f64) {
        match self {
            Quantity::Time => (0.0, 3.2e9),
            Quantity::Delay => (0.0, 10.0),
            Quantity::RoundTrip => (0.0, 20.0),
            Quantity::Rate => (0.0, 1e12),
            Quantity::Loss => (0.0, 1.0),
        }
    }

    /// Values that are common, in the base unit: what another unit must make of a value to be its nearest reading.
    fn common(self) -> (f64, f64) {
        match self {
            Quantity::Time => (0.0, 3.2e9),
            Quantity::Delay | Quantity::RoundTrip => (5e-5, 5.0),
            Quantity::Rate => (1e3, 1e11),
            Quantity::Loss => (0.0, 1.0),
        }
    }

    fn word(self) -> &'static str {
        QUANTITIES.iter().find(|known| known.1 == self).expect("every quantity has a name").0
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.dimension {
            Dimension::Rate => match self.name {
                "mbps" => "Mbit/s",
                "kbps" => "kbit/s",
                "gbps" => "Gbit/s",
                _ => "bit/s",
            },
            Dimension::Share if self.factor < 1.0 => "%",
            Dimension::Share => "of 1",
            Dimension::Time => self.name,
        })
    }
}

/// Reads the name of the column at `index`; nothing if it names no quantity of a path.
///
/// # Errors
/// The name has a quantity, but its unit is missing or that of another quantity; or it nearly names one.
pub(crate) fn column(name: &str, index: usize) -> Result<Option<Column>, String> {
    let words = words(name);
    let (mut unit, mut directions, mut rest) = (None, Directions::Both, Vec::new());
    for word in &words {
        if let Some(found) = UNITS.iter().find(|unit| unit.name == word) {
            unit = Some(*found);
        } else if let Some(found) = DIRECTIONS.iter().find(|known| known.0 == word) {
            directions = found.1;
        } else {
            rest.push(word.as_str());
        }
    }
    let rest = rest.join("_");
    let quantity = match QUANTITIES.iter().find(|known| known.0 == rest) {
        Some(known) => known.1,
        // `download_mbps`
        None if rest.is_empty()
            && directions != Directions::Both
            && unit.is_some_and(|u| u.dimension == Dimension::Rate) =>
        {
            Quantity::Rate
        }
        None => return near(name, &rest, unit.is_some()).map_or(Ok(None), Err),
    };
    let unit = match (unit, quantity) {
        (Some(unit), _) if unit.dimension == quantity.dimension() => unit,
        (Some(unit), _) => {
            return Err(format!("{unit} is no unit of {}: write {}", quantity.word(), examples(quantity)));
        }
        (None, Quantity::Time | Quantity::Delay) => SECONDS,
        (None, Quantity::Loss) => RATIO,
        (None, _) => return Err(format!("has no unit: write {}", examples(quantity))),
    };
    Ok(Some(Column { quantity, directions, unit, name: name.to_owned(), index }))
}

/// The words of a name in lower case, units as [`UNITS`] has them.
fn words(name: &str) -> Vec<String> {
    let name = name.to_lowercase().replace("bit/s", "bps").replace("bits/s", "bps").replace('%', " percent ");
    let name = name.replace("µs", "us").replace("one-way", "one_way");
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Returns the error on a name that is no quantity but nearly one.
fn near(name: &str, rest: &str, has_unit: bool) -> Option<String> {
    let alike = |known: &&(&str, Quantity)| has_unit && rest.len() > 2 && strsim::levenshtein(rest, known.0) == 1;
    let known = QUANTITIES.iter().find(alike)?;
    Some(format!("\"{name}\" names no quantity of a path: did you mean {}?", known.0))
}

/// The names that a file may use for a quantity, in the units that are usual.
fn examples(quantity: Quantity) -> String {
    let units = UNITS.iter().filter(|unit| unit.dimension == quantity.dimension() && usual(unit));
    units.map(|unit| format!("{}_{}", quantity.word(), unit.name)).collect::<Vec<_>>().join(", ")
}

fn usual(unit: &Unit) -> bool {
    matches!(unit.name, "s" | "ms" | "mbps" | "bps" | "percent" | "ratio")
}

/// Returns the error on a header without any quantity of a path.
pub(crate) fn nothing_known(names: &[String]) -> String {
    let all = ["one_way_delay_ms", "rtt_ms", "rate_down_mbps", "rate_up_mbps", "loss_percent"];
    let near: Vec<String> = names.iter().map(|name| nearest_names(name, all.into_iter())).collect();
    let near = near.into_iter().find(|near| !near.is_empty());
    let asked = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    format!(
        "the header \"{}\" names no quantity of a path: it needs time_s and one of {}, or columns = \
         {{ rtt_ms = \"its name\" }}{asked}",
        names.join(","),
        all.join(", ")
    )
}

impl Column {
    /// The number in a cell, in seconds, bits per second or parts of one; nothing for an empty one.
    ///
    /// # Errors
    /// The text is no number, or an impossible one: the error says which unit it would fit.
    pub(crate) fn value(&self, cell: &str) -> Result<Option<f64>, String> {
        if matches!(cell, "" | "nan" | "NaN" | "null" | "None") {
            return Ok(None);
        }
        let Ok(number) = cell.parse::<f64>() else {
            let date = cell.len() >= 10 && cell.contains(['-', ':']) && cell.starts_with(|c: char| c.is_ascii_digit());
            let hint = if date { ": seconds are read; transorbit trace import reads dates" } else { "" };
            return Err(format!("\"{cell}\" is not a number{hint}"));
        };
        let value = number * self.unit.factor;
        let (least, most) = self.quantity.range();
        if (least..=most).contains(&value) {
            return Ok(Some(value));
        }
        let (least, most) = (least / self.unit.factor, most / self.unit.factor);
        let asked = match self.nearest(number) {
            Some(unit) => format!(": did you mean {}, {}_{}?", unit, self.quantity.word(), unit.name),
            None if number < 0.0 && self.quantity != Quantity::Time => ": an empty cell is a lost packet".to_owned(),
            None => String::new(),
        };
        Err(format!("{cell} {} must be between {least} and {most}{asked}", self.unit))
    }

    /// The unit in which a number that cannot be is a common one.
    fn nearest(&self, number: f64) -> Option<Unit> {
        let (least, most) = self.quantity.common();
        let fits = |unit: &&Unit| {
            unit.dimension == self.quantity.dimension()
                && unit.factor != self.unit.factor
                && (least..=most).contains(&(number * unit.factor))
                && number != 0.0
        };
        UNITS.iter().find(fits).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> (Quantity, Directions, f64) {
        let column = column(name, 0).unwrap().expect(name);
        (column.quantity, column.directions, column.unit.factor)
    }

    #[test]
    fn a_name_tells_quantity_direction_and_unit() {
        for (name, quantity, directions, factor) in [
            ("time_s", Quantity::Time, Directions::Both, 1.0),
            ("time", Quantity::Time, Directions::Both, 1.0),
            ("timestamp_ns", Quantity::Time, Directions::Both, 1e-9),
            ("one_way_delay_s", Quantity::Delay, Directions::Both, 1.0),
            ("Delay (ms)", Quantity::Delay, Directions::Both, 1e-3),
            ("one_way_delay_up_ms", Quantity::Delay, Directions::Uplink, 1e-3),
            ("rtt_ms", Quantity::RoundTrip, Directions::Both, 1e-3),
            ("RTT [µs]", Quantity::RoundTrip, Directions::Both, 1e-6),
            ("rate_down_mbps", Quantity::Rate, Directions::Downlink, 1e6),
            ("throughput up [Mbit/s]", Quantity::Rate, Directions::Uplink, 1e6),
            ("download_mbps", Quantity::Rate, Directions::Downlink, 1e6),
            ("loss_percent", Quantity::Loss, Directions::Both, 0.01),
            ("loss_up_%", Quantity::Loss, Directions::Uplink, 0.01),
            ("packet_loss", Quantity::Loss, Directions::Both, 1.0),
        ] {
            assert_eq!(read(name), (quantity, directions, factor), "{name}");
        }
        for name in ["hops", "download", "download_s", "user_satellite", "event", "speed"] {
            assert_eq!(column(name, 0), Ok(None), "{name}");
        }
    }

    #[test]
    fn a_name_that_leaves_something_open_is_refused() {
        let says = |name: &str| column(name, 0).unwrap_err();
        assert_eq!(says("rtt"), "has no unit: write rtt_s, rtt_ms");
        assert_eq!(says("rate_down"), "has no unit: write rate_mbps, rate_bps");
        assert_eq!(says("rtt_mbps"), "Mbit/s is no unit of rtt: write rtt_s, rtt_ms");
        assert_eq!(says("rrt_ms"), "\"rrt_ms\" names no quantity of a path: did you mean rtt?");
        let nothing = nothing_known(&["when".to_owned(), "rtt_avg_ms".to_owned()]);
        assert!(
            nothing.ends_with("; did you mean rtt_ms, rate_up_mbps?") || nothing.contains("did you mean rtt_ms"),
            "{nothing}"
        );
    }

    #[test]
    fn a_value_that_cannot_be_tells_its_nearest_reading() {
        let says = |name: &str, cell: &str| column(name, 0).unwrap().unwrap().value(cell).unwrap_err();
        assert_eq!(says("rtt_s", "45"), "45 s must be between 0 and 20: did you mean ms, rtt_ms?");
        assert_eq!(says("delay", "45"), "45 s must be between 0 and 10: did you mean ms, one_way_delay_ms?");
        assert_eq!(says("loss_percent", "300"), "300 % must be between 0 and 100");
        assert_eq!(says("loss", "3"), "3 of 1 must be between 0 and 1: did you mean %, loss_percent?");
        assert_eq!(
            says("rate_mbps", "101856000"),
            "101856000 Mbit/s must be between 0 and 1000000: did you mean bit/s, rate_bps?"
        );
        assert_eq!(says("rtt_ms", "-1"), "-1 ms must be between 0 and 20000: an empty cell is a lost packet");
        assert_eq!(says("rtt_ms", "fast"), "\"fast\" is not a number");
        assert!(says("time", "2024-01-11 10:06:39").ends_with("transorbit trace import reads dates"));
        assert_eq!(column("rtt_ms", 0).unwrap().unwrap().value(""), Ok(None));
        assert_eq!(column("rtt_ms", 0).unwrap().unwrap().value("40"), Ok(Some(0.04)));
    }
}
