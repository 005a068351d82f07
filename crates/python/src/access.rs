//! Random access by itself: studies of packet loss, and the equations that compare it with dedicated access.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use sim::ScenarioError;
use studies::access::{AnalysisOptions, AnalysisReport, PlrOptions};
use toml::Value;
use units::{Duration, Quantity};

use crate::refused::refused;
use crate::scenario::Scenario;
use crate::table::ArrowTable;

/// A study of packet loss against load. Threads may share it: their calls wait for each other.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct PlrStudy {
    inner: Mutex<studies::access::PlrStudy>,
}

impl PlrStudy {
    fn with<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut studies::access::PlrStudy) -> T + Send) -> T {
        py.detach(|| act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl PlrStudy {
    /// A study that has not begun, with the `access` table of a scenario. `methods_json`: a list of values of its
    /// `method`, by default the scenario's own.
    #[new]
    #[pyo3(signature = (scenario, packets, bursts, methods_json=None, seed=None))]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        packets: Vec<u32>,
        bursts: u64,
        methods_json: Option<&str>,
        seed: Option<u64>,
    ) -> PyResult<PlrStudy> {
        let options = PlrOptions { methods: methods(methods_json)?, packets, bursts, seed };
        let study = py.detach(|| studies::access::PlrStudy::new(&scenario.inner, &options)).map_err(refused)?;
        Ok(PlrStudy { inner: Mutex::new(study) })
    }

    /// The share of the study that is done, 0 to 1.
    #[getter]
    fn share(&self, py: Python<'_>) -> f64 {
        self.with(py, |study| study.share())
    }

    /// Computes the next bursts of the study, for a fraction of a second. Other Python threads run meanwhile.
    fn advance(&self, py: Python<'_>) {
        self.with(py, studies::access::PlrStudy::advance);
    }

    /// The results as JSON, once the study is done.
    fn report_json(&self, py: Python<'_>) -> String {
        serde_json::to_string(&self.with(py, |study| study.report())).expect("a report is JSON")
    }

    /// One row for each method and number of packets that is done.
    fn table(&self, py: Python<'_>) -> ArrowTable {
        self.with(py, |study| study.table()).into()
    }
}

/// The equations for the return link of a scenario, as JSON.
#[pyfunction]
#[pyo3(signature = (scenario, users, losses, datagrams, retransmissions, round_trip, methods_json=None))]
pub(crate) fn access_analysis(
    scenario: &Scenario,
    users: Vec<u32>,
    losses: Vec<f64>,
    datagrams: u32,
    retransmissions: u32,
    round_trip: &str,
    methods_json: Option<&str>,
) -> PyResult<String> {
    let methods = methods(methods_json)?;
    let round_trip = duration("round_trip", round_trip)?;
    let options = AnalysisOptions { methods, users, losses, datagrams, retransmissions, round_trip };
    let report = AnalysisReport::new(&scenario.inner, &options).map_err(refused)?;
    Ok(serde_json::to_string(&report).expect("a report is JSON"))
}

fn duration(option: &str, text: &str) -> PyResult<Duration> {
    Duration::parse(text).map_err(|error| refused(ScenarioError::new(option, error.to_string())))
}

fn methods(json: Option<&str>) -> PyResult<Option<Vec<Value>>> {
    let read = |json| {
        serde_json::from_str(json)
            .map_err(|error| ScenarioError::new("methods", format!("no values for a scenario: {error}")))
    };
    json.map(read).transpose().map_err(refused)
}
