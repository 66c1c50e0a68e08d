//! Resources that the parts of a simulation share while one of them acts.

use crate::actors::Ids;
use crate::deadlines::Deadlines;
use crate::observer::Observer;
use crate::owners::Owners;
use crate::packet::Packet;
use crate::soc::Soc;
use fairwave_trace::{DropCause, QueueId};
use fairwave_units::Instant;

/// The time, all deadlines, and the receivers of the fates of packets. A part of the simulation
/// that carries packets gets this, and no other part.
#[derive(Debug)]
pub(crate) struct Context<'s> {
    /// Virtual time.
    pub(crate) now: Instant,
    pub(crate) deadlines: Deadlines,
    pub(crate) owners: Owners,
    /// Stations that report their Strength of Connection, where there are any: their reports ride
    /// in front of packets.
    pub(crate) soc: Option<Box<Soc>>,
    pub(crate) observer: Observer<'s>,
}

impl Context<'_> {
    /// Sets, moves or cancels the deadline of the actor at a place in its part's list. Deadlines
    /// of the same instant are served in the order of these calls.
    pub(crate) fn set(&mut self, ids: Ids, place: usize, deadline: Option<Instant>) {
        self.deadlines.set(ids.of(place), deadline);
    }

    /// A packet ended before its destination.
    pub(crate) fn dropped(&mut self, packet: &Packet, queue: QueueId, cause: DropCause) {
        self.owners.dropped(packet, cause, self.now);
        self.observer.dropped(self.now, packet, queue, cause);
    }
}
