//! Events of a connection over time.

use fairwave_trace::analysis::{Kind, Mark, Point, Side, SpellKind};
use fairwave_units::Instant;
use schemars::JsonSchema;
use serde::Serialize;

/// Maximum number of events that are kept for one connection.
pub const EVENTS_MAX: usize = 1000;

/// An event that is worth a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Event {
    /// Its time since the first packet of the capture.
    pub at_ns: u64,
    /// The end whose data it affects: `a` or `b`.
    pub side: char,
    /// Its kind: `timeout`, `ack_gap`, `starvation`, `idle` or `zero_window`.
    pub what: &'static str,
    /// Its duration; null for a timeout.
    pub length_ns: Option<u64>,
}

/// The events of a connection, in the order of their beginnings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Events {
    /// The first events.
    pub first: Vec<Event>,
    /// Number of further events.
    pub more: u64,
}

impl Events {
    /// Adds a point, if it is an event.
    pub(super) fn add(&mut self, point: &Point) {
        let (what, length_ns) = match point.mark {
            Mark::Segment { kind: Kind::Timeout, .. } => ("timeout", None),
            Mark::Spell { kind, length } => (word(kind), Some(length.as_nanos())),
            _ => return,
        };
        if self.first.len() == EVENTS_MAX {
            self.more += 1;
            return;
        }
        let side = letter(point.side);
        self.first.push(Event { at_ns: point.at.as_nanos(), side, what, length_ns });
    }

    /// Makes times relative to `origin`, and sorts the events by their beginnings: spells are
    /// reported at their ends.
    pub(super) fn order(&mut self, origin: Instant) {
        for event in &mut self.first {
            event.at_ns = event.at_ns.saturating_sub(origin.as_nanos());
        }
        self.first.sort_by_key(|event| event.at_ns);
    }
}

/// The side's letter in results.
pub(super) const fn letter(side: Side) -> char {
    match side {
        Side::A => 'a',
        Side::B => 'b',
    }
}

const fn word(kind: SpellKind) -> &'static str {
    match kind {
        SpellKind::AckGap => "ack_gap",
        SpellKind::Starvation => "starvation",
        SpellKind::Idle => "idle",
        SpellKind::ZeroWindow => "zero_window",
    }
}
