//! Routes between many stations.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use sim::ScenarioError;

use crate::refused::refused;
use crate::table::ArrowTable;

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
    /// A search that has not begun; the options are those of `studies::constellation::RoutesOptions`.
    #[new]
    fn new(py: Python<'_>, options_json: &str, base_dir: PathBuf) -> PyResult<RoutesStudy> {
        let options =
            serde_json::from_str(options_json).map_err(|error| refused(ScenarioError::new("", error.to_string())))?;
        let study = py.detach(|| studies::constellation::RoutesStudy::new(options, &base_dir));
        Ok(RoutesStudy { inner: Mutex::new(study.map_err(refused)?) })
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
