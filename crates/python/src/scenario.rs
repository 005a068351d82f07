//! Scenarios.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use sim::{FileSource, TableReader};
use units::{Duration, Quantity};

use crate::capacity::Capacity;
use crate::find::{self, Finder, Names};
use crate::plans::{Kept, Plans, kept, plan};
use crate::refused::refused;
use crate::script::Raised;
use crate::simulation::Simulation;

/// The table of a Parquet file as comma-separated text: the package reads it with a library that it has anyway.
fn csv_of_parquet(bytes: &[u8]) -> Result<Vec<u8>, String> {
    Python::attach(|py| py.import("transorbit.trace")?.call_method1("csv_of_parquet", (bytes,))?.extract())
        .map_err(|error: PyErr| Python::attach(|py| error.value(py).to_string()))
}

/// A scenario: editable, not yet checked.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct Scenario {
    pub(crate) inner: sim::Scenario,
}

#[pymethods]
impl Scenario {
    /// Reads TOML text; relative file names in it start from `base_dir`, or are those of `files` in memory. `recorded`
    /// has the SHA-256 that a file had, by name, when a result was made: a run warns of others.
    ///
    /// Raises ScenarioError if the text is not TOML.
    #[staticmethod]
    #[pyo3(signature = (text, base_dir, files=None, recorded=None))]
    fn from_toml(
        py: Python<'_>,
        text: &str,
        base_dir: &str,
        files: Option<BTreeMap<String, Vec<u8>>>,
        recorded: Option<BTreeMap<String, String>>,
    ) -> PyResult<Scenario> {
        let source = match files {
            Some(files) => FileSource::Memory(files.into_iter().map(|(name, bytes)| (name, bytes.into())).collect()),
            None => FileSource::Tables(base_dir.into(), TableReader::new(csv_of_parquet)),
        };
        let scenario = py.detach(|| sim::Scenario::from_toml(text, source)).map_err(refused)?;
        Ok(scenario.with_recorded(recorded.unwrap_or_default()).into())
    }

    /// A copy with the value at a dotted path replaced by one given as JSON; a table replaces the table.
    fn replace(&self, path: &str, value_json: &str) -> PyResult<Scenario> {
        let value: toml::Value = serde_json::from_str(value_json)
            .map_err(|error| refused(sim::ScenarioError::new(path, format!("no value for a scenario: {error}"))))?;
        self.inner.replace(path, value).map(Scenario::from).map_err(refused)
    }

    /// A copy edited as on the command line: "key.path=value" with any TOML value, or bare words.
    fn set_toml(&self, assignment: &str) -> PyResult<Scenario> {
        self.inner.assign(assignment).map(Scenario::from).map_err(refused)
    }

    /// Raises ScenarioError for the first field that is wrong. `registered`: the names of a user's code by kind.
    #[pyo3(signature = (registered=None))]
    fn check(&self, py: Python<'_>, registered: Option<Names>) -> PyResult<()> {
        let scenario = self.knowing(registered);
        py.detach(|| scenario.check()).map_err(refused)
    }

    /// The scenario as TOML with every default filled in and files named from the root.
    #[pyo3(signature = (plans=None))]
    fn resolved_toml(&self, py: Python<'_>, plans: Option<&Plans>) -> PyResult<String> {
        py.detach(|| plan(&self.inner, plans).map(|plan| plan.resolved_toml())).map_err(refused)
    }

    /// What to check before trusting a result, as far as it is known without a run.
    #[pyo3(signature = (plans=None))]
    fn warnings(&self, py: Python<'_>, plans: Option<&Plans>) -> PyResult<Vec<String>> {
        py.detach(|| plan(&self.inner, plans).map(|plan| plan.warnings().to_vec())).map_err(refused)
    }

    /// The scenario of a run with this seed, by default its own, as a result folder keeps it, and its inputs: see
    /// `Simulation.kept`.
    #[pyo3(signature = (seed=None, plans=None))]
    fn kept(&self, py: Python<'_>, seed: Option<u64>, plans: Option<&Plans>) -> PyResult<Kept> {
        let plan = py.detach(|| plan(&self.inner, plans)).map_err(refused)?;
        Ok(kept(py, &plan, seed.unwrap_or(plan.config().seed)))
    }

    /// The scenario's title; may be empty.
    fn title(&self) -> PyResult<String> {
        Ok(self.inner.config().map_err(refused)?.title)
    }

    /// A run of the scenario, not yet started; `seed` replaces the scenario's own. `find` is called with a kind of a
    /// user's code ("scheduler", "controller" or "source") and a name, and returns what makes an object of it, or None.
    /// `plans` keeps the plan for other runs, or has it from one. `registered`: the names of such code by kind.
    #[pyo3(signature = (seed=None, find=None, plans=None, registered=None))]
    fn simulation(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        find: Option<Py<PyAny>>,
        plans: Option<&Plans>,
        registered: Option<Names>,
    ) -> PyResult<Simulation> {
        let scenario = self.knowing(registered);
        let raised = Raised::default();
        let mut finder = Finder { find: find.as_ref(), raised: &raised };
        let simulation = py.detach(|| {
            let plan = plan(&scenario, plans)?;
            sim::Simulation::of(plan, seed, &mut finder)
        });
        match raised.take() {
            Some(error) => Err(error),
            None => simulation.map(|simulation| Simulation::new(simulation, raised)).map_err(refused),
        }
    }

    /// A study of the capacity of the last hop, not yet started. `duration`: of each part, with its unit. `schedulers`:
    /// names, by default that of the scenario; `find` and `registered` as for `simulation`.
    #[allow(clippy::too_many_arguments)] // Python's keywords
    #[pyo3(signature = (users, duration, schedulers=None, seed=None, find=None, registered=None))]
    fn capacity(
        &self,
        py: Python<'_>,
        users: Vec<u32>,
        duration: &str,
        schedulers: Option<Vec<String>>,
        seed: Option<u64>,
        find: Option<Py<PyAny>>,
        registered: Option<Names>,
    ) -> PyResult<Capacity> {
        let scenario = self.knowing(registered);
        let refuse = |error: units::ParseQuantityError| refused(sim::ScenarioError::new("duration", error.to_string()));
        let duration = Duration::parse(duration).map_err(refuse)?;
        let options = studies::capacity::CapacityOptions { users, schedulers, duration, seed };
        let study = py.detach(|| studies::capacity::CapacityStudy::new(&scenario, &options)).map_err(refused)?;
        Ok(Capacity::new(study, find))
    }
}

impl Scenario {
    /// The scenario whose plan knows this code, or asks for none.
    fn knowing(&self, registered: Option<Names>) -> sim::Scenario {
        registered.map_or_else(|| self.inner.clone(), |names| self.inner.with_registered(find::registered(names)))
    }
}

impl From<sim::Scenario> for Scenario {
    fn from(inner: sim::Scenario) -> Scenario {
        Scenario { inner }
    }
}

/// The version of the simulator.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The JSON Schema of a scenario.
#[pyfunction]
pub(crate) fn schema_json() -> String {
    serde_json::to_string(&sim::schema()).expect("a schema is JSON")
}

/// Returns the choices of a scenario, as JSON.
#[pyfunction]
pub(crate) fn registries_json() -> String {
    serde_json::to_string(&sim::registries()).expect("registries are JSON")
}

/// The keys and columns of a result with unit, label and meaning, the drop reasons, and the endings of names that are
/// units, as JSON.
#[pyfunction]
pub(crate) fn columns_json() -> String {
    sim::columns().to_string()
}
