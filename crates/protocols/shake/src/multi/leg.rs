//! One connection of a set: the content of its stream, and this end's place in the other's.

use super::block::Block;
use super::config::Dial;
use super::fault::Fault;
use super::mark::{Mark, Marked};
use fairwave_machine::Machine;
use fairwave_tcp::{Connection, Input, State, Stats};
use fairwave_units::Instant;
use fairwave_wire::multi::{HEADER_LEN, Header, Preface};
use std::collections::VecDeque;

/// Place of this end in the stream that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The preface comes next.
    Preface,
    /// A header comes next.
    Header,
    /// This number of bytes of a block comes next.
    Block {
        /// Their position.
        at: u64,
        /// How many.
        left: u32,
    },
    /// The peer has reported that nothing follows.
    Ended,
    /// Its message was impossible.
    Broken,
}

/// A block on the stream.
#[derive(Clone, Copy, Debug)]
struct Placed {
    offset: u64,
    len: u16,
    /// End of the block on this connection's stream.
    until: u64,
}

/// A connection and the set's state for it.
#[derive(Debug)]
pub(super) struct Leg<P: Marked> {
    pub(super) connection: Connection<P>,
    /// Blocks may go on it: it is established, and this end's preface is written.
    pub(super) is_up: bool,
    /// It failed. Data in order over it can still be read.
    pub(super) is_dead: bool,
    /// Timeouts follow each other: no new data goes on it until something is acknowledged.
    pub(super) is_stalled: bool,
    /// Its end is written.
    pub(super) is_ended: bool,
    /// The peer has closed it.
    pub(super) is_finished: bool,
    pub(super) reading: Reading,
    /// Bytes of blocks read from it, duplicates included.
    pub(super) delivered: u64,
    /// Blocks put on it.
    pub(super) blocks: u64,
    /// Bytes among them that had been put on a connection before.
    pub(super) repeated: u64,
    /// Bytes of blocks that the peer's TCP has got.
    pub(super) arrived: u64,
    /// End of the furthest block put on it.
    pub(super) furthest: u64,
    /// Of payload with lengths only: marks written, for the host to carry, and marks carried.
    pub(super) to_report: VecDeque<Mark>,
    pub(super) reported: VecDeque<Mark>,
    written: u64,
    acked: u64,
    placed: VecDeque<Placed>,
}

impl<P: Marked> Leg<P> {
    pub(super) fn new(dial: Dial) -> Self {
        Self {
            connection: Connection::new(dial.config, dial.iss, dial.algorithm),
            is_up: false,
            is_dead: false,
            is_stalled: false,
            is_ended: false,
            is_finished: false,
            reading: Reading::Preface,
            delivered: 0,
            blocks: 0,
            repeated: 0,
            arrived: 0,
            furthest: 0,
            to_report: VecDeque::new(),
            reported: VecDeque::new(),
            written: 0,
            acked: 0,
            placed: VecDeque::new(),
        }
    }

    /// Whether no segment will come or go any more, but for one that answers an old one.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.connection.state(), State::Closed | State::TimeWait)
    }

    /// Whether the peer's TCP has got everything up to the end of this direction.
    pub(super) fn is_end_delivered(&self) -> bool {
        matches!(self.connection.state(), State::FinWait2 | State::TimeWait | State::Closed)
    }

    /// Bytes that wait to be read.
    pub(super) fn bytes_ready(&self) -> u64 {
        self.connection.bytes_ready()
    }

    /// Whether a block of `len` bytes can be written as a whole.
    pub(super) fn has_room(&self, len: u32) -> bool {
        self.is_up && !self.is_ended && self.connection.send_space() >= HEADER_LEN as u32 + len
    }

    /// As [`Self::has_room`], and the congestion window lets it go about now: one block waits
    /// for the next acknowledgement, and no more.
    pub(super) fn has_room_now(&self, len: u32) -> bool {
        let waits = self.written - self.acked;
        let takes = || waits <= u64::from(self.connection.stats().cwnd);
        self.has_room(len) && !self.is_stalled && takes()
    }

    /// Returns the time at which `bytes` behind the waiting data would have arrived, in nanoseconds
    /// from now: at a window in each round-trip time. `None` while it has not been measured.
    pub(super) fn time_for(&self, bytes: u32) -> Option<u64> {
        self.time_until(self.written + u64::from(bytes))
    }

    /// Returns the time at which its stream will have arrived up to `position`, likewise.
    pub(super) fn time_until(&self, position: u64) -> Option<u64> {
        let Stats { srtt, cwnd, .. } = self.connection.stats();
        let srtt = u128::from(srtt?.as_nanos());
        let waits = u128::from(position.saturating_sub(self.acked));
        let time = srtt / 2 + waits * srtt / u128::from(cwnd.max(1));
        Some(u64::try_from(time).unwrap_or(u64::MAX))
    }

    /// Whether it holds this block and has not delivered it.
    pub(super) fn holds(&self, offset: u64) -> bool {
        self.placed.iter().any(|placed| placed.offset == offset)
    }

    /// The blocks that it has not delivered.
    pub(super) fn undelivered(&self) -> impl Iterator<Item = u64> {
        self.placed.iter().map(|placed| placed.offset)
    }

    /// The connection has ended in good order, both ways: TCP takes that for delivery, although the
    /// last acknowledgement can be missing (RFC 9293 section 3.10.7.4, a reset in LAST-ACK).
    pub(super) fn end_well(&mut self) {
        if self.is_ended && self.reading == Reading::Ended {
            self.acked = self.written;
        }
    }

    /// The first block that the peer's TCP has got since the last call, by its offset.
    pub(super) fn next_delivered(&mut self) -> Option<u64> {
        let acked = self.connection.bytes_acked();
        if acked > self.acked {
            self.acked = acked;
            self.is_stalled = false;
        }
        let (acked, maximum) = (self.acked, self.written);
        debug_assert!(acked <= maximum, "{acked} of {maximum} bytes acknowledged");
        let first = *self.placed.front().filter(|placed| placed.until <= self.acked)?;
        self.placed.pop_front();
        self.arrived += u64::from(first.len);
        Some(first.offset)
    }

    fn write(&mut self, now: Instant, data: P) {
        self.written += u64::from(data.len());
        self.connection.handle(now, Input::Write(data));
    }

    fn write_mark(&mut self, now: Instant, mark: &Mark) {
        let payload = P::of(mark, &mut self.to_report);
        self.write(now, payload);
    }

    /// The connection is established: blocks may follow the preface.
    pub(super) fn begin(&mut self, now: Instant, preface: Preface) {
        self.write_mark(now, &Mark::Preface(preface));
        self.is_up = true;
    }

    /// Puts a block on it, for which there is room; where it ends on the stream.
    pub(super) fn put(&mut self, now: Instant, block: &Block, data: P) -> u64 {
        let Block { offset, len, .. } = *block;
        self.write_mark(now, &Mark::Header(Header::Block { offset, len }));
        debug_assert_eq!(data.len(), u32::from(len.get()), "the block at {offset}");
        self.write(now, data);
        self.blocks += 1;
        self.furthest = self.furthest.max(offset + u64::from(len.get()));
        self.placed.push_back(Placed { offset, len: len.get(), until: self.written });
        self.written
    }

    /// Says where the stream ends and closes this direction.
    pub(super) fn end(&mut self, now: Instant, offset: u64) {
        self.write_mark(now, &Mark::Header(Header::End { offset }));
        self.is_ended = true;
        self.connection.handle(now, Input::Close);
    }

    /// Resets it.
    pub(super) fn abort(&mut self, now: Instant) {
        self.is_up = false;
        self.connection.handle(now, Input::Abort);
    }

    fn take(&mut self, len: u32) -> Option<P> {
        let is_there = self.bytes_ready() >= u64::from(len);
        is_there.then(|| self.connection.read(len)).flatten()
    }

    /// The preface, once it is there.
    pub(super) fn read_preface(&mut self) -> Result<Option<Preface>, Fault> {
        let Some(bytes) = self.take(fairwave_wire::multi::PREFACE_LEN as u32) else {
            return Ok(None);
        };
        self.reading = Reading::Header;
        Ok(Some(bytes.preface(&mut self.reported)?))
    }

    /// The next header, once it is there.
    pub(super) fn read_header(&mut self) -> Result<Option<Header>, Fault> {
        let Some(bytes) = self.take(HEADER_LEN as u32) else { return Ok(None) };
        let header = bytes.header(&mut self.reported)?;
        self.reading = match header {
            Header::Block { offset, len } => {
                Reading::Block { at: offset, left: u32::from(len.get()) }
            }
            Header::End { .. } => Reading::Ended,
        };
        Ok(Some(header))
    }

    /// The next `len` bytes of a block, which are there, of `left` at `at`.
    pub(super) fn read_block(&mut self, at: u64, left: u32, len: u32) -> Option<P> {
        let data = self.connection.read(len)?;
        self.delivered += u64::from(len);
        self.reading = match left - len {
            0 => Reading::Header,
            left => Reading::Block { at: at + u64::from(len), left },
        };
        Some(data)
    }
}
