//! Satellites as the ground sees them.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::refused;
use crate::table::ArrowTable;
use crate::tools::{instant, interruptible, time_span};

/// The passes of satellites over a place, (latitude, longitude) in degrees.
#[pyfunction]
pub(crate) fn constellation_passes(
    py: Python<'_>,
    constellation: String,
    base_dir: PathBuf,
    place: (f64, f64),
    minimum_elevation_deg: Option<f64>,
    start_s: f64,
    duration_s: f64,
) -> PyResult<ArrowTable> {
    let when = (instant("start", start_s)?, time_span("duration", duration_s)?);
    let work = move || studies::constellation::passes(&constellation, &base_dir, place, minimum_elevation_deg, when);
    interruptible(py, work)?.map(ArrowTable::from).map_err(refused)
}

/// The highest elevation over a place in degrees, and its time in seconds.
#[pyfunction]
pub(crate) fn constellation_best_elevation(
    py: Python<'_>,
    constellation: String,
    base_dir: PathBuf,
    place: (f64, f64),
    start_s: f64,
    duration_s: f64,
) -> PyResult<(f64, f64)> {
    let when = (instant("start", start_s)?, time_span("duration", duration_s)?);
    interruptible(py, move || studies::constellation::best_elevation(&constellation, &base_dir, place, when))?
        .map_err(refused)
}

/// Satellites in view by latitude.
#[pyfunction]
pub(crate) fn constellation_coverage(
    py: Python<'_>,
    constellation: String,
    base_dir: PathBuf,
    minimum_elevation_deg: Option<f64>,
    duration_s: f64,
    step_s: f64,
    latitude_step_deg: f64,
) -> PyResult<ArrowTable> {
    let (duration, step) = (time_span("duration", duration_s)?, time_span("step", step_s)?);
    let work = move || {
        studies::constellation::coverage(
            &constellation,
            &base_dir,
            minimum_elevation_deg,
            duration,
            step,
            latitude_step_deg,
        )
    };
    interruptible(py, work)?.map(ArrowTable::from).map_err(refused)
}

/// Satellites, footprints, links and tracks for a map.
#[pyfunction]
pub(crate) fn constellation_map(
    py: Python<'_>,
    constellation: String,
    base_dir: PathBuf,
    minimum_elevation_deg: Option<f64>,
    at_s: f64,
    track_s: f64,
) -> PyResult<(ArrowTable, ArrowTable, ArrowTable, ArrowTable)> {
    let (at_s, track) = (instant("at", at_s)?, time_span("track", track_s)?);
    let work = move || studies::constellation::map(&constellation, &base_dir, minimum_elevation_deg, at_s, track);
    let [satellites, footprints, links, tracks] = interruptible(py, work)?.map_err(refused)?;
    Ok((satellites.into(), footprints.into(), links.into(), tracks.into()))
}
