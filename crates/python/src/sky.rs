//! A constellation by itself: positions and look angles.

use std::path::Path;

use pyo3::prelude::*;
use studies::constellation::Instants;

use crate::refused;
use crate::table::ArrowTable;
use crate::tools::{instant, time_span};

fn instants(start_s: f64, duration_s: f64, step_s: f64) -> PyResult<Instants> {
    Ok(Instants {
        start_s: instant("start", start_s)?,
        duration: time_span("duration", duration_s)?,
        step: time_span("step", step_s)?,
    })
}

/// Positions fixed to the Earth; the constellation is a name, or the JSON of a scenario's `path.constellation`.
#[pyfunction]
pub(crate) fn constellation_positions(
    py: Python<'_>,
    constellation: &str,
    base_dir: &str,
    start_s: f64,
    duration_s: f64,
    step_s: f64,
) -> PyResult<ArrowTable> {
    let instants = instants(start_s, duration_s, step_s)?;
    py.detach(|| studies::constellation::positions(constellation, Path::new(base_dir), instants))
        .map(ArrowTable::from)
        .map_err(refused)
}

/// The look angles to the satellites from a station at (latitude, longitude) in degrees and height in metres.
#[pyfunction]
pub(crate) fn constellation_look(
    py: Python<'_>,
    constellation: &str,
    base_dir: &str,
    station: (f64, f64, f64),
    start_s: f64,
    duration_s: f64,
    step_s: f64,
) -> PyResult<ArrowTable> {
    let instants = instants(start_s, duration_s, step_s)?;
    py.detach(|| studies::constellation::look(constellation, Path::new(base_dir), station, instants))
        .map(ArrowTable::from)
        .map_err(refused)
}

/// The reference instant in ISO 8601; None for a Walker constellation.
#[pyfunction]
pub(crate) fn constellation_epoch(py: Python<'_>, constellation: &str, base_dir: &str) -> PyResult<Option<String>> {
    py.detach(|| studies::constellation::reference_epoch(constellation, Path::new(base_dir))).map_err(refused)
}

/// A warning about the positions at these times, if there is one.
#[pyfunction]
pub(crate) fn constellation_warning(
    py: Python<'_>,
    constellation: &str,
    base_dir: &str,
    start_s: f64,
    duration_s: f64,
) -> PyResult<Option<String>> {
    let (start_s, duration) = (instant("start", start_s)?, time_span("duration", duration_s)?);
    py.detach(|| studies::constellation::sky_warning(constellation, Path::new(base_dir), start_s, duration))
        .map_err(refused)
}

/// The times at which satellites are linked.
#[pyfunction]
pub(crate) fn constellation_links(
    py: Python<'_>,
    constellation: &str,
    base_dir: &str,
    start_s: f64,
    duration_s: f64,
    step_s: f64,
) -> PyResult<ArrowTable> {
    let instants = instants(start_s, duration_s, step_s)?;
    py.detach(|| studies::constellation::linked(constellation, Path::new(base_dir), instants))
        .map(ArrowTable::from)
        .map_err(refused)
}

/// The places of a CSV file's text.
#[pyfunction]
pub(crate) fn stations(csv: &str) -> PyResult<ArrowTable> {
    studies::constellation::stations(csv).map(ArrowTable::from).map_err(refused)
}
