//! Schedulers in Python, behind [`Scheduler`].

use super::Raised;
use super::object::{Object, attribute, method, of};
use fairwave_queue::{self as queue, Scheduler, Weight};
use fairwave_units::Instant;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// The packets of one host after an event.
#[pyclass(frozen, get_all, module = "fairwave.scheduler")]
#[derive(Clone, Copy)]
pub(crate) struct Backlog {
    /// The host's number: numbers begin with 0 and have no large gaps.
    host: u32,
    /// Packets that wait for it.
    packets: u32,
    /// Bytes of the oldest of them; 0 if there is none.
    head_bytes: u32,
    /// The host's weight in 65536ths.
    weight_65536ths: u32,
}

impl From<queue::Backlog> for Backlog {
    fn from(backlog: queue::Backlog) -> Self {
        let queue::Backlog { host, packets, head_bytes, weight: Weight(weight_65536ths) } = backlog;
        Self { host, packets, head_bytes, weight_65536ths }
    }
}

/// A scheduler in Python.
#[derive(Debug)]
struct InPython {
    object: Object,
    /// Its attribute of this name, which is read after each event.
    deadline: Option<Instant>,
}

/// Makes schedulers by the function `make` of Python.
pub(super) fn maker(
    make: Py<PyAny>,
    raised: Raised,
) -> impl Fn() -> Box<dyn Scheduler> + Send + Sync + 'static {
    move || {
        let (object, read) = Object::new(&raised, |py| make.bind(py).call0(), deadline);
        Box::new(InPython { object, deadline: read.flatten() })
    }
}

fn deadline(object: &Bound<'_, PyAny>) -> PyResult<Option<Instant>> {
    let at: Option<u64> = attribute(object, intern!(object.py(), "deadline_ns"))?;
    Ok(at.map(Instant::from_nanos))
}

impl InPython {
    /// Calls a method, and reads the deadline that it leaves.
    fn call<T>(
        &mut self,
        method: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let (returned, deadline) = self.object.call(|object| {
            let returned = method(object)?;
            Ok((returned, deadline(object)?))
        })?;
        self.deadline = deadline;
        Some(returned)
    }
}

impl Scheduler for InPython {
    fn joined(&mut self, now: Instant, backlog: queue::Backlog, bytes: u32) {
        let (now_ns, backlog) = (now.as_nanos(), Backlog::from(backlog));
        self.call(|object| method!(object.joined(now_ns, backlog, bytes)).map(drop));
    }

    fn next(&mut self, now: Instant) -> Option<u32> {
        let now_ns = now.as_nanos();
        let next = self.call(|object| of(&method!(object.next(now_ns))?, "next()"))?;
        if let (None, Some(at)) = (next, self.deadline)
            && at <= now
        {
            // Asked again at once, it would give nothing for ever.
            self.call(|_| -> PyResult<()> {
                let at_ns = at.as_nanos();
                Err(PyValueError::new_err(format!(
                    "next() = None at {now_ns} with deadline_ns = {at_ns}: set a later time, or \
                     None"
                )))
            });
        }
        next
    }

    fn taken(&mut self, now: Instant, backlog: queue::Backlog, bytes: u32) {
        let (now_ns, backlog) = (now.as_nanos(), Backlog::from(backlog));
        self.call(|object| method!(object.taken(now_ns, backlog, bytes)).map(drop));
    }

    fn shed(&mut self, backlog: queue::Backlog, bytes: u32) {
        let backlog = Backlog::from(backlog);
        self.call(|object| method!(object.shed(backlog, bytes)).map(drop));
    }

    fn weighed(&mut self, now: Instant, backlog: queue::Backlog, old: Weight) {
        let (now_ns, backlog) = (now.as_nanos(), Backlog::from(backlog));
        self.call(|object| method!(object.weighed(now_ns, backlog, old.0)).map(drop));
    }

    fn link(&mut self, now: Instant, host: u32, is_good: bool) {
        let now_ns = now.as_nanos();
        self.call(|object| method!(object.link(now_ns, host, is_good)).map(drop));
    }

    fn idle(&mut self) {
        self.call(|object| method!(object.idle()).map(drop));
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn chose_wrongly(&mut self, host: u32) {
        self.call(|_| -> PyResult<()> {
            let message = format!("next() = {host}: this host has no packet to send");
            Err(PyValueError::new_err(message))
        });
    }
}
