//! What the ground sees of a constellation.

use std::path::Path;

use orbit::{Place, Sky, Station, Vector};
use sim::{ScenarioError, Table, positive};
use units::{Angle, Duration};

use super::sky::{pairs, sky};

/// The most instants and satellites, or looks, of a table: minutes of work.
const MOST_LOOKS: f64 = 2e10;
/// Places around the Earth at each latitude.
const LONGITUDES: u32 = 36;
/// Seconds between two looks for passes.
const LOOK_EVERY: f64 = 10.0;
/// Points of a footprint.
const EDGES: u32 = 72;
/// Points of a ground track.
const TRACK_POINTS: u32 = 200;

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

/// The passes over a place, (latitude, longitude) in degrees: `satellite`, `name`, `rise_s`, `culmination_s`, `set_s`,
/// `highest_elevation_deg`, `range_m` (when it is highest), in the order of their rise, over `duration` from `start_s` seconds
/// after the reference instant. The rise is empty if the satellite was up at the start, the set if it is at the end.
///
/// # Errors
/// Names what is wrong: the constellation, the place, the duration.
pub fn passes(
    constellation: &str,
    base: &Path,
    place: (f64, f64),
    minimum_elevation_deg: Option<f64>,
    (start_s, duration): (f64, Duration),
) -> Result<Table, ScenarioError> {
    positive("duration", duration)?;
    let end_s = start_s + duration.as_secs_f64();
    let (sky, mask) = ready(sky(constellation, base)?, minimum_elevation_deg, (start_s, end_s))?;
    let place = Place::from_degrees(place.0, place.1);
    place.check().map_err(|error| error.within("station"))?;
    limit("duration", duration.as_secs_f64() / LOOK_EVERY * sky.orbits.len() as f64)?;
    let passes = orbit::passes(&sky.orbits, &Station::new(&place), mask, [start_s, end_s]);
    let mut table = Table::default();
    table.count("satellite", passes.iter().map(|pass| u64::from(pass.satellite)));
    table.text("name", passes.iter().map(|pass| sky.names[pass.satellite as usize].clone()));
    table.float("rise_s", passes.iter().map(|pass| pass.rise_s.unwrap_or(f64::NAN)));
    table.float("culmination_s", passes.iter().map(|pass| pass.culmination_s));
    table.float("set_s", passes.iter().map(|pass| pass.set_s.unwrap_or(f64::NAN)));
    table.float("highest_elevation_deg", passes.iter().map(|pass| pass.highest.as_degrees()));
    table.float("range_m", passes.iter().map(|pass| pass.range_metres));
    Ok(table)
}

/// The highest elevation in degrees, perhaps below the horizon, that any satellite reaches over a place, (latitude, longitude)
/// in degrees, and when, in seconds after the reference instant: looked for every 10 s, over `duration` from `start_s` on.
///
/// # Errors
/// As [`passes`].
pub fn best_elevation(
    constellation: &str,
    base: &Path,
    place: (f64, f64),
    (start_s, duration): (f64, Duration),
) -> Result<(f64, f64), ScenarioError> {
    positive("duration", duration)?;
    let end_s = start_s + duration.as_secs_f64();
    let (sky, _) = ready(sky(constellation, base)?, None, (start_s, end_s))?;
    let place = Place::from_degrees(place.0, place.1);
    place.check().map_err(|error| error.within("station"))?;
    let steps = (duration.as_secs_f64() / LOOK_EVERY).ceil();
    limit("duration", steps * sky.orbits.len() as f64)?;
    let station = Station::new(&place);
    let mut positions = Vec::new();
    let mut best = (-1.0, start_s);
    for step in 0..=steps as u64 {
        let seconds = (start_s + step as f64 * LOOK_EVERY).min(end_s);
        sky.orbits.positions_at(seconds, &mut positions);
        let horizon = station.at(seconds);
        let sine = positions.iter().map(|&position| horizon.look(position).1).fold(-1.0, f64::max);
        if sine > best.0 {
            best = (sine, seconds);
        }
    }
    Ok((libm::asin(best.0.clamp(-1.0, 1.0)).to_degrees(), best.1))
}

/// Satellites in view by latitude, over 36 longitudes and the instants of the grid: `latitude_deg`, `in_view_min`,
/// `in_view_mean`, `in_view_max`, `covered_share` (of the time with one satellite at least), `two_share`, `three_share`,
/// `four_share`, `highest_elevation_mean_deg`.
///
/// # Errors
/// Names what is wrong: the constellation, the elevation, the duration, a step.
pub fn coverage(
    constellation: &str,
    base: &Path,
    minimum_elevation_deg: Option<f64>,
    duration: Duration,
    step: Duration,
    latitude_step_deg: f64,
) -> Result<Table, ScenarioError> {
    positive("duration", duration)?;
    positive("step", step)?;
    if !(0.1..=90.0).contains(&latitude_step_deg) {
        let message = format!("{latitude_step_deg} deg must be between 0.1 deg and 90 deg");
        return Err(ScenarioError::new("latitude_step", message));
    }
    let (sky, mask) = ready(sky(constellation, base)?, minimum_elevation_deg, (0.0, duration.as_secs_f64()))?;
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

/// What to draw on a map `at_s` seconds after the reference instant: the satellites (`satellite`, `name`, `latitude_deg`, `longitude_deg`), the edges of
/// their footprints (`satellite`, `latitude_deg`, `longitude_deg`), their links (`from`, `to`), and the tracks of the
/// following time (`satellite`, `time_s`, `latitude_deg`, `longitude_deg`).
///
/// # Errors
/// Names what is wrong: the constellation, the elevation.
pub fn map(
    constellation: &str,
    base: &Path,
    minimum_elevation_deg: Option<f64>,
    at_s: f64,
    track: Duration,
) -> Result<[Table; 4], ScenarioError> {
    let seconds = at_s;
    let until = seconds + track.as_secs_f64();
    let (mut sky, mask) = ready(sky(constellation, base)?, minimum_elevation_deg, (seconds, until))?;
    let mut positions = Vec::new();
    sky.orbits.positions_at(seconds, &mut positions);
    sky.links.update(seconds, &positions);
    let count = positions.len() as u32;
    let below: Vec<_> = positions.iter().map(|&position| orbit::sub_satellite(position, seconds)).collect();
    let mut satellites = Table::default();
    satellites.count("satellite", (0..count).map(u64::from));
    satellites.text("name", sky.names.iter().cloned());
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
    let mut ways = vec![Vec::new(); count as usize];
    let times: Vec<f64> =
        (0..steps).map(|i| seconds + track.as_secs_f64() * f64::from(i) / f64::from(TRACK_POINTS - 1)).collect();
    for &time in &times {
        sky.orbits.positions_at(time, &mut positions);
        ways.iter_mut().zip(&positions).for_each(|(way, &position)| way.push(orbit::sub_satellite(position, time)));
    }
    let numbers = (0..count).flat_map(|number| std::iter::repeat_n(number, times.len()));
    let tracks = points(numbers, Some(&times), &ways.concat());
    Ok([satellites, footprints, links, tracks])
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

    #[test]
    fn tables_have_their_rows() {
        let found = passes("leo-66", Path::new(""), (43.6, 1.4), None, (0.0, Duration::from_secs(600))).unwrap();
        assert!(found.rows() > 3 && found.columns.len() == 7);
        let bands =
            coverage("leo-66", Path::new(""), Some(5.0), Duration::from_secs(600), Duration::from_secs(300), 30.0)
                .unwrap();
        assert_eq!(bands.rows(), 7);
        let tables = map("leo-66", Path::new(""), None, 0.0, Duration::from_secs(6000)).unwrap();
        let [satellites, edges, links, ways] = tables.map(|table| table.rows());
        assert_eq!((satellites, edges, ways), (66, 66 * 72, 66 * 200));
        // Those in the planes and, of the 66 across, those that are not off near the poles.
        assert!((67..66 + 66).contains(&links), "{links}");
    }

    /// What is found from the middle on is what is found from the beginning, cut off.
    #[test]
    fn passes_may_begin_later() {
        let of = |start: f64, seconds: u64| {
            let when = (start, Duration::from_secs(seconds));
            let table = passes("leo-66", Path::new(""), (43.6, 1.4), None, when).unwrap();
            table.columns.into_iter().filter_map(|(name, column)| match column {
                sim::Column::Float(values) => Some((name, values)),
                _ => None,
            })
        };
        let (whole, late): (Vec<_>, Vec<_>) = (of(0.0, 3600).collect(), of(1800.0, 1800).collect());
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
        let hour = Duration::from_secs(3600);
        let found = passes("leo-66", Path::new(""), (43.6, 1.4), None, (0.0, hour)).unwrap();
        let highest = found.columns.iter().find(|column| column.0 == "highest_elevation_deg").unwrap();
        let sim::Column::Float(highest) = &highest.1 else { panic!("{highest:?}") };
        let best = highest.iter().copied().fold(0.0, f64::max);
        let (elevation, _) = best_elevation("leo-66", Path::new(""), (43.6, 1.4), (0.0, hour)).unwrap();
        assert!(elevation <= best + 1e-9 && elevation > best - 3.0, "{elevation} {best}");
        let (below, _) =
            best_elevation("starlink-shell-1", Path::new(""), (90.0, 0.0), (0.0, Duration::from_secs(60))).unwrap();
        assert!((-30.0..0.0).contains(&below), "{below}");
    }

    #[test]
    fn says_what_is_wrong() {
        let (second, here) = (Duration::from_secs(1), Path::new(""));
        let says = |result: Result<Table, ScenarioError>| result.unwrap_err().to_string();
        assert!(says(passes("leo-66", here, (91.0, 0.0), None, (0.0, second))).starts_with("station.latitude: 91 deg"));
        assert_eq!(
            says(passes("leo-66", here, (0.0, 0.0), None, (0.0, Duration::ZERO))),
            "duration: must be more than 0 s"
        );
        assert!(
            says(coverage("leo-66", here, Some(91.0), second, second, 5.0)).starts_with("minimum_elevation: 91 deg")
        );
        assert!(says(coverage("leo-66", here, None, second, second, 0.0)).starts_with("latitude_step: 0 deg"));
        let long = coverage("starlink-shell-1", here, None, Duration::from_secs(1_000_000), second, 1.0);
        assert!(says(long).starts_with("step: 1.0e13 looks"));
    }
}
