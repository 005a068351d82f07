//! Instants of Coordinated Universal Time, and the Earth's rotation angle at them.

use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

const DAY: f64 = 86_400.0;

/// An instant of UTC, between the years 1957 and 2199. Every day has 86,400 s: leap seconds are not counted (none has
/// been inserted since 2016).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Epoch {
    /// Days from 1 January 2000 to the beginning of this day.
    day: i32,
    /// Seconds since the day began, 0 to 86,400.
    second: f64,
}

impl Epoch {
    /// `second` seconds (any number) after the beginning of the day that is `day` days after 1 January 2000.
    pub fn new(day: i32, second: f64) -> Epoch {
        let days = (second / DAY).floor();
        Epoch { day: day + days as i32, second: second - days * DAY }
    }

    /// The beginning of a day of the Gregorian calendar; `None` if there is no such day.
    pub fn from_date(year: i32, month: u32, day: u32) -> Option<Epoch> {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let length = *lengths.get((month as usize).checked_sub(1)?)?;
        if !(1957..2200).contains(&year) || day == 0 || day > length {
            return None;
        }
        let of_year: u32 = lengths[..month as usize - 1].iter().sum::<u32>() + day - 1;
        Some(Epoch { day: first_of_january(year) + of_year as i32, second: 0.0 })
    }

    /// The epoch of an element set: the year and the day in it, counted from 1 and with its fraction.
    pub fn from_day_of_year(year: i32, day: f64) -> Epoch {
        let whole = day.floor();
        Epoch::new(first_of_january(year) + whole as i32 - 1, (day - whole) * DAY)
    }

    /// The seconds from `earlier` to this instant; negative if that one is later.
    pub fn seconds_since(self, earlier: Epoch) -> f64 {
        f64::from(self.day - earlier.day) * DAY + (self.second - earlier.second)
    }

    /// The instant `seconds` later.
    pub fn after(self, seconds: f64) -> Epoch {
        Epoch::new(self.day, self.second + seconds)
    }

    /// Days since noon of 1 January 2000 (J2000).
    pub fn days_since_j2000(self) -> f64 {
        f64::from(self.day) - 0.5 + self.second / DAY
    }

    /// Greenwich mean sidereal time of 1982 in radians, 0 to 2π: the angle from the mean equinox to Greenwich, by which
    /// SGP4's frame is turned to the Earth's (Vallado, Crawford, Hujsak and Kelso, *Revisiting Spacetrack Report #3*,
    /// appendix C; Aoki and others, 1982). UT1 is taken to be UTC, from which it differs by at most 0.9 s.
    pub fn sidereal_time(self) -> f64 {
        let t = self.days_since_j2000() / 36_525.0;
        // 876,600 h of the expression's linear term are whole turns: one for each day.
        let turned = 67_310.548_41 + (self.second / DAY - 0.5) * DAY;
        let drift = (8_640_184.812_866 + (0.093_104 - 6.2e-6 * t) * t) * t;
        let turns = (turned + drift) / DAY;
        (turns - turns.floor()) * TAU
    }

    fn date(self) -> (i32, u32, u32) {
        let mut year = 2000 + self.day.div_euclid(366).min(self.day.div_euclid(365));
        while first_of_january(year + 1) <= self.day {
            year += 1;
        }
        let of_year = (self.day - first_of_january(year)) as u32;
        let starts = |month: u32| {
            Epoch::from_date(year, month, 1).map_or(u32::MAX, |first| (first.day - first_of_january(year)) as u32)
        };
        let month = (1..=12).rev().find(|&month| starts(month) <= of_year).unwrap_or(1);
        (year, month, of_year.wrapping_sub(starts(month)).wrapping_add(1))
    }
}

/// Days from 1 January 2000 to 1 January of `year`.
fn first_of_january(year: i32) -> i32 {
    let before = year - 1;
    let leaps = |year: i32| year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * (year - 2000) + leaps(before) - leaps(1999)
}

impl FromStr for Epoch {
    type Err = String;

    /// ISO 8601: `2026-11-21T10:00:00`, with a fraction of the second or without, with `Z` or without; also a date
    /// alone, and the day of the year (`2026-325T10:00:00`) that CCSDS messages may have.
    fn from_str(text: &str) -> Result<Epoch, String> {
        let given = || {
            let allowed = "in ISO 8601, such as 2026-11-21T10:00:00, of the years 1957 to 2199";
            format!("\"{text}\" must be an instant of UTC {allowed}")
        };
        let bare = text.trim();
        let bare = bare.strip_suffix('Z').or(bare.strip_suffix("+00:00")).unwrap_or(bare);
        let (date, time) = bare.split_once(['T', ' ']).unwrap_or((bare, "00:00:00"));
        let begin = date_of(date).ok_or_else(given)?;
        let mut clock_parts = time.split(':');
        let mut next = |most: f64| {
            let part = clock_parts.next().unwrap_or("0");
            let digits = part.len() >= 2 && part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            part.parse::<f64>().ok().filter(|value| (part == "0" || digits) && *value < most)
        };
        let (hour, minute, second) = (next(24.0), next(60.0), next(61.0));
        match (hour, minute, second, clock_parts.next()) {
            (Some(hour), Some(minute), Some(second), None) if hour.fract() == 0.0 && minute.fract() == 0.0 => {
                Ok(Epoch::new(begin.day, hour * 3600.0 + minute * 60.0 + second))
            }
            _ => Err(given()),
        }
    }
}

fn date_of(date: &str) -> Option<Epoch> {
    if !date.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        return None;
    }
    let date_parts: Vec<&str> = date.split('-').collect();
    match date_parts[..] {
        [year, month, day] if year.len() == 4 && month.len() == 2 && day.len() == 2 => {
            Epoch::from_date(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
        }
        [year, day] if year.len() == 4 && day.len() == 3 => {
            let (year, day): (i32, u32) = (year.parse().ok()?, day.parse().ok()?);
            let first = Epoch::from_date(year, 1, 1)?;
            let there = day >= 1 && first.day + day as i32 <= first_of_january(year + 1);
            there.then(|| Epoch::new(first.day + day as i32 - 1, 0.0))
        }
        _ => None,
    }
}

impl TryFrom<String> for Epoch {
    type Error = String;

    fn try_from(text: String) -> Result<Epoch, String> {
        text.parse()
    }
}

impl From<Epoch> for String {
    fn from(epoch: Epoch) -> String {
        epoch.to_string()
    }
}

/// ISO 8601, to the microsecond.
impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = (self.second * 1e6).round() as i64;
        let whole = Epoch::new(self.day, (micros / 1_000_000) as f64);
        let (year, month, day) = whole.date();
        let second = whole.second as u32;
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)?;
        match micros % 1_000_000 {
            0 => Ok(()),
            fraction => f.write_str(format!(".{fraction:06}").trim_end_matches('0')),
        }
    }
}

impl JsonSchema for Epoch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Epoch".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "An instant of UTC in ISO 8601, such as 2026-11-21T10:00:00, of the years 1957 to 2199.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str) -> Epoch {
        text.parse().unwrap()
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (text, day) in [("2000-01-01", 0), ("1999-12-31", -1), ("2000-03-01", 60), ("2026-11-21", 9821)] {
            assert_eq!((at(text).day, at(text).second), (day, 0.0), "{text}");
        }
        // A day of the year, as element sets count them: the vector of Vallado and others, 28 June 2000.
        let epoch = Epoch::from_day_of_year(2000, 179.784_952_22);
        assert_eq!(epoch.to_string(), "2000-06-27T18:50:19.871808");
        assert_eq!(at("2000-179"), at("2000-06-27"));
        assert_eq!(at("2026-11-21T10:00:00.5Z").seconds_since(at("2026-11-20 09:59")), 86_460.5);
    }

    #[test]
    fn sidereal_time_is_that_of_the_published_examples() {
        // Meeus, Astronomical Algorithms, examples 12.a and 12.b: 10 April 1987.
        let hours = |text: &str| at(text).sidereal_time() / TAU * 24.0;
        assert!((hours("1987-04-10") - (13.0 + 10.0 / 60.0 + 46.366_8 / 3600.0)).abs() < 0.000_1 / 3600.0);
        assert!((hours("1987-04-10T19:21:00") - (8.0 + 34.0 / 60.0 + 57.089_6 / 3600.0)).abs() < 0.000_1 / 3600.0);
        // Vallado, example 3-5: 20 August 1992, 12:14 UT1, from a Julian date of nine decimals (40 ms).
        assert!((at("1992-08-20T12:14:00").sidereal_time().to_degrees() - 152.578_787_810).abs() < 1e-7);
    }

    #[test]
    fn refuses_what_is_no_instant() {
        for text in
            ["", "today", "2026-13-01", "2026-02-29", "2026-00-10", "26-01-01", "2026-366", "2026-01-01T24:00:00"]
        {
            assert!(text.parse::<Epoch>().is_err(), "{text}");
        }
        for text in ["2026-01-01T10:00:00+02:00", "2026-01-01T1:00:00", "2026-01-01T10:-1:00", "2026-01-01T10:00:00:00"]
        {
            let error = text.parse::<Epoch>().unwrap_err();
            assert!(error.starts_with(&format!("\"{text}\" must be an instant of UTC")), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(day in -15_000i32..70_000, micros in 0i64..86_400_000_000) {
            let epoch = Epoch::new(day, micros as f64 / 1e6);
            let back: Epoch = epoch.to_string().parse().unwrap();
            prop_assert!(back.seconds_since(epoch).abs() < 1e-6, "{epoch} is not {back}");
        }
    }
}
