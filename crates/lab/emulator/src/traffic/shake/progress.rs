//! Progress of a flow, as the threads of its ends report it.

use fairwave_linux::clock::Clock;
use fairwave_shake_host::Monitor;
use fairwave_shake_host::endpoint::{CarrierReport, Sent};
use fairwave_units::Instant;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Results of the ends since the last look at them.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Bytes that the sink's application has read, with their times.
    pub(super) delivered: Vec<(Instant, u32)>,
    /// Whether the sink has read all data.
    pub(super) has_ended: bool,
    /// Time, failed step and cause, if an end failed.
    pub(super) failure: Option<(Instant, &'static str, String)>,
}

#[derive(Debug, Default)]
struct State {
    taken: Taken,
    /// Views of the stream at the source and at the sink.
    monitors: [Option<Monitor>; 2],
    /// The clock of the run, once the flow has started.
    clock: Option<Clock>,
}

/// Progress of a flow.
#[derive(Debug)]
pub(super) struct Progress {
    state: Mutex<State>,
    /// Becomes readable when there is something to take.
    signal: OwnedFd,
}

/// An end of the flow, by its place in lists of both.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Source = 0,
    Sink = 1,
}

impl Progress {
    pub(super) fn new() -> io::Result<Self> {
        let signal = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { state: Mutex::default(), signal })
    }

    /// The descriptor that becomes readable.
    pub(super) fn signal(&self) -> &OwnedFd {
        &self.signal
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, note: impl FnOnce(&mut Taken)) {
        let mut state = self.state();
        let is_first = state.taken.delivered.is_empty();
        note(&mut state.taken);
        drop(state);
        if is_first {
            // This can only fail if the 64-bit counter overflows.
            let _ = rustix::io::write(&self.signal, &1_u64.to_ne_bytes());
        }
    }

    /// The sink's application has read bytes.
    pub(super) fn deliver(&self, at: Instant, bytes: u32) {
        self.report(|taken| taken.delivered.push((at, bytes)));
    }

    /// The sink's application has read everything.
    pub(super) fn end(&self) {
        self.report(|taken| taken.has_ended = true);
    }

    /// An end has failed. The first failure counts.
    pub(super) fn fail(&self, at: Instant, what: &'static str, cause: String) {
        self.report(|taken| {
            taken.failure.get_or_insert((at, what, cause));
        });
    }

    /// The stream is open at an end, in a run with this clock.
    pub(super) fn open(&self, end: End, monitor: Monitor, clock: Clock) {
        let mut state = self.state();
        state.monitors[end as usize] = Some(monitor);
        state.clock = Some(clock);
    }

    /// Takes the results since the last look.
    pub(super) fn take(&self) -> Taken {
        let mut count = [0; 8];
        // It is empty where another event has taken the results already.
        let _ = rustix::io::read(&self.signal, &mut count);
        std::mem::take(&mut self.state().taken)
    }

    /// Takes the ends of data that left the source for the first time, with their times.
    pub(super) fn take_departures(&self) -> Vec<(u64, Instant)> {
        let (source, clock) = {
            let state = self.state();
            (state.monitors[End::Source as usize].clone(), state.clock)
        };
        let source = source.zip(clock);
        source.map(|(source, clock)| source.take_departures(clock)).unwrap_or_default()
    }

    /// State of the stream at the source and at the sink, as far as it is open there.
    pub(super) fn reports(&self) -> [Option<(CarrierReport, Sent)>; 2] {
        let monitors = self.state().monitors.clone();
        monitors.map(|monitor| monitor.as_ref().and_then(Monitor::report))
    }
}
