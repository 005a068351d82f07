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

/// Refuses an object with a method `on_…` that is none of the `called` ones: it is a slip, and nobody would call it.
///
/// # Errors
/// There is one; or the object does not tell its attributes.
pub(crate) fn refuse_uncalled(object: &Bound<'_, PyAny>, noun: &str, called: &[&str]) -> PyResult<()> {
    let names: Vec<String> = object.dir()?.extract()?;
    match names.iter().find(|name| name.starts_with("on_") && !called.contains(&name.as_str())) {
        Some(uncalled) => {
            let (class, called) = (object.get_type().qualname()?, called.join(", "));
            let told = format!("{class}.{uncalled} would not be called: the methods of {noun} are {called}");
            Err(PyTypeError::new_err(told))
        }
        None => Ok(()),
    }
}

/// An answer as a message shows it.
pub(crate) fn shortened(object: &Bound<'_, PyAny>) -> String {
    object.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string().chars().take(80).collect())
}
