//! State that the driver's task shares with the tasks of applications.

use crate::endpoint::{Endpoint, Event, Input};
use fairwave_linux::Clock;
use fairwave_machine::Machine;
use fairwave_units::Instant;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;
use tokio::sync::Notify;

/// Tasks that wait for a stream.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) reader: Option<Waker>,
    pub(crate) writer: Option<Waker>,
}

/// State behind the mutex.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) endpoint: Endpoint,
    clock: Clock,
    last: Instant,
    /// The driver's task, to be woken after an input.
    pub(crate) driver: Option<Waker>,
    /// By session and stream.
    pub(crate) waiting: BTreeMap<(usize, usize), Waiting>,
    /// Tasks that wait for a datagram, by session and flow.
    pub(crate) flows: BTreeMap<(usize, u32), Waker>,
    /// Streams that peers opened, until the application takes them.
    pub(crate) accepted: VecDeque<(usize, usize)>,
    pub(crate) is_closing: bool,
    /// Changes of sessions and paths so far.
    changes: u64,
}

/// A host's machine, and the tasks that wait for it.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// A session has keys, a session is over, or a path has answered.
    pub(crate) changed: Notify,
    /// A peer has opened a stream.
    pub(crate) arrived: Notify,
}

impl Shared {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        let state = State {
            endpoint,
            clock: Clock::start(),
            last: Instant::ZERO,
            driver: None,
            waiting: BTreeMap::new(),
            flows: BTreeMap::new(),
            accepted: VecDeque::new(),
            is_closing: false,
            changes: 0,
        };
        Self { state: Mutex::new(state), changed: Notify::new(), arrived: Notify::new() }
    }

    /// Works on the state. Waiting tasks are woken afterwards.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (accepted, changes) = (state.accepted.len(), state.changes);
        let result = act(&mut state);
        let (is_new, has_changed) = (state.accepted.len() > accepted, state.changes > changes);
        drop(state);
        if is_new {
            self.arrived.notify_one();
        }
        if has_changed {
            self.changed.notify_waiters();
        }
        result
    }
}

impl State {
    /// The time now. It never goes back.
    pub(crate) fn now(&mut self) -> Instant {
        self.last = self.clock.now().max(self.last);
        self.last
    }

    /// Passes a fact to the machine.
    pub(crate) fn report(&mut self, input: Input) {
        let now = self.now();
        self.endpoint.handle(now, input);
    }

    /// Ends all sessions, once.
    pub(crate) fn close(&mut self) {
        if !std::mem::replace(&mut self.is_closing, true) {
            self.report(Input::Close);
        }
    }

    /// Wakes the driver's task after a call that changed the machine.
    pub(crate) fn poke(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    /// Takes the machine's events, and wakes the tasks that wait for them.
    pub(crate) fn take_events(&mut self) {
        while let Some(event) = self.endpoint.event() {
            match event {
                Event::Accepted { session, stream } => self.accepted.push_back((session, stream)),
                Event::Stream { session, stream } => {
                    self.waiting.get_mut(&(session, stream)).map(Waiting::wake);
                }
                Event::Datagram { session, flow } => {
                    self.flows.remove(&(session, flow)).into_iter().for_each(Waker::wake);
                }
                Event::Ended { session } => {
                    self.changes += 1;
                    let flows = (session, 0)..=(session, u32::MAX);
                    let waiting: Vec<_> = self.flows.range(flows).map(|(flow, _)| *flow).collect();
                    let wakers = waiting.iter().filter_map(|flow| self.flows.remove(flow));
                    wakers.collect::<Vec<_>>().into_iter().for_each(Waker::wake);
                    let of_session = (session, 0)..(session + 1, 0);
                    self.waiting.range_mut(of_session).for_each(|(_, waiting)| waiting.wake());
                }
                Event::Connected { .. } | Event::PathUp { .. } => self.changes += 1,
            }
        }
    }
}

impl Waiting {
    fn wake(&mut self) {
        self.reader.take().into_iter().chain(self.writer.take()).for_each(Waker::wake);
    }
}
