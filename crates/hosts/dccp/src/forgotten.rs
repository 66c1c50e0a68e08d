//! Ports of a client's connections so far, and the Resets for those that are no longer kept.

use fairwave_units::{Duration, Instant};
use std::collections::BTreeSet;

/// Maximum Resets a second: a sender may forge the server's address.
const RESETS_A_SECOND: u32 = 8;

/// Ports of a client's connections so far, and the Resets of the present second.
#[derive(Debug, Default)]
pub(crate) struct Forgotten {
    ports: BTreeSet<u16>,
    since: Instant,
    resets: u32,
}

impl Forgotten {
    /// Whether a connection had this port.
    pub(crate) fn had(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    /// A connection has this port.
    pub(crate) fn note_port(&mut self, port: u16) {
        self.ports.insert(port);
    }

    /// Whether one more Reset may be sent now; counts it.
    pub(crate) fn may_reset(&mut self, now: Instant) -> bool {
        if now.since(self.since) >= Duration::from_secs(1) {
            (self.since, self.resets) = (now, 0);
        }
        self.resets += 1;
        self.resets <= RESETS_A_SECOND
    }
}
