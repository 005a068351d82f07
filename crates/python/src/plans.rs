//! Plans of runs, and the inputs of a plan.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Plans that are kept for other runs of the same scenarios. Threads may share it.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct Plans {
    pub(crate) inner: sim::Plans,
}

#[pymethods]
impl Plans {
    #[new]
    fn new() -> Plans {
        Plans { inner: sim::Plans::default() }
    }
}

/// A scenario as TOML that names copies of its inputs, and for each input: its name, the name of the copy, the SHA-256,
/// the contents.
pub(crate) type Kept = (String, Vec<(String, String, String, Py<PyBytes>)>);

/// The plan of a scenario, from those that `plans` keeps if it is given.
pub(crate) fn plan(scenario: &sim::Scenario, plans: Option<&Plans>) -> Result<Arc<sim::Plan>, sim::ScenarioError> {
    plans.map_or_else(|| scenario.plan().map(Arc::new), |plans| plans.inner.plan(scenario))
}

/// Returns the parts of a plan that a result folder keeps, for a run with this seed.
pub(crate) fn kept(py: Python<'_>, plan: &sim::Plan, seed: u64) -> Kept {
    let inputs = plan.kept_inputs().into_iter();
    let inputs = inputs.map(|input| (input.file, input.kept, input.sha256, PyBytes::new(py, &input.contents).unbind()));
    (plan.kept_toml(seed), inputs.collect())
}
