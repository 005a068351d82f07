//! How a user's code is found: by kind and name.

use pyo3::prelude::*;
use sim::congestion::MakeControl;
use sim::{Choose, MakeProgram, Registered, Scripts};

use crate::scheduler::Selector;
use crate::script::Raised;
use crate::{controller, source};

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
