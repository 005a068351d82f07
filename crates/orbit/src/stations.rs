//! Reading a list of places from text.

use std::collections::BTreeMap;

use units::{Angle, FieldError, Length};

use crate::ground::Place;

/// A place with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPlace {
    /// How it is called.
    pub name: String,
    /// Where it is.
    pub place: Place,
}

/// The columns that are read.
const COLUMNS: [&str; 4] = ["name", "latitude_deg", "longitude_deg", "altitude_m"];

impl NamedPlace {
    /// Reads comma-separated rows with the header `name,latitude_deg,longitude_deg` and perhaps `altitude_m`, in any order;
    /// other columns are left alone. A cell may stand in double quotes, within which a doubled one is one. Empty lines and
    /// lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// Names the line (`line 3`) and what is wrong with it.
    pub fn from_csv(text: &str) -> Result<Vec<NamedPlace>, FieldError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line));
        let mut lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let (number, header) = lines.next().ok_or_else(|| FieldError::new("", "the file is empty"))?;
        let names = cells(number, header)?;
        let columns = columns(number, &names)?;
        let mut seen = BTreeMap::new();
        let mut places = Vec::new();
        for (number, line) in lines {
            let cells = cells(number, line)?;
            if cells.len() != names.len() {
                return Err(wrong(number, format!("{} columns, the header has {}", cells.len(), names.len())));
            }
            let place = read(number, &cells, &columns)?;
            if let Some(before) = seen.insert(place.name.clone(), number) {
                return Err(wrong(number, format!("\"{}\" is already in line {before}", place.name)));
            }
            places.push(place);
        }
        Ok(places)
    }
}

fn wrong(line: usize, message: impl Into<String>) -> FieldError {
    FieldError::new(format!("line {line}"), message)
}

/// Where each of [`COLUMNS`] stands.
fn columns(line: usize, names: &[String]) -> Result<[Option<usize>; 4], FieldError> {
    let columns = COLUMNS.map(|column| names.iter().position(|name| name == column));
    match columns[..3].iter().position(Option::is_none) {
        Some(missing) => {
            let message = format!("no column {}: the header is {}", COLUMNS[missing], COLUMNS[..3].join(","));
            Err(wrong(line, message))
        }
        None => Ok(columns),
    }
}

fn read(line: usize, cells: &[String], columns: &[Option<usize>; 4]) -> Result<NamedPlace, FieldError> {
    let number = |column: usize| {
        let cell = columns[column].map_or("", |at| cells[at].as_str());
        if column == 3 && cell.is_empty() {
            return Ok(0.0);
        }
        let value = cell.parse().ok().filter(|value: &f64| value.is_finite());
        value.ok_or_else(|| wrong(line, format!("{}: \"{cell}\" is not a number", COLUMNS[column])))
    };
    let name = &cells[columns[0].expect("the header has a name")];
    if name.is_empty() {
        return Err(wrong(line, "name: is empty"));
    }
    let place = Place {
        latitude: Angle::from_degrees(number(1)?),
        longitude: Angle::from_degrees(number(2)?),
        altitude: Length::from_metres(number(3)?),
    };
    place.check().map_err(|error| wrong(line, error.to_string()))?;
    Ok(NamedPlace { name: name.clone(), place })
}

/// The cells of a line, without the blanks around them.
fn cells(line: usize, text: &str) -> Result<Vec<String>, FieldError> {
    let mut cells = Vec::new();
    let mut rest = text.trim();
    loop {
        let Some(quoted) = rest.strip_prefix('"') else {
            let (cell, after) = rest.split_once(',').map_or((rest, None), |(cell, after)| (cell, Some(after)));
            cells.push(cell.trim().to_owned());
            match after {
                Some(after) => rest = after.trim_start(),
                None => return Ok(cells),
            }
            continue;
        };
        let (cell, after) = unquote(quoted).ok_or_else(|| wrong(line, "a double quote is not closed"))?;
        cells.push(cell.trim().to_owned());
        match after.trim_start().strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if after.trim().is_empty() => return Ok(cells),
            None => return Err(wrong(line, format!("\"{}\" after a double quote", after.trim()))),
        }
    }
}

/// What stands before the closing quote, and after it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut cell = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        cell.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                cell.push('"');
                rest = after;
            }
            None => return Some((cell, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_places_and_heights() {
        let text = "\u{feff}# my gateways\nname,latitude_deg,longitude_deg,altitude_m\r\n\nToulouse,43.6,1.4,150\n\
                    \"Saint \"\"X\"\", Ohio\" , -36.9 , 174.8,\n";
        let places = NamedPlace::from_csv(text).unwrap();
        assert_eq!(places.len(), 2);
        assert_eq!(places[0].name, "Toulouse");
        assert_eq!(places[0].place.altitude, Length::from_metres(150.0));
        assert_eq!(places[1].name, "Saint \"X\", Ohio");
        assert_eq!(places[1].place, Place::from_degrees(-36.9, 174.8));
        let other = "longitude_deg,city,name,latitude_deg\n1.5,ignored,A,43\n";
        assert_eq!(NamedPlace::from_csv(other).unwrap()[0].place, Place::from_degrees(43.0, 1.5));
    }

    #[test]
    fn names_the_line_and_what_is_wrong() {
        let says = |rows: &str| {
            let text = format!("name,latitude_deg,longitude_deg\n{rows}");
            NamedPlace::from_csv(&text).unwrap_err().to_string()
        };
        assert_eq!(says("A,1,2\nB,x,2\n"), "line 3: latitude_deg: \"x\" is not a number");
        assert_eq!(says("A,1,2\nB,nan,2\n"), "line 3: latitude_deg: \"nan\" is not a number");
        assert_eq!(says("A,91,2\n"), "line 2: latitude: 91 deg must be between -90 deg and 90 deg");
        assert_eq!(says("A,1,2\n\nA,1,2\n"), "line 4: \"A\" is already in line 2");
        assert_eq!(says("A,1\n"), "line 2: 2 columns, the header has 3");
        assert_eq!(says(",1,1\n"), "line 2: name: is empty");
        assert_eq!(says("\"A,1,1\n"), "line 2: a double quote is not closed");
        assert_eq!(says("\"A\"b,1,1\n"), "line 2: \"b,1,1\" after a double quote");
        let headless = NamedPlace::from_csv("A,1,2\n").unwrap_err().to_string();
        assert_eq!(headless, "line 1: no column name: the header is name,latitude_deg,longitude_deg");
        assert_eq!(NamedPlace::from_csv("\n# nothing\n").unwrap_err().to_string(), "the file is empty");
    }
}
