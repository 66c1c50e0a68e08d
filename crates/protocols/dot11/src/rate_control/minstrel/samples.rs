//! Rates that are worth a sample, and the times of samples.
//!
//! There are three kinds: the next faster rate of each group, so that a link that improves is
//! followed step by step; any faster rate, so that a sudden change is found; and rates between
//! those in use, so that the retry chain improves. Lists of them are filled up every interval.

use super::super::control::Rate;
use core::ops::Range;
use fairwave_units::{Duration, Instant, Stream};
use std::collections::VecDeque;

/// From one sample to the next.
const EVERY: Duration = Duration::from_millis(20);
/// Maximum number of rates of a kind that wait for their turn.
const MAX: usize = 5;
/// A slow rate that succeeds more often needs no sample.
const PROVEN: f64 = 0.95;

/// Reason for which a rate is sampled.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The slowest of its group that is faster than the best.
    Increment,
    /// Any that is faster than those in use.
    Jump,
    /// One between those in use.
    Slow,
}

/// The order of kinds.
const TURNS: [Kind; 6] =
    [Kind::Increment, Kind::Jump, Kind::Increment, Kind::Jump, Kind::Increment, Kind::Slow];

/// Rates that wait to be sampled.
#[derive(Clone, Debug)]
pub(super) struct Samples {
    /// By kind.
    waiting: [VecDeque<usize>; 3],
    turn: usize,
    next_at: Instant,
    /// Rates of each group.
    groups: Vec<Range<usize>>,
    /// The groups that the last increment and the last jump came from.
    increment: usize,
    jump: usize,
    stream: Stream,
}

impl Samples {
    pub(super) fn new(rates: &[Rate], stream: Stream) -> Self {
        debug_assert!(rates.is_sorted_by_key(|rate| rate.group), "{rates:?}");
        let groups: Vec<Range<usize>> = rates
            .chunk_by(|a, b| a.group == b.group)
            .scan(0, |begin, group| {
                let range = *begin..*begin + group.len();
                *begin = range.end;
                Some(range)
            })
            .collect();
        let (turn, next_at) = (0, Instant::ZERO);
        let waiting = [(); 3].map(|()| VecDeque::with_capacity(MAX));
        let (increment, jump) = (groups.len() - 1, groups.len() - 1);
        Self { waiting, turn, next_at, groups, increment, jump, stream }
    }

    /// The group that a rate gives way to: that of one stream less over the same width, with a
    /// single stream the next narrower one.
    pub(super) fn group_below(&self, rates: &[Rate], rate: usize) -> Option<usize> {
        let Rate { streams, group, .. } = rates[rate];
        // Each number of streams has the same widths.
        let widths = self.groups.iter().filter(|own| rates[own.start].streams == streams).count();
        group.checked_sub(widths).or_else(|| group.checked_sub(1))
    }

    /// An interval begins, and with it a new wait for samples.
    pub(super) fn restart(&mut self, now: Instant) {
        self.next_at = now;
    }

    /// The rate of a sample that is due at `now`. A turn of a kind of which no rate waits passes
    /// without a sample.
    pub(super) fn next(&mut self, now: Instant) -> Option<usize> {
        if now < self.next_at {
            return None;
        }
        self.next_at = now + EVERY;
        let kind = TURNS[self.turn];
        self.turn = (self.turn + 1) % TURNS.len();
        self.waiting[kind as usize].pop_front()
    }

    /// Fills the lists up, given the rates in use, the one with the maximum throughput first.
    pub(super) fn refill(
        &mut self,
        rates: &[Rate],
        in_use: [usize; 3],
        success: impl Fn(usize) -> f64,
    ) {
        let times = in_use.map(|i| rates[i].mpdu);
        let (fast, slow) = (times.into_iter().min(), times.into_iter().max());
        let (fast, slow) = (fast.unwrap_or(times[0]), slow.unwrap_or(times[0]));
        let time = |i: usize| rates[i].mpdu;
        let [increments, jumps, slows] = &mut self.waiting;
        increments.retain(|i| time(*i) < fast);
        jumps.retain(|i| time(*i) < fast);
        slows.retain(|i| fast < time(*i) && time(*i) < slow);
        while self.waiting[Kind::Increment as usize].len() < MAX {
            let Some(rate) = self.next_increment(time, times[0]) else { break };
            self.waiting[Kind::Increment as usize].push_back(rate);
        }
        while self.waiting[Kind::Jump as usize].len() < MAX {
            let Some(rate) = self.next_jump(time, fast, slow, &success) else { break };
            self.waiting[Kind::Jump as usize].push_back(rate);
        }
    }

    /// The first rate that is faster than `best` of the next group that has one which does not
    /// wait yet.
    fn next_increment(
        &mut self,
        time: impl Fn(usize) -> Duration,
        best: Duration,
    ) -> Option<usize> {
        for _ in 0..self.groups.len() {
            self.increment = (self.increment + 1) % self.groups.len();
            let faster = self.groups[self.increment].clone().find(|i| time(*i) < best);
            let waiting = &self.waiting[Kind::Increment as usize];
            if let Some(rate) = faster.filter(|rate| !waiting.contains(rate)) {
                return Some(rate);
            }
        }
        None
    }

    /// Returns a random rate of the next group that is faster than `fast`. Rates between `fast` and
    /// `slow` that are met on the way join the samples for the retry chain.
    fn next_jump(
        &mut self,
        time: impl Fn(usize) -> Duration,
        fast: Duration,
        slow: Duration,
        success: impl Fn(usize) -> f64,
    ) -> Option<usize> {
        for _ in 0..self.groups.len() {
            self.jump = (self.jump + 1) % self.groups.len();
            let group = self.groups[self.jump].clone();
            let [_, jumps, slows] = &mut self.waiting;
            let limit = if slows.len() < MAX { slow } else { fast };
            let Some(first) = group.clone().find(|i| time(*i) < limit) else { continue };
            let rate = first + self.stream.below((group.end - first) as u64) as usize;
            if time(rate) < fast {
                if !jumps.contains(&rate) {
                    return Some(rate);
                }
            } else if slows.len() < MAX && !slows.contains(&rate) && success(rate) <= PROVEN {
                slows.push_back(rate);
            }
        }
        None
    }
}
