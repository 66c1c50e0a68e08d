//! Exceptions of algorithms, which end the runs of their plan.

use fairwave_scenario::Failure;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex};

/// The first exception of an algorithm, shared by all of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Raised {
    first: Arc<Mutex<Option<PyErr>>>,
    failure: Failure,
}

impl Raised {
    pub(crate) fn new(failure: Failure) -> Self {
        Self { first: Arc::default(), failure }
    }

    /// Calls an algorithm, unless one has failed; `None` if it fails now. The exception ends the
    /// runs.
    pub(crate) fn call<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.is_set() {
            return None;
        }
        Python::attach(call).map_err(|error| self.note(error)).ok()
    }

    /// Whether an algorithm has failed.
    pub(crate) fn is_set(&self) -> bool {
        self.failure.is_set()
    }

    fn note(&self, error: PyErr) {
        if let Ok(mut first) = self.first.lock() {
            first.get_or_insert(error);
        }
        self.failure.set();
    }

    /// Takes the exception, so that the plan can run again; or else `other`.
    pub(crate) fn or(&self, other: PyErr) -> PyErr {
        let first = self.first.lock().ok().and_then(|mut first| first.take());
        self.failure.clear();
        first.unwrap_or(other)
    }
}
