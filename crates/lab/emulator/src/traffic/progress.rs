//! Progress of a flow whose two ends are threads of their own, as these report it.

use fairwave_units::Instant;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Results of the ends since the last look at them. `D` is a delivery to the sink's application.
#[derive(Debug)]
pub(super) struct Taken<D> {
    /// Deliveries to the sink's application.
    pub(super) delivered: Vec<D>,
    /// Whether the sink has received everything.
    pub(super) has_ended: bool,
    /// Time, failed step and cause, if an end failed.
    pub(super) failure: Option<(Instant, &'static str, String)>,
}

impl<D> Default for Taken<D> {
    fn default() -> Self {
        Self { delivered: Vec::new(), has_ended: false, failure: None }
    }
}

#[derive(Debug)]
struct State<D, M> {
    taken: Taken<D>,
    /// Views of the flow at the source and at the sink.
    monitors: [Option<M>; 2],
}

/// Progress of a flow. `M` is a view of its state at one end.
#[derive(Debug)]
pub(super) struct Progress<D, M> {
    state: Mutex<State<D, M>>,
    /// Becomes readable when there is something to take.
    signal: OwnedFd,
}

/// An end of the flow, by its place in lists of both.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Source = 0,
    Sink = 1,
}

impl<D, M: Clone> Progress<D, M> {
    pub(super) fn new() -> io::Result<Self> {
        let signal = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let state = State { taken: Taken::default(), monitors: [None, None] };
        Ok(Self { state: Mutex::new(state), signal })
    }

    /// The descriptor that becomes readable.
    pub(super) fn signal(&self) -> &OwnedFd {
        &self.signal
    }

    fn state(&self) -> MutexGuard<'_, State<D, M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, note: impl FnOnce(&mut Taken<D>)) {
        let mut state = self.state();
        let is_first = state.taken.delivered.is_empty();
        note(&mut state.taken);
        drop(state);
        if is_first {
            // This can only fail if the 64-bit counter overflows.
            let _ = rustix::io::write(&self.signal, &1_u64.to_ne_bytes());
        }
    }

    /// The sink's application has received something.
    pub(super) fn deliver(&self, delivery: D) {
        self.report(|taken| taken.delivered.push(delivery));
    }

    /// The sink's application has received everything.
    pub(super) fn end(&self) {
        self.report(|taken| taken.has_ended = true);
    }

    /// An end has failed. The first failure counts.
    pub(super) fn fail(&self, at: Instant, what: &'static str, cause: String) {
        self.report(|taken| {
            taken.failure.get_or_insert((at, what, cause));
        });
    }

    /// The flow is open at an end.
    pub(super) fn open(&self, end: End, monitor: M) {
        self.state().monitors[end as usize] = Some(monitor);
    }

    /// Takes the results since the last look.
    pub(super) fn take(&self) -> Taken<D> {
        let mut count = [0; 8];
        // It is empty where another event has taken the results already.
        let _ = rustix::io::read(&self.signal, &mut count);
        std::mem::take(&mut self.state().taken)
    }

    /// Views of the flow at the source and at the sink, as far as it is open there.
    pub(super) fn monitors(&self) -> [Option<M>; 2] {
        self.state().monitors.clone()
    }
}
