//! The sender's memory of its own packets (RFC 4342, section 10.1).

use fairwave_units::Instant;
use std::collections::VecDeque;

/// Packets remembered: the largest Sequence Window of a scenario, so that every packet that may be
/// acknowledged is known. One acknowledged later gives no round-trip time, as with a sender that
/// does not save times.
const REMEMBERED: usize = 65_536;

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) at: Instant,
    /// The window counter at that time.
    pub(super) counter: u8,
    pub(super) data: bool,
}

/// The last packets, by number.
#[derive(Clone, Debug)]
pub(super) struct Log {
    first: u64,
    entries: VecDeque<Entry>,
}

impl Log {
    pub(super) fn new() -> Self {
        Self { first: 0, entries: VecDeque::with_capacity(REMEMBERED) }
    }

    /// Remembers packet `seq`; numbers go up one by one.
    pub(super) fn push(&mut self, seq: u64, entry: Entry) {
        if seq != self.next() {
            self.entries.clear();
            self.first = seq;
        }
        if self.entries.len() == REMEMBERED {
            self.entries.pop_front();
            self.first += 1;
        }
        debug_assert!(self.entries.back().is_none_or(|last| last.at <= entry.at), "{seq}");
        self.entries.push_back(entry);
    }

    /// Packet `seq`, if it is remembered.
    pub(super) fn get(&self, seq: u64) -> Option<Entry> {
        let at = seq.checked_sub(self.first)?;
        self.entries.get(usize::try_from(at).ok()?).copied()
    }

    /// The number behind the last packet.
    pub(super) fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// The first packet sent at `from` or later; the next one if there is none.
    pub(super) fn first_since(&self, from: Instant) -> u64 {
        self.first + self.entries.partition_point(|entry| entry.at < from) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Duration;

    fn sent(millis: u64) -> Entry {
        Entry { at: Instant::ZERO + Duration::from_millis(millis), counter: 0, data: true }
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut log = Log::new();
        for seq in 10..10 + 70_000 {
            log.push(seq, sent(seq));
        }
        assert_eq!(log.get(10), None);
        assert_eq!(log.get(70_009), Some(sent(70_009)));
        assert_eq!(log.get(70_010), None);
        let oldest = 70_010 - REMEMBERED as u64;
        assert_eq!((log.get(oldest - 1), log.get(oldest)), (None, Some(sent(oldest))));
        assert_eq!(log.first_since(sent(50_000).at), 50_000);
        assert_eq!(log.first_since(sent(90_000).at), 70_010);
    }
}
