//! Packets sent, and their outcome.

use super::NUMDUPACK;
use fairwave_units::Instant;
use fairwave_wire::dccp::Seq48;
use std::collections::VecDeque;

/// Packets remembered at most; an older one is as good as lost.
const MAX: usize = 8192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    Arrived,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    at: Instant,
    has_data: bool,
    fate: Fate,
    /// A Data Dropped option has reported it.
    dropped: bool,
}

/// Every packet from the oldest that is still open, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct History {
    first: Seq48,
    records: VecDeque<Record>,
    /// Below this, everything has arrived or is lost.
    settled: usize,
}

/// New knowledge of a packet with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Time at which it was sent.
    pub(super) at: Instant,
    /// Whether it had been given up before.
    pub(super) was_lost: bool,
    pub(super) has_data: bool,
}

impl History {
    pub(super) fn push(&mut self, seq: Seq48, at: Instant, has_data: bool) {
        // A number left out cannot come: numbers are given one by one.
        if self.records.is_empty() || seq != self.first + self.records.len() as u64 {
            self.records.clear();
            self.settled = 0;
            self.first = seq;
        }
        if self.records.len() == MAX {
            self.pop();
        }
        self.records.push_back(Record { at, has_data, fate: Fate::InFlight, dropped: false });
    }

    fn pop(&mut self) {
        self.records.pop_front();
        self.first = self.first + 1;
        self.settled = self.settled.saturating_sub(1);
    }

    fn place(&self, seq: Seq48) -> Option<usize> {
        let place = seq.distance(self.first);
        (place < self.records.len() as u64).then_some(place as usize)
    }

    /// Records the arrival of packet `seq`; returns the new knowledge.
    pub(super) fn on_arrived(&mut self, seq: Seq48) -> Option<Arrival> {
        let place = self.place(seq)?;
        let record = &mut self.records[place];
        if record.fate == Fate::Arrived {
            return None;
        }
        let was_lost = record.fate == Fate::Lost;
        record.fate = Fate::Arrived;
        Some(Arrival { at: record.at, was_lost, has_data: record.has_data })
    }

    /// Packet `seq` was reported as dropped; whether that is new.
    pub(super) fn on_dropped(&mut self, seq: Seq48) -> bool {
        let Some(place) = self.place(seq) else { return false };
        let record = &mut self.records[place];
        let is_new = record.has_data && !record.dropped;
        record.dropped = true;
        is_new
    }

    /// Declares lost the packets that at least three later ones have overtaken; calls `lost` with
    /// the number of every such packet with data.
    pub(super) fn give_up_overtaken(&mut self, mut lost: impl FnMut(Seq48)) {
        let arrived = |(_, record): &(usize, &Record)| record.fate == Fate::Arrived;
        let third = self.records.iter().enumerate().rev().filter(arrived).nth(NUMDUPACK - 1);
        let Some((end, _)) = third else { return };
        for place in self.settled..end {
            let record = &mut self.records[place];
            if record.fate == Fate::InFlight {
                record.fate = Fate::Lost;
                if record.has_data {
                    lost(self.first + place as u64);
                }
            }
        }
        self.settled = self.settled.max(end);
        self.forget();
    }

    /// Keeps a window's worth of settled packets: late reports may still come on them.
    fn forget(&mut self) {
        while self.settled > 256 {
            self.pop();
        }
    }

    /// Gives up everything.
    pub(super) fn give_up_all(&mut self) {
        for record in self.records.iter_mut().filter(|record| record.fate == Fate::InFlight) {
            record.fate = Fate::Lost;
        }
    }
}
