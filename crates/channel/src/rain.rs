//! Attenuation by rain in a link budget.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Db, FieldError, Files, RowError, number_rows, read_text};

units::registry! {
    /// Attenuation by rain.
    pub enum Rain: dyn Kind {
        "fixed" => FixedRain(FixedRain),
        "by-elevation" => ByElevation(RainByElevation),
    }
}

/// A constant attenuation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedRain {
    /// The attenuation, zero or more.
    pub attenuation: Db,
}

/// An attenuation by elevation, from a file that `transorbit channel rain` writes by ITU-R P.618.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RainByElevation {
    /// A CSV file of elevations in degrees and attenuations in decibels. The first line may be a header; lines that
    /// begin with # and columns after the second are skipped. Elevations increase strictly; the attenuation is linear
    /// in between, and that of the nearest row beyond the ends.
    pub file: String,
}

/// The options of an attenuation by rain.
pub trait Kind {
    /// Whether the values can be used. Reads no file.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError>;

    /// The attenuation by elevation. Reads the file.
    ///
    /// # Errors
    /// Says which file and line cannot be used.
    fn load(&self, files: &mut dyn Files) -> Result<RainTable, FieldError>;

    /// Whether the attenuation depends on the elevation.
    fn by_elevation(&self) -> bool {
        false
    }

    /// The names of the files that it needs.
    fn files_mut(&mut self) -> Vec<&mut String> {
        Vec::new()
    }
}

impl Kind for FixedRain {
    fn check(&self) -> Result<(), FieldError> {
        if self.attenuation.get() < 0.0 {
            let message = format!("{} is negative: must be 0 dB or more", self.attenuation);
            return Err(FieldError::new("attenuation", message));
        }
        Ok(())
    }

    fn load(&self, _files: &mut dyn Files) -> Result<RainTable, FieldError> {
        Ok(RainTable::constant(self.attenuation.get()))
    }
}

impl Kind for RainByElevation {
    fn check(&self) -> Result<(), FieldError> {
        FieldError::unless_named("file", &self.file)
    }

    fn load(&self, files: &mut dyn Files) -> Result<RainTable, FieldError> {
        let table = read_text(files, &self.file).and_then(|text| RainTable::parse(&text));
        table.map_err(|error| FieldError::in_file(&self.file, error))
    }

    fn by_elevation(&self) -> bool {
        true
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.file]
    }
}

/// Attenuation in decibels by elevation in degrees.
#[derive(Clone, Debug, PartialEq)]
pub struct RainTable {
    /// Rows of elevation and attenuation by rain, in the order of elevation; at least one.
    rows: Vec<(f64, f64)>,
}

impl RainTable {
    pub(crate) fn dry() -> RainTable {
        RainTable::constant(0.0)
    }

    /// An attenuation of so many decibels at every elevation.
    fn constant(db: f64) -> RainTable {
        RainTable { rows: vec![(-90.0, db), (90.0, db)] }
    }

    pub(crate) fn at(&self, elevation_deg: f64) -> Db {
        let above = self.rows.partition_point(|&(elevation, _)| elevation <= elevation_deg);
        let db = match (above.checked_sub(1).map(|below| self.rows[below]), self.rows.get(above)) {
            (None, _) => self.rows[0].1,
            (Some((_, db)), None) => db,
            (Some((from, low)), Some(&(to, high))) => low + (elevation_deg - from) / (to - from) * (high - low),
        };
        Db::new(db)
    }

    /// Warnings where a satellite is seen outside of the table: its lowest and its highest elevation in degrees.
    pub(crate) fn warnings(&self, (low, high): (f64, f64)) -> Vec<String> {
        let (first, last) = (self.rows[0].0, self.rows[self.rows.len() - 1].0);
        let seen = |direction: &str, elevation: f64| match low == high {
            true => format!("the satellite is seen at {low:.1} deg"),
            false => format!("the satellite is seen {direction} to {elevation:.1} deg"),
        };
        let below = (low < first).then(|| {
            format!("the table of rain begins at {first} deg, {}: the first row holds below", seen("down", low))
        });
        let above = (high > last)
            .then(|| format!("the table of rain ends at {last} deg, {}: the last row holds above", seen("up", high)));
        below.into_iter().chain(above).map(|warning| format!("{warning} as well")).collect()
    }

    fn parse(text: &str) -> Result<RainTable, RowError> {
        let mut rows: Vec<(f64, f64)> = Vec::new();
        for mut row in number_rows(text) {
            let elevation = row.next("elevation in degrees", 0.0..=90.0)?;
            let attenuation = row.next("attenuation in dB", 0.0..=300.0)?;
            if let Some(&(before, _)) = rows.last()
                && elevation <= before
            {
                let order = "elevations must increase strictly";
                return Err(row.wrong(format!("elevation {elevation} deg after {before} deg: {order}")));
            }
            rows.push((elevation, attenuation));
        }
        if rows.is_empty() {
            return Err((None, "has no rows: expected elevation in degrees, attenuation in dB".to_owned()));
        }
        Ok(RainTable { rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attenuation_is_linear_between_rows_and_stays_beyond() {
        let table = RainTable::parse("elevation_deg,attenuation_db\n10,8\n20,4\n90,1\n").unwrap();
        for (elevation, expected) in [(0.0, 8.0), (10.0, 8.0), (15.0, 6.0), (20.0, 4.0), (55.0, 2.5), (90.0, 1.0)] {
            assert_eq!(table.at(elevation), Db::new(expected), "{elevation}");
        }
        assert_eq!(RainTable::parse("30,2\n").unwrap().at(70.0), Db::new(2.0));
        assert_eq!(RainTable::dry().at(5.0), Db::new(0.0));
    }

    #[test]
    fn warns_of_elevations_outside_of_the_table() {
        let table = RainTable::parse("10,8\n60,1\n").unwrap();
        assert!(table.warnings((10.0, 60.0)).is_empty());
        let below = "the table of rain begins at 10 deg, the satellite is seen down to 7.2 deg: the first row holds \
                     below as well";
        let above = "the table of rain ends at 60 deg, the satellite is seen up to 71.5 deg: the last row holds above \
                     as well";
        assert_eq!(table.warnings((7.2, 71.5)), [below, above]);
        assert_eq!(table.warnings((7.2, 50.0)), [below]);
        let fixed = "the table of rain ends at 60 deg, the satellite is seen at 80.0 deg: the last row holds above as \
                     well";
        assert_eq!(table.warnings((80.0, 80.0)), [fixed]);
        assert_eq!(RainTable::parse("30,2\n").unwrap().warnings((20.0, 40.0)).len(), 2);
        assert!(RainTable::dry().warnings((-1.0, 90.0)).is_empty());
        let fixed = FixedRain { attenuation: Db::new(3.0) }.load(&mut units::MemoryFiles::new()).unwrap();
        assert!(
            fixed.at(-1.0) == Db::new(3.0) && fixed.at(33.3) == Db::new(3.0) && fixed.warnings((0.0, 90.0)).is_empty()
        );
    }

    #[test]
    fn says_which_line_is_wrong_and_why() {
        let refusal = |text: &str| RainTable::parse(text).unwrap_err();
        assert_eq!(
            refusal("# nothing\n"),
            (None, "has no rows: expected elevation in degrees, attenuation in dB".into())
        );
        let order = "elevation 20 deg after 20 deg: elevations must increase strictly";
        assert_eq!(refusal("elevation_deg,attenuation_db\n10,8\n20,4\n20,3\n"), (Some(4), order.into()));
        assert_eq!(refusal("10,8\n20\n"), (Some(2), "the attenuation in dB is missing".into()));
        assert_eq!(refusal("10,8\n20,-1\n").0, Some(2));
        assert_eq!(refusal("95,8\n").0, Some(1));
        assert_eq!(refusal("10,8\n20,wet\n"), (Some(2), "the attenuation in dB \"wet\" is not a number".into()));
    }
}
