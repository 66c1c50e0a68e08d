//! Puts together the account of a train, from a receiver that may tell anything.

use fairwave_units::Instant;
use fairwave_wire::probe::{Chunk, Record};

/// Something that cannot be so.
#[derive(Debug)]
pub(super) struct Absurd;

/// What a chunk meant.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It was not the one asked for.
    Other,
    /// The next is to be asked for.
    More,
    /// It was the last.
    Complete,
}

/// The chunks of one train so far. It holds at most one record for each packet sent.
#[derive(Debug)]
pub(super) struct Collector {
    sent: Vec<Instant>,
    seen: Vec<bool>,
    arrived: Vec<Record>,
    chunk: u16,
    chunks: Option<u16>,
}

impl Collector {
    pub(super) fn new(sent: Vec<Instant>) -> Self {
        let seen = vec![false; sent.len()];
        Self { sent, seen, arrived: Vec::new(), chunk: 0, chunks: None }
    }

    /// Packets sent, and the chunk that is wanted.
    pub(super) const fn asks(&self) -> (u32, u16) {
        (self.sent.len() as u32, self.chunk)
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
        let goes_back = self.arrived.last().is_some_and(|last| record.arrived < last.arrived);
        if std::mem::replace(seen, true) || goes_back {
            return Err(Absurd);
        }
        self.arrived.push(record);
        debug_assert!(self.arrived.len() <= self.sent.len(), "more arrived than were sent");
        Ok(())
    }

    /// When packets were sent, and what arrived.
    pub(super) fn into_parts(self) -> (Vec<Instant>, Vec<Record>) {
        (self.sent, self.arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three packets were sent.
    fn told(chunk: u16, chunks: u16, records: &[(u32, u64)]) -> Result<Progress, Absurd> {
        let record = |&(number, at)| Record { number, arrived: Instant::from_nanos(at) };
        let records = records.iter().map(record).collect();
        Collector::new(vec![Instant::ZERO; 3]).take(Chunk { train: 0, chunk, chunks, records })
    }

    #[test]
    fn what_cannot_be_so_is_refused() {
        assert!(matches!(told(0, 1, &[(2, 5), (0, 5)]), Ok(Progress::Complete)));
        assert!(matches!(told(0, 1, &[]), Ok(Progress::Complete)));
        assert!(matches!(told(0, 2, &[(0, 5)]), Ok(Progress::More)));
        assert!(matches!(told(1, 2, &[(0, 5)]), Ok(Progress::Other)));
        // A packet twice, one that was not sent, times that go back, chunks that say nothing.
        assert!(told(0, 1, &[(1, 5), (1, 6)]).is_err());
        assert!(told(0, 1, &[(3, 5)]).is_err());
        assert!(told(0, 1, &[(0, 5), (1, 4)]).is_err());
        assert!(told(0, 2, &[]).is_err());
        assert!(told(0, 0, &[(0, 5)]).is_err());
    }
}
