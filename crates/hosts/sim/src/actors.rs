//! Actors that may have a deadline, and their numbers.
//!
//! Numbers are assigned once, when a world is built: each part enlists its actors and keeps their
//! numbers, and one table leads back from a number to its actor. A new kind of actor is a variant
//! of [`Actor`], a call of [`Actors::enlist`] and an arm where the simulation dispatches.

/// Owner of a deadline; the index is the place in the list of the part that owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// A radio cell.
    Cell(usize),
    /// One direction of a link.
    Line(usize),
    /// A flow's application: start, next datagram, stop.
    Source(usize),
    /// The connections at a flow's source.
    SourceEnd(usize),
    /// The connections at a flow's sink.
    SinkEnd(usize),
    /// The sampler.
    Sampler,
    /// The end of the warm-up.
    WarmUp,
    /// The end of a bin of deliveries.
    Bin,
    /// A station that roams.
    Roamer(usize),
    /// A station that reports its Strength of Connection.
    Reporter(usize),
    /// An access point with channel reports.
    SocTable(usize),
    /// An access point that watches its links.
    Monitor(usize),
    /// A queue that holds packets back for a time.
    Gate(usize),
    /// A proxy.
    Relay(usize),
    /// An access point that announces its load.
    Announcer(usize),
}

/// The numbers of the actors of one part, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ids {
    first: u32,
    count: u32,
}

impl Ids {
    /// The number of the actor at this place in its part's list.
    pub(crate) fn of(self, place: usize) -> u32 {
        debug_assert!(place < self.count as usize, "{place} of {}", self.count);
        self.first + place as u32
    }
}

/// All actors of a world by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Actors(Vec<Actor>);

impl Actors {
    /// Gives out `count` numbers; `kind` makes the actor at each place.
    pub(crate) fn enlist(&mut self, count: usize, kind: impl Fn(usize) -> Actor) -> Ids {
        let first = self.0.len() as u32;
        self.0.extend((0..count).map(kind));
        Ids { first, count: count as u32 }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The actor with this number.
    pub(crate) fn of(&self, id: u32) -> Actor {
        self.0[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_actors() {
        let mut actors = Actors::default();
        let cells = actors.enlist(2, Actor::Cell);
        let bin = actors.enlist(1, |_| Actor::Bin);
        let none = actors.enlist(0, Actor::Gate);
        let lines = actors.enlist(3, Actor::Line);
        assert_eq!((actors.len(), none.count), (6, 0));
        assert_eq!(actors.of(cells.of(1)), Actor::Cell(1));
        assert_eq!(actors.of(bin.of(0)), Actor::Bin);
        assert_eq!(actors.of(lines.of(0)), Actor::Line(0));
        assert_eq!(actors.of(lines.of(2)), Actor::Line(2));
    }
}
