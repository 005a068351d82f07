//! Scenarios.

use std::path::Path;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::refused;
use crate::simulation::Simulation;

pyo3::create_exception!(
    _core,
    ScenarioError,
    PyValueError,
    "What is wrong with a scenario, in one line: field, given, allowed."
);

/// A scenario: editable, not yet checked.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct Scenario {
    inner: sim::Scenario,
}

#[pymethods]
impl Scenario {
    /// Reads TOML text; relative file names in it start from `base_dir`.
    ///
    /// Raises ScenarioError if the text is not TOML.
    #[staticmethod]
    fn from_toml(text: &str, base_dir: &str) -> PyResult<Scenario> {
        sim::Scenario::from_toml(text, Path::new(base_dir)).map(Scenario::from).map_err(refused)
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

    /// Raises ScenarioError for the first field that is wrong.
    fn check(&self) -> PyResult<()> {
        self.inner.check().map_err(refused)
    }

    /// The scenario as TOML with every default filled in.
    fn resolved_toml(&self) -> PyResult<String> {
        self.inner.resolved_toml().map_err(refused)
    }

    /// The scenario's title, perhaps empty.
    fn title(&self) -> PyResult<String> {
        Ok(self.inner.config().map_err(refused)?.title)
    }

    /// A run of the scenario, not yet started; `seed` replaces the scenario's own.
    #[pyo3(signature = (seed=None))]
    fn simulation(&self, py: Python<'_>, seed: Option<u64>) -> PyResult<Simulation> {
        py.detach(|| sim::Simulation::new(&self.inner, seed)).map(Simulation::from).map_err(refused)
    }
}

impl From<sim::Scenario> for Scenario {
    fn from(inner: sim::Scenario) -> Scenario {
        Scenario { inner }
    }
}
