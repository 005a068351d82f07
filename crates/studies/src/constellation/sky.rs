//! Where the satellites of a constellation are, and where to look for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use orbit::{ConstellationChoice, Links, NamedPlace, Orbits, Place, Sky, Station, Vector};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use sim::{InputFiles, ScenarioError, Table, constellation_from_json};
use units::Duration;

use crate::bounds::{instant, span, steps};

/// Asks for the places of all satellites, or for their links: every `step_s` from `start_s` (after the constellation's
/// reference instant) to the end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Positions {
    constellation: String,
    start_s: f64,
    duration_s: f64,
    step_s: f64,
}

/// Asks where a station looks for the satellites.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    constellation: String,
    /// Geodetic latitude and longitude in degrees, height in metres.
    station: (f64, f64, f64),
    start_s: f64,
    duration_s: f64,
    step_s: f64,
}

/// Asks for the instant from which times count.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceEpoch {
    constellation: String,
}

/// Asks whether elements are old within a time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgeWarning {
    constellation: String,
    start_s: f64,
    duration_s: f64,
}

/// Asks for the places of a CSV file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stations {
    /// The text of the file.
    csv: String,
}

/// The instants of a table.
struct Instants {
    /// The first, in seconds after the reference instant.
    start_s: f64,
    /// From the first to the last.
    duration: Duration,
    /// The time between two instants; the last one may come sooner.
    step: Duration,
}

/// A constellation as a scenario's `path.constellation` says it, as JSON, with its files read; or its name as it is.
///
/// # Errors
/// Names the field that is wrong, or the file with its line, record or satellite.
pub(super) fn sky(constellation: &str, base: &Path) -> Result<Sky, ScenarioError> {
    let choice = match constellation.trim_start().starts_with(['{', '"']) {
        true => constellation_from_json(constellation)?,
        false => ConstellationChoice::from(constellation),
    };
    choice.sky(&mut InputFiles::new(base))
}

/// The places of all satellites, fixed to the Earth: `time_s` (after the reference instant), `satellite` (its number
/// from 0), `name`, and `x_m`, `y_m`, `z_m` with x through Greenwich on the equator and z through the north pole. One
/// row for each instant and satellite, in this order.
///
/// # Errors
/// As [`sky`]; or there are too many rows, or a satellite comes down before the end.
pub(crate) fn positions(question: &Positions, base: &Path) -> Result<Table, ScenarioError> {
    let instants = Instants::new(question.start_s, question.duration_s, question.step_s)?;
    let sky = sky(&question.constellation, base)?;
    let times = instants.of(&sky)?;
    let mut all_positions: Vec<Vector> = Vec::new();
    let mut positions = Vec::new();
    for &seconds in &times {
        sky.earth_fixed_at(seconds, &mut positions);
        all_positions.extend(&positions);
    }
    let mut table = with_times(&sky, &times);
    for (axis, name) in ["x_m", "y_m", "z_m"].into_iter().enumerate() {
        table.float(name, all_positions.iter().map(|position| position[axis]));
    }
    Ok(table)
}

/// Returns where a station, at geodetic latitude and longitude in degrees and height in metres, has to look for every
/// satellite: `time_s`, `satellite` and `name` as in [`positions`], `azimuth_deg` from north over east, `elevation_deg`
/// (below zero: under the horizon) and `range_m`. Geometric, without refraction.
///
/// # Errors
/// As [`positions`]; or the station is nowhere.
pub(crate) fn look(question: &Look, base: &Path) -> Result<Table, ScenarioError> {
    let instants = Instants::new(question.start_s, question.duration_s, question.step_s)?;
    let sky = sky(&question.constellation, base)?;
    let times = instants.of(&sky)?;
    let (latitude, longitude, height) = question.station;
    let altitude = units::Length::from_metres(height);
    let place = Place { altitude, ..Place::from_degrees(latitude, longitude) };
    place.check().map_err(|error| error.within("station"))?;
    let station = Station::new(&place);
    let mut looks = Vec::new();
    let mut positions = Vec::new();
    for &seconds in &times {
        sky.orbits.positions_at(seconds, &mut positions);
        let horizon = station.at(seconds);
        looks.extend(positions.iter().map(|&position| horizon.look_angles(position)));
    }
    let mut table = with_times(&sky, &times);
    table.float("azimuth_deg", looks.iter().map(|look| look.azimuth.as_degrees()));
    table.float("elevation_deg", looks.iter().map(|look| look.elevation.as_degrees()));
    table.float("range_m", looks.iter().map(|look| look.range_metres));
    Ok(table)
}

/// When which satellites are linked: `from` and `to` (numbers, the lower one first), `begin_s` and `end_s` after the
/// reference instant. A link that is on at an instant of the grid is taken to be on until the next; one row for each
/// time it is on, in the order of their ends.
///
/// # Errors
/// As [`positions`].
pub(crate) fn links(question: &Positions, base: &Path) -> Result<Table, ScenarioError> {
    let instants = Instants::new(question.start_s, question.duration_s, question.step_s)?;
    let mut sky = sky(&question.constellation, base)?;
    let times = instants.of(&sky)?;
    let mut on_since: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    let mut rows = Vec::new();
    let mut positions = Vec::new();
    for &seconds in &times {
        sky.orbits.positions_at(seconds, &mut positions);
        sky.links.update(seconds, &positions);
        let on: BTreeSet<_> = pairs(&sky.links).collect();
        on_since.retain(|pair, begin| {
            let stays = on.contains(pair);
            if !stays {
                rows.push((*pair, *begin, seconds));
            }
            stays
        });
        for pair in on {
            on_since.entry(pair).or_insert(seconds);
        }
    }
    let end = times.last().copied().unwrap_or_default();
    rows.extend(on_since.into_iter().map(|(pair, begin)| (pair, begin, end)));
    let mut table = Table::default();
    table.count("from", rows.iter().map(|row| u64::from(row.0.0)));
    table.count("to", rows.iter().map(|row| u64::from(row.0.1)));
    table.float("begin_s", rows.iter().map(|row| row.1));
    table.float("end_s", rows.iter().map(|row| row.2));
    Ok(table)
}

/// The links that are on, each once, from the satellite with the lower number.
pub(super) fn pairs(links: &Links) -> impl Iterator<Item = (u32, u32)> {
    let of = |from| links.of(from).map(move |(to, _)| (from, to)).filter(|(from, to)| from < to);
    (0..links.satellites() as u32).flat_map(of)
}

/// The places of a CSV file: `name`, `latitude_deg`, `longitude_deg`, `altitude_m`.
///
/// # Errors
/// Names the line and what is wrong with it.
pub(crate) fn stations(question: &Stations, _: &Path) -> Result<Table, ScenarioError> {
    let stations = NamedPlace::from_csv(&question.csv).map_err(|error| error.within("stations"))?;
    let mut table = Table::default();
    table.text("name", stations.iter().map(|station| Some(station.name.clone())));
    table.float("latitude_deg", stations.iter().map(|station| station.place.latitude.as_degrees()));
    table.float("longitude_deg", stations.iter().map(|station| station.place.longitude.as_degrees()));
    table.float("altitude_m", stations.iter().map(|station| station.place.altitude.as_metres()));
    Ok(table)
}

/// Returns a warning where the elements are old at the time of the positions; null if they are not.
///
/// # Errors
/// As [`sky`].
pub(crate) fn age_warning(question: &AgeWarning, base: &Path) -> Result<Json, ScenarioError> {
    let (start_s, duration) = (instant("start", question.start_s)?, span("duration", question.duration_s)?);
    Ok(json!(sky(&question.constellation, base)?.warning(start_s, start_s + duration.as_secs_f64())))
}

/// The instant from which times count, in ISO 8601, for satellites by their elements; null for a pattern.
///
/// # Errors
/// As [`sky`].
pub(crate) fn epoch(question: &ReferenceEpoch, base: &Path) -> Result<Json, ScenarioError> {
    Ok(json!(epoch_of(&sky(&question.constellation, base)?)))
}

/// Returns the reference instant of a sky that was read.
pub(super) fn epoch_of(sky: &Sky) -> Option<String> {
    match &sky.orbits {
        Orbits::Walker(_) => None,
        Orbits::Elements(orbits) => Some(orbits.epoch().to_string()),
    }
}

impl Instants {
    fn new(start_s: f64, duration_s: f64, step_s: f64) -> Result<Instants, ScenarioError> {
        let start_s = instant("start", start_s)?;
        Ok(Instants { start_s, duration: span("duration", duration_s)?, step: span("step", step_s)? })
    }

    /// Returns the instants in seconds after the reference instant.
    fn of(self, sky: &Sky) -> Result<Vec<f64>, ScenarioError> {
        steps(self.duration, self.step, sky.orbits.len() as u64)?;
        let [duration, step] = [self.duration, self.step].map(|time| i128::from(time.as_nanos()));
        let begin = (self.start_s * 1e9).round() as i128;
        let end = begin + duration;
        // Divided and not multiplied, so that whole seconds are whole.
        let seconds = |nanos: i128| nanos as f64 / 1e9;
        sky.check(seconds(begin), seconds(end))?;
        let instants = std::iter::successors(Some(begin), |&now| (now < end).then(|| (now + step).min(end)));
        Ok(instants.map(seconds).collect())
    }
}

/// A table with the columns that name instant and satellite.
fn with_times(sky: &Sky, times: &[f64]) -> Table {
    let satellites = sky.names.len();
    let mut table = Table::default();
    table.float("time_s", times.iter().flat_map(|&time| std::iter::repeat_n(time, satellites)));
    table.count("satellite", times.iter().flat_map(|_| 0..satellites as u64));
    table.text("name", times.iter().flat_map(|_| sky.names.iter().cloned().map(Some)));
    table
}
