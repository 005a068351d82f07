//! Routes between many stations.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::refused;
use crate::table::ArrowTable;
use crate::tools::time_span;

/// A search for the routes between all pairs of stations. Threads may share it: their calls wait for each other.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct RoutesStudy {
    inner: Mutex<studies::constellation::RoutesStudy>,
}

impl RoutesStudy {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut studies::constellation::RoutesStudy) -> T + Send,
    ) -> T {
        py.detach(|| act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl RoutesStudy {
    /// A search that has not begun. `stations_csv`: rows of name, latitude and longitude, with a header.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "as the command has options")]
    #[pyo3(signature = (
        constellation, base_dir, stations_csv, duration_s, step_s, metric, access, minimum_elevation_deg, forwarding, keep_unseen, threads
    ))]
    fn new(
        py: Python<'_>,
        constellation: &str,
        base_dir: &str,
        stations_csv: &str,
        duration_s: f64,
        step_s: f64,
        metric: String,
        access: String,
        minimum_elevation_deg: Option<f64>,
        forwarding: bool,
        keep_unseen: bool,
        threads: Option<usize>,
    ) -> PyResult<RoutesStudy> {
        let (duration, step) = (time_span("duration", duration_s)?, time_span("step", step_s)?);
        let options = studies::constellation::RoutesOptions {
            metric,
            access,
            minimum_elevation_deg,
            duration,
            step,
            forwarding,
            threads,
            keep_unseen,
        };
        let base = Path::new(base_dir);
        let inner = py
            .detach(|| studies::constellation::RoutesStudy::new(constellation, base, stations_csv, &options))
            .map_err(refused)?;
        Ok(RoutesStudy { inner: Mutex::new(inner) })
    }

    /// Number of instants.
    #[getter]
    fn instants(&self, py: Python<'_>) -> u64 {
        self.with(py, |study| study.instants())
    }

    /// Number of instants that are done.
    #[getter]
    fn done(&self, py: Python<'_>) -> u64 {
        self.with(py, |study| study.done())
    }

    /// The names of the stations, in the order of their numbers.
    #[getter]
    fn stations(&self, py: Python<'_>) -> Vec<String> {
        self.with(py, |study| study.stations())
    }

    /// Continues the search for some time and returns the new routes and next hops; None if there are none yet. Other
    /// Python threads run meanwhile.
    fn advance(&self, py: Python<'_>) -> PyResult<Option<(ArrowTable, ArrowTable)>> {
        let batch = self.with(py, studies::constellation::RoutesStudy::advance).map_err(refused)?;
        Ok(batch.map(|batch| (batch.routes.into(), batch.forwarding.into())))
    }

    /// The statistics of each pair up to now.
    fn pairs(&self, py: Python<'_>) -> ArrowTable {
        self.with(py, |study| study.pairs()).into()
    }

    /// The parameters and results as JSON.
    fn report_json(&self, py: Python<'_>) -> String {
        self.with(py, |study| study.report_json())
    }
}
