//! Traffic sources written in Python.

use std::sync::Arc;

use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use sim::{Act, Action, Acts, End, MakeProgram, Program, ProgramStart, Service};
use units::{Bytes, Time};

use crate::script::{Raised, needed, shortened};

/// The connections of one user's application, by which a source in Python acts.
#[pyclass(module = "transorbit")]
pub(crate) struct App {
    acts: Acts,
    start: ProgramStart,
    /// Whether a method of its source is running.
    called: bool,
}

impl App {
    fn act(&mut self, connection: u32, end: End, action: Action) -> PyResult<()> {
        if !self.called {
            return Err(PyRuntimeError::new_err("an app acts only while its own source's method is called with it"));
        }
        self.acts.push(Act { connection, end, action }).map_err(PyValueError::new_err)
    }
}

fn end_of(name: &str) -> PyResult<End> {
    match name {
        "server" => Ok(End::Server),
        "user" => Ok(End::User),
        _ => Err(PyValueError::new_err(format!("end: {name:?} was given, \"server\" or \"user\" is expected"))),
    }
}

#[pymethods]
impl App {
    /// The user's number within the entry of the scenario.
    #[getter]
    fn user(&self) -> u32 {
        self.start.user
    }

    /// When `on_timeout` is called first, in seconds.
    #[getter]
    fn start(&self) -> f64 {
        self.start.start.as_secs_f64()
    }

    /// The length of the run in seconds.
    #[getter]
    fn duration(&self) -> f64 {
        self.start.duration.as_secs_f64()
    }

    /// A number that differs between users and is the same for the same seed: for `random.Random`.
    #[getter]
    fn seed(&self) -> u64 {
        self.start.entropy
    }

    /// Opens a connection; with service "exchange" the user's end opens, otherwise the server's.
    #[pyo3(signature = (connection=0))]
    fn open(&mut self, connection: u32) -> PyResult<()> {
        let end = if self.acts.service() == Service::Exchange { End::User } else { End::Server };
        self.act(connection, end, Action::Open)
    }

    /// Writes so many bytes at an end of a connection; of service "datagrams", one datagram.
    #[pyo3(signature = (bytes, connection=0, end="server"))]
    fn write(&mut self, bytes: &Bound<'_, PyAny>, connection: u32, end: &str) -> PyResult<()> {
        let bytes = bytes.extract().map_err(|error: PyErr| {
            let (given, py) = (shortened(bytes), bytes.py());
            let message = format!("write: {given} was given, a whole number of bytes is expected, from 1 on");
            if error.is_instance_of::<PyTypeError>(py) {
                PyTypeError::new_err(message)
            } else if error.is_instance_of::<PyOverflowError>(py) {
                PyValueError::new_err(message)
            } else {
                error
            }
        })?;
        self.act(connection, end_of(end)?, Action::Write(Bytes::new(bytes)))
    }

    /// Writes without end.
    #[pyo3(signature = (connection=0, end="server"))]
    fn write_forever(&mut self, connection: u32, end: &str) -> PyResult<()> {
        self.act(connection, end_of(end)?, Action::WriteForEver)
    }

    /// Closes an end of a connection: nothing more is written there.
    #[pyo3(signature = (connection=0, end="server"))]
    fn close(&mut self, connection: u32, end: &str) -> PyResult<()> {
        self.act(connection, end_of(end)?, Action::Close)
    }
}

/// Makes the source of each user from `factory`.
pub(crate) fn maker(factory: Py<PyAny>, raised: Raised) -> MakeProgram {
    Arc::new(move |start: &ProgramStart| {
        let built_source = raised.guard(None, |py| {
            let object = factory.bind(py).call0()?;
            Ok(Some(Box::new(Caller::new(&object, *start, raised.clone())?) as Box<dyn Program>))
        });
        built_source.unwrap_or_else(|| Box::new(Silent))
    })
}

/// Stands for a source that could not be made: the run ends at its next step.
struct Silent;

impl Program for Silent {
    fn on_timeout(&mut self, _: Time, _: &mut Acts) -> Option<Time> {
        None
    }

    fn on_delivered(&mut self, _: Time, _: u32, _: End, _: u64, _: &mut Acts) -> Option<Time> {
        None
    }
}

/// Calls the methods of an object.
struct Caller {
    class: String,
    on_timeout: Py<PyAny>,
    on_delivered: Option<Py<PyAny>>,
    app: Py<App>,
    raised: Raised,
}

impl Caller {
    fn new(object: &Bound<'_, PyAny>, start: ProgramStart, raised: Raised) -> PyResult<Caller> {
        let class = object.get_type().qualname()?.to_string();
        let on_timeout = needed(object, "a source", "on_timeout(app, now)", &["on_delivered"])?;
        let acts = Acts::new(Service::ByteStream, 1, 0);
        Ok(Caller {
            class,
            on_timeout,
            on_delivered: object.getattr_opt("on_delivered")?.map(Bound::unbind),
            app: Py::new(object.py(), App { acts, start, called: false })?,
            raised,
        })
    }

    /// Calls a method, which acts by the `app`: the time that it asks for.
    fn call(
        &self,
        now: Time,
        acts: &mut Acts,
        name: &str,
        ask: impl for<'py> FnOnce(Python<'py>, &Py<App>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Option<Time> {
        let before = acts.clone();
        self.raised.guard(None, |py| {
            {
                let mut app = self.app.borrow_mut(py);
                (app.acts, app.called) = (before, true);
            }
            let answer = ask(py, &self.app);
            self.app.borrow_mut(py).called = false;
            let answer = answer?;
            let next: Option<f64> = answer.extract().map_err(|_: PyErr| self.wrong(name, &answer))?;
            let later = now.as_secs_f64()..=9e9;
            if next.is_some_and(|next| !later.contains(&next) || Time::from_secs_f64(next) <= now) {
                return Err(self.wrong(name, &answer));
            }
            *acts = self.app.borrow(py).acts.clone();
            Ok(next.map(Time::from_secs_f64))
        })
    }

    fn wrong(&self, name: &str, answer: &Bound<'_, PyAny>) -> PyErr {
        let wanted = "the time of the next call is expected, in seconds of the run and after now, or None";
        PyTypeError::new_err(format!("{}.{name} answered {}: {wanted}", self.class, shortened(answer)))
    }
}

impl Program for Caller {
    fn on_timeout(&mut self, now: Time, acts: &mut Acts) -> Option<Time> {
        self.call(now, acts, "on_timeout", |py, app| self.on_timeout.bind(py).call1((app, now.as_secs_f64())))
    }

    fn on_delivered(&mut self, now: Time, connection: u32, end: End, bytes: u64, acts: &mut Acts) -> Option<Time> {
        let on_delivered = self.on_delivered.as_ref()?;
        let end = if end == End::Server { "server" } else { "user" };
        self.call(now, acts, "on_delivered", |py, app| {
            on_delivered.bind(py).call1((app, now.as_secs_f64(), connection, end, bytes))
        })
    }
}
