//! What the ground sees of a constellation.

use pyo3::prelude::*;
use units::Duration;

use crate::refused;
use crate::table::ArrowTable;
use crate::tools::interruptible;

/// The passes of satellites over a place, (latitude, longitude) in degrees.
#[pyfunction]
pub(crate) fn constellation_passes(
    py: Python<'_>,
    constellation: String,
    place: (f64, f64),
    minimum_elevation_deg: Option<f64>,
    duration_s: f64,
) -> PyResult<ArrowTable> {
    let duration = Duration::from_secs_f64(duration_s);
    let work = move || sim::passes(&constellation, place, minimum_elevation_deg, duration);
    interruptible(py, work)?.map(ArrowTable::from).map_err(refused)
}

/// The highest elevation over a place in degrees, and when in seconds.
#[pyfunction]
pub(crate) fn constellation_best_elevation(
    py: Python<'_>,
    constellation: String,
    place: (f64, f64),
    duration_s: f64,
) -> PyResult<(f64, f64)> {
    let duration = Duration::from_secs_f64(duration_s);
    interruptible(py, move || sim::best_elevation(&constellation, place, duration))?.map_err(refused)
}

/// Satellites in view by latitude.
#[pyfunction]
pub(crate) fn constellation_coverage(
    py: Python<'_>,
    constellation: String,
    minimum_elevation_deg: Option<f64>,
    duration_s: f64,
    step_s: f64,
    latitude_step_deg: f64,
) -> PyResult<ArrowTable> {
    let [duration, step] = [duration_s, step_s].map(Duration::from_secs_f64);
    let work = move || sim::coverage(&constellation, minimum_elevation_deg, duration, step, latitude_step_deg);
    interruptible(py, work)?.map(ArrowTable::from).map_err(refused)
}

/// Satellites, footprints, links and tracks to be drawn on a map.
#[pyfunction]
pub(crate) fn constellation_map(
    py: Python<'_>,
    constellation: String,
    minimum_elevation_deg: Option<f64>,
    at_s: f64,
    track_s: f64,
) -> PyResult<(ArrowTable, ArrowTable, ArrowTable, ArrowTable)> {
    let [at, track] = [at_s, track_s].map(Duration::from_secs_f64);
    let work = move || sim::map(&constellation, minimum_elevation_deg, at, track);
    let [satellites, footprints, links, tracks] = interruptible(py, work)?.map_err(refused)?;
    Ok((satellites.into(), footprints.into(), links.into(), tracks.into()))
}
