//! Runs and their results.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use units::Time;

use crate::plans::{Kept, kept};
use crate::script::Raised;
use crate::table::ArrowTable;

pyo3::create_exception!(
    _core,
    SimulationError,
    PyRuntimeError,
    "A run that broke a promise of the simulator: a defect, please report it."
);

/// A run. Threads may share it: their calls wait for each other.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct Simulation {
    plan: Arc<sim::Plan>,
    seed: u64,
    /// Until it is finished.
    inner: Mutex<Option<sim::Simulation>>,
    /// The exception that a user's code raised.
    raised: Raised,
}

impl Simulation {
    pub(crate) fn new(inner: sim::Simulation, raised: Raised) -> Simulation {
        let (plan, seed) = (Arc::clone(inner.plan()), inner.seed());
        Simulation { plan, seed, inner: Mutex::new(Some(inner)), raised }
    }

    /// Calls `act` with the run. The GIL is released meanwhile, because a user's code may need it. Raises RuntimeError
    /// if the run is finished.
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut sim::Simulation) -> T + Send,
    ) -> PyResult<T> {
        py.detach(|| self.lock().as_mut().map(act)).ok_or_else(finished)
    }

    fn lock(&self) -> MutexGuard<'_, Option<sim::Simulation>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises the exception of a user's code.
    fn raise(&self) -> PyResult<()> {
        self.raised.take().map_or(Ok(()), Err)
    }
}

#[pymethods]
impl Simulation {
    /// Length of the run in simulated seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.plan.config().duration.as_secs_f64()
    }

    /// Simulated seconds that have passed.
    #[getter]
    fn now_s(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |run| run.now().as_secs_f64())
    }

    /// The root of the random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// The scenario as TOML with the run's seed and every default filled in, which names copies of its inputs by names
    /// relative to a result folder; and for each input: its name in the scenario, the name of the copy, the SHA-256,
    /// the contents.
    fn kept(&self, py: Python<'_>) -> Kept {
        kept(py, &self.plan, self.seed)
    }

    /// Whether the scenario wants a packet capture.
    #[getter]
    fn wants_packets(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |run| run.wants_packets())
    }

    /// Writes every packet from now on into files in this folder, if the scenario wants a packet capture.
    fn record_packets(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        Ok(self.with(py, |run| run.record_packets(&directory))??)
    }

    /// Keeps single events from now on, and packets that are sent between these seconds.
    fn watch(&self, py: Python<'_>, from_s: f64, until_s: f64) -> PyResult<()> {
        let [from, until] = [from_s, until_s].map(|at| Time::from_secs_f64(at.max(0.0)));
        self.with(py, |run| run.watch(from, until))
    }

    /// Runs up to the given simulated time, at most to the end. Other Python threads run meanwhile. An exception of a
    /// user's code is raised here.
    fn advance(&self, py: Python<'_>, until_s: f64) -> PyResult<()> {
        let until = Time::from_secs_f64(until_s);
        self.with(py, |run| run.advance(until))?.map_err(broken)?;
        self.raise()
    }

    /// Whether a call of a user's code was not completed: such a run has no result.
    #[getter]
    fn failed(&self) -> bool {
        self.raised.has_failed()
    }

    /// The flows whose ends are outside, each with its user.
    fn external_flows(&self, py: Python<'_>) -> PyResult<Vec<(u32, u32)>> {
        self.with(py, |run| run.external_flows())
    }

    /// Bytes of the longest packet that the last hop carries.
    #[getter]
    fn longest_packet(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |run| run.longest_packet())
    }

    /// Offers all packets of a log (24 bytes each: `<QIIIBBxx`, nanoseconds, flow, bytes, class or all ones, end, mark)
    /// at their instants. Raises ValueError if it is no log of this scenario.
    fn replay(&self, py: Python<'_>, log: &[u8]) -> PyResult<()> {
        let replayed = self.with(py, |run| run.replay(log))?;
        self.raise()?;
        replayed.map_err(|error| match error {
            sim::ReplayError::Run(error) => broken(error),
            _ => PyValueError::new_err(error.to_string()),
        })
    }

    /// Ends the run: its result up to now. `partial` marks a run that was stopped before its end. The last packets are
    /// handled here, so a user's code may be called, and its exception is raised. Afterwards there is neither a run nor
    /// its memory: what asks for it raises RuntimeError.
    #[pyo3(signature = (partial=false))]
    fn finish(&self, py: Python<'_>, partial: bool) -> PyResult<Record> {
        let record = py.detach(|| Some(self.lock().take()?.finish(partial))).ok_or_else(finished)?.map_err(broken)?;
        self.raise()?;
        Ok(Record { inner: record })
    }
}

fn finished() -> PyErr {
    PyRuntimeError::new_err("the run is finished")
}

pub(crate) fn broken(error: sim::RunError) -> PyErr {
    match error {
        sim::RunError::Capture(_) => PyOSError::new_err(error.to_string()),
        _ => SimulationError::new_err(error.to_string()),
    }
}

/// The result of a run.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct Record {
    inner: sim::Record,
}

#[pymethods]
impl Record {
    /// The summary as JSON.
    fn summary_json(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let mut text = Vec::new();
            self.inner.write_summary(&mut text).expect("writing to memory does not fail");
            String::from_utf8(text).expect("JSON is UTF-8")
        })
    }

    /// The summary as JSON with an empty list of flows.
    fn numbers_json(&self) -> &str {
        self.inner.numbers_json()
    }

    /// Number of flows.
    #[getter]
    fn flow_count(&self) -> usize {
        self.inner.summary.flows.len()
    }

    /// The flows from `first` to before `end`, as elements of a JSON array, each on a line of its own.
    fn flow_lines(&self, py: Python<'_>, first: usize, end: usize) -> String {
        py.detach(|| self.inner.flow_lines(first..end))
    }

    /// One row for each flow.
    fn flows(&self, py: Python<'_>) -> ArrowTable {
        py.detach(|| self.inner.flows().into())
    }

    /// One row for each flow that has this report: `flow`, and the report's numbers. Raises ValueError if there is no
    /// such report.
    fn reports(&self, py: Python<'_>, report: &str) -> PyResult<ArrowTable> {
        let table = py.detach(|| self.inner.reports(report).map(ArrowTable::from));
        table.ok_or_else(|| PyValueError::new_err(format!("{report:?} is no report of a flow")))
    }

    /// One row for each instant and flow.
    fn series(&self) -> ArrowTable {
        self.inner.series.clone().into()
    }

    /// One row for each event, if the run was watched.
    fn events(&self) -> ArrowTable {
        self.inner.events.clone().into()
    }

    /// One row for each packet of the watched span.
    fn packets(&self) -> ArrowTable {
        self.inner.packets.clone().into()
    }
}
