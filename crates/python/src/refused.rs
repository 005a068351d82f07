//! Errors in a user's input, as exceptions of Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    _core,
    ScenarioError,
    PyValueError,
    "What is wrong with a scenario, in one line: field, given, allowed."
);

/// The exception.
pub(crate) fn refused(error: sim::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}
