//! What a receiver keeps of one session: the arrivals of one train.

use fairwave_units::{Duration, Instant};
use fairwave_wire::probe::{self, Chunk, Limits, Record};
use fairwave_wire::seal::Key;

/// A session that was agreed to. Its memory is bounded by the packets granted.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) key: Key,
    pub(super) granted: Limits,
    pub(super) heard: Instant,
    began: Instant,
    /// Packets that may still be noted, over all trains.
    packets_left: u32,
    train: u16,
    records: Vec<Record>,
    /// Which numbers of the train have arrived, a bit each.
    seen: Vec<u64>,
    /// Where each chunk begins, once the train has been asked for; then nothing is added.
    chunks: Vec<usize>,
}

impl Session {
    pub(super) fn new(key: Key, granted: Limits, now: Instant) -> Self {
        Self {
            key,
            granted,
            heard: now,
            began: now,
            packets_left: granted.packets,
            train: 0,
            records: Vec::new(),
            seen: Vec::new(),
            chunks: Vec::new(),
        }
    }

    /// When it is over if nothing is heard.
    pub(super) fn ends(&self, idle: Duration) -> Instant {
        (self.heard + idle).min(self.began + self.granted.duration + idle)
    }

    /// Packet `number` of a train arrives. What cannot be of the agreement is not noted.
    pub(super) fn note(&mut self, train: u16, number: u32, now: Instant) {
        if train > self.train {
            self.turn_to(train);
        }
        let out_of_turn = train < self.train || !self.chunks.is_empty();
        if out_of_turn || number >= self.granted.packets || self.packets_left == 0 {
            return;
        }
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit == 0 {
            self.seen[word] |= bit;
            self.packets_left -= 1;
            debug_assert!(self.records.last().is_none_or(|last| last.arrived <= now));
            self.records.push(Record { number, arrived: now });
        }
    }

    /// Part `chunk` of the account of a train; the first time, the account is closed.
    pub(super) fn report(&mut self, train: u16, chunk: u16) -> Option<Chunk> {
        if train > self.train {
            self.turn_to(train);
        }
        if train < self.train {
            return None;
        }
        if self.chunks.is_empty() {
            self.divide();
        }
        let index = usize::from(chunk);
        let start = *self.chunks.get(index)?;
        let end = self.chunks.get(index + 1).copied().unwrap_or(self.records.len());
        let records = self.records[start..end].to_vec();
        Some(Chunk { train, chunk, chunks: self.chunks.len() as u16, records })
    }

    fn turn_to(&mut self, train: u16) {
        self.train = train;
        self.records.clear();
        self.seen.clear();
        self.chunks.clear();
    }

    /// Finds where chunks begin. What does not fit into 65535 of them is left out.
    fn divide(&mut self) {
        self.chunks.push(0);
        let mut start = probe::records_that_fit(&self.records);
        while start < self.records.len() && self.chunks.len() < usize::from(u16::MAX) {
            self.chunks.push(start);
            start += probe::records_that_fit(&self.records[start..]);
        }
        self.records.truncate(start);
        debug_assert!(self.chunks.is_sorted(), "{:?}", self.chunks);
    }
}
