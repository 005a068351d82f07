//! Schedulers written in Python.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use sim::{Choose, QueueState};
use units::Time;

use crate::script::{Raised, needed, shortened};

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

/// Calls an object's `select(queues, now)`.
pub(crate) struct Selector {
    select: Py<PyAny>,
    raised: Raised,
}

impl Selector {
    /// # Errors
    /// As [`needed`].
    pub(crate) fn new(scheduler: &Bound<'_, PyAny>, raised: Raised) -> PyResult<Selector> {
        Ok(Selector { select: needed(scheduler, "a scheduler", "select(queues, now)", &[])?, raised })
    }

    fn ask(&self, py: Python<'_>, now: Time, queues: &[QueueState]) -> PyResult<Option<u32>> {
        let shown_queues = queues.iter().map(|queue| {
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
        let shown_queues = PyList::new(py, shown_queues.collect::<PyResult<Vec<_>>>()?)?;
        let answer = self.select.call1(py, (shown_queues, now.as_secs_f64()))?;
        answer.extract(py).map_err(|_: PyErr| {
            let (select, answer) = (self.select.bind(py), answer.bind(py));
            let name = select.getattr("__qualname__").map_or_else(|_| "select".to_owned(), |name| name.to_string());
            let wanted = "the number of a user is expected, as queues[0].user";
            PyTypeError::new_err(format!("{name} answered {}: {wanted}", shortened(answer)))
        })
    }
}

impl Choose for Selector {
    fn choose(&mut self, now: Time, queues: &[QueueState]) -> Option<u32> {
        self.raised.guard(None, |py| self.ask(py, now, queues))
    }
}
