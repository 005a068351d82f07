//! Schedulers written in Python.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use sim::{Choose, QueueState};
use units::Time;

/// A user's queue as a scheduler in Python sees it. Only users with packets that may be sent now are included.
#[pyclass(module = "transorbit", frozen, get_all)]
pub(crate) struct Queue {
    /// The user's number.
    user: u32,
    /// Number of waiting packets.
    packets: usize,
    /// Bytes of the waiting packets.
    bytes: u64,
    /// Waiting time of the first packet, seconds.
    head_wait_s: f64,
    /// Bytes of the first packet.
    head_bytes: u32,
    /// Mutual information of a coded bit, 0 to 1, as the sender estimates it; the achievable rate is proportional to
    /// it.
    information: f64,
    /// Bit rate of the user's recent transmissions, smoothed over a second.
    served_bps: f64,
}

#[pymethods]
impl Queue {
    fn __repr__(&self) -> String {
        format!("Queue(user={}, packets={}, head_wait_s={})", self.user, self.packets, self.head_wait_s)
    }
}

/// The first exception that a scheduler raised in a run.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

fn shortened(object: &Bound<'_, PyAny>) -> String {
    object.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string().chars().take(80).collect())
}

/// Calls an object's `select(queues, now)`.
pub(crate) struct Selector {
    select: Py<PyAny>,
    raised: Raised,
}

impl Selector {
    /// # Errors
    /// The object has no `select`.
    pub(crate) fn new(scheduler: &Bound<'_, PyAny>, raised: Raised) -> PyResult<Selector> {
        let select = scheduler.getattr("select").map_err(|_| {
            let kind = scheduler.get_type();
            PyTypeError::new_err(format!("a scheduler needs a method select(queues, now), {kind} has none"))
        })?;
        Ok(Selector { select: select.unbind(), raised })
    }

    fn ask(&self, now: Time, queues: &[QueueState]) -> PyResult<Option<u32>> {
        Python::attach(|py| {
            let shown = queues.iter().map(|queue| {
                Py::new(
                    py,
                    Queue {
                        user: queue.user,
                        packets: queue.packets,
                        bytes: queue.bytes,
                        head_wait_s: queue.head_wait.as_secs_f64(),
                        head_bytes: queue.head_size,
                        information: queue.information,
                        served_bps: queue.served_bps,
                    },
                )
            });
            let shown = PyList::new(py, shown.collect::<PyResult<Vec<_>>>()?)?;
            let answer = self.select.call1(py, (shown, now.as_secs_f64()))?;
            answer.extract(py).map_err(|_: PyErr| {
                let (select, answer) = (self.select.bind(py), answer.bind(py));
                let name = select.getattr("__qualname__").map_or_else(|_| "select".to_owned(), |name| name.to_string());
                let wanted = "the number of a user is expected, as queues[0].user";
                PyTypeError::new_err(format!("{name} answered {}: {wanted}", shortened(answer)))
            })
        })
    }
}

impl Selector {
    /// Keeps the first exception. The lock is never held while waiting for the GIL, whose holder may wait for this
    /// lock.
    fn keep(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Whether the scheduler has failed, so that the run ends at its next step. Ctrl-C is no failure.
    fn has_failed(&self) -> bool {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(error) = raised else { return false };
        let failed = !is_interrupt(&error);
        self.keep(error);
        failed
    }
}

fn is_interrupt(error: &PyErr) -> bool {
    Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py))
}

impl Choose for Selector {
    fn choose(&mut self, now: Time, queues: &[QueueState]) -> Option<u32> {
        if self.has_failed() {
            return None;
        }
        let chosen = match self.ask(now, queues) {
            // Ctrl-C interrupted the call: it is repeated, so that the run up to the end of the step is the
            // uninterrupted one.
            Err(error) if is_interrupt(&error) => {
                self.keep(error);
                self.ask(now, queues)
            }
            chosen => chosen,
        };
        chosen.unwrap_or_else(|error| {
            self.keep(error);
            None
        })
    }
}
