//! Directories of sweeps, locked against other processes.

use crate::errors::failed;
use fairwave_lab::place::Place;
use fairwave_lab::{merge, results, run};
use fairwave_scenario::plan::Plan;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The directory of a sweep, which no other process writes into until the end of its `with`.
#[pyclass(frozen, module = "fairwave._fairwave")]
pub(crate) struct Claim(Mutex<Option<Place>>);

impl Claim {
    /// Locks the directory. Complete runs of something else than `plan`, which it would replace,
    /// are refused without `force`; with it, all of something else are removed.
    pub(crate) fn new(plan: &Plan, directory: &Path, force: bool) -> PyResult<Self> {
        let place = Place::claim(directory).map_err(failed)?;
        let other = if force { None } else { run::replaced(plan, directory) };
        if let Some(other) = other {
            let why = run::none_of("sweep", directory, &other);
            let remedy = "give another `out`, or force=True as well";
            let text = format!("{why}; this call would replace them: {remedy}");
            return Err(PyValueError::new_err(text));
        }
        results::remove_unfinished(directory).map_err(failed)?;
        if force {
            merge::forget(directory).map_err(failed)?;
            run::remove_others(plan, directory).map_err(failed)?;
        }
        Ok(Self(Mutex::new(Some(place))))
    }
}

#[pymethods]
impl Claim {
    const fn __enter__(&self) {}

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
