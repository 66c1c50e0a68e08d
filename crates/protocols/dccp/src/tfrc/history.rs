//! From packets that arrive to loss events (RFC 5348, sections 5.1 to 5.3; RFC 4342, section 10.2).
//!
//! A packet is lost when [`NDUPACK`] packets with higher numbers arrived; one that comes later
//! still fills the hole again, and the loss events are recomputed from there. Losses within a
//! round trip are one event. What a round trip is, a [`Rule`] says: by nominal times of arrival, or
//! by the window counter of CCID 3. By time a long gap in the arrivals is many events, by counters
//! it is one, for nothing arrived that could tell losses apart.
//!
//! Sequence numbers are extended to 64 bits by the caller and never wrap.

mod events;
mod facts;
mod holes;
#[cfg(test)]
mod tests;

use super::average::{self, Average, Method, N, Weighed};
use events::Events;
pub use facts::{Arrival, LossInterval, NDUPACK, Rule};
use fairwave_units::{Duration, Instant};
use holes::{Hole, Holes, State};

/// Change by an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// A loss event began.
    pub began: bool,
    /// It is the first one: [`History::seed`] waits to be called.
    pub first: bool,
    /// A late packet filled a hole that had been lost: the events were computed anew.
    pub filled: bool,
    /// The packet came before, or too late for anybody to remember.
    pub old: bool,
}

/// Losses to leave out: those of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blind {
    /// From this nominal time on,
    pub from: Instant,
    /// until this one,
    pub until: Instant,
    /// and in any case up to this number, the last one sent before the end.
    pub through: Option<u64>,
}

/// Rules for the intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct View {
    /// The weights.
    pub method: Method,
    /// Closed intervals that began before this number count by this factor only.
    pub old: Option<(u64, f64)>,
}

/// Packets, holes and loss events of one direction.
#[derive(Clone, Debug)]
pub struct History {
    threshold: Option<f64>,
    highest: Option<Arrival>,
    latest: Option<Arrival>,
    first: u64,
    holes: Holes,
    events: Events,
    blind: Option<Blind>,
}

impl History {
    /// An empty history. `threshold` discounts as in RFC 5348, section 5.5.
    pub fn new(rule: Rule, threshold: Option<f64>) -> Self {
        Self {
            threshold,
            highest: None,
            latest: None,
            first: 0,
            holes: Holes::default(),
            events: Events::new(rule, threshold),
            blind: None,
        }
    }

    /// Takes an arrival; `rtt` is the sender's round-trip time, which [`Rule::Time`] asks for.
    pub fn arrive(&mut self, arrival: Arrival, rtt: Duration) -> Change {
        let (before, reported) = (self.events.len(), self.events.reported());
        let mut change = match self.highest {
            None => self.begin(arrival),
            Some(highest) if arrival.seq <= highest.seq => self.late(arrival, rtt),
            Some(highest) => self.next(highest, arrival),
        };
        if change.old {
            return change;
        }
        self.latest = Some(arrival);
        self.declare(arrival, rtt);
        change.began = self.events.reported() > reported;
        change.first = before == 0 && self.events.len() > 0;
        change
    }

    /// Sets the length of the interval before the first loss event, in packets (RFC 5348,
    /// section 6.3.1).
    pub fn seed(&mut self, packets: f64) {
        self.events.seed(packets);
    }

    /// The packets that were sent before the first loss event that is remembered.
    pub fn before_loss(&self) -> u64 {
        self.events.first().map_or(0, |start| start.saturating_sub(self.first))
    }

    /// The average loss interval; `None` before the first loss.
    pub fn average(&self, view: View) -> Option<Average> {
        let highest = self.highest?.seq;
        let mut intervals = [Weighed { packets: 0.0, discount: 1.0 }; N + 1];
        let count = self.events.weigh(highest, view.old, &mut intervals);
        average::average(&intervals[..count], Method { threshold: self.threshold, ..view.method })
    }

    /// The loss event rate p; 0 before the first loss.
    pub fn p(&self, view: View) -> f64 {
        self.average(view).map_or(0.0, |average| 1.0 / average.interval.max(1.0))
    }

    /// The highest number that arrived.
    pub fn highest(&self) -> Option<u64> {
        self.highest.map(|arrival| arrival.seq)
    }

    /// Returns the number of loss events, less those that late packets undid.
    pub fn events_so_far(&self) -> u64 {
        self.events.reported()
    }

    /// Returns the number of the latest packets that are part of no loss interval yet, at most
    /// [`NDUPACK`]: they may be holes or not (Skip Length of RFC 4342, section 8.6.1).
    pub fn skip(&self) -> u64 {
        let Some(highest) = self.highest else { return 0 };
        let pending = self.holes.first_pending().map(|first| first.max(self.first));
        let skip = |first: u64| (highest.seq + 1).saturating_sub(first).min(u64::from(NDUPACK));
        pending.map_or(0, skip)
    }

    /// Writes the loss intervals, newest first, and says how many there are. The oldest is the
    /// interval before the first loss if that is not too long ago.
    pub fn intervals(&self, into: &mut [LossInterval]) -> usize {
        let Some(highest) = self.highest else { return 0 };
        self.events.report(highest.seq - self.skip(), self.first, into)
    }

    /// Leaves out losses from now on that fall into `blind`: they begin no event, and the
    /// sequence space they take is no part of the interval they fall into.
    pub fn leave_out(&mut self, blind: Option<Blind>) {
        self.blind = blind;
    }

    /// Forgets all events; the packets that arrived stay known.
    pub fn forget_events(&mut self) {
        self.holes.forget_lost();
        self.events.clear();
        self.first = self.highest.map_or(0, |highest| highest.seq + 1);
    }

    /// Forgets all events, and begins anew behind number `last`: losses up to it, and runs of
    /// losses that go on beyond it, are left out.
    pub fn begin_after(&mut self, last: u64) {
        self.forget_events();
        self.first = self.first.max(last + 1);
        let (from, until) = (Instant::MAX, Instant::ZERO);
        self.blind = Some(Blind { from, until, through: Some(last) });
    }

    fn begin(&mut self, arrival: Arrival) -> Change {
        self.first = arrival.seq;
        self.highest = Some(arrival);
        if arrival.marked {
            self.holes.insert(Hole::mark(arrival, arrival.counter));
        }
        self.events.note(arrival);
        Change::default()
    }

    fn next(&mut self, highest: Arrival, arrival: Arrival) -> Change {
        let before = self.latest.unwrap_or(highest);
        if arrival.seq > highest.seq + 1 {
            let (first, last) = (highest.seq + 1, arrival.seq - 1);
            self.holes.insert(Hole::between(first, last, before, arrival, highest.counter));
        }
        self.highest = Some(arrival);
        self.holes.count_higher(arrival.seq);
        if arrival.marked {
            self.holes.give_up_below(arrival.seq);
            self.holes.insert(Hole::mark(arrival, highest.counter));
        }
        self.events.note(arrival);
        Change::default()
    }

    /// A packet that is not the highest: it fills a hole or was here before.
    fn late(&mut self, arrival: Arrival, rtt: Duration) -> Change {
        let Some(was) = self.holes.fill(arrival) else {
            return Change { old: true, ..Change::default() };
        };
        self.holes.count_higher(arrival.seq);
        self.events.note(arrival);
        let filled = was == State::Lost;
        let pending = matches!(was, State::Missing(_));
        if arrival.marked {
            let mark = Hole::mark(arrival, arrival.counter);
            if pending {
                // No event at or above it was reported. It is in the order of numbers, after
                // what is missing below: nothing may be missing below what is lost.
                self.holes.give_up_below(arrival.seq);
                self.holes.insert(mark);
            } else {
                self.holes.insert(Hole { state: State::Lost, ..mark });
            }
        }
        if filled || (arrival.marked && !pending) {
            self.recompute_events(arrival.seq, rtt);
        }
        Change { filled, ..Change::default() }
    }

    /// Computes events anew from the one that `seq` was a part of.
    fn recompute_events(&mut self, seq: u64, rtt: Duration) {
        let from = match self.events.start_at_or_before(seq) {
            Some(from) => from,
            None if self.events.len() == 0 => seq,
            None => return,
        };
        if self.holes.forgot(from) {
            self.events.one_less(seq);
            return;
        }
        self.events.undo_from(from);
        for hole in self.holes.lost_since(from) {
            self.events.add(hole, rtt);
        }
        self.events.finish();
    }

    /// Declares lost the packets that have been missing for long enough.
    fn declare(&mut self, arrival: Arrival, rtt: Duration) {
        if !arrival.data {
            self.events.set_apart(1);
        }
        while let Some(hole) = self.holes.next_overdue() {
            let left_out = self.blind.is_some_and(|blind| blind.covers(hole));
            hole.state = if left_out { State::LeftOut } else { State::Lost };
            let hole = *hole;
            if left_out {
                self.events.set_apart(hole.len());
            } else {
                self.events.add(&hole, rtt);
            }
        }
        self.holes.trim();
    }
}

impl Blind {
    /// Whether all of a hole is to be left out: it was open during the handover, or its packets
    /// were sent before the end.
    fn covers(self, hole: &Hole) -> bool {
        let during = hole.before.at <= self.until && hole.after.at >= self.from;
        during || self.through.is_some_and(|through| hole.first <= through)
    }
}
