//! What the parts of a user's code have in common: what happens when it fails.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// The first exception that a user's code raised in a run. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Kept>);

#[derive(Default)]
struct Kept {
    /// There is an exception that ends the run: its code is called no more. Ctrl-C is none.
    failed: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Raised {
    /// Keeps the first exception. The lock is never held while waiting for the GIL, whose holder may wait for this
    /// lock.
    pub(crate) fn keep(&self, error: PyErr) {
        let failed = !is_interrupt(&error);
        let mut kept = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        // What ends the run for good comes before Ctrl-C.
        if kept.is_none() || failed && !self.has_failed() {
            self.0.failed.store(failed, Ordering::Relaxed);
            let before = kept.replace(error);
            drop(kept);
            drop(before);
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

    /// What `call` answers; if it raises, `otherwise`, and the exception is kept. Ctrl-C that interrupted the call is
    /// kept and the call repeated, so that the run up to the end of the step is the uninterrupted one.
    pub(crate) fn guard<T>(&self, otherwise: T, mut call: impl FnMut(Python<'_>) -> PyResult<T>) -> T {
        if self.has_failed() {
            return otherwise;
        }
        let answer = Python::attach(|py| match call(py) {
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                self.keep(error);
                call(py)
            }
            answer => answer,
        });
        answer.unwrap_or_else(|error| {
            self.keep(error);
            otherwise
        })
    }
}

fn is_interrupt(error: &PyErr) -> bool {
    Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py))
}

/// An answer as a message shows it.
pub(crate) fn shortened(object: &Bound<'_, PyAny>) -> String {
    object.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string().chars().take(80).collect())
}
