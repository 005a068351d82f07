//! The world on the wall clock, between network devices.

use core::net::IpAddr;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use emulate::{Addresses, EmulationError, Session, Side, receive_devices};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use units::Duration;

use crate::simulation::{Simulation, broken};
use crate::table::ArrowTable;

/// Packets read from devices, carried by a run, and written to devices when their time has come.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct Emulation {
    /// The socket over which the devices come; it is closed when the other process ends. The other end goes to that
    /// process.
    inside: UnixStream,
    theirs: Mutex<Option<UnixStream>>,
    /// A socket pair: a byte written to the second ends a call of `run`.
    woken: UnixStream,
    wake: UnixStream,
    session: Mutex<Option<Session>>,
}

#[pymethods]
impl Emulation {
    #[new]
    fn new() -> PyResult<Emulation> {
        let (inside, theirs) = UnixStream::pair()?;
        let (woken, wake) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        wake.set_nonblocking(true)?;
        Ok(Emulation { inside, theirs: Mutex::new(Some(theirs)), woken, wake, session: Mutex::new(None) })
    }

    /// The descriptor by which the process in the namespaces sends its devices.
    fn fileno(&self) -> PyResult<i32> {
        let theirs = self.theirs.lock().unwrap_or_else(PoisonError::into_inner);
        theirs.as_ref().map(|end| end.as_raw_fd()).ok_or_else(|| PyRuntimeError::new_err("it was given away"))
    }

    /// The descriptor that ends a call of `run` when it is written to.
    fn wake_fileno(&self) -> i32 {
        self.wake.as_raw_fd()
    }

    /// Takes the devices from the other process, which has the descriptor now: the servers', and one for each of
    /// `users`: its addresses and its flow. `classes`: code points and the class of the last hop of each. Waits shorter
    /// than `spin_s` are spent looking at the clock.
    fn receive(
        &self,
        py: Python<'_>,
        users: Vec<(Vec<IpAddr>, u32)>,
        classes: Vec<(u8, u32)>,
        spin_s: f64,
    ) -> PyResult<()> {
        self.theirs.lock().unwrap_or_else(PoisonError::into_inner).take();
        let sides =
            (0..=users.len()).map(|place| if place == 0 { Side::Servers } else { Side::User(users[place - 1].1) });
        let devices = py.detach(|| receive_devices(&self.inside, &sides.collect::<Vec<_>>()))?;
        let flows = users.iter().flat_map(|(addresses, flow)| addresses.iter().map(|address| (*address, *flow)));
        let session = Session::new(devices, Addresses::new(flows, &classes), Duration::from_secs_f64(spin_s));
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
        Ok(())
    }

    /// Runs until the end of the scenario, until the other process ends, or until it is woken: whether the end is
    /// reached.
    fn run(&self, py: Python<'_>, simulation: &Simulation) -> PyResult<bool> {
        use std::io::Read;
        use std::os::fd::AsFd;
        let stops = [self.inside.as_fd(), self.woken.as_fd()];
        let ended = simulation.with(py, |run| {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            let session = session.as_mut().ok_or(EmulationError::NoDevices)?;
            session.run(run, &stops)
        })?;
        let _ = (&self.woken).read(&mut [0; 64]);
        ended.map_err(|error| match error {
            EmulationError::Run(error) => broken(error),
            _ => PyOSError::new_err(error.to_string()),
        })
    }

    /// The offers since the last call: a row for each, with the numbers of its line in the log.
    fn take_offers(&self) -> ArrowTable {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        sim::offers_table(&session.as_mut().map_or_else(Vec::new, Session::take_log)).into()
    }

    /// Returns the counts and measurements so far, as JSON.
    fn measured_json(&self) -> String {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let measured = session.as_ref().map(Session::measured).unwrap_or_default();
        serde_json::to_string(&measured).expect("counts are JSON")
    }
}
