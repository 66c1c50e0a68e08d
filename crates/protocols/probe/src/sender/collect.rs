//! Puts together the account of a train, from a receiver that may send anything.

use fairwave_units::Instant;
use fairwave_wire::probe::{Chunk, Record};

/// Something that cannot be so.
#[derive(Debug)]
pub(super) struct Absurd;

/// Effect of a chunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It was not the one asked for.
    Other,
    /// The next is to be asked for.
    More,
    /// It was the last.
    Complete,
}

/// This end's knowledge of a train.
#[derive(Debug)]
pub(super) enum Own {
    /// It sent the packets at these times.
    Sent(Vec<Instant>),
    /// These packets arrived here.
    Arrived(Vec<Record>),
}

/// The chunks of one train so far. It holds at most one record for each packet sent.
#[derive(Debug)]
pub(super) struct Collector {
    own: Own,
    seen: Vec<bool>,
    /// The receiver's report: its arrivals, or its departures.
    reported: Vec<Record>,
    chunk: u16,
    chunks: Option<u16>,
}

impl Collector {
    /// Nothing of a train of at most this number of packets.
    pub(super) fn new(own: Own, packets: u32) -> Self {
        let seen = vec![false; packets as usize];
        Self { own, seen, reported: Vec::new(), chunk: 0, chunks: None }
    }

    /// Packets sent or arrived, and the chunk that is wanted.
    pub(super) const fn asks(&self) -> (u32, u16) {
        let known = match &self.own {
            Own::Sent(sent) => sent.len(),
            Own::Arrived(arrived) => arrived.len(),
        };
        (known as u32, self.chunk)
    }

    pub(super) fn take(&mut self, chunk: Chunk) -> Result<Progress, Absurd> {
        if chunk.chunk != self.chunk {
            return Ok(Progress::Other);
        }
        let chunks = *self.chunks.get_or_insert(chunk.chunks);
        let says_nothing = chunk.records.is_empty() && chunks != 1;
        if chunk.chunks != chunks || chunk.chunk >= chunks || says_nothing {
            return Err(Absurd);
        }
        for record in chunk.records {
            self.note(record)?;
        }
        if self.chunk + 1 == chunks {
            return Ok(Progress::Complete);
        }
        self.chunk += 1;
        Ok(Progress::More)
    }

    fn note(&mut self, record: Record) -> Result<(), Absurd> {
        let seen = self.seen.get_mut(record.number as usize).ok_or(Absurd)?;
        let goes_back = self.reported.last().is_some_and(|last| record.arrived < last.arrived);
        if std::mem::replace(seen, true) || goes_back {
            return Err(Absurd);
        }
        self.reported.push(record);
        debug_assert!(self.reported.len() <= self.seen.len(), "more arrived than were sent");
        Ok(())
    }

    /// Departures of packets, and arrivals.
    ///
    /// # Errors
    /// If the receiver reports other departures than the arrivals here.
    pub(super) fn into_parts(self) -> Result<(Vec<Instant>, Vec<Record>), Absurd> {
        let arrived = match self.own {
            Own::Sent(sent) => return Ok((sent, self.reported)),
            Own::Arrived(arrived) => arrived,
        };
        let in_turn = |(turn, record): (usize, &Record)| record.number as usize == turn;
        let has_sent = |record: &Record| (record.number as usize) < self.reported.len();
        if !self.reported.iter().enumerate().all(in_turn) || !arrived.iter().all(has_sent) {
            return Err(Absurd);
        }
        Ok((self.reported.into_iter().map(|record| record.arrived).collect(), arrived))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three packets were sent.
    fn reported(chunk: u16, chunks: u16, records: &[(u32, u64)]) -> Result<Progress, Absurd> {
        let record = |&(number, at)| Record { number, arrived: Instant::from_nanos(at) };
        let records = records.iter().map(record).collect();
        let own = Own::Sent(vec![Instant::ZERO; 3]);
        Collector::new(own, 3).take(Chunk { train: 0, chunk, chunks, records })
    }

    #[test]
    fn what_cannot_be_so_is_refused() {
        assert!(matches!(reported(0, 1, &[(2, 5), (0, 5)]), Ok(Progress::Complete)));
        assert!(matches!(reported(0, 1, &[]), Ok(Progress::Complete)));
        assert!(matches!(reported(0, 2, &[(0, 5)]), Ok(Progress::More)));
        assert!(matches!(reported(1, 2, &[(0, 5)]), Ok(Progress::Other)));
        // A packet twice, one that was not sent, times that go back, chunks that say nothing.
        assert!(reported(0, 1, &[(1, 5), (1, 6)]).is_err());
        assert!(reported(0, 1, &[(3, 5)]).is_err());
        assert!(reported(0, 1, &[(0, 5), (1, 4)]).is_err());
        assert!(reported(0, 2, &[]).is_err());
        assert!(reported(0, 0, &[(0, 5)]).is_err());
    }
}
