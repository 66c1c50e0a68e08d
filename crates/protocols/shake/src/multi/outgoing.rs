//! Output: the application's stream, cut into blocks, and the connection of each.

use super::block::Block;
use super::config::{Config, Split};
use super::leg::Leg;
use super::mark::Marked;
use fairwave_tcp::Store;
use fairwave_units::Instant;
use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU16;

/// A block to be put on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    /// The next bytes, this number of them.
    New(NonZeroU16),
    /// The block at this offset, once more, for its connection does not deliver it.
    Again(u64),
    /// Likewise, for it holds up the rest.
    Rescue(u64),
}

/// Order of turns: each in proportion to its weight, as evenly as can be. Each turn every
/// connection gains its weight; the one with the maximum has the turn and pays the sum of all.
#[derive(Clone, Debug)]
struct Turns {
    weights: Vec<i64>,
    credit: Vec<i64>,
}

impl Turns {
    fn new(weights: Vec<i64>) -> Self {
        let mut turns = Self { credit: vec![0; weights.len()], weights };
        turns.gain();
        turns
    }

    fn gain(&mut self) {
        for (credit, weight) in self.credit.iter_mut().zip(&self.weights) {
            *credit += weight;
        }
    }

    /// Returns the connection whose turn it is; ties go to the first.
    fn current(&self) -> usize {
        let best = |best: usize, at: usize| {
            if self.credit[at] > self.credit[best] { at } else { best }
        };
        (0..self.credit.len()).fold(0, best)
    }

    fn advance(&mut self) {
        let current = self.current();
        let sum: i64 = self.weights.iter().sum();
        self.credit[current] -= sum;
        self.gain();
        // What one pays the others gain, so that nobody's turns are lost.
        debug_assert_eq!(self.credit.iter().sum::<i64>(), sum, "credits {:?}", self.credit);
    }
}

/// The sending half of a set.
#[derive(Debug)]
pub(super) struct Outgoing<P: Marked> {
    split: Split,
    block: u16,
    capacity: u32,
    turns: Turns,
    /// The stream from `base` on.
    store: P::Store,
    base: u64,
    /// End of the data in blocks.
    cut: u64,
    end: u64,
    /// From the first that has not arrived on, in order.
    blocks: VecDeque<Block>,
    /// Blocks that a connection has not delivered in time, or at all.
    again: BTreeSet<u64>,
    /// Blocks below this have been sent twice for holding up the rest, or need not be.
    rescued: u64,
    /// The peer's buffer beyond the data that its application has read, once it has reported it.
    pub(super) peer_buffer: Option<u32>,
    /// The assumed buffer until then: as much as this end's.
    assumed_buffer: u32,
    pub(super) finish: bool,
    /// A write was not taken as a whole, or took all space.
    pub(super) wants_space: bool,
    /// Blocks sent again.
    pub(super) resent: u64,
}

impl<P: Marked> Outgoing<P> {
    pub(super) fn new(config: &Config, connections: usize) -> Self {
        let weights = match config.split {
            Split::Weighted => config.weights.iter().map(|weight| i64::from(*weight)).collect(),
            Split::Equal | Split::Adaptive => vec![1; connections],
        };
        Self {
            split: config.split,
            block: config.block,
            capacity: config.send_buffer,
            turns: Turns::new(weights),
            store: P::Store::default(),
            base: 0,
            cut: 0,
            end: 0,
            blocks: VecDeque::new(),
            again: BTreeSet::new(),
            rescued: 0,
            peer_buffer: None,
            assumed_buffer: config.receive_buffer,
            finish: false,
            wants_space: false,
            resent: 0,
        }
    }

    /// Bytes that a write would take.
    pub(super) fn space(&self) -> u32 {
        let held = u32::try_from(self.store.len()).unwrap_or(u32::MAX);
        if self.finish { 0 } else { self.capacity.saturating_sub(held) }
    }

    /// Bytes that the application has written.
    pub(super) fn written(&self) -> u64 {
        self.end
    }

    /// Bytes, from the first on, that the peer's TCP has got.
    pub(super) fn arrived_to(&self) -> u64 {
        self.blocks.front().map_or(self.cut, |first| first.offset)
    }

    /// Takes as much as there is space for; how much.
    pub(super) fn write(&mut self, data: P) -> u32 {
        let taken = data.len().min(self.space());
        if taken == data.len() {
            self.store.push(data);
        } else if taken > 0 {
            self.store.push(data.slice(0, taken));
        }
        self.end += u64::from(taken);
        self.wants_space |= self.space() == 0;
        self.check();
        taken
    }

    fn check(&self) {
        let (base, cut, end) = (self.base, self.cut, self.end);
        debug_assert!(base <= cut && cut <= end, "base {base}, cut {cut}, end {end}");
        debug_assert_eq!(self.store.len(), end - base, "bytes kept from {base} on");
        debug_assert!(self.again.len() <= self.blocks.len(), "blocks that are not kept");
        let last = self.blocks.back().map_or(cut, |last| last.offset + u64::from(last.len.get()));
        debug_assert_eq!(last, cut, "the end of the last block");
    }

    /// Everything that will ever be written is on connections.
    pub(super) fn is_cut(&self) -> bool {
        self.finish && self.cut == self.end
    }

    /// And the peer's TCP has got it.
    pub(super) fn is_delivered(&self) -> bool {
        self.is_cut() && self.blocks.is_empty()
    }

    fn find(&self, offset: u64) -> Option<usize> {
        self.blocks.binary_search_by_key(&offset, |block| block.offset).ok()
    }

    /// A connection has delivered the block at `offset`.
    pub(super) fn delivered(&mut self, offset: u64) {
        let Some(index) = self.find(offset) else { return };
        self.blocks[index].arrived = true;
        self.again.remove(&offset);
        while self.blocks.front().is_some_and(|block| block.arrived) {
            self.blocks.pop_front();
        }
        if self.split.resends() {
            self.keep_from(self.arrived_to());
        }
        self.check();
    }

    fn keep_from(&mut self, offset: u64) {
        self.store.discard(offset - self.base);
        self.base = offset;
    }

    /// Frees the undelivered data: nothing is sent any more.
    pub(super) fn discard(&mut self) {
        (self.blocks, self.again) = (VecDeque::new(), BTreeSet::new());
        self.store = P::Store::default();
        (self.base, self.cut) = (self.end, self.end);
        self.check();
    }

    /// A connection will not deliver these blocks, or not soon.
    pub(super) fn give_up_on(&mut self, offsets: impl Iterator<Item = u64>) {
        for offset in offsets {
            if self.find(offset).is_some_and(|index| !self.blocks[index].arrived) {
                self.again.insert(offset);
            }
        }
    }

    /// Puts data on connections as far as they have room.
    pub(super) fn fill(&mut self, now: Instant, legs: &mut [Leg<P>]) {
        while let Some((leg, job)) = self.next_job(legs) {
            self.put(now, &mut legs[leg], leg, job);
        }
    }

    fn next_job(&self, legs: &[Leg<P>]) -> Option<(usize, Job)> {
        if self.split.resends() {
            let again = || self.next_repeated(legs);
            return again().or_else(|| self.next_new(legs)).or_else(|| self.next_rescue(legs));
        }
        let len = self.next_len()?;
        let turn = self.turns.current();
        legs[turn].has_room(len.get().into()).then_some((turn, Job::New(len)))
    }

    /// Returns the bytes of the next block. A short one goes at the end, or when nothing is in
    /// flight, so that small writes do not make a block each and yet do not wait without end
    /// (Nagle's rule).
    fn next_len(&self) -> Option<NonZeroU16> {
        let waits = self.end - self.cut;
        let may_be_short = self.finish || self.blocks.is_empty();
        let len = match u16::try_from(waits) {
            Ok(waits) if waits < self.block => Some(waits).filter(|_| may_be_short),
            _ => Some(self.block),
        };
        len.and_then(NonZeroU16::new)
    }

    /// Returns the connection that would have delivered `len` bytes first, of those with room now.
    fn soonest(
        legs: &[Leg<P>],
        len: NonZeroU16,
        may: impl Fn(usize, &Leg<P>) -> bool,
    ) -> Option<(usize, u64)> {
        let len = u32::from(len.get());
        let takes = |(at, leg): &(usize, &Leg<P>)| leg.has_room_now(len) && may(*at, leg);
        let time = |(at, leg): (usize, &Leg<P>)| (at, leg.time_for(len).unwrap_or(u64::MAX));
        legs.iter().enumerate().filter(takes).map(time).min_by_key(|(at, time)| (*time, *at))
    }

    /// New data, as far ahead of the missing data as the peer can keep. One block may always go: it
    /// is next.
    fn next_new(&self, legs: &[Leg<P>]) -> Option<(usize, Job)> {
        let len = self.next_len()?;
        let ahead = self.cut + u64::from(len.get()) - self.arrived_to();
        let max = self.peer_buffer.unwrap_or(self.assumed_buffer);
        if ahead > u64::from(max) && !self.blocks.is_empty() {
            return None;
        }
        let (leg, _) = Self::soonest(legs, len, |_, _| true)?;
        Some((leg, Job::New(len)))
    }

    /// Whether the peer can keep all that stands before `offset` on a connection while it waits
    /// for it: else it would not read on, and never get there.
    fn is_reachable(&self, leg: &Leg<P>, offset: u64) -> bool {
        self.peer_buffer.is_some_and(|max| leg.furthest <= offset + u64::from(max))
    }

    /// Whether a block has to go again and no connection can ever carry it: each that is left has
    /// something before it that the peer cannot keep. A peer that keeps less than this end took it
    /// to, before it had stated its buffer, comes to that if a path dies at once.
    pub(super) fn is_barred(&self, legs: &[Leg<P>]) -> bool {
        let bars = |leg: &Leg<P>, offset| {
            leg.is_dead || leg.is_over() || leg.is_up && !self.is_reachable(leg, offset)
        };
        self.split.resends()
            && self.peer_buffer.is_some()
            && self.again.first().is_some_and(|offset| {
                legs.iter().all(|leg| bars(leg, *offset) && (leg.is_dead || !leg.holds(*offset)))
            })
    }

    fn next_repeated(&self, legs: &[Leg<P>]) -> Option<(usize, Job)> {
        let offset = *self.again.first()?;
        let block = &self.blocks[self.find(offset)?];
        let may = |_: usize, leg: &Leg<P>| self.is_reachable(leg, offset) && !leg.holds(offset);
        let (leg, _) = Self::soonest(legs, block.len, may)?;
        Some((leg, Job::Again(offset)))
    }

    /// Where nothing new may go, the data that holds everything up goes once more, over a
    /// connection that would have delivered it before its own.
    fn next_rescue(&self, legs: &[Leg<P>]) -> Option<(usize, Job)> {
        let from = self.blocks.partition_point(|block| block.offset < self.rescued);
        let block = self.blocks.range(from..).find(|block| !block.arrived)?;
        let own = &legs[block.leg];
        let time = own.time_until(block.until).unwrap_or(u64::MAX);
        let may = |at: usize, leg: &Leg<P>| at != block.leg && self.is_reachable(leg, block.offset);
        let (leg, _) = Self::soonest(legs, block.len, may).filter(|(_, other)| *other < time)?;
        Some((leg, Job::Rescue(block.offset)))
    }

    fn put(&mut self, now: Instant, to: &mut Leg<P>, leg: usize, job: Job) {
        match job {
            Job::New(len) => {
                let data = self.store.copy(self.cut - self.base, u32::from(len.get()));
                let mut block = Block { offset: self.cut, len, arrived: false, leg, until: 0 };
                block.until = to.put(now, &block, data);
                self.blocks.push_back(block);
                self.cut += u64::from(len.get());
                self.turns.advance();
                if !self.split.resends() {
                    self.keep_from(self.cut);
                }
            }
            Job::Again(offset) | Job::Rescue(offset) => {
                let index = self.find(offset).expect("jobs are of blocks that are kept");
                let block = &mut self.blocks[index];
                let data = self.store.copy(offset - self.base, u32::from(block.len.get()));
                (block.leg, block.until) = (leg, to.put(now, block, data));
                self.again.remove(&offset);
                self.resent += 1;
                to.repeated += 1;
                if job == Job::Rescue(offset) {
                    self.rescued = offset + 1;
                }
            }
        }
        self.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(weights: &[i64], count: usize) -> Vec<usize> {
        let mut turns = Turns::new(weights.to_vec());
        let mut next = || {
            let current = turns.current();
            turns.advance();
            current
        };
        (0..count).map(|_| next()).collect()
    }

    /// Credits by hand for 2:1:1: 2 1 1, then 0 2 2 (0 pays 4), 2 -1 3, 4 0 0, and again.
    #[test]
    fn turns_go_by_weight() {
        assert_eq!(turns(&[1, 1, 1], 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(turns(&[2, 1, 1], 8), [0, 1, 2, 0, 0, 1, 2, 0]);
        let many = turns(&[64, 32, 8], 1300);
        let count = |leg| many.iter().filter(|turn| **turn == leg).count();
        assert_eq!((count(0), count(1), count(2)), (800, 400, 100));
    }
}
