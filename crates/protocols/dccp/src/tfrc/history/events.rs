//! Loss events and the intervals between them.

use super::facts::{Arrival, LossInterval, Rule};
use super::holes::Hole;
use crate::tfrc::average::{self, Method, N, Weighed};
use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;

/// Events that are remembered: those of all intervals that are averaged, and some to fall back on
/// when late packets undo events.
const REMEMBERED: usize = N + 5;
/// Arrivals that are remembered, to look for the first that ends an event by its counter.
const RECENT: usize = 16;
/// A counter this far ahead is in the same round trip (RFC 4342, section 10.2).
const SAME_ROUND: u8 = 4;

/// A loss event.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// Its first lost packet, and when that would have arrived.
    start: u64,
    at: Instant,
    /// The counter of the greatest number that arrived below, and the first number above that
    /// whose counter is in another round trip.
    counter_below: u8,
    ended_by: u64,
    /// Its last lost packet, and how many there are.
    last: u64,
    lost: u64,
    /// Packets in its interval that do not count.
    apart: u64,
    /// The general discount factor when it began, which has become part of the factors of older
    /// intervals.
    folded: f64,
}

/// A recent arrival.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    seq: u64,
    counter: u8,
    /// Whether it counts in no interval.
    apart: bool,
}

/// The last loss events, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Events {
    rule: Rule,
    threshold: Option<f64>,
    all: VecDeque<Event>,
    /// The interval before the oldest event, while that is the first of all.
    seed: Option<f64>,
    reported: u64,
    recent: [Recent; RECENT],
    recent_next: usize,
    /// Packets that undone events had set apart, oldest first, and the number of those given back.
    undone: [u64; REMEMBERED],
    undone_len: usize,
    given: usize,
}

impl Events {
    pub(super) fn new(rule: Rule, threshold: Option<f64>) -> Self {
        Self {
            rule,
            threshold,
            all: VecDeque::with_capacity(REMEMBERED + 1),
            seed: None,
            reported: 0,
            recent: [Recent::default(); RECENT],
            recent_next: 0,
            undone: [0; REMEMBERED],
            undone_len: 0,
            given: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The number of the packet that began the oldest event.
    pub(super) fn first(&self) -> Option<u64> {
        self.all.front().map(|event| event.start)
    }

    pub(super) fn reported(&self) -> u64 {
        self.reported
    }

    pub(super) fn seed(&mut self, packets: f64) {
        debug_assert!(packets >= 1.0, "an interval of {packets} packets");
        if self.reported == self.all.len() as u64 {
            self.seed = Some(packets);
        }
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.seed = None;
        self.reported = 0;
    }

    /// Remembers an arrival: its counter may end the newest event.
    pub(super) fn note(&mut self, arrival: Arrival) {
        let Arrival { seq, counter, data, .. } = arrival;
        self.recent[self.recent_next] = Recent { seq, counter, apart: !data };
        self.recent_next = (self.recent_next + 1) % RECENT;
        if let Some(event) = self.all.back_mut()
            && arrival.seq > event.start
            && ahead(arrival.counter, event.counter_below) > SAME_ROUND
        {
            event.ended_by = event.ended_by.min(arrival.seq);
        }
    }

    /// Takes a lost hole, newer than all before.
    pub(super) fn add(&mut self, hole: &Hole, rtt: Duration) {
        match self.rule {
            Rule::Counter => self.add_by_counter(hole),
            Rule::Time => self.add_by_time(hole, rtt),
        }
    }

    fn add_by_counter(&mut self, hole: &Hole) {
        match self.all.back_mut() {
            Some(event) if event.ended_by >= hole.first => {
                debug_assert!(event.last < hole.first, "{hole:?} is counted twice in {event:?}");
                event.take(hole.first, hole.last);
            }
            _ => self.begin(hole, hole.first, hole.last),
        }
    }

    /// A hole in time is as many events as round trips fit into it.
    fn add_by_time(&mut self, hole: &Hole, rtt: Duration) {
        let rtt = rtt.max(Duration::from_micros(1));
        let mut from = hole.first;
        while from <= hole.last {
            let next = match self.all.back() {
                Some(event) => hole.first_later_than(event.at + rtt, from),
                None => Some(from),
            };
            let Some(next) = next else { return self.extend(from, hole.last) };
            if next > from {
                self.extend(from, next - 1);
            }
            let start = first_kept(hole, next, rtt);
            self.begin(hole, start, start);
            from = start + 1;
        }
    }

    fn extend(&mut self, first: u64, last: u64) {
        if let Some(event) = self.all.back_mut() {
            event.take(first, last);
        }
    }

    fn begin(&mut self, hole: &Hole, start: u64, last: u64) {
        let counter_below = hole.counter_below;
        let ended_by = self
            .recent
            .iter()
            .filter(|a| a.seq >= start && ahead(a.counter, counter_below) > SAME_ROUND)
            .map(|a| a.seq)
            .min();
        let apart = if self.undone_len > 0 { self.give_back() } else { self.move_apart(start) };
        let event = Event {
            start,
            at: hole.nominal(start),
            counter_below,
            ended_by: ended_by.unwrap_or(u64::MAX),
            last,
            lost: last - start + 1,
            apart,
            folded: self.discount(start),
        };
        debug_assert!(self.all.back().is_none_or(|last| last.start < start), "{event:?}");
        self.all.push_back(event);
        self.reported += 1;
        if self.all.len() > REMEMBERED {
            self.all.pop_front();
            // It is the interval before the first event of all, which is forgotten now.
            self.seed = None;
        }
    }

    /// The general discount factor at the end of the open interval.
    fn discount(&self, start: u64) -> f64 {
        if self.threshold.is_none() || self.all.is_empty() {
            return 1.0;
        }
        let mut intervals = [Weighed { packets: 0.0, discount: 1.0 }; N + 1];
        let count = self.weigh(start - 1, None, &mut intervals);
        let method = Method { n: N, threshold: self.threshold };
        average::average(&intervals[..count], method).map_or(1.0, |average| average.discount)
    }

    /// Sets packets apart that do not count in the open interval.
    pub(super) fn set_apart(&mut self, packets: u64) {
        if let Some(event) = self.all.back_mut() {
            event.apart += packets;
        }
    }

    /// Takes out of the open interval the packets that arrived apart since `start`, where the next
    /// begins.
    fn move_apart(&mut self, start: u64) -> u64 {
        let moved = self.recent.iter().filter(|a| a.apart && a.seq >= start).count() as u64;
        if let Some(event) = self.all.back_mut() {
            event.apart = event.apart.saturating_sub(moved);
        }
        moved
    }

    /// The start of the event that `seq` falls into.
    pub(super) fn start_at_or_before(&self, seq: u64) -> Option<u64> {
        self.all.iter().rev().map(|event| event.start).find(|start| *start <= seq)
    }

    /// A lost packet of an old event came after all.
    pub(super) fn one_less(&mut self, seq: u64) {
        if let Some(event) = self.all.iter_mut().rev().find(|event| event.start <= seq) {
            event.lost = event.lost.saturating_sub(1);
        }
    }

    /// Undoes the events from `start` on.
    pub(super) fn undo_from(&mut self, start: u64) {
        let at = self.all.partition_point(|event| event.start < start);
        self.undone_len = 0;
        self.given = 0;
        for event in self.all.drain(at..) {
            self.undone[self.undone_len] = event.apart;
            self.undone_len += 1;
        }
        self.reported -= self.undone_len as u64;
    }

    /// Packets that the undone event in the place of a new one had set apart.
    fn give_back(&mut self) -> u64 {
        let apart = self.undone[..self.undone_len].get(self.given).copied();
        self.given += usize::from(apart.is_some());
        apart.unwrap_or(0)
    }

    /// Ends the computation: packets set apart by undone events that no event took go to the
    /// newest.
    pub(super) fn finish(&mut self) {
        let rest = self.undone[self.given..self.undone_len].iter().sum();
        self.undone_len = 0;
        self.given = 0;
        self.set_apart(rest);
        if self.all.is_empty() {
            self.seed = None;
        }
    }

    /// Writes the intervals to average, the open one first, with their discount factors.
    pub(super) fn weigh(
        &self,
        highest: u64,
        old: Option<(u64, f64)>,
        into: &mut [Weighed; N + 1],
    ) -> usize {
        let (mut end, mut discount, mut count) = (highest + 1, 1.0, 0);
        for event in self.all.iter().rev().take(into.len()) {
            let aged = match old {
                Some((before, factor)) if count > 0 && event.start < before => factor,
                _ => 1.0,
            };
            let packets = event.data_length(end) as f64;
            into[count] = Weighed { packets, discount: discount * aged };
            discount *= if count == 0 { 1.0 } else { self.folded_after(count) };
            end = event.start;
            count += 1;
        }
        if let Some(packets) = self.seed.filter(|_| count > 0 && count < into.len()) {
            let aged = old.map_or(1.0, |(_, factor)| factor);
            into[count] = Weighed { packets, discount: discount * aged };
            count += 1;
        }
        count
    }

    /// The factor of interval `i + 1` beyond interval `i`: the discount folded when interval `i -
    /// 1` began.
    fn folded_after(&self, i: usize) -> f64 {
        self.all[self.all.len() - i].folded
    }

    /// Writes the intervals as CCID 3 reports them, newest first.
    pub(super) fn report(&self, end: u64, first: u64, into: &mut [LossInterval]) -> usize {
        let (mut end, mut count) = (end + 1, 0);
        for event in self.all.iter().rev().take(into.len()) {
            let lossy = (event.last + 1).min(end) - event.start.min(end);
            into[count] = LossInterval {
                lossless: end.saturating_sub(event.start) - lossy,
                lossy,
                data: event.data_length(end),
                dropped: event.lost,
            };
            end = event.start;
            count += 1;
        }
        let only = self.all.is_empty();
        if (only || self.seed.is_some()) && count < into.len() {
            let data = self.seed.map_or(0, |packets| (packets + 0.5) as u64);
            into[count] =
                LossInterval { lossless: end.saturating_sub(first), lossy: 0, data, dropped: 0 };
            count += 1;
        }
        count
    }
}

impl Event {
    fn take(&mut self, first: u64, last: u64) {
        debug_assert!(first <= last && self.start <= last, "{first} to {last} in {self:?}");
        self.last = last;
        self.lost += last - first + 1;
    }

    /// The data length of its interval, which ends before `end`; at least one packet.
    fn data_length(&self, end: u64) -> u64 {
        end.saturating_sub(self.start).saturating_sub(self.apart).max(1)
    }
}

/// Of the events of a very long hole, the oldest would be forgotten at once: where to begin.
fn first_kept(hole: &Hole, next: u64, rtt: Duration) -> u64 {
    let Some(second) = hole.first_later_than(hole.nominal(next) + rtt, next + 1) else {
        return next;
    };
    let stride = second - next;
    let events = (hole.last - next) / stride;
    next + events.saturating_sub(2 * REMEMBERED as u64) * stride
}

/// Returns the lead of counter `a` over `b`, modulo 16.
fn ahead(a: u8, b: u8) -> u8 {
    a.wrapping_sub(b) & 0xf
}
