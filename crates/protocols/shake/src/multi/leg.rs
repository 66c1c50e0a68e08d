//! One connection of a set: the blocks on the stream that it sends, and the position in the stream
//! that it receives.

use super::block::Block;
use super::config::Dial;
use super::fault::Fault;
use super::mark::{Mark, Marked};
use fairwave_machine::Machine;
use fairwave_tcp::{Connection, Input, State, Stats};
use fairwave_units::Instant;
use fairwave_wire::multi::{HEADER_LEN, Header, Preface};
use std::collections::VecDeque;

/// Position in the received stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The preface comes next.
    Preface,
    /// A header comes next.
    Header,
    /// The rest of a block comes next.
    Block {
        /// Position of its next byte in the data of the set.
        at: u64,
        /// Bytes left.
        left: u32,
    },
    /// The peer has reported that nothing follows.
    Ended,
    /// The peer violated the protocol.
    Broken,
}

/// A block on the sent stream.
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
    /// Whether blocks may be sent: it is established, and this end's preface is written.
    pub(super) is_up: bool,
    /// Whether it failed. Data that arrived in order can still be read.
    pub(super) is_dead: bool,
    /// Whether timeouts follow each other. No new data is sent until something is acknowledged.
    pub(super) is_stalled: bool,
    /// Whether the end of this direction is written.
    pub(super) is_ended: bool,
    /// Whether the peer has closed its direction.
    pub(super) is_finished: bool,
    pub(super) reading: Reading,
    /// Bytes of blocks read from it, duplicates included.
    pub(super) delivered: u64,
    /// Blocks sent.
    pub(super) blocks: u64,
    /// Bytes of these blocks that had been sent on a connection before.
    pub(super) repeated: u64,
    /// Bytes of blocks that the peer's TCP has acknowledged.
    pub(super) arrived: u64,
    /// Highest end of a sent block, in the data of the set.
    pub(super) furthest: u64,
    /// Marks written and marks received, where payload consists of lengths only: the host carries
    /// them.
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

    /// Whether no more segments are sent or expected, except answers to old ones.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.connection.state(), State::Closed | State::TimeWait)
    }

    /// Frees the buffers of a connection that is over.
    pub(super) fn discard(&mut self) {
        // A stream without its end is no failure from now on.
        self.is_dead = true;
        self.placed = VecDeque::new();
        self.connection.discard();
    }

    /// Whether the peer's TCP has acknowledged everything, and the end of this direction.
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

    /// As [`Self::has_room`], and the congestion window admits the block about now. At most one
    /// block waits for the next acknowledgement.
    pub(super) fn has_room_now(&self, len: u32) -> bool {
        let waits = self.written - self.acked;
        let takes = || waits <= u64::from(self.connection.stats().cwnd);
        self.has_room(len) && !self.is_stalled && takes()
    }

    /// Returns the time until `bytes` behind the waiting data would arrive, in nanoseconds, at a
    /// rate of one window per round-trip time. `None` while the round-trip time is unknown.
    pub(super) fn time_for(&self, bytes: u32) -> Option<u64> {
        self.time_until(self.written + u64::from(bytes))
    }

    /// Returns the time until the stream has arrived up to `position`, likewise.
    pub(super) fn time_until(&self, position: u64) -> Option<u64> {
        let Stats { srtt, cwnd, .. } = self.connection.stats();
        let srtt = u128::from(srtt?.as_nanos());
        let waits = u128::from(position.saturating_sub(self.acked));
        let time = srtt / 2 + waits * srtt / u128::from(cwnd.max(1));
        Some(u64::try_from(time).unwrap_or(u64::MAX))
    }

    /// Whether this block is on the connection and not yet delivered.
    pub(super) fn holds(&self, offset: u64) -> bool {
        self.placed.iter().any(|placed| placed.offset == offset)
    }

    /// Returns the offsets of the blocks that are not yet delivered.
    pub(super) fn undelivered(&self) -> impl Iterator<Item = u64> {
        self.placed.iter().map(|placed| placed.offset)
    }

    /// Counts everything as delivered, if both directions have ended in good order: TCP closes the
    /// connection then even if the last acknowledgement is missing (RFC 9293 section 3.10.7.4, a
    /// reset in LAST-ACK).
    pub(super) fn end_well(&mut self) {
        if self.is_ended && self.reading == Reading::Ended {
            self.acked = self.written;
        }
    }

    /// Takes the next block that the peer's TCP has acknowledged, and returns its offset.
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

    /// Handles the end of the handshake: writes the preface, which blocks may follow.
    pub(super) fn begin(&mut self, now: Instant, preface: Preface) {
        self.write_mark(now, &Mark::Preface(preface));
        self.is_up = true;
    }

    /// Writes a block, for which there must be room. Returns its end on the stream.
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

    /// Writes the offset at which the data ends, and closes this direction.
    pub(super) fn end(&mut self, now: Instant, offset: u64) {
        self.write_mark(now, &Mark::Header(Header::End { offset }));
        self.is_ended = true;
        self.connection.handle(now, Input::Close);
    }

    /// Resets the connection.
    pub(super) fn abort(&mut self, now: Instant) {
        self.is_up = false;
        self.connection.handle(now, Input::Abort);
    }

    fn take(&mut self, len: u32) -> Option<P> {
        let is_there = self.bytes_ready() >= u64::from(len);
        is_there.then(|| self.connection.read(len)).flatten()
    }

    /// Reads the preface, once it has arrived.
    pub(super) fn read_preface(&mut self) -> Result<Option<Preface>, Fault> {
        let Some(bytes) = self.take(fairwave_wire::multi::PREFACE_LEN as u32) else {
            return Ok(None);
        };
        self.reading = Reading::Header;
        Ok(Some(bytes.preface(&mut self.reported)?))
    }

    /// Reads the next header, once it has arrived.
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

    /// Reads the next `len` bytes of a block, which have arrived. Before that, `left` bytes of the
    /// block remain, from position `at` on.
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
