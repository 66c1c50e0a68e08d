//! Collection of the results of an analysis: a bounded number of streams, the worst first.

use super::events::Events;
use super::select::Selection;
use fairwave_trace::analysis::{Kind, Point, Points, Stream, StreamId};
use std::collections::BTreeMap;

/// Maximum number of streams that are kept, of TCP and UDP together; others are only counted.
pub const KEPT_MAX: usize = 10_000;

/// Keeps selected streams, and the events of those selected by name.
#[derive(Debug)]
pub struct Collector {
    selection: Selection,
    kept: Vec<Stream>,
    left_out: u64,
    events: BTreeMap<StreamId, Events>,
}

impl Collector {
    /// Creates a collector for the streams of a selection.
    pub fn new(selection: Selection) -> Self {
        let events = selection.streams.iter().map(|name| (name.0, Events::default())).collect();
        Self { selection, kept: Vec::new(), left_out: 0, events }
    }

    /// The streams, the worst first; the events of each stream that was named; and the number of
    /// further streams.
    pub(super) fn into_parts(mut self) -> (Vec<Stream>, BTreeMap<StreamId, Events>, u64) {
        self.order();
        (self.kept, self.events, self.left_out)
    }

    fn order(&mut self) {
        self.kept.sort_by_key(|stream| (std::cmp::Reverse(Badness::of(stream)), stream.id));
        let surplus = self.kept.len().saturating_sub(KEPT_MAX);
        self.kept.truncate(KEPT_MAX);
        self.left_out += surplus as u64;
    }
}

impl Points for Collector {
    fn stream(&mut self, stream: Stream) {
        if self.selection.takes(&stream) {
            self.kept.push(stream);
        }
        if self.kept.len() >= 2 * KEPT_MAX {
            self.order();
        }
    }

    fn point(&mut self, point: &Point) {
        if self.events.is_empty() {
            return;
        }
        if let Some(events) = self.events.get_mut(&point.stream) {
            events.add(point);
        }
    }
}

/// Sort key of streams: starvation, then timeouts, then retransmissions (for datagrams: losses),
/// then volume, each of both ends together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Badness {
    starved_ns: u64,
    timeouts: u64,
    resent: u64,
    payload_bytes: u64,
}

impl Badness {
    fn of(stream: &Stream) -> Self {
        let sum = |part: fn(&fairwave_trace::analysis::Way) -> u64| {
            stream.ways.iter().map(part).fold(0, u64::saturating_add)
        };
        let lost = sum(|way| way.numbers.map_or(0, |numbers| numbers.lost));
        Self {
            starved_ns: sum(|way| way.tcp.starvation.total.as_nanos()),
            timeouts: sum(|way| way.tcp.count(Kind::Timeout)),
            resent: sum(|way| way.tcp.retransmissions()).saturating_add(lost),
            payload_bytes: sum(|way| way.volume.payload_bytes),
        }
    }
}
