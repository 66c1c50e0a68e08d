//! A receiver's state of one session: one train, that arrives or that it sends.

use super::outgoing::Outgoing;
use crate::pace::Pace;
use fairwave_units::{Duration, Instant};
use fairwave_wire::probe::{self, Chunk, Limits, Message, Order, Record};
use fairwave_wire::seal::Key;
use std::net::IpAddr;

/// A session that was agreed to. Its memory is bounded by the packets granted.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) key: Key,
    pub(super) granted: Limits,
    pub(super) last_received: Instant,
    /// Address of this host that the last packet was sent to.
    pub(super) own: Option<IpAddr>,
    began: Instant,
    /// Packets that may still be noted or sent, over all trains.
    packets_left: u32,
    train: u16,
    /// Packets of the train that arrived, or were sent.
    records: Vec<Record>,
    /// The train is one that was asked for.
    outgoing: Option<Outgoing>,
    /// Pacer by the rate granted over all trains.
    pace: Pace,
    header_bytes: u64,
    /// Bitmap of the numbers of the train that have arrived.
    seen: Vec<u64>,
    /// Beginnings of chunks, once the train has been asked for; then nothing is added.
    chunks: Vec<usize>,
}

impl Session {
    pub(super) fn new(key: Key, granted: Limits, header_bytes: u64, now: Instant) -> Self {
        Self {
            key,
            granted,
            last_received: now,
            own: None,
            began: now,
            packets_left: granted.packets,
            train: 0,
            records: Vec::new(),
            outgoing: None,
            pace: Pace::new(granted.rate, header_bytes),
            header_bytes,
            seen: Vec::new(),
            chunks: Vec::new(),
        }
    }

    /// Time at which it is over if nothing is received.
    pub(super) fn ends(&self, idle: Duration) -> Instant {
        (self.last_received + idle).min(self.began + self.granted.duration + idle)
    }

    /// Handles packet `number` of a train. One outside of the agreement, or a duplicate, is not
    /// recorded; returns whether it was.
    pub(super) fn note(&mut self, train: u16, number: u32, now: Instant) -> bool {
        if train > self.train {
            self.turn_to(train);
        }
        let out_of_turn = train < self.train || !self.chunks.is_empty() || self.outgoing.is_some();
        if out_of_turn || number >= self.granted.packets || self.packets_left == 0 {
            return false;
        }
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        let is_new = self.seen[word] & bit == 0;
        if is_new {
            self.seen[word] |= bit;
            self.packets_left -= 1;
            debug_assert!(self.records.last().is_none_or(|last| last.arrived <= now));
            self.records.push(Record { number, arrived: now });
        }
        is_new
    }

    /// The sender orders packets, or shows that it still wants them. Once all have gone, how many
    /// they were.
    pub(super) fn fetch(&mut self, order: Order, now: Instant) -> Option<u32> {
        if order.train > self.train {
            self.turn_to(order.train);
        }
        let is_closed = !self.chunks.is_empty();
        if order.train < self.train || is_closed {
            return None;
        }
        match &mut self.outgoing {
            Some(outgoing) => outgoing.renew(now),
            None if self.records.is_empty() => self.outgoing = Some(Outgoing::new(order, now)),
            None => return None,
        }
        self.next().is_none().then_some(self.records.len() as u32)
    }

    /// Time at which the next packet is to be sent, if any is.
    pub(super) fn next(&self) -> Option<Instant> {
        let outgoing = self.outgoing.as_ref().filter(|_| self.chunks.is_empty())?;
        let until = self.began + self.granted.duration;
        let number = self.records.len() as u32;
        outgoing.next(number, &self.pace, until).filter(|_| self.packets_left > 0)
    }

    /// The packet that is due, with the length to send it in.
    pub(super) fn due(&mut self, now: Instant) -> Option<(Message, usize)> {
        self.next().filter(|next| *next <= now)?;
        let number = self.records.len() as u32;
        let len = self.outgoing.as_mut()?.take(number, now, self.header_bytes);
        self.pace.note(now, len);
        self.packets_left -= 1;
        self.records.push(Record { number, arrived: now });
        Some((Message::Data { train: self.train, number, sent: now }, len))
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
        self.outgoing = None;
        self.seen.clear();
        self.chunks.clear();
    }

    /// Finds the beginnings of chunks. Chunks beyond 65535 are left out.
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
