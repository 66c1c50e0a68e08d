//! Work on another thread, while the thread that Python called looks for signals.

use fairwave_lab::run::Progress;
use pyo3::prelude::*;
use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval at which the calling thread looks for signals.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// The request to end work early, and the exception that is the reason.
#[derive(Default)]
pub(crate) struct Ending {
    /// Set to end the work.
    pub(crate) stop: AtomicBool,
    exception: Mutex<Option<PyErr>>,
}

impl Ending {
    /// Ends the work if this is an exception. The first one is raised.
    pub(crate) fn end_on(&self, result: PyResult<()>) {
        if let Err(error) = result {
            self.exception.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// The exception that ended the work, if there is one.
    pub(crate) fn raised(&self) -> PyResult<()> {
        self.exception.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

/// The completed share of the work, and the function `progress(done)` of Python that it is for.
pub(crate) struct Share {
    progress: Option<Py<PyAny>>,
    done: Mutex<f64>,
}

impl Share {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { progress, done: Mutex::new(0.0) }
    }

    /// Notes the share, on any thread.
    pub(crate) fn set(&self, now: Progress) {
        let share = now.done as f64 / now.total.max(1) as f64;
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = share;
    }

    /// Calls the function.
    pub(crate) fn report(&self, py: Python<'_>) -> PyResult<()> {
        let done = *self.done.lock().unwrap_or_else(PoisonError::into_inner);
        self.progress.as_ref().map_or(Ok(()), |call| call.call1(py, (done,)).map(drop))
    }
}

/// Does `work` on another thread and waits for it. Python calls handlers of signals on its main
/// thread alone, which may be the calling one: it looks for signals in the meantime, and calls
/// `report` as often. An exception of either ends the work. A panic of the work goes on here.
pub(crate) fn attended<T: Send>(
    py: Python<'_>,
    ending: &Ending,
    report: &(dyn Fn(Python<'_>) -> PyResult<()> + Sync),
    work: impl FnOnce() -> T + Send,
) -> T {
    let look = |py: Python<'_>| {
        py.check_signals()?;
        if ending.stop.load(Ordering::Relaxed) { Ok(()) } else { report(py) }
    };
    let wait = || {
        thread::scope(|scope| {
            let (alive, ended) = channel::<Infallible>();
            let work = scope.spawn(move || {
                let made = work();
                // A panic drops it, too.
                drop(alive);
                made
            });
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                ending.end_on(Python::attach(look));
            }
            work.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    };
    py.detach(wait)
}

/// A request to end runs, which any thread can make.
#[pyclass(frozen, module = "fairwave._fairwave")]
#[derive(Default)]
pub(crate) struct Stop(pub(crate) AtomicBool);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ends the runs under way that have this request, and those that would begin.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
