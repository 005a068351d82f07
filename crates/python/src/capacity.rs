//! Studies of the capacity of the last hop.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use sim::Choose;

use crate::refused::refused;
use crate::scheduler::{Raised, Selector};

/// A study. Threads may share it: their calls wait for each other.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct Capacity {
    inner: Mutex<studies::capacity::CapacityStudy>,
    /// Called with the name of a scheduler that is written in Python; returns an object with `select(queues, now)`, or
    /// None.
    schedulers: Option<Py<PyAny>>,
    /// The exception that such a scheduler raised.
    raised: Raised,
}

impl Capacity {
    pub(crate) fn new(inner: studies::capacity::CapacityStudy, schedulers: Option<Py<PyAny>>) -> Capacity {
        Capacity { inner: Mutex::new(inner), schedulers, raised: Raised::default() }
    }

    /// Calls `act` with the study. The GIL is released meanwhile, because a scheduler in Python may need it.
    fn with<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut studies::capacity::CapacityStudy) -> T + Send) -> T {
        py.detach(|| act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn find(&self, name: &str) -> PyResult<Option<Box<dyn Choose>>> {
        Python::attach(|py| {
            let Some(schedulers) = &self.schedulers else { return Ok(None) };
            let scheduler = schedulers.bind(py).call1((name,))?;
            if scheduler.is_none() {
                return Ok(None);
            }
            Ok(Some(Box::new(Selector::new(&scheduler, Raised::clone(&self.raised))?) as Box<dyn Choose>))
        })
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
        let keep = |error| *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        let mut choosers = |name: &str| self.find(name).map_err(keep).unwrap_or_default();
        let advanced = self.with(py, |study| study.advance(&mut choosers));
        let raised = py.detach(|| self.raised.lock().unwrap_or_else(PoisonError::into_inner).take());
        raised.map_or(Ok(()), Err)?;
        advanced.map_err(refused)
    }

    /// What was found up to now, as JSON; None while there is nothing.
    fn report_json(&self, py: Python<'_>) -> Option<String> {
        let report = self.with(py, |study| study.report())?;
        Some(serde_json::to_string(&report).expect("a report is JSON"))
    }
}
