//! Sequence numbers that did not arrive, or arrived with a mark.

use super::facts::{Arrival, NDUPACK};
use fairwave_units::Instant;
use std::collections::VecDeque;

/// Holes that are remembered, so that a late packet can fill them. Fairwave's bound: a packet that
/// comes after this many further holes stays lost.
const REMEMBERED: usize = 64;

/// State of a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// This number of packets with higher numbers arrived.
    Missing(u8),
    /// Its packets are lost, or marked.
    Lost,
    /// Its packets are lost to a handover and do not count.
    LeftOut,
}

/// Missing packets next to each other, or one that is marked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hole {
    pub(super) first: u64,
    pub(super) last: u64,
    /// The arrival before there were any with higher numbers, and the first of those.
    pub(super) before: Arrival,
    pub(super) after: Arrival,
    /// The window counter of the greatest number that arrived below.
    pub(super) counter_below: u8,
    pub(super) state: State,
    pub(super) marked: bool,
}

impl Hole {
    pub(super) fn between(
        first: u64,
        last: u64,
        before: Arrival,
        after: Arrival,
        counter_below: u8,
    ) -> Self {
        Self { first, last, before, after, counter_below, state: State::Missing(0), marked: false }
    }

    pub(super) fn mark(at: Arrival, counter_below: u8) -> Self {
        Self { marked: true, ..Self::between(at.seq, at.seq, at, at, counter_below) }
    }

    pub(super) fn len(&self) -> u64 {
        self.last - self.first + 1
    }

    /// The nominal time of arrival of `seq`, interpolated (RFC 5348, section 5.2).
    pub(super) fn nominal(&self, seq: u64) -> Instant {
        let distance = self.after.seq.saturating_sub(self.before.seq);
        if distance == 0 {
            return self.before.at;
        }
        let span = u128::from(self.after.at.since(self.before.at).as_nanos());
        let nanos = span * u128::from(seq.saturating_sub(self.before.seq)) / u128::from(distance);
        Instant::from_nanos(self.before.at.as_nanos() + nanos as u64)
    }

    /// The first number from `from` on whose nominal time is later than `limit`.
    pub(super) fn first_later_than(&self, limit: Instant, from: u64) -> Option<u64> {
        if self.nominal(self.last) <= limit || from > self.last {
            return None;
        }
        if self.nominal(from) > limit {
            return Some(from);
        }
        // Somewhere in (from, last]: nominal times do not decrease.
        let (mut early, mut late) = (from, self.last);
        while late - early > 1 {
            let middle = early + (late - early) / 2;
            if self.nominal(middle) > limit {
                late = middle;
            } else {
                early = middle;
            }
        }
        Some(late)
    }

    fn is_overdue(&self) -> bool {
        matches!(self.state, State::Missing(higher) if higher >= NDUPACK || self.marked)
    }
}

/// Holes in the order of their numbers.
#[derive(Clone, Debug)]
pub(super) struct Holes {
    all: VecDeque<Hole>,
    /// The number below which holes were forgotten.
    forgotten: u64,
}

impl Default for Holes {
    fn default() -> Self {
        // Beyond those remembered: what one arrival can add before they are trimmed.
        Self { all: VecDeque::with_capacity(REMEMBERED + 4), forgotten: 0 }
    }
}

impl Holes {
    pub(super) fn insert(&mut self, hole: Hole) {
        let at = self.all.partition_point(|other| other.first < hole.first);
        self.all.insert(at, hole);
        debug_assert!(self.is_in_order(at), "{hole:?} overlaps another");
    }

    /// Whether the hole at a place lies between its neighbours.
    fn is_in_order(&self, at: usize) -> bool {
        let Hole { first, last, .. } = self.all[at];
        let below = at.checked_sub(1).map(|below| self.all[below].last);
        let above = self.all.get(at + 1).map(|above| above.first);
        below.is_none_or(|below| below < first) && above.is_none_or(|above| last < above)
    }

    /// Counts an arrival for the holes below it.
    pub(super) fn count_higher(&mut self, seq: u64) {
        for hole in self.all.iter_mut().rev() {
            match &mut hole.state {
                State::Missing(higher) if hole.last < seq => *higher = higher.saturating_add(1),
                State::Missing(_) => {}
                // Below a lost hole there are only lost ones.
                State::Lost | State::LeftOut => return,
            }
        }
    }

    /// Makes the missing packets below `seq` overdue, as a mark does (RFC 5348, section 5.1).
    pub(super) fn give_up_below(&mut self, seq: u64) {
        for hole in self.all.iter_mut().rev().filter(|hole| hole.last < seq) {
            if let State::Missing(higher) = &mut hole.state {
                *higher = NDUPACK;
            }
        }
    }

    /// The first hole that is missing for long enough, if any is. Those are the newest of all.
    pub(super) fn next_overdue(&mut self) -> Option<&mut Hole> {
        let missing = |hole: &&mut Hole| matches!(hole.state, State::Missing(_));
        let overdue = self.all.iter_mut().rev().take_while(missing);
        overdue.filter(|hole| hole.is_overdue()).last()
    }

    /// Takes `arrival` out of the hole it belongs to and returns the state of that.
    pub(super) fn fill(&mut self, arrival: Arrival) -> Option<State> {
        let at = self.all.partition_point(|hole| hole.last < arrival.seq);
        let hole = *self.all.get(at)?;
        if hole.first > arrival.seq || hole.marked {
            return None;
        }
        self.all.remove(at);
        if hole.last > arrival.seq {
            let upper = Hole { first: arrival.seq + 1, counter_below: arrival.counter, ..hole };
            self.all.insert(at, upper);
        }
        if hole.first < arrival.seq {
            self.all.insert(at, Hole { last: arrival.seq - 1, ..hole });
        }
        Some(hole.state)
    }

    /// The first number that is missing but not lost.
    pub(super) fn first_pending(&self) -> Option<u64> {
        let missing = |hole: &&Hole| matches!(hole.state, State::Missing(_));
        self.all.iter().rev().take_while(missing).last().map(|hole| hole.first)
    }

    /// Whether holes from `seq` on may have been forgotten.
    pub(super) fn forgot(&self, seq: u64) -> bool {
        seq < self.forgotten
    }

    /// The lost holes that reach to `seq` or beyond.
    pub(super) fn lost_since(&self, seq: u64) -> impl Iterator<Item = &Hole> {
        let at = self.all.partition_point(move |hole| hole.last < seq);
        self.all.iter().skip(at).filter(|hole| hole.state == State::Lost)
    }

    /// Forgets the holes that are lost.
    pub(super) fn forget_lost(&mut self) {
        while self.all.front().is_some_and(|hole| !matches!(hole.state, State::Missing(_))) {
            self.forget_oldest();
        }
    }

    /// Keeps memory within bounds.
    pub(super) fn trim(&mut self) {
        debug_assert!(
            self.all.iter().is_sorted_by_key(|hole| matches!(hole.state, State::Missing(_))),
            "missing below what is lost: {:?}",
            self.all
        );
        while self.all.len() > REMEMBERED {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(hole) = self.all.pop_front() {
            self.forgotten = hole.last + 1;
        }
    }
}
