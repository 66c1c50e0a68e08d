//! Exceptions of algorithms, which end the runs of their plan.

use super::attached;
use fairwave_scenario::Failure;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first exception of an algorithm, shared by all of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Raised {
    state: Arc<Mutex<State>>,
    failure: Failure,
}

#[derive(Debug, Default)]
struct State {
    first: Option<PyErr>,
    /// Calls that have runs under way.
    under_way: usize,
}

/// Runs under way: a failure that one of them meets stays until the last of them has ended.
pub(crate) struct UnderWay<'a>(&'a Raised);

impl Raised {
    pub(crate) fn new(failure: Failure) -> Self {
        Self { state: Arc::default(), failure }
    }

    /// Calls an algorithm, unless one has failed; `None` if it fails now. The exception ends the
    /// runs.
    pub(crate) fn call<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.is_set() {
            return None;
        }
        attached::count();
        Python::attach(call).map_err(|error| self.note(error)).ok()
    }

    /// Whether an algorithm has failed.
    pub(crate) fn is_set(&self) -> bool {
        self.failure.is_set()
    }

    /// Begins runs. If no others are under way, an earlier failure is over.
    pub(crate) fn begin(&self) -> UnderWay<'_> {
        let mut state = self.state();
        let mut over = None;
        if state.under_way == 0 {
            over = state.first.take();
            self.failure.clear();
        }
        state.under_way += 1;
        drop(state);
        drop(over);
        UnderWay(self)
    }

    fn note(&self, error: PyErr) {
        let mut state = self.state();
        let later = match state.first {
            Some(_) => Some(error),
            None => {
                state.first = Some(error);
                None
            }
        };
        self.failure.set();
        drop(state);
        // Python may run code as it collects an exception: not under the lock.
        drop(later);
    }

    /// Takes the exception, or else `other`. The failure stays: other runs under way have missed
    /// callbacks since.
    pub(crate) fn or(&self, other: PyErr) -> PyErr {
        self.state().first.take().unwrap_or(other)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.state().under_way -= 1;
    }
}
