//! Calls back into Python from a simulation: progress, and whether it goes on.

use pyo3::prelude::*;
use std::sync::Mutex;

/// Share of the work after which Python is asked again: a thousand times a run at most, since each
/// time takes the GIL.
const STEP: f64 = 1e-3;

/// A function `progress(done)` of Python, for shares from 0 to 1, or none.
pub(crate) struct Reply {
    progress: Option<Py<PyAny>>,
    /// Share at the last call, and the exception that ends the work.
    state: Mutex<(f64, Option<PyErr>)>,
}

impl Reply {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { progress, state: Mutex::new((0.0, None)) }
    }

    /// Tells Python the share that is done. `false` if a signal came or the function raised: then
    /// the work shall end.
    pub(crate) fn goes_on(&self, done: f64) -> bool {
        let Ok(mut state) = self.state.lock() else { return false };
        if state.1.is_some() {
            return false;
        }
        if done - state.0 < STEP {
            return true;
        }
        state.0 = done;
        let result = Python::attach(|py| {
            py.check_signals()?;
            self.progress.as_ref().map_or(Ok(()), |call| call.call1(py, (done,)).map(drop))
        });
        state.1 = result.err();
        state.1.is_none()
    }

    /// The exception that ended the work, or else this one.
    pub(crate) fn or(self, error: PyErr) -> PyErr {
        self.state.into_inner().ok().and_then(|(_, raised)| raised).unwrap_or(error)
    }
}
