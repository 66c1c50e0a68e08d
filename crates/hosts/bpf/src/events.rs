//! Events of connections from the ring buffers of the algorithms: a connection began, reduced its
//! window for lost ACKs, or ended, with its state at that time. Algorithms write events only while
//! a listener exists.

use crate::fields::Fields;
use crate::object::refused;
use crate::status::{Connection, LINE, connection};
use crate::{ALGORITHMS, Algorithm, Error, Store, kernel};
use fairwave_units::Duration;
use libbpf_rs::{MapCore, MapFlags, MapHandle, RingBuffer, RingBufferBuilder};
use rustix::fs::{FlockOperation, flock};
use std::cell::RefCell;
use std::fs::File;
use std::rc::Rc;

const EVENTS: &str = "fw_events";
const LISTENER: &str = "fw_listener";
/// Time for which algorithms continue to write events after the last call of [`Listener::receive`].
const PATIENCE: Duration = Duration::from_secs(5);

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The connection began to use the algorithm.
    Began,
    /// It reduced its window for lost ACKs. Its window is that before the reduction.
    Answered,
    /// It ended, or began to use another algorithm.
    Ended,
}

/// An event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedEvent {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The kind of event.
    pub happened: Happened,
    /// The state of the connection at that time.
    pub connection: Connection,
}

/// Listens to all loaded algorithms. Only one listener can be active at a time.
#[derive(Default)]
pub struct Listener {
    rings: Vec<Ring>,
    reported: Rc<RefCell<Vec<ReportedEvent>>>,
    /// The store's directory, locked while this listener is active.
    turn: Option<File>,
}

/// The ring buffer of an algorithm.
struct Ring {
    algorithm: &'static Algorithm,
    /// Id of the map: an algorithm that is loaded again has another.
    id: u32,
    ring: RingBuffer<'static>,
    listener: MapHandle,
    /// Keeps the map open from which the ring buffer reads.
    _events: MapHandle,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let algorithms: Vec<_> = self.rings.iter().map(|ring| ring.algorithm.name).collect();
        f.debug_struct("Listener").field("algorithms", &algorithms).finish_non_exhaustive()
    }
}

impl Listener {
    /// Returns the events since the last call, oldest first for each algorithm; `None` while
    /// another listener is active. Algorithms loaded since then are included from now on. Must be
    /// called at least every few seconds.
    ///
    /// # Errors
    /// Without privileges, or if the kernel refuses an operation.
    pub fn receive(&mut self, store: &Store) -> Result<Option<Vec<ReportedEvent>>, Error> {
        kernel::demand_root("listening to the algorithms")?;
        if !self.has_turn(store)? {
            return Ok(None);
        }
        for ring in &self.rings {
            ring.ring.consume().map_err(refused(EVENTS))?;
        }
        self.rings.retain(|ring| id_of(store, ring.algorithm).is_ok_and(|id| id == ring.id));
        for algorithm in &ALGORITHMS {
            if !self.rings.iter().any(|ring| ring.algorithm.name == algorithm.name) {
                match Ring::open(store, algorithm, &self.reported) {
                    Err(Error::NotLoaded { .. }) => {}
                    opened => self.rings.push(opened?),
                }
            }
        }
        let until = kernel::now() + PATIENCE.as_nanos();
        for ring in &self.rings {
            ring.listen_until(until)?;
        }
        Ok(Some(self.reported.take()))
    }

    /// Tries to become the active listener. Without a store no algorithm is loaded.
    fn has_turn(&mut self, store: &Store) -> Result<bool, Error> {
        if self.turn.is_some() || !store.root().exists() {
            return Ok(true);
        }
        let directory = File::open(store.root()).map_err(Error::file(store.root()))?;
        if flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
            self.turn = Some(directory);
        }
        Ok(self.turn.is_some())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        for ring in &self.rings {
            // If this fails, they stop writing events a little later by themselves.
            let _ = ring.listen_until(0);
        }
    }
}

fn id_of(store: &Store, algorithm: &Algorithm) -> Result<u32, Error> {
    Ok(store.map(algorithm, EVENTS)?.info().map_err(refused(EVENTS))?.info.id)
}

impl Ring {
    /// Opens the ring buffer of a loaded algorithm. Earlier events, written for another listener,
    /// are discarded.
    fn open(
        store: &Store,
        algorithm: &'static Algorithm,
        reported: &Rc<RefCell<Vec<ReportedEvent>>>,
    ) -> Result<Self, Error> {
        let (events, listener) = (store.map(algorithm, EVENTS)?, store.map(algorithm, LISTENER)?);
        let id = events.info().map_err(refused(EVENTS))?.info.id;
        let (into, name) = (Rc::clone(reported), algorithm.name);
        let mut builder = RingBufferBuilder::new();
        let arrive = move |bytes: &[u8]| {
            into.borrow_mut().extend(read(name, bytes));
            0
        };
        builder.add(&events, arrive).map_err(refused(EVENTS))?;
        let ring = builder.build().map_err(refused(EVENTS))?;
        // The ring may still have events for an earlier listener, which its callback stores now.
        // Events of the same name from before are those of the algorithm's previous ring.
        let before = reported.borrow().len();
        ring.consume().map_err(refused(EVENTS))?;
        reported.borrow_mut().truncate(before);
        Ok(Self { algorithm, id, ring, listener, _events: events })
    }

    fn listen_until(&self, until_ns: u64) -> Result<(), Error> {
        let (key, value) = (0_u32.to_ne_bytes(), until_ns.to_ne_bytes());
        self.listener.update(&key, &value, MapFlags::ANY).map_err(refused(LISTENER))
    }
}

/// Parses `struct fw_event` of bpf/fw_status.h.
fn read(algorithm: &'static str, bytes: &[u8]) -> Option<ReportedEvent> {
    let (line, rest) = bytes.split_at_checked(LINE)?;
    let happened = match Fields::of(rest).u32() {
        1 => Happened::Began,
        2 => Happened::Answered,
        3 => Happened::Ended,
        _ => return None,
    };
    Some(ReportedEvent { algorithm, happened, connection: connection(line) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_by_the_layout_of_the_program() {
        let mut bytes = vec![0; LINE];
        bytes[..8].copy_from_slice(&3_u64.to_ne_bytes());
        bytes.extend(2_u32.to_ne_bytes());
        let reported = read("fw_compound", &bytes).expect("an event");
        assert_eq!((reported.happened, reported.connection.acks_lost), (Happened::Answered, 3));
        assert_eq!(read("fw_compound", &bytes[..LINE - 1]), None);
        bytes[LINE] = 9;
        assert_eq!(read("fw_compound", &bytes), None);
    }
}
