//! Exceptions, with the words of the command's errors.

use fairwave_lab::run;
use fairwave_scenario::plan::LoadError;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};

pyo3::create_exception!(
    fairwave,
    ScenarioError,
    PyValueError,
    "A scenario that is wrong: every mistake with its place and its remedy."
);
pyo3::create_exception!(
    fairwave,
    RunError,
    PyRuntimeError,
    "A run that failed, or a run directory that cannot be read."
);

/// The exception for a scenario that could not be read.
pub(crate) fn of_load(error: LoadError) -> PyErr {
    match error {
        LoadError::Io { .. } => PyOSError::new_err(error.to_string()),
        LoadError::Scenario(wrong) => ScenarioError::new_err(wrong.to_string()),
    }
}

/// The exception for a run that failed.
pub(crate) fn of_run(error: run::Error) -> PyErr {
    match error.is_interruption() {
        true => PyKeyboardInterrupt::new_err(()),
        false => RunError::new_err(error.to_string()),
    }
}

/// A [`RunError`] with these words.
pub(crate) fn failed(error: impl ToString) -> PyErr {
    RunError::new_err(error.to_string())
}
