//! Messages of data that are in flight on a path, and conclusions from their fate.

use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;
use std::num::NonZeroU64;

/// Messages whose fate is known that may stand behind one whose fate is not, beside as many as are
/// in flight.
const MAX_KNOWN: usize = 64;

/// A message of data on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    /// Number of the message on its path.
    pub(crate) number: u64,
    /// First byte of the segment that it carries.
    pub(crate) seq: u64,
    /// Sequence numbers that the segment takes.
    pub(crate) len: u32,
    /// Time at which it left.
    pub(crate) at: Instant,
    /// It was echoed, is known to have arrived, or was declared lost.
    done: bool,
}

/// The messages of a path, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights {
    /// From the first that is in flight on.
    messages: VecDeque<Flight>,
    /// Number of these are in flight, and their bytes.
    count: usize,
    bytes: u32,
    /// The number taken last, whatever the message was.
    last_number: u64,
    highest_echo: u64,
    /// Time at which messages are lost because a later one arrived some time ago.
    loss_at: Option<Instant>,
    /// Time at which the last message in flight was acknowledged; `None` if it was given up with
    /// all others.
    quiet_since: Option<Instant>,
}

impl Flights {
    /// None in flight; numbers go on.
    pub(crate) fn restarted(&self) -> Self {
        let (last_number, highest_echo) = (self.last_number, self.highest_echo);
        Self { last_number, highest_echo, ..Self::default() }
    }

    /// Bytes in flight.
    pub(crate) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// A number that was never used.
    pub(crate) fn take_number(&mut self) -> NonZeroU64 {
        self.last_number += 1;
        NonZeroU64::new(self.last_number).expect("it was increased")
    }

    pub(crate) fn last_number(&self) -> u64 {
        self.last_number
    }

    pub(crate) fn highest_echo(&self) -> u64 {
        self.highest_echo
    }

    pub(crate) fn note_echo(&mut self, number: u64) {
        debug_assert!(number <= self.last_number, "an echo of {number}, which was not sent");
        self.highest_echo = self.highest_echo.max(number);
    }

    /// Time at which messages are lost because a later one arrived some time ago.
    pub(crate) fn loss_at(&self) -> Option<Instant> {
        self.loss_at
    }

    /// Time at which the last message that was in flight then was acknowledged; others may be now.
    pub(crate) fn quiet_since(&self) -> Option<Instant> {
        self.quiet_since
    }

    /// A message of data leaves, with the number taken last.
    pub(crate) fn launch(&mut self, now: Instant, seq: u64, len: u32) {
        let number = self.last_number;
        let last = self.messages.back().map_or(0, |flight| flight.number);
        debug_assert!(last < number, "message {number} leaves after {last}");
        self.bytes += len;
        self.messages.push_back(Flight { number, seq, len, at: now, done: false });
        self.count += 1;
        self.check();
    }

    /// The message of this number has arrived; `None` if its fate was known.
    pub(crate) fn acknowledge(&mut self, now: Instant, number: u64) -> Option<Flight> {
        let index = self.index_of(number)?;
        let flight = self.messages.get_mut(index).filter(|flight| !flight.done)?;
        flight.done = true;
        let flight = *flight;
        self.count -= 1;
        self.bytes -= flight.len;
        self.tidy(now);
        Some(flight)
    }

    /// Number of the first message in flight.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.messages.front().map(|flight| flight.number)
    }

    /// The first message in flight, if it left before the latest one echoed.
    pub(crate) fn overtaken(&self) -> Option<Flight> {
        let flight = self.messages.front().filter(|flight| !flight.done)?;
        (flight.number < self.highest_echo).then_some(*flight)
    }

    /// Declares lost, and appends to `lost`, the messages before later arrivals: `threshold` later
    /// messages came before the latest echo, or one did and it left more than `delay` ago.
    pub(crate) fn find_lost(
        &mut self,
        now: Instant,
        threshold: usize,
        delay: Duration,
        lost: &mut Vec<Flight>,
    ) {
        let highest = self.highest_echo;
        let until = self.messages.partition_point(|flight| flight.number <= highest);
        self.loss_at = None;
        for index in 0..until {
            let flight = self.messages[index];
            if flight.done {
                continue;
            }
            if until - 1 - index < threshold && flight.at + delay > now {
                // Later ones left later, so that none of them is overdue before.
                self.loss_at = Some(flight.at + delay);
                break;
            }
            lost.extend(self.land(index));
        }
        self.tidy(now);
    }

    /// Gives up the message of this number, if it is in flight, and appends it to `lost`. Whether
    /// it is known at all.
    pub(crate) fn lose(&mut self, now: Instant, number: u64, lost: &mut Vec<Flight>) -> bool {
        let Some(index) = self.index_of(number) else { return false };
        lost.extend(self.land(index));
        self.tidy(now);
        true
    }

    /// Declares everything in flight lost, and appends it to `lost`. That says nothing of the
    /// path's queue.
    pub(crate) fn lose_all(&mut self, lost: &mut Vec<Flight>) {
        lost.extend(self.messages.drain(..).filter(|flight| !flight.done).inspect(|flight| {
            self.bytes -= flight.len;
            self.count -= 1;
        }));
        debug_assert_eq!((self.count, self.bytes), (0, 0), "the sum of flights");
        (self.loss_at, self.quiet_since) = (None, None);
    }

    fn index_of(&self, number: u64) -> Option<usize> {
        let index = self.messages.partition_point(|flight| flight.number < number);
        self.messages.get(index).filter(|flight| flight.number == number).map(|_| index)
    }

    /// The message at `index` is in flight no more; `None` if it was not before.
    fn land(&mut self, index: usize) -> Option<Flight> {
        let flight = self.messages.get_mut(index).filter(|flight| !flight.done)?;
        flight.done = true;
        self.count -= 1;
        self.bytes -= flight.len;
        Some(*flight)
    }

    /// Forgets messages whose fate is known, and notes whether all of them are.
    fn tidy(&mut self, now: Instant) {
        if self.bytes == 0 {
            self.quiet_since = Some(now);
        }
        while self.messages.front().is_some_and(|flight| flight.done) {
            self.messages.pop_front();
        }
        // A message that is never echoed must not keep all behind it. This is done seldom enough
        // that it costs a constant for each message.
        if self.messages.len() > 2 * self.count + MAX_KNOWN {
            self.messages.retain(|flight| !flight.done);
            debug_assert_eq!(self.count, self.messages.len(), "messages in flight");
            let sum = || self.messages.iter().map(|flight| flight.len).sum::<u32>();
            debug_assert_eq!(self.bytes, sum(), "the sum of flights");
        }
        self.check();
    }

    fn check(&self) {
        let (count, bytes) = (self.count, self.bytes);
        debug_assert!(count <= self.messages.len(), "{count} of {} in flight", self.messages.len());
        debug_assert_eq!(count == 0, bytes == 0, "{count} messages of {bytes} bytes");
        debug_assert!(self.highest_echo <= self.last_number, "echo {}", self.highest_echo);
    }
}

#[cfg(test)]
impl Flights {
    /// Messages that are kept, those whose fate is known among them.
    pub(super) fn kept(&self) -> usize {
        self.messages.len()
    }

    pub(super) const MAX_KNOWN: usize = MAX_KNOWN;
}
