//! What the parts of a user's code have in common: how it is found, and what happens when it fails.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use sim::congestion::external::MakeControl;
use sim::{Choose, MakeProgram, Registered, Scripts};

use crate::scheduler::Selector;
use crate::{controller, source};

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

/// The names that scripts have registered, as Python hands them over.
pub(crate) type Names = std::collections::BTreeMap<String, Vec<String>>;

/// Takes the names of each kind.
pub(crate) fn registered(mut names: Names) -> Registered {
    let mut of = |kind: &str| names.remove(kind).unwrap_or_default();
    Registered { schedulers: of("scheduler"), controllers: of("controller"), sources: of("source") }
}

/// Asks Python for a user's code: `find` is called with a kind and a name, and returns what makes an object, or None.
pub(crate) struct Finder<'a> {
    pub(crate) find: Option<&'a Py<PyAny>>,
    pub(crate) raised: &'a Raised,
}

impl Finder<'_> {
    fn factory(&self, kind: &str, name: &str) -> Option<Py<PyAny>> {
        let find = self.find?;
        self.raised.guard(None, |py| {
            let factory = find.bind(py).call1((kind, name))?;
            Ok((!factory.is_none()).then(|| factory.unbind()))
        })
    }
}

impl Scripts for Finder<'_> {
    fn scheduler(&mut self, name: &str) -> Option<Box<dyn Choose>> {
        let factory = self.factory("scheduler", name)?;
        self.raised.guard(None, |py| {
            let object = factory.bind(py).call0()?;
            if let Ok(weights) = object.cast::<crate::gym::Weights>() {
                return Ok(Some(weights.get().chooser()));
            }
            let selector = Selector::new(&object, self.raised.clone())?;
            Ok(Some(Box::new(selector) as Box<dyn Choose>))
        })
    }

    fn controller(&mut self, name: &str) -> Option<MakeControl> {
        Some(controller::maker(self.factory("controller", name)?, self.raised.clone()))
    }

    fn source(&mut self, name: &str) -> Option<MakeProgram> {
        Some(source::maker(self.factory("source", name)?, self.raised.clone()))
    }
}
