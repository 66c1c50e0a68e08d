//! `fairwave cc list` and `fairwave cc status`: algorithms and their connections.

use crate::outcome::failure;
use crate::report::{self, CcAlgorithm, CcConnection, CcEvent, PREFIX, metrics};
use fairwave_bpf::{ALGORITHMS, Listener, Store, Watcher, list as algorithms, registered, totals};
use fairwave_console::{Console, Failure, metrics as server};
use rustix::thread::nanosleep;
use rustix::time::Timespec;
use serde_json::json;
use std::net::SocketAddr;

/// Shows every algorithm, loaded or not.
pub(crate) fn list(console: &dyn Console, store: &Store) -> Result<(), Failure> {
    let found: Vec<CcAlgorithm> =
        algorithms(store).map_err(failure)?.iter().map(CcAlgorithm::of).collect();
    console.show(&json!(found), &report::algorithms(&found))
}

/// The connections of all loaded algorithms.
fn connections(store: &Store, watcher: &mut Watcher) -> Result<Vec<CcConnection>, Failure> {
    let registered = registered().map_err(failure)?;
    let mut found = Vec::new();
    for algorithm in &ALGORITHMS {
        if registered.iter().any(|name| name == algorithm.name) {
            match watcher.connections(store, algorithm) {
                // Unloaded in the meantime, or loaded by another program.
                Err(fairwave_bpf::Error::NotLoaded { .. }) => {}
                connections => {
                    let connections = connections.map_err(failure)?;
                    found.extend(
                        connections.iter().map(|one| CcConnection::of(algorithm.name, one)),
                    );
                }
            }
        }
    }
    Ok(found)
}

/// Shows the connections once.
pub(crate) fn status(console: &dyn Console, store: &Store) -> Result<(), Failure> {
    let found = connections(store, &mut Watcher::new().map_err(failure)?)?;
    console.show(&json!(found), &report::connections(&found))
}

/// Shows the events since the last look and then the connections, every second.
pub(crate) fn watch(console: &dyn Console, store: &Store) -> Result<(), Failure> {
    let (mut watcher, mut listener) = (Watcher::new().map_err(failure)?, Listener::default());
    let (mut alone, mut missed) = (true, events_missed(store));
    loop {
        match listener.receive(store).map_err(failure)? {
            Some(events) => {
                events.iter().try_for_each(|event| show_event(console, &CcEvent::of(event)))?;
            }
            None if alone => {
                console.note("another `status --watch` receives the begin and end of connections");
                alone = false;
            }
            None => {}
        }
        let now = events_missed(store);
        if now > missed {
            console.note(&format!("{} events had no room and are not shown", now - missed));
        }
        missed = now;
        let found = connections(store, &mut watcher)?;
        match console.is_json() {
            true => console.print_json_line(&json!(found))?,
            false => console.print(&report::connections(&found))?,
        }
        let _ = nanosleep(&Timespec { tv_sec: 1, tv_nsec: 0 });
    }
}

/// Events that did not fit into the ring buffers of the loaded algorithms.
fn events_missed(store: &Store) -> u64 {
    ALGORITHMS
        .iter()
        .filter_map(|algorithm| totals(store, algorithm).ok())
        .map(|totals| totals.missed)
        .sum()
}

fn show_event(console: &dyn Console, event: &CcEvent) -> Result<(), Failure> {
    match console.is_json() {
        true => console.print_json_line(&json!(event)),
        false => console.print(&report::event(event)),
    }
}

/// Serves connections and totals as metrics until the process is interrupted.
pub(crate) fn serve(console: &dyn Console, store: Store, at: SocketAddr) -> Result<(), Failure> {
    let mut watcher = Watcher::new().map_err(failure)?;
    server::serve(console, at, PREFIX, move || {
        let counted = ALGORITHMS
            .iter()
            .filter_map(|algorithm| Some((algorithm.name, totals(&store, algorithm).ok()?)));
        let counted: Vec<_> = counted.collect();
        Ok(metrics(&connections(&store, &mut watcher)?, &counted))
    })
}
