//! Reading a list of places from text.

use std::collections::BTreeMap;

use units::{FieldError, Length};

use crate::csv::{Row, rows};
use crate::ground::place::Place;

/// A place with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPlace {
    /// The name.
    pub name: String,
    /// The place.
    pub place: Place,
}

/// The columns that are read; all but the last are required.
const COLUMNS: [&[&str]; 4] = [&["name"], &["latitude_deg"], &["longitude_deg"], &["altitude_m"]];

impl NamedPlace {
    /// Reads comma-separated rows with the header `name,latitude_deg,longitude_deg` and optionally `altitude_m`, in any
    /// order; other columns are ignored. A cell may stand in double quotes, where a doubled quote is one quote. Empty
    /// lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// Names the line (`line 3`) and what is wrong with it.
    pub fn from_csv(text: &str) -> Result<Vec<NamedPlace>, FieldError> {
        let mut lines = rows(text);
        let header = lines.next().ok_or_else(|| FieldError::new("", "the file is empty"))?.header(COLUMNS, 3)?;
        let mut line_of_name = BTreeMap::new();
        let mut places = Vec::new();
        for line in lines {
            let row = header.row(&line)?;
            if row.cell(0).is_empty() {
                return Err(line.wrong("name: is empty"));
            }
            let place = NamedPlace { name: row.cell(0).to_owned(), place: row.place(1)? };
            if let Some(before) = line_of_name.insert(place.name.clone(), line.number) {
                return Err(line.wrong(format!("\"{}\" is already in line {before}", place.name)));
            }
            places.push(place);
        }
        Ok(places)
    }
}

impl<const N: usize> Row<'_, N> {
    /// The place in the columns `latitude_deg`, `longitude_deg` and optionally `altitude_m`, which follow each other
    /// from `first`.
    pub fn place(&self, first: usize) -> Result<Place, FieldError> {
        let altitude = match self.cell(first + 2) {
            "" => 0.0,
            _ => self.number(first + 2, "altitude_m", 0.0..=50e3)?,
        };
        let latitude = self.number(first, "latitude_deg", -90.0..=90.0)?;
        let longitude = self.number(first + 1, "longitude_deg", -180.0..=360.0)?;
        Ok(Place { altitude: Length::from_metres(altitude), ..Place::from_degrees(latitude, longitude) })
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
        assert_eq!(says("A,91,2\n"), "line 2: latitude_deg: 91 must be between -90 and 90");
        assert_eq!(says("A,1,2\n\nA,1,2\n"), "line 4: \"A\" is already in line 2");
        assert_eq!(says("A,1\n"), "line 2: 2 columns where 3 are expected");
        assert_eq!(says(",1,1\n"), "line 2: name: is empty");
        assert_eq!(says("\"A,1,1\n"), "line 2: a double quote is not closed");
        assert_eq!(says("\"A\"b,1,1\n"), "line 2: \"b,1,1\" after a double quote");
        let headless = NamedPlace::from_csv("A,1,2\n").unwrap_err().to_string();
        assert_eq!(headless, "line 1: the header \"A,1,2\" has no column name");
        assert_eq!(says("A,1,2\nB,inf,2\n"), "line 3: latitude_deg: \"inf\" is not a number");
        assert_eq!(NamedPlace::from_csv("\n# nothing\n").unwrap_err().to_string(), "the file is empty");
    }
}
