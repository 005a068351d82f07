//! Questions that are answered at once: the whole of `studies::ask`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use pyo3::prelude::*;

use crate::refused::refused;
use crate::table::ArrowTable;

/// The answer to a question: its value as JSON, and its tables by name. `options_json`: an object; names of files in it
/// start from `base_dir`.
#[pyfunction]
pub(crate) fn ask(
    py: Python<'_>,
    question: String,
    options_json: String,
    base_dir: PathBuf,
) -> PyResult<(String, BTreeMap<&'static str, ArrowTable>)> {
    let answer = interruptible(py, move || studies::ask(&question, &options_json, &base_dir))?.map_err(refused)?;
    let tables = answer.tables.into_iter().map(|(name, table)| (name, table.into())).collect();
    Ok((answer.value.to_string(), tables))
}

/// Runs `work` in a thread of its own and checks for Ctrl-C meanwhile, which discards the thread's result.
fn interruptible<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let (done, wait) = mpsc::channel();
    let wait = Mutex::new(wait); // so that it can be awaited without the GIL
    let worker = thread::spawn(move || done.send(work()));
    loop {
        match py.detach(|| wait.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK_FOR_SIGNALS)) {
            Ok(found) => return Ok(found),
            Err(mpsc::RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(_) => unreachable!("it sends before it ends"),
            },
        }
    }
}

const LOOK_FOR_SIGNALS: std::time::Duration = std::time::Duration::from_millis(50);
