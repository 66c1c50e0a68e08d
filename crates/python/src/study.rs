//! Studies whose runs are made by other processes.

use crate::errors::{RunError, ScenarioError, failed};
use fairwave_cli::Source;
use fairwave_lab::run::{MakeError, make};
use fairwave_lab::store::Version;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval at which the main thread looks for signals.
const LOOK: Duration = Duration::from_millis(100);

/// Version of the code that makes results: workers must have the same.
#[pyfunction]
pub(crate) fn code_version(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &Version::of_build().0)
}

/// Makes one run of a study: the parts of its result, each with its name. `scenario` is the
/// resolved one, `place` an empty directory. A run that fails is a `RunError`, a request that is
/// wrong for every run a `ValueError`.
#[pyfunction]
pub(crate) fn make_run<'py>(
    py: Python<'py>,
    version: &[u8],
    part: &str,
    scenario: &str,
    place: PathBuf,
) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
    let version = <[u8; 32]>::try_from(version).map(Version);
    let version = version.map_err(|_| PyValueError::new_err("a version has 32 bytes"))?;
    let parts =
        py.detach(|| make(&version, part, scenario, &place)).map_err(|error| match error {
            MakeError::Run(_) | MakeError::NotKept(_) => failed(error),
            _ => PyValueError::new_err(error.to_string()),
        })?;
    Ok(parts.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect())
}

/// Reruns a study as these words of the command line ask for, and returns what `--json` prints.
/// `source` is called from many threads, with a part and the resolved scenario of a run; it returns
/// the parts of [`make_run`], or an empty list for a run that this process has to make.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    words: Vec<OsString>,
    source: Py<PyAny>,
) -> PyResult<String> {
    let ending = Arc::new(Ending::default());
    let parts = parts_of(source, Arc::clone(&ending));
    let made = py.detach(|| {
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            scope.spawn(|| sender.send(fairwave_cli::reproduce(words, parts, &ending.stop)));
            // Python calls handlers of signals on this thread alone.
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(made) => return made,
                    Err(RecvTimeoutError::Timeout) => {
                        ending.end_on(Python::attach(|py| py.check_signals()));
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err((1, "the thread of the study ended early".to_owned()));
                    }
                }
            }
        })
    });
    ending.raised()?;
    let (code, text) = match made {
        Ok(summary) => return Ok(Value::to_string(&summary)),
        Err(failure) => failure,
    };
    Err(if code == 2 { ScenarioError::new_err(text) } else { RunError::new_err(text) })
}

/// The function of Python as a source of results.
fn parts_of(source: Py<PyAny>, ending: Arc<Ending>) -> Source {
    Box::new(move |part, scenario| {
        let parts = Python::attach(|py| source.call1(py, (part, scenario))?.extract(py));
        parts.unwrap_or_else(|error| {
            ending.end_on(Err(error));
            Vec::new()
        })
    })
}

/// The request to end a study early, and the exception that is the reason.
#[derive(Default)]
struct Ending {
    stop: AtomicBool,
    exception: Mutex<Option<PyErr>>,
}

impl Ending {
    /// Ends the study if this is an exception. The first one is raised.
    fn end_on(&self, result: PyResult<()>) {
        if let Err(error) = result {
            self.exception.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn raised(&self) -> PyResult<()> {
        self.exception.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}
