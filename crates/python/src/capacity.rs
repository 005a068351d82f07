//! Studies of the capacity of the last hop.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::find::Finder;
use crate::refused::refused;
use crate::script::Raised;

/// A study. Threads may share it: their calls wait for each other.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct Capacity {
    inner: Mutex<studies::capacity::CapacityStudy>,
    /// See `Scenario.simulation`.
    find: Option<Py<PyAny>>,
    /// The exception that a scheduler in Python raised.
    raised: Raised,
}

impl Capacity {
    pub(crate) fn new(inner: studies::capacity::CapacityStudy, find: Option<Py<PyAny>>) -> Capacity {
        Capacity { inner: Mutex::new(inner), find, raised: Raised::default() }
    }

    /// Calls `act` with the study. The GIL is released meanwhile, because a scheduler in Python may need it.
    fn with<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut studies::capacity::CapacityStudy) -> T + Send) -> T {
        py.detach(|| act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl Capacity {
    /// The share of the study that is done, 0 to 1.
    #[getter]
    fn share(&self, py: Python<'_>) -> f64 {
        self.with(py, |study| study.share())
    }

    /// Continues the study for some time. Other Python threads run meanwhile. An exception of a scheduler in Python is
    /// raised here.
    fn advance(&self, py: Python<'_>) -> PyResult<()> {
        let mut finder = Finder { find: self.find.as_ref(), raised: &self.raised };
        let mut choosers = |name: &str| sim::Scripts::scheduler(&mut finder, name);
        let advanced = self.with(py, |study| study.advance(&mut choosers));
        self.raised.take().map_or(Ok(()), Err)?;
        advanced.map_err(refused)
    }

    /// Returns the result so far, as JSON; None while there is nothing.
    fn report_json(&self, py: Python<'_>) -> Option<String> {
        let report = self.with(py, |study| study.report())?;
        Some(serde_json::to_string(&report).expect("a report is JSON"))
    }
}
