//! A two-ended test line between two machines under test.
//!
//! Each direction has its own [`Wire`]: rate and drop-tail queue first, then loss, duplication and
//! corruption, then delay and jitter. Jitter is drawn per item, so it reorders. The line is driven
//! by the caller's `now` and draws from named streams of one [`Seed`], so a failure replays.
//!
//! ```
//! use fairwave_machine::line::{End, Line, Wire};
//! use fairwave_units::{Duration, Instant, Seed};
//!
//! let wire = Wire { delay: Duration::from_millis(10), ..Wire::default() };
//! let mut line = Line::symmetric(Seed(1), wire);
//! line.send(Instant::ZERO, End::A, "hello", 40);
//! let at = line.next_arrival().unwrap();
//! assert_eq!(line.arrive(at), Some((End::B, "hello")));
//! ```

use core::fmt;
use fairwave_units::{BitRate, Duration, Instant, Seed, Stream};
use std::collections::{BTreeMap, VecDeque};

#[cfg(test)]
mod tests;

/// One of the two ends of a [`Line`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The first end, by custom the client or sender.
    A,
    /// The second end, by custom the server or receiver.
    B,
}

impl End {
    /// The opposite end.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Treatment of the items in one direction of a [`Line`]. The default does nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wire {
    /// Propagation delay of every item.
    pub delay: Duration,
    /// Additional delay per item, uniform over `[0, jitter)`; items may overtake each other.
    pub jitter: Duration,
    /// Probability that an item vanishes after it was transmitted.
    pub loss: f64,
    /// Probability that an item arrives twice, each copy with its own jitter.
    pub duplicate: f64,
    /// Probability that the corruption hook is applied to an item (to each copy independently).
    pub corrupt: f64,
    /// Transmission rate; `None` transmits at once.
    pub rate: Option<BitRate>,
    /// Maximum number of items that wait or are in transmission, beyond which an arriving item is
    /// dropped. `None` never drops; without a rate nothing ever waits.
    pub queue: Option<usize>,
}

/// Counters of one direction so far, in items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Items given to [`Line::send`].
    pub sent: u64,
    /// Items dropped at the full queue.
    pub overflowed: u64,
    /// Items lost after transmission.
    pub lost: u64,
    /// Extra copies made.
    pub duplicated: u64,
    /// Items changed by the corruption hook.
    pub corrupted: u64,
}

/// Changes an item on the wire, drawing whatever it needs from the stream.
pub type Corruption<T> = Box<dyn FnMut(&mut T, &mut Stream) + Send>;

/// A line between [`End::A`] and [`End::B`] carrying items of type `T`.
pub struct Line<T: Clone> {
    from_a: Way,
    from_b: Way,
    corruption: Option<Corruption<T>>,
    /// By arrival time, ties by insertion number.
    flying: BTreeMap<(Instant, u64), (End, T)>,
    inserted: u64,
    seed: Seed,
}

/// One direction: its settings and the state of its transmitter.
struct Way {
    wire: Wire,
    stream: Stream,
    /// Ends of the transmissions under way or waiting, in order.
    departures: VecDeque<Instant>,
    tally: Tally,
}

impl<T: Clone> Line<T> {
    /// Makes a line with `from_a` for the items that A sends and `from_b` for the items that B
    /// sends.
    pub fn new(seed: Seed, from_a: Wire, from_b: Wire) -> Self {
        Self {
            from_a: Way::new(from_a, seed.stream("line/a")),
            from_b: Way::new(from_b, seed.stream("line/b")),
            corruption: None,
            flying: BTreeMap::new(),
            inserted: 0,
            seed,
        }
    }

    /// A line with the same settings in both directions; their draws are independent.
    pub fn symmetric(seed: Seed, wire: Wire) -> Self {
        Self::new(seed, wire, wire)
    }

    /// Sets the meaning of corruption; without it [`Wire::corrupt`] does nothing.
    #[must_use]
    pub fn with_corruption(
        mut self,
        hook: impl FnMut(&mut T, &mut Stream) + Send + 'static,
    ) -> Self {
        self.corruption = Some(Box::new(hook));
        self
    }

    /// Puts `item` of `size_bytes` on the line at the end `from`. Its fate is decided now.
    pub fn send(&mut self, now: Instant, from: End, item: T, size_bytes: u64) {
        let Some(departed) = self.way(from).transmit(now, size_bytes) else { return };
        let copies = self.way(from).copies();
        for _ in 1..copies {
            self.launch(departed, from, item.clone());
        }
        if copies > 0 {
            self.launch(departed, from, item);
        }
    }

    /// Returns the time at which the next item arrives at either end.
    pub fn next_arrival(&self) -> Option<Instant> {
        self.flying.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next item due by `now` and the end it arrives at. Call until `None`.
    pub fn arrive(&mut self, now: Instant) -> Option<(End, T)> {
        let entry = self.flying.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }

    /// Changes the settings of the direction from `from`; items in flight keep theirs.
    pub fn set_wire(&mut self, from: End, wire: Wire) {
        self.way(from).wire = wire;
    }

    /// Returns the counters of the items that `from` sent so far.
    pub fn tally(&self, from: End) -> Tally {
        match from {
            End::A => self.from_a.tally,
            End::B => self.from_b.tally,
        }
    }

    /// The seed, for the message of a failing test.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    fn launch(&mut self, departed: Instant, from: End, mut item: T) {
        let way = match from {
            End::A => &mut self.from_a,
            End::B => &mut self.from_b,
        };
        if let Some(hook) = &mut self.corruption
            && way.stream.chance(way.wire.corrupt)
        {
            hook(&mut item, &mut way.stream);
            way.tally.corrupted += 1;
        }
        let at = departed + way.flight_time();
        self.flying.insert((at, self.inserted), (from.other(), item));
        self.inserted += 1;
    }

    fn way(&mut self, from: End) -> &mut Way {
        match from {
            End::A => &mut self.from_a,
            End::B => &mut self.from_b,
        }
    }
}

impl<T: Clone> fmt::Debug for Line<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("seed", &self.seed)
            .field("from_a", &(self.from_a.wire, self.from_a.tally))
            .field("from_b", &(self.from_b.wire, self.from_b.tally))
            .field("flying", &self.flying.len())
            .finish_non_exhaustive()
    }
}

impl Way {
    fn new(wire: Wire, stream: Stream) -> Self {
        Self { wire, stream, departures: VecDeque::new(), tally: Tally::default() }
    }

    /// Returns the time at which the item has left the transmitter, or `None` if the queue was
    /// full.
    fn transmit(&mut self, now: Instant, size_bytes: u64) -> Option<Instant> {
        self.tally.sent += 1;
        let Some(rate) = self.wire.rate else { return Some(now) };
        while self.departures.front().is_some_and(|end| *end <= now) {
            self.departures.pop_front();
        }
        if self.wire.queue.is_some_and(|limit| self.departures.len() >= limit) {
            self.tally.overflowed += 1;
            return None;
        }
        let start = self.departures.back().copied().unwrap_or(now);
        let end = start + rate.time_for(size_bytes);
        self.departures.push_back(end);
        Some(end)
    }

    /// Returns the number of copies of the next item that arrive: 0, 1 or 2.
    fn copies(&mut self) -> u32 {
        if self.stream.chance(self.wire.loss) {
            self.tally.lost += 1;
            return 0;
        }
        let twice = self.stream.chance(self.wire.duplicate);
        self.tally.duplicated += u64::from(twice);
        1 + u32::from(twice)
    }

    fn flight_time(&mut self) -> Duration {
        let jitter = match self.wire.jitter.as_nanos() {
            0 => 0,
            max => self.stream.below(max),
        };
        self.wire.delay + Duration::from_nanos(jitter)
    }
}
