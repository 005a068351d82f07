//! Common parts of a user's code: its failures.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The first exception that a user's code raised in a run. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<RaisedError>);

#[derive(Default)]
struct RaisedError {
    /// Whether a call was not completed: the run ends, and the code is called no more.
    failed: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Raised {
    /// Keeps the first exception. The lock is never held while waiting for the GIL, whose holder may wait for this
    /// lock.
    pub(crate) fn keep(&self, error: PyErr) {
        let mut first_error = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.0.failed.swap(true, Ordering::Relaxed) {
            *first_error = Some(error);
        }
    }

    /// Whether the code has failed, so that the run ends at its next step.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.0.failed.load(Ordering::Relaxed)
    }

    /// The exception, which is then raised.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the answer of `call`; if it raises, `otherwise`, and the exception is kept. No call is repeated, because
    /// the code's own state may have changed: whoever steps the run has Ctrl-C wait for the end of the step.
    pub(crate) fn guard<T>(&self, otherwise: T, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
        if self.has_failed() {
            return otherwise;
        }
        Python::attach(call).unwrap_or_else(|error| {
            self.keep(error);
            otherwise
        })
    }
}

/// The method with this `signature`, which an object has to have; `others` are those that it may have. One more method
/// `on_…` is refused: it is a slip, and nobody would call it.
///
/// # Errors
/// The method is missing; there is one more; or the object does not tell its attributes.
pub(crate) fn needed(object: &Bound<'_, PyAny>, noun: &str, signature: &str, others: &[&str]) -> PyResult<Py<PyAny>> {
    let class = object.get_type().qualname()?;
    let name = signature.split('(').next().unwrap_or(signature);
    let missing = || PyTypeError::new_err(format!("{noun} needs a method {signature}, {class} has none"));
    let method = object.getattr_opt(name)?.ok_or_else(missing)?;
    let called = [&[name], others].concat();
    let attributes: Vec<String> = object.dir()?.extract()?;
    match attributes.iter().find(|attribute| attribute.starts_with("on_") && !called.contains(&attribute.as_str())) {
        Some(uncalled) => {
            let called = called.join(", ");
            let told = format!("{class}.{uncalled} would not be called: the methods of {noun} are {called}");
            Err(PyTypeError::new_err(told))
        }
        None => Ok(method.unbind()),
    }
}

/// An answer as a message shows it.
pub(crate) fn shortened(object: &Bound<'_, PyAny>) -> String {
    object.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string().chars().take(80).collect())
}
