//! A constellation as the ground sees it.

use std::path::Path;

use orbit::{LOOK_EVERY_S, Place, Sky, Station, Vector};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use sim::{ScenarioError, Table};
use units::{Angle, Duration};

use crate::bounds::{instant, positive_span, span};

use super::sky::{pairs, sky};

/// The most instants and satellites, or looks, of a table: minutes of work.
const MOST_LOOKS: f64 = 2e10;
/// Places around the Earth at each latitude.
const LONGITUDES: u32 = 36;
/// Points of a footprint.
const EDGES: u32 = 72;
/// Points of a ground track.
const TRACK_POINTS: u32 = 200;

/// Asks for the passes over a place.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passes {
    constellation: String,
    /// Latitude and longitude in degrees.
    at: (f64, f64),
    minimum_elevation_deg: Option<f64>,
    /// After the reference instant, or before it.
    #[serde(default)]
    start_s: f64,
    duration_s: f64,
}

/// Asks for the highest elevation over a place.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestElevation {
    constellation: String,
    /// Latitude and longitude in degrees.
    at: (f64, f64),
    start_s: f64,
    duration_s: f64,
}

/// Asks for the satellites in view by latitude.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    constellation: String,
    minimum_elevation_deg: Option<f64>,
    duration_s: f64,
    step_s: f64,
    latitude_step_deg: f64,
}

/// Asks for what is drawn on a map.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Map {
    constellation: String,
    minimum_elevation_deg: Option<f64>,
    /// After the reference instant, or before it.
    at_s: f64,
    /// How long the ground tracks are.
    track_s: f64,
}

fn ready(sky: Sky, minimum_elevation_deg: Option<f64>, (from, to): (f64, f64)) -> Result<(Sky, Angle), ScenarioError> {
    sky.check(from, to)?;
    let mask = minimum_elevation_deg.map_or(sky.minimum_elevation, Angle::from_degrees);
    match (0.0..=90.0).contains(&mask.as_degrees()) {
        true => Ok((sky, mask)),
        false => {
            let message = format!("{} deg must be between 0 deg and 90 deg", mask.as_degrees());
            Err(ScenarioError::new("minimum_elevation", message))
        }
    }
}

fn limit(field: &str, looks: f64) -> Result<(), ScenarioError> {
    match looks <= MOST_LOOKS {
        true => Ok(()),
        false => Err(ScenarioError::new(field, format!("{looks:.1e} looks at satellites, at most {MOST_LOOKS:.0e}"))),
    }
}

/// The passes: `satellite`, `name`, `rise_s`, `culmination_s`, `set_s`,
/// `highest_elevation_deg`, `range_m` (when it is highest), in the order of their rise.
/// The rise is empty if the satellite was up at the start, the set if it is at the end. Of a pass that the window cuts
/// the culmination is the highest point within the window.
///
/// # Errors
/// Names what is wrong: the constellation, the place, the duration.
pub(crate) fn passes(question: &Passes, base: &Path) -> Result<Table, ScenarioError> {
    let (start_s, duration) = (instant("start", question.start_s)?, positive_span("duration", question.duration_s)?);
    let end_s = start_s + duration.as_secs_f64();
    let (sky, mask) = ready(sky(&question.constellation, base)?, question.minimum_elevation_deg, (start_s, end_s))?;
    let place = Place::from_degrees(question.at.0, question.at.1);
    place.check().map_err(|error| error.within("at"))?;
    limit("duration", duration.as_secs_f64() / LOOK_EVERY_S * sky.orbits.len() as f64)?;
    let passes = orbit::passes(&sky.orbits, &Station::new(&place), mask, [start_s, end_s]);
    let mut table = Table::default();
    table.count("satellite", passes.iter().map(|pass| u64::from(pass.satellite)));
    table.text("name", passes.iter().map(|pass| Some(sky.names[pass.satellite as usize].clone())));
    table.float("rise_s", passes.iter().map(|pass| pass.rise_s.unwrap_or(f64::NAN)));
    table.float("culmination_s", passes.iter().map(|pass| pass.culmination_s));
    table.float("set_s", passes.iter().map(|pass| pass.set_s.unwrap_or(f64::NAN)));
    table.float("highest_elevation_deg", passes.iter().map(|pass| pass.highest.as_degrees()));
    table.float("range_m", passes.iter().map(|pass| pass.range_metres));
    Ok(table)
}

/// The highest elevation in degrees, perhaps below the horizon, that any satellite reaches over a place, and when, in
/// seconds after the reference instant.
///
/// # Errors
/// As [`passes`].
pub(crate) fn best_elevation(question: &BestElevation, base: &Path) -> Result<Json, ScenarioError> {
    let (start_s, duration) = (instant("start", question.start_s)?, positive_span("duration", question.duration_s)?);
    let end_s = start_s + duration.as_secs_f64();
    let (sky, _) = ready(sky(&question.constellation, base)?, None, (start_s, end_s))?;
    let place = Place::from_degrees(question.at.0, question.at.1);
    place.check().map_err(|error| error.within("at"))?;
    limit("duration", duration.as_secs_f64() / LOOK_EVERY_S * sky.orbits.len() as f64)?;
    let (highest, at_s) = orbit::highest(&sky.orbits, &Station::new(&place), [start_s, end_s]);
    Ok(json!((highest.as_degrees(), at_s)))
}

/// Satellites in view by latitude, over 36 longitudes and the instants of the grid: `latitude_deg`, `in_view_min`,
/// `in_view_mean`, `in_view_max`, `covered_share` (of the time with one satellite at least), `two_share`,
/// `three_share`, `four_share`, `highest_elevation_mean_deg`.
///
/// # Errors
/// Names what is wrong: the constellation, the elevation, the duration, a step.
pub(crate) fn coverage(question: &Coverage, base: &Path) -> Result<Table, ScenarioError> {
    let &Coverage { minimum_elevation_deg, latitude_step_deg, .. } = question;
    let (duration, step) = (positive_span("duration", question.duration_s)?, positive_span("step", question.step_s)?);
    if !(0.1..=90.0).contains(&latitude_step_deg) {
        let message = format!("{latitude_step_deg} deg must be between 0.1 deg and 90 deg");
        return Err(ScenarioError::new("latitude_step", message));
    }
    let (sky, mask) = ready(sky(&question.constellation, base)?, minimum_elevation_deg, (0.0, duration.as_secs_f64()))?;
    let bands = (180.0 / latitude_step_deg).floor() as u32 + 1;
    let count = duration.as_nanos() / step.as_nanos() + 1;
    limit("step", count as f64 * f64::from(bands * LONGITUDES) * sky.orbits.len() as f64)?;
    let instants: Vec<f64> = (0..count).map(|i| Duration::from_nanos(i * step.as_nanos()).as_secs_f64()).collect();
    let latitude = |band: u32| Angle::from_degrees(f64::from(band) * latitude_step_deg - 90.0);
    let rows: Vec<_> =
        (0..bands).map(|band| orbit::coverage(&sky.orbits, mask, latitude(band), LONGITUDES, &instants)).collect();
    let mut table = Table::default();
    table.float("latitude_deg", rows.iter().map(|row| row.latitude.as_degrees()));
    for (i, name) in ["in_view_min", "in_view_mean", "in_view_max"].into_iter().enumerate() {
        table.float(name, rows.iter().map(|row| row.in_view[i]));
    }
    for (i, name) in ["covered_share", "two_share", "three_share", "four_share"].into_iter().enumerate() {
        table.float(name, rows.iter().map(|row| row.at_least[i]));
    }
    table.float("highest_elevation_mean_deg", rows.iter().map(|row| row.highest_mean.as_degrees()));
    Ok(table)
}

/// Returns the tables of a map: the satellites (`satellite`, `name`, `latitude_deg`, `longitude_deg`), the edges of
/// their footprints (`satellite`, `latitude_deg`, `longitude_deg`), their links (`from`, `to`), and the tracks of the
/// following time (`satellite`, `time_s`, `latitude_deg`, `longitude_deg`).
///
/// # Errors
/// Names what is wrong: the constellation, the elevation.
pub(crate) fn map(question: &Map, base: &Path) -> Result<[(&'static str, Table); 4], ScenarioError> {
    let (seconds, track) = (instant("at", question.at_s)?, span("track", question.track_s)?);
    let until = seconds + track.as_secs_f64();
    let (mut sky, mask) = ready(sky(&question.constellation, base)?, question.minimum_elevation_deg, (seconds, until))?;
    let mut positions = Vec::new();
    sky.orbits.positions_at(seconds, &mut positions);
    sky.links.update(seconds, &positions);
    let count = positions.len() as u32;
    let below: Vec<_> = positions.iter().map(|&position| orbit::sub_satellite(position, seconds)).collect();
    let mut satellites = Table::default();
    satellites.count("satellite", (0..count).map(u64::from));
    satellites.text("name", sky.names.iter().cloned().map(Some));
    satellites.float("latitude_deg", below.iter().map(|point| point.0));
    satellites.float("longitude_deg", below.iter().map(|point| point.1));

    let edge = |&position: &Vector| orbit::footprint(position, seconds, mask, EDGES);
    let edges: Vec<_> = positions.iter().flat_map(edge).collect();
    let footprints = points((0..count).flat_map(|number| std::iter::repeat_n(number, EDGES as usize)), None, &edges);

    let pairs: Vec<_> = pairs(&sky.links).collect();
    let mut links = Table::default();
    links.count("from", pairs.iter().map(|pair| u64::from(pair.0)));
    links.count("to", pairs.iter().map(|pair| u64::from(pair.1)));

    let steps = if track.is_zero() { 0 } else { TRACK_POINTS };
    let mut tracks = vec![Vec::new(); count as usize];
    let times: Vec<f64> =
        (0..steps).map(|i| seconds + track.as_secs_f64() * f64::from(i) / f64::from(TRACK_POINTS - 1)).collect();
    for &time in &times {
        sky.orbits.positions_at(time, &mut positions);
        tracks
            .iter_mut()
            .zip(&positions)
            .for_each(|(track, &position)| track.push(orbit::sub_satellite(position, time)));
    }
    let numbers = (0..count).flat_map(|number| std::iter::repeat_n(number, times.len()));
    let tracks = points(numbers, Some(&times), &tracks.concat());
    Ok([("satellites", satellites), ("footprints", footprints), ("links", links), ("tracks", tracks)])
}

/// Points of several satellites; `times` are those of each.
fn points(satellites: impl Iterator<Item = u32>, times: Option<&[f64]>, points: &[(f64, f64)]) -> Table {
    let mut table = Table::default();
    table.count("satellite", satellites.map(u64::from));
    if let Some(times) = times {
        table.float("time_s", times.iter().copied().cycle().take(points.len()));
    }
    table.float("latitude_deg", points.iter().map(|point| point.0));
    table.float("longitude_deg", points.iter().map(|point| point.1));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: (f64, f64) = (43.6, 1.4);

    fn over(constellation: &str, at: (f64, f64), start_s: f64, duration_s: f64) -> Result<Table, ScenarioError> {
        let constellation = constellation.to_owned();
        let question = Passes { constellation, at, minimum_elevation_deg: None, start_s, duration_s };
        passes(&question, Path::new(""))
    }

    fn view(constellation: &str, degrees: Option<f64>, times: [f64; 2], latitude: f64) -> Result<Table, ScenarioError> {
        let [duration_s, step_s] = times;
        let (constellation, minimum_elevation_deg) = (constellation.to_owned(), degrees);
        let question =
            Coverage { constellation, minimum_elevation_deg, duration_s, step_s, latitude_step_deg: latitude };
        coverage(&question, Path::new(""))
    }

    fn best(constellation: &str, at: (f64, f64), duration_s: f64) -> f64 {
        let question = BestElevation { constellation: constellation.to_owned(), at, start_s: 0.0, duration_s };
        best_elevation(&question, Path::new("")).unwrap()[0].as_f64().unwrap()
    }

    #[test]
    fn tables_have_their_rows() {
        let found = over("leo-66", HERE, 0.0, 600.0).unwrap();
        assert!(found.rows() > 3 && found.columns.len() == 7);
        assert_eq!(view("leo-66", Some(5.0), [600.0, 300.0], 30.0).unwrap().rows(), 7);
        let question =
            Map { constellation: "leo-66".to_owned(), minimum_elevation_deg: None, at_s: 0.0, track_s: 6000.0 };
        let [satellites, edges, links, tracks] = map(&question, Path::new("")).unwrap().map(|(_, table)| table.rows());
        assert_eq!((satellites, edges, tracks), (66, 66 * 72, 66 * 200));
        // The links in the planes and, of the 66 across, those that are not off near the poles.
        assert!((67..66 + 66).contains(&links), "{links}");
    }

    /// Passes found from the middle on are those found from the beginning, cut off.
    #[test]
    fn passes_may_begin_later() {
        let of = |start_s: f64, duration_s: f64| {
            let table = over("leo-66", HERE, start_s, duration_s).unwrap();
            table.columns.into_iter().filter_map(|(name, column)| match column {
                sim::Column::Float(values) => Some((name, values)),
                _ => None,
            })
        };
        let (whole, late): (Vec<_>, Vec<_>) = (of(0.0, 3600.0).collect(), of(1800.0, 1800.0).collect());
        let column = |table: &[(&str, Vec<f64>)], name: &str| {
            table.iter().find(|column| column.0 == name).map(|column| column.1.clone()).unwrap()
        };
        let sets = column(&whole, "set_s");
        let kept: Vec<usize> = (0..sets.len()).filter(|&i| sets[i].is_nan() || sets[i] >= 1800.0).collect();
        let (rises, late_rises) = (column(&whole, "rise_s"), column(&late, "rise_s"));
        assert!(kept.len() < sets.len() && kept.len() > 3 && kept.len() == late_rises.len());
        let begun = |rise: &f64| if *rise >= 1800.0 { Some((rise * 1e3).round()) } else { None };
        let mut expected: Vec<_> = kept.iter().map(|&i| begun(&rises[i])).collect();
        let mut found: Vec<_> = late_rises.iter().map(begun).collect();
        expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(expected, found);
        assert!(expected[0].is_none(), "one is up");
        assert!(column(&late, "culmination_s").iter().all(|at| (1800.0..=3600.0).contains(at)));
    }

    #[test]
    fn the_best_elevation_is_that_of_the_passes() {
        let found = over("leo-66", HERE, 0.0, 3600.0).unwrap();
        let highest = found.columns.iter().find(|column| column.0 == "highest_elevation_deg").unwrap();
        let sim::Column::Float(highest) = &highest.1 else { panic!("{highest:?}") };
        let highest = highest.iter().copied().fold(0.0, f64::max);
        let elevation = best("leo-66", HERE, 3600.0);
        assert!((elevation - highest).abs() < 1e-9, "{elevation} {highest}");
        let below = best("starlink-shell-1", (90.0, 0.0), 60.0);
        assert!((-30.0..0.0).contains(&below), "{below}");
    }

    #[test]
    fn says_what_is_wrong() {
        let says = |result: Result<Table, ScenarioError>| result.unwrap_err().to_string();
        assert!(says(over("leo-66", (91.0, 0.0), 0.0, 1.0)).starts_with("at.latitude: 91 deg"));
        assert_eq!(says(over("leo-66", (0.0, 0.0), 0.0, 0.0)), "duration: must be more than 0 s");
        assert!(says(view("leo-66", Some(91.0), [1.0; 2], 5.0)).starts_with("minimum_elevation: 91 deg"));
        assert!(says(view("leo-66", None, [1.0; 2], 0.0)).starts_with("latitude_step: 0 deg"));
        assert!(says(view("starlink-shell-1", None, [1e6, 1.0], 1.0)).starts_with("step: 1.0e13 looks"));
    }
}
