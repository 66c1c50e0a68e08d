//! State that the driver's task shares with the tasks of applications.

use crate::carry::Peer;
use crate::line::{Account, End};
use crate::machine::{Connections, Fact, Id, PortEvent, Settings};
use bytes::Bytes;
use fairwave_linux::Clock;
use fairwave_machine::Machine;
use fairwave_units::Instant;
use rustix::io::Errno;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use tokio::sync::Notify;

/// Received datagrams of a connection that its application has not taken; further ones are
/// dropped.
const RECEIVED: usize = 1_000;
/// Notices of handovers that are kept.
const NOTICES: usize = 1_000;

/// Refusal of a host that ICMP reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It does not speak the protocol.
    Protocol,
    /// No program listens at the port.
    Port,
}

/// The refusal that an error of a socket reports.
pub(crate) fn refusal(error: &io::Error) -> Option<Refusal> {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOPROTOOPT | Errno::PROTO) => Some(Refusal::Protocol),
        Some(Errno::CONNREFUSED) => Some(Refusal::Port),
        _ => None,
    }
}

/// Counters of a port's socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams that the kernel refused to send.
    pub refused: u64,
    /// Datagrams that arrived while the socket's buffer was full.
    pub dropped_here: u64,
    /// Datagrams that could not be read.
    pub unreadable: u64,
}

/// Change on the way to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing gets through from now on: no carrier, no association, or no route.
    Lost,
    /// There is a way again.
    Back,
    /// The access point is another one, without an interruption that was seen.
    Roamed,
    /// This host sends from another address.
    Moved,
}

/// Change of a way, and when it was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Time, as in [`Account`].
    pub at: Instant,
    /// The host to which the way leads.
    pub host: IpAddr,
    /// The change.
    pub change: Change,
}

/// A connection as the application has it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) peer: Peer,
    pub(crate) received: VecDeque<Bytes>,
    /// Datagrams that arrived while [`RECEIVED`] others waited.
    pub(crate) not_taken: u64,
    pub(crate) is_established: bool,
    pub(crate) ended: Option<(End, Box<Account>)>,
    pub(crate) changed: Arc<Notify>,
}

/// State behind the mutex.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) machine: Connections,
    pub(crate) clock: Clock,
    last: Instant,
    /// The driver's task, to be woken after an input.
    pub(crate) driver: Option<Waker>,
    pub(crate) slots: BTreeMap<Id, Slot>,
    /// Connections that clients opened, until the application takes them.
    pub(crate) accepted: VecDeque<Id>,
    /// The latest changes of ways, and how many there were before them.
    pub(crate) notices: VecDeque<Notice>,
    pub(crate) notices_before: usize,
    /// Whether the socket is to be bound to another address of this host.
    pub(crate) has_moved: bool,
    /// Whether the socket has an error that is to be read.
    pub(crate) has_error: bool,
    /// The latest error of the network on a datagram.
    pub(crate) trouble: Option<io::Error>,
    pub(crate) counts: Counts,
    pub(crate) is_closing: bool,
    /// Whether the driver's task is over.
    pub(crate) is_over: bool,
    arrivals: u64,
}

/// A port's machine, and the tasks that wait for it.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// A connection was established, restored or ended, or the port is over.
    pub(crate) changed: Notify,
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Self {
        let state = State {
            machine: Connections::new(settings),
            clock: Clock::start(),
            last: Instant::ZERO,
            driver: None,
            slots: BTreeMap::new(),
            accepted: VecDeque::new(),
            notices: VecDeque::new(),
            notices_before: 0,
            has_moved: false,
            has_error: false,
            trouble: None,
            counts: Counts::default(),
            is_closing: false,
            is_over: false,
            arrivals: 0,
        };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    /// Works on the state. Waiting tasks are woken afterwards.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.arrivals;
        let result = act(&mut state);
        let has_changed = state.arrivals > before;
        drop(state);
        if has_changed {
            self.changed.notify_waiters();
        }
        result
    }

    /// Waits for the end of the driver's task.
    pub(crate) async fn over(&self) {
        loop {
            let changed = self.changed.notified();
            if self.with(|state| state.is_over) {
                return;
            }
            changed.await;
        }
    }
}

impl State {
    /// The time now. It never goes back.
    pub(crate) fn now(&mut self) -> Instant {
        self.at(self.clock.now())
    }

    /// A time, or the latest that the machine got.
    pub(crate) fn at(&mut self, time: Instant) -> Instant {
        self.last = time.max(self.last);
        self.last
    }

    /// Passes a fact to the machine, and has the driver's task run.
    pub(crate) fn report(&mut self, fact: Fact) {
        let now = self.now();
        self.machine.handle(now, fact);
        self.poke();
    }

    /// Wakes the driver's task.
    pub(crate) fn poke(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    /// Notes a change of a way.
    pub(crate) fn note(&mut self, host: IpAddr, change: Change) {
        let at = self.now();
        if self.notices.len() == NOTICES {
            self.notices.pop_front();
            self.notices_before += 1;
        }
        self.notices.push_back(Notice { at, host, change });
    }

    /// Notes an error of the network. Of an established connection it counts only if the peer is
    /// silent too.
    pub(crate) fn has_trouble(&mut self, error: io::Error) {
        if refusal(&error).is_some() {
            let now = self.now();
            self.machine.handle(now, Fact::Refused);
        }
        self.trouble = Some(error);
        self.announce();
    }

    /// Notes that the driver's task is over: nothing changes any more.
    pub(crate) fn end(&mut self) {
        self.is_over = true;
        self.slots.values().for_each(|slot| slot.changed.notify_waiters());
        self.announce();
    }

    /// Has the tasks look that wait for the port.
    pub(crate) const fn announce(&mut self) {
        self.arrivals += 1;
    }

    /// Takes the machine's events, and wakes the tasks that wait for them.
    pub(crate) fn take_events(&mut self) {
        while let Some(event) = self.machine.event() {
            match event {
                PortEvent::Established(id) => self.established(id),
                PortEvent::Restored(_) => self.announce(),
                PortEvent::Room(id) => {
                    self.slots.get(&id).into_iter().for_each(|slot| slot.changed.notify_waiters());
                }
                PortEvent::Data(id, data) => {
                    if let Some(slot) = self.slots.get_mut(&id) {
                        slot.take(data);
                    }
                }
                PortEvent::Ended(id, end, account) => {
                    self.announce();
                    if let Some(slot) = self.slots.get_mut(&id) {
                        slot.ended = Some((end, account));
                        slot.changed.notify_waiters();
                    }
                }
            }
        }
    }

    fn established(&mut self, id: Id) {
        self.announce();
        if let Some(slot) = self.slots.get_mut(&id) {
            // A client's, which waits for it.
            slot.is_established = true;
            return;
        }
        self.open_slot(id).is_established = true;
        self.accepted.push_back(id);
        if self.accepted.len() > self.machine.max_connections() {
            self.forget_ended();
        }
    }

    /// Forgets the oldest connection that ended before the application took it: a peer that opens
    /// and closes them would fill the memory of one that does not.
    fn forget_ended(&mut self) {
        let is_over = |id: &Id| self.slots.get(id).is_none_or(|slot| slot.ended.is_some());
        let ended = self.accepted.iter().position(is_over);
        if let Some(id) = ended.and_then(|at| self.accepted.remove(at)) {
            self.slots.remove(&id);
        }
    }

    /// Makes the slot of a new connection.
    pub(crate) fn open_slot(&mut self, id: Id) -> &mut Slot {
        let machine = &self.machine;
        self.slots.entry(id).or_insert_with(|| Slot {
            peer: machine.ends(id).map_or(Peer::NOBODY, |(peer, _)| peer),
            received: VecDeque::new(),
            not_taken: 0,
            is_established: false,
            ended: None,
            changed: Arc::new(Notify::new()),
        })
    }
}

impl Slot {
    fn take(&mut self, data: Bytes) {
        if self.received.len() < RECEIVED {
            self.received.push_back(data);
            self.changed.notify_waiters();
        } else {
            self.not_taken += 1;
        }
    }
}
