//! Studies whose runs are made by other processes.

use crate::attended::{Ending, Share, attended};
use crate::errors::{RunError, ScenarioError, failed};
use fairwave_cli::{Source, Sourced};
use fairwave_lab::run::{self, MakeError, Watch, make};
use fairwave_lab::store::Version;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Version of the code that makes results: workers must have the same.
#[pyfunction]
pub(crate) fn code_version(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &Version::of_build().0)
}

/// Raises a `ValueError` unless this machine has the version of the one that calls it.
#[pyfunction]
pub(crate) fn check_version(version: &[u8]) -> PyResult<()> {
    run::check_version(&version_of(version)?).map_err(of_make)
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
    let version = version_of(version)?;
    let parts = py.detach(|| make(&version, part, scenario, &place)).map_err(of_make)?;
    Ok(parts.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect())
}

fn version_of(bytes: &[u8]) -> PyResult<Version> {
    let version = <[u8; 32]>::try_from(bytes).map(Version);
    version.map_err(|_| PyValueError::new_err("a version has 32 bytes"))
}

fn of_make(error: MakeError) -> PyErr {
    match error {
        MakeError::Run(_) | MakeError::NotKept(_) => failed(error),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Reruns a study as these words of the command line ask for, and returns what `--json` prints.
/// `source` is called from many threads, with a part and the resolved scenario of a run; it returns
/// the parts of [`make_run`], or an empty list for a run that this process has to make. After an
/// exception of it no run is made. Without a source this process makes all runs. `progress` gets
/// the share that is done of a part of the study: its own set-up, and each pass over its maps.
#[pyfunction]
#[pyo3(signature = (words, source = None, progress = None))]
pub(crate) fn reproduce(
    py: Python<'_>,
    words: Vec<OsString>,
    source: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let ending = Arc::new(Ending::default());
    let parts = source.map(|source| parts_of(source, Arc::clone(&ending)));
    let share = Share::new(progress);
    let watch = Watch { progress: &|now| share.set(now), stop: &ending.stop };
    let work = || fairwave_cli::reproduce(words, parts, watch);
    let made = attended(py, &ending, &|py| share.report(py), work);
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
        match parts {
            Ok(parts) if Vec::is_empty(&parts) => Sourced::MakeHere,
            Ok(parts) => Sourced::Parts(parts),
            Err(error) => {
                ending.end_on(Err(error));
                Sourced::Ended
            }
        }
    })
}
